"""Polish and classify: rounding residuals, the right kind, honest failures."""

from __future__ import annotations

import numpy as np
import pytest
from seed777 import neurons

import attention_landscape as al
from attention_landscape import _stationary


@pytest.mark.parametrize("beta", [1.0, 10.0, 50.0])
def test_flow_and_polish_reach_rounding(beta):
    landscape = al.Landscape(al.Attention(beta, log_scale=-beta), neurons("gelu"))
    path = al.gradient_flow(landscape, al.Measure.uniform(1000, 2, rng=42), stationary_tol=1e-5)
    point = al.polish(landscape, path.final)
    assert point.success and point.residual <= 1e-12
    assert point.kind == "strict SOPD" and point.n_atoms == 3
    assert point.measure.masses.sum() == pytest.approx(1, abs=1e-12)
    assert point.splitting > 0


@pytest.mark.parametrize(
    ("beta", "masses"), [(1.0, [0.453, 0.380, 0.167]), (10.0, [0.473, 0.343, 0.183])]
)
def test_masses_of_equispaced_starts(beta, masses):
    landscape = al.Landscape(al.Attention(beta, log_scale=-beta), neurons("gelu"))
    start = al.Measure.from_angles(np.arange(300) * (2 * np.pi / 300))
    point = al.polish(landscape, al.gradient_flow(landscape, start, stationary_tol=1e-5).final)
    np.testing.assert_allclose(np.sort(point.measure.masses)[::-1], masses, atol=1 / 300)


def test_X8_eigenvalues():
    beta, eps = 5.0, 1 / (2 * np.sqrt(5.0))
    gamma = np.exp(beta * np.cos(eps))
    perceptron = al.Perceptron([[1.0, 0.0]], [-gamma], activation="identity")
    mu = al.Measure.from_angles([-eps / 2, eps / 2])
    point = al.classify(al.Landscape(al.Attention(beta), perceptron), mu)
    assert point.kind == "strict SOPD" and point.success
    np.testing.assert_allclose(point.spectrum / gamma, [0.245861, 0.975104], atol=5e-7)
    expected = sorted([np.cos(eps), beta * np.sin(eps) ** 2])
    np.testing.assert_allclose(point.spectrum / gamma, expected, rtol=1e-12)


def test_X8_cluster_without_weights_is_stable_but_splits():
    eps = 0.5
    p = 0.5 / (1 + np.cos(eps / 2) * np.exp(np.cos(eps) + np.cos(eps / 2)))
    mu = al.Measure.from_angles([-eps / 2, eps / 2, np.pi], [p, p, 1 - 2 * p])
    point = al.classify(al.Landscape(al.Attention(1.0)), mu)
    assert 2 * p == pytest.approx(0.14005, abs=5e-6)
    assert point.kind == "SOPD (degenerate)" and "(1 of rotation)" in point.message
    assert point.splitting == pytest.approx(-2.283, abs=5e-4)


def test_S5_merged_and_halved_atoms():
    landscape = al.Landscape(al.Attention(1.0), neurons("relu"))
    mu = al.minimize(landscape).measure
    assert al.classify(landscape, mu).spectrum[0] == pytest.approx(0.2433, abs=5e-5)
    # each atom halved, its halves a little apart: the smallest eigenvalue becomes min dE''
    step = 1e-5
    halves = al.Measure.from_angles(
        np.concatenate([mu.angles - step, mu.angles + step]), np.tile(mu.masses / 2, 2)
    )
    assert landscape.spectrum(halves)[0] == pytest.approx(0.0324, abs=1e-4)
    assert al.classify(landscape, mu).splitting == pytest.approx(0.0323982887, abs=1e-9)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_rotations_of_pure_attention_are_named(d):
    landscape = al.Landscape(al.Attention(2.0))
    antipodes = np.zeros((2, d))
    antipodes[:, 0] = [1, -1]
    point = al.classify(landscape, al.Measure(antipodes))
    assert point.kind == "SOPD (degenerate)"
    assert f"({d - 1} of rotation)" in point.message
    dirac = al.classify(landscape, al.Measure(np.eye(d)[:1]))
    assert dirac.kind == "maximum (degenerate)" and dirac.splitting < 0


def test_ascent_ends_at_a_strict_maximum():
    landscape = al.Landscape(al.Attention(0.5), neurons("gelu"))
    path = al.gradient_flow(
        landscape, al.Measure.uniform(50, 2, rng=0), direction="ascent", stationary_tol=1e-4
    )
    point = al.polish(landscape, path.final)
    assert point.kind == "strict maximum" and point.success and point.n_atoms == 1


