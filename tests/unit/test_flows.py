"""Flows: orders of the integrators, the sphere kept, energy monotone, honest ends."""

from __future__ import annotations

import numpy as np
import pytest

import attention_landscape as al
from attention_landscape import flows


def setting(d, activation="gelu", n=8, beta=1.5):
    landscape = al.Landscape(
        al.Attention(beta), al.Perceptron.random(d, activation=activation, rng=d)
    )
    return landscape, al.Measure.uniform(n, d, rng=1)


def exact(landscape, mu, t, **options):
    options.setdefault("direction", "ascent")
    return al.gradient_flow(landscape, mu, t_max=t, rtol=1e-13, atol=1e-14, **options).final.points


@pytest.mark.parametrize("d", [2, 3, 10])
@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("rk4", 4)])
def test_order_of_fixed_steps(d, method, order):
    landscape, mu = setting(d)
    end = exact(landscape, mu, 0.5)

    def field(x):
        return landscape.gradient(al.Measure(x, mu.masses))

    errors = []
    counts = np.array([200, 400, 800]) if order == 1 else np.array([20, 40, 80])
    for count in counts:
        x = mu.points
        for _ in range(count):
            x = al.step(field, x, 0.5 / count, method=method)
        assert np.abs(np.linalg.norm(x, axis=1) - 1).max() < 1e-14
        errors.append(np.abs(x - end).max())
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.05 if order == 1 else 0.3)


@pytest.mark.parametrize("d", [2, 3, 10])
def test_order_of_the_adaptive_integrator(d, monkeypatch):
    # with huge tolerances and a largest step h the integrator takes fixed steps: error h^8
    from scipy.integrate import DOP853

    landscape, mu = setting(d)
    t = 0.5 if d < 10 else 1.0
    end = exact(landscape, mu, t)
    counts, errors = np.array([4, 6, 8] if d < 10 else [6, 8, 10]), []
    for count in counts:
        h = t / count
        fixed = {"first_step": h, "max_step": h, "rtol": 1e3, "atol": 1e3}
        monkeypatch.setattr(
            "scipy.integrate.DOP853", lambda *a, f=fixed, **k: DOP853(*a, **(k | f))
        )
        run = al.gradient_flow(landscape, mu, t_max=t, direction="ascent")
        monkeypatch.undo()
        errors.append(np.abs(run.final.points - end).max())
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(8, abs=0.4)


@pytest.mark.parametrize("d", [2, 3, 10])
def test_error_follows_the_tolerance(d):
    landscape, mu = setting(d)
    end = exact(landscape, mu, 2.0)
    errors = [
        np.abs(
            al.gradient_flow(
                landscape, mu, t_max=2.0, direction="ascent", rtol=r, atol=r / 100
            ).final.points
            - end
        ).max()
        for r in (1e-4, 1e-6, 1e-8, 1e-10)
    ]
    assert errors[0] < 1e-2 and errors[3] < 1e-8
    assert errors[0] > errors[1] > errors[2] > errors[3]