def test_saddle():
    # antipodal pair across the wells of a quadratic potential: stable one way, not the other
    perceptron = al.Perceptron(
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, -1.0], activation="identity"
    )
    mu = al.Measure([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    point = al.classify(al.Landscape(al.Attention(0.1), perceptron), mu)
    assert point.kind == "saddle" and point.success


SOFTMAX = [
    # both weight conventions of S7: the layer's, and the paper's with weights divided by beta
    (1.0, [5.96293115881242606950, 1.62209176126313577423, 4.20424531334710678764]),
    (0.5, [5.94673428594287749755, 1.69322411668397209798, 4.09721058753666716678]),
]


@pytest.mark.parametrize(("factor", "angles"), SOFTMAX)
def test_softmax_stationary_points(factor, angles):
    relu = neurons("relu")
    landscape = al.Landscape(
        al.Attention(2.0), al.Perceptron(relu.directions, factor * relu.weights)
    )
    masses = [0.5, 0.3, 0.2]
    exact = al.Measure.from_angles(angles, masses)
    point = al.classify(landscape, exact, normalization="softmax")
    assert point.kind == "stationary" and point.spectrum is None and point.residual < 1e-14
    nudged = al.Measure.from_angles(np.array(angles) + [0.02, -0.03, 0.01], masses)
    assert al.polish(landscape, nudged, normalization="softmax").success
    polished = al.polish(landscape, nudged, normalization="softmax", tol=1e-15)
    np.testing.assert_allclose(polished.measure.angles, np.sort(angles), rtol=0, atol=1e-13)


def test_softmax_on_the_sphere():
    landscape = al.Landscape(al.Attention(2.0), al.Perceptron.random(3, activation="gelu", rng=3))
    start = al.Measure.uniform(6, 3, rng=1)
    path = al.gradient_flow(
        landscape, start, normalization="softmax", direction="descent", t_max=100.0
    )
    point = al.polish(landscape, path.final, normalization="softmax")
    assert point.success and point.kind == "stationary"


@pytest.mark.parametrize("n", [200, 1000])
def test_chains_are_kept(n):
    landscape = al.Landscape(al.Attention(1.0))
    mu = al.Measure.from_angles(np.arange(n) * (2 * np.pi / n))
    point = al.polish(landscape, mu)
    assert point.n_atoms == n and point.success


def test_clumps_are_joined():
    landscape = al.Landscape(al.Attention(1.0), neurons("relu"))
    mu = al.minimize(landscape).measure
    rng = np.random.default_rng(0)
    angles = np.repeat(mu.angles, 50) + 1e-6 * rng.normal(size=200)
    point = al.polish(landscape, al.Measure.from_angles(angles, np.repeat(mu.masses / 50, 50)))
    assert point.n_atoms == 4 and point.success
    np.testing.assert_allclose(point.measure.angles, np.sort(mu.angles), atol=1e-10)


def test_polish_from_an_atom_on_a_kink():
    relu = neurons("relu")
    kink = np.array([[0.08061, 0.99675]]) / np.hypot(0.08061, 0.99675)
    landscape = al.Landscape(al.Attention(0.5), relu)
    mu = al.minimize(landscape).measure
    points = mu.points.copy()
    nearest = int(np.argmax(points @ kink[0]))
    points[nearest] = kink[0]
    point = al.polish(landscape, al.Measure(points, mu.masses))
    assert point.success
    np.testing.assert_allclose(point.measure.points, mu.points, atol=1e-10)


def test_too_many_atoms_is_said(monkeypatch):
    monkeypatch.setattr(_stationary, "MAX_COORDINATES", 20)
    landscape = al.Landscape(al.Attention(1.0), neurons("relu"))
    point = al.polish(landscape, al.Measure.uniform(50, 2, rng=0))
    assert not point.success and point.kind == "not stationary"
    assert "too many" in point.message and point.spectrum is None


def test_no_convergence_is_said():
    landscape = al.Landscape(al.Attention(1.0), neurons("relu"))
    point = al.polish(landscape, al.Measure.uniform(5, 2, rng=0), tol=1e-300)
    assert not point.success and "above" in point.message


BAD = [
    ("landscape", lambda L, mu: al.polish(None, mu)),
    ("mu", lambda L, mu: al.polish(L, [[1.0, 0.0]])),
    ("mu", lambda L, mu: al.polish(L, al.Measure.uniform(3, 3, rng=0))),
    ("tol", lambda L, mu: al.polish(L, mu, tol=0.0)),
    ("normalization", lambda L, mu: al.polish(L, mu, normalization="none")),
    ("normalization", lambda L, mu: al.classify(L, mu, normalization=1)),
    ("landscape", lambda L, mu: al.classify(al.Attention(1.0), mu)),
]


@pytest.mark.parametrize(("name", "call"), BAD)
def test_bad_input(name, call):
    landscape = al.Landscape(al.Attention(1.0), neurons("relu"))
    with pytest.raises(ValueError, match=name):
        call(landscape, al.Measure([[1.0, 0.0]]))