@pytest.mark.parametrize("direction", ["ascent", "descent"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("d", [2, 3, 10])
def test_energy_monotone_and_sphere_kept(d, activation, direction):
    landscape, mu = setting(d, activation, n=20)
    path = al.gradient_flow(landscape, mu, direction=direction, t_eval=np.linspace(0, 4, 41))
    assert path.status == 0 and path.t.shape == (41,) and path.points.shape == (41, 20, d)
    assert np.abs(np.linalg.norm(path.points, axis=2) - 1).max() < 1e-12
    rises = np.diff(path.energies) * (1 if direction == "ascent" else -1)
    assert rises.min() > -1e-12 * landscape.scale
    assert "monotone" not in path.message
    for x, energy in zip(path.points[::10], path.energies[::10], strict=True):
        assert landscape.energy(al.Measure(x)) == pytest.approx(energy, rel=1e-12)


def test_dense_output_agrees_with_stopping_there():
    landscape, mu = setting(3)
    path = al.gradient_flow(landscape, mu, t_eval=[0.0, 0.37, 1.0])
    stopped = exact(landscape, mu, 0.37, direction="descent")
    np.testing.assert_allclose(path.points[1], stopped, atol=1e-7)
    np.testing.assert_array_equal(path.points[0], mu.points)


@pytest.mark.parametrize("d", [2, 3])
def test_tokens_that_meet_stay_together(d, monkeypatch):
    landscape, mu = setting(d, n=400)
    times = np.linspace(0, 12, 13)
    reduced = []

    def look(x, side, original=flows._met):
        index, inverse = original(x, side)
        reduced.append(index.size)
        return index, inverse

    monkeypatch.setattr(flows, "_met", look)
    path = al.gradient_flow(landscape, mu, direction="ascent", t_eval=times)
    assert min(reduced) <= 300 < 350 < reduced[0]  # so the flow went on with fewer tokens
    monkeypatch.setattr(flows, "_MANY", 1000)
    alone = al.gradient_flow(landscape, mu, direction="ascent", t_eval=times)
    exact = al.gradient_flow(
        landscape, mu, direction="ascent", t_eval=times, rtol=1e-13, atol=1e-14
    )
    own, met = (np.abs(p.points - exact.points).max() for p in (alone, path))
    assert met <= 2 * own + 1e-8  # no worse than the steps' own errors
    np.testing.assert_allclose(path.energies, exact.energies, rtol=1e-9)
    assert path.final.n == 400 and np.array_equal(path.final.masses, mu.masses)


def test_tokens_of_different_cells_with_one_key_are_kept_apart():
    x = al.sphere.uniform(50, 3, rng=1)
    index, inverse = flows._met(np.repeat(x, 2, axis=0), 1e-10)
    assert index.size == 50 and np.array_equal(x[inverse[::2]], x[inverse[1::2]])
    spread = flows._met(x, 1e-10)
    assert np.array_equal(spread[0][spread[1]], np.arange(50))


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_loose_tolerances_still_settle(rtol):
    # the error of a step is at the edge of stability near the end: it must shrink with the field
    landscape = al.Landscape(
        al.Attention(9.0, log_scale=-9.0), al.Perceptron.random(2, activation="gelu", rng=777)
    )
    mu = al.Measure.from_angles(np.arange(300) * 2 * np.pi / 300)
    path = al.gradient_flow(landscape, mu, rtol=rtol, atol=rtol / 100, stationary_tol=1e-9)
    assert path.status == 1 and path.residual <= 1e-9


def test_stops_when_stationary():
    landscape, mu = setting(2, n=5)
    path = al.gradient_flow(landscape, mu, direction="ascent")
    assert path.status == 1 and path.residual <= 1e-8 * landscape.scale
    assert path.t.shape == (2,) and "stationary" in path.message
    again = al.gradient_flow(landscape, path.final, direction="ascent")
    assert again.status == 1 and again.t[-1] == 0
    early = al.gradient_flow(
        landscape, mu, direction="ascent", t_eval=np.linspace(0, 1e4, 50), stationary_tol=1e-3
    )
    assert early.status == 1 and early.t[-1] < 1e4 and len(early.t) < 50
    assert np.all(np.diff(early.t) > 0)


def test_masses_are_kept():
    landscape, _ = setting(2)
    mu = al.Measure.from_angles([0.0, 1.0, 2.5], [0.5, 0.3, 0.2])
    path = al.gradient_flow(landscape, mu, t_max=1.0)
    np.testing.assert_array_equal(path.final.masses, mu.masses)


def test_S2_softmax_is_the_limit_of_layers():
    landscape, mu = setting(3, n=6)
    end = exact(landscape, mu, 1.0, normalization="softmax")
    errors = []
    steps = np.array([50, 100, 200, 400])  # dt <= 0.02
    for count in steps:
        x = al.iterate_layer(
            mu.points, landscape.attention, landscape.perceptron, 1.0 / count, int(count)
        )
        errors.append(np.abs(x[-1] - end).max())
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_S1_layer_by_hand(direction):
    rng = np.random.default_rng(0)
    x = al.sphere.uniform(5, 3, rng=rng)
    matrix = rng.normal(size=(3, 3)) + 3 * np.eye(3)
    perceptron = al.Perceptron.random(3, k=4, activation="gelu", rng=2)
    sign, dt = (1, 0.2) if direction == "ascent" else (-1, 0.2)
    for attention, b in (
        (al.Attention(2.0), 2.0 * np.eye(3)),
        (al.Attention(matrix=matrix), matrix),
    ):
        logits = (x @ b.T) @ x.T  # <B x_i, x_j>
        weights = np.exp(logits)
        average = weights @ x / weights.sum(axis=1, keepdims=True)
        y = al.sphere.project(x + sign * dt * average)
        sigma = perceptron.activation.function(y @ perceptron.directions.T)
        z = al.sphere.project(y + sign * dt * (sigma * perceptron.weights) @ perceptron.directions)
        found = al.layer(x, attention, perceptron, dt, direction=direction)
        np.testing.assert_allclose(found, z, atol=1e-13)
        np.testing.assert_allclose(
            al.layer(x, attention, None, dt, direction=direction), y, atol=1e-13
        )


@pytest.mark.parametrize(
    ("n", "beta", "rho", "normalization", "times", "values"),
    [(5, 2.0, 0.3, "unnormalized", [0.1, 0.3], [0.4286441589172002, 0.7751487322313256]),
     (5, 2.0, 0.3, "softmax", [0.5, 1.5], [0.51135224318839092, 0.87186724560741622]),
     (10, 4.0, -0.05, "unnormalized", [0.02, 0.06], [-0.04807346047047242, -0.04399825714557988])],
)  # fmt: skip
def test_B4_equiangular_flow(n, beta, rho, normalization, times, values):
    points = al.sphere.project(np.linalg.cholesky((1 - rho) * np.eye(n) + rho))
    path = al.gradient_flow(
        al.Landscape(al.Attention(beta)), al.Measure(points), direction="ascent",
        normalization=normalization, t_eval=times, rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    found = [x[0] @ x[1] for x in path.points[: len(times)]]
    np.testing.assert_allclose(found, values, atol=1e-10)


def test_gives_up_and_says_so(monkeypatch):
    monkeypatch.setattr(flows, "MAX_STEPS", 3)
    landscape, mu = setting(2)
    path = al.gradient_flow(landscape, mu)
    assert path.status == -1 and "gave up" in path.message and path.t[-1] > 0
    assert path.final.n == mu.n


def test_failed_step_is_told(monkeypatch):
    from scipy.integrate import DOP853

    class Broken(DOP853):
        def step(self):
            self.status = "failed"
            return "step size too small"

    monkeypatch.setattr("scipy.integrate.DOP853", Broken)
    landscape, mu = setting(2)
    path = al.gradient_flow(landscape, mu, t_max=1.0)
    assert path.status == -1 and "step size" in path.message


def test_interruption_keeps_the_work():
    landscape, mu = setting(2)
    seen = []

    def callback(t, residual):
        seen.append((t, residual))
        if len(seen) == 3:
            raise KeyboardInterrupt

    path = al.gradient_flow(landscape, mu, callback=callback)
    assert path.status == -2 and "interrupted" in path.message
    assert path.t[-1] == seen[-1][0] > 0


def test_energy_rise_is_reported():
    # tolerances so loose that a step overshoots: the energy climbs, and the message says so
    landscape = al.Landscape(al.Attention(8.0, log_scale=-8.0))
    mu = al.Measure.from_angles([0.0, 0.1, 0.2, 0.3, 3.0])
    path = al.gradient_flow(landscape, mu, t_max=1000.0, rtol=1e9, atol=1e9)
    assert "the energy was not monotone" in path.message
