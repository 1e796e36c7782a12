"""Certified minimisers: reference values, random landscapes, failures that are told."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from seed777 import neurons

import attention_landscape as al
from attention_landscape import _descent
from attention_landscape._simplex import simplex_minimum

#: activation, beta, energy, angles, masses: from computations with 30 digits and more
MINIMA = [
    (
        "relu",
        0.5,
        1.004319227110508,
        [0.0889480660724447, 1.6293061386968732, 4.3212118394582975],
        [0.21257098980616718, 0.3225193845488192, 0.46490962564501365],
    ),
    (
        "relu",
        1.0,
        0.599729876829284,
        [0.41671712835114466, 1.7271325382818412, 4.2728524037258495, 6.0562729236473904],
        [0.10276147776341804, 0.29879527391679633, 0.4142631072728403, 0.18418014104694533],
    ),
    (
        "relu",
        2.0,
        0.5695737293659611,
        [
            0.19867044249174853,
            0.7072137217582766,
            1.6683035244564188,
            2.3082713933884063,
            3.3495923530844944,
            3.6064064050374207,
            4.411796488746049,
            5.161346642597345,
            5.814926119156229,
        ],
        [
            0.06092093490488411,
            0.1309289510647091,
            0.1636720421818832,
            0.08702410601948558,
            0.03436989285852139,
            0.10071270929236843,
            0.2265179015854967,
            0.05161279153346025,
            0.14424067055919126,
        ],
    ),
    (
        "gelu",
        0.5,
        1.018292287062253,
        [0.12011319530431748, 1.5584365031020595, 4.298750522651012],
        [0.17487317139945924, 0.36326435659929013, 0.46186247200125063],
    ),
    (
        "gelu",
        2.0,
        0.5773597383667032,
        [
            0.3066226874506451,
            0.6876863503130487,
            1.1092200555028506,
            1.6046630794463437,
            1.9698138007599668,
            2.3261981408589554,
            2.880562415650257,
            3.3286931844198486,
            3.693089251898121,
            4.0639059445390755,
            4.48123889518483,
            4.947226295423745,
            5.298338126441861,
            5.770577518148104,
            6.2052044724113165,
        ],
        [
            0.058886336239148934,
            0.06342843035667672,
            0.07418261569384656,
            0.09691920502231716,
            0.06382044000231776,
            0.06404609276082683,
            0.031115961001259997,
            0.04109107811625044,
            0.06379106601422484,
            0.0940454250224251,
            0.11450970235557845,
            0.05814756851085585,
            0.04247776105978838,
            0.07090715677988164,
            0.06263116106460133,
        ],
    ),
]


def landscape_of(activation, beta):
    return al.Landscape(al.Attention(beta), neurons(activation))


@pytest.mark.parametrize(("activation", "beta", "energy", "angles", "masses"), MINIMA)
def test_X4_reference_minimisers(activation, beta, energy, angles, masses):
    found = al.minimize(landscape_of(activation, beta))
    assert found.success and found.energy == pytest.approx(energy, rel=1e-12)
    assert -1e-14 <= found.gap <= 1e-11
    if len(angles) < 15:
        assert "not resolved" not in found.message
        order = np.argsort(found.measure.angles)
        np.testing.assert_allclose(found.measure.angles[order], angles, atol=1e-8)
        np.testing.assert_allclose(found.measure.masses[order], masses, atol=1e-8)
    else:  # dE rises by 1e-11 only between the 15 atoms: double precision cannot see them
        assert "not resolved" in found.message


@pytest.mark.parametrize(
    ("activation", "beta", "kappa"),
    [("relu", 0.5, 0.3603), ("relu", 1.0, 0.2430), ("relu", 2.0, 0.0514), ("gelu", 0.5, 0.2903)],
)
def test_R1_minimisers_are_strictly_stable(activation, beta, kappa):
    landscape = landscape_of(activation, beta)
    point = al.classify(landscape, al.minimize(landscape).measure)
    assert point.kind == "strict SOPD" and point.spectrum[0] >= kappa and point.splitting > 0


def draws():
    rng = np.random.default_rng(2601)
    names = itertools.cycle(["relu", "gelu", "tanh", "softplus", "leaky_relu", "identity"])
    for _, name in zip(range(36), names, strict=False):
        k = int(rng.integers(1, 6))
        beta = float(np.exp(rng.uniform(np.log(0.1), np.log(20.0))))
        directions = rng.normal(size=(k, 2))
        weights, biases = rng.normal(size=k), rng.normal(size=k) * rng.integers(0, 2)
        yield name, beta, directions, weights, biases


@pytest.mark.parametrize(("name", "beta", "directions", "weights", "biases"), list(draws()))
def test_X4_random_landscapes(name, beta, directions, weights, biases):
    perceptron = al.Perceptron(directions, weights, biases, activation=name)
    landscape = al.Landscape(al.Attention(beta), perceptron)
    found = al.minimize(landscape)
    rounding = 1e-13 * landscape.scale
    assert found.success and -rounding <= found.gap <= 1e-10 * landscape.scale
    # optimality: dE >= its mean, with equality on the support
    mu = found.measure
    on = landscape.first_variation(mu, mu.points)
    level = float(mu.masses @ on)
    grid = al.sphere.from_angles(np.linspace(0, 2 * np.pi, 10_007))
    assert landscape.first_variation(mu, grid).min() >= level - found.gap - rounding
    assert np.all(mu.masses * (on - level) <= found.gap + rounding)
    # convexity: no other measure has less energy
    for seed in range(10):
        other = al.Measure.uniform(5, 2, rng=seed)
        assert landscape.energy(other) >= found.energy - found.gap - rounding
    # X9: no atom of a minimiser is heavier (where double precision resolves the atoms)
    if "not resolved" not in found.message:
        bound = al.bounds.atom_mass_bound(beta, perceptron.curvature_bound)
        assert mu.masses.max() <= bound + 1e-9


@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_minimum_is_invariant_under_rotation_and_reflection(name):
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    rng = np.random.default_rng(5)
    a, w = rng.normal(size=(3, 2)), rng.normal(size=3)
    base = al.minimize(al.Landscape(al.Attention(1.0), al.Perceptron(a, w, activation=name)))
    for matrix in (turn, turn @ np.diag([1.0, -1.0])):
        moved = al.minimize(
            al.Landscape(al.Attention(1.0), al.Perceptron(a @ matrix.T, w, activation=name))
        )
        assert moved.energy == pytest.approx(base.energy, rel=1e-12)
        carried = al.Measure(base.measure.points @ matrix.T, base.measure.masses)
        assert al.wasserstein(carried, moved.measure) < 1e-3


def test_P1_minimiser_has_the_symmetry_of_the_neurons():
    # one neuron: the reflection that fixes it leaves the minimiser alone
    landscape = al.Landscape(al.Attention(1.0), al.Perceptron([[1.0, 0.0]], [0.8]))
    mu = al.minimize(landscape).measure
    mirrored = al.Measure(mu.points * [1, -1], mu.masses)
    assert al.wasserstein(mu, mirrored) < 1e-7


@pytest.mark.parametrize(("name", "beta"), [("relu", 2.0), ("gelu", 1.0), ("tanh", 4.0)])
def test_P1_two_starts_reach_one_energy(name, beta, monkeypatch):
    landscape = landscape_of(name, beta)
    first = al.minimize(landscape)

    def elsewhere(landscape, d):
        return al.Measure.uniform(3, d, rng=9)

    monkeypatch.setattr(_descent, "_start", elsewhere)
    second = al.minimize(landscape)
    assert second.success
    assert abs(second.energy - first.energy) <= first.gap + second.gap + 1e-13 * landscape.scale


def test_T1_relu_minimisers_are_resolved_and_finite():
    for seed in range(8):
        perceptron = al.Perceptron.random(2, k=3, rng=seed)
        found = al.minimize(al.Landscape(al.Attention(0.5), perceptron))
        assert found.success and found.n_atoms <= 8


def quadratic(factor):
    perceptron = al.Perceptron(
        [[1.0, 0.0], [0.6, 0.8]], np.array([0.25, -0.15]) * factor, activation="identity"
    )
    return al.Landscape(al.Attention(1.0), perceptron)


def test_X2_diffuse_minimiser_below_its_threshold():
    found = al.minimize(quadratic(1.0))
    assert found.energy == pytest.approx(0.64583199279094537, rel=1e-13)
    # moments: only degree two, with the coefficients of the closed form
    moments = np.exp(1j * np.outer(np.arange(1, 7), found.measure.angles)) @ found.measure.masses
    expected = np.zeros(6, dtype=complex)
    expected[1] = (-0.53776245386221410 + 1j * 0.26519792245259874) / 2
    # degree k weighs I_k(1) in the energy: 2e-5 at k = 6, so a gap of 1e-13 fixes it to 1e-4
    np.testing.assert_allclose(moments, expected, atol=1e-4)
    np.testing.assert_allclose(moments[:3], expected[:3], atol=1e-6)


def test_X2_atomic_minimiser_above_its_threshold():
    found = al.minimize(quadratic(3.0))
    assert found.energy == pytest.approx(0.59905966, abs=1e-8)
    # by symmetry (P1) four equal atoms at axis +- opening, and opposite; v = 3 (A cos + B sin)(2t)
    axis = np.arctan2(-0.072, 0.146) / 2 + np.pi / 2
    amplitude = 3 * np.hypot(0.146, 0.072)

    def force(opening):  # tangential field at axis + opening, times four
        others = np.array([2 * opening, np.pi, np.pi + 2 * opening])
        pull = -np.sum(np.sin(others) * np.exp(np.cos(others)))
        return pull + 4 * amplitude * np.sin(2 * opening)

    opening = brentq(force, 0.1, 0.7, xtol=1e-15)
    expected = axis + np.array([-opening, opening, np.pi - opening, np.pi + opening])
    np.testing.assert_allclose(np.sort(found.measure.angles), expected, atol=1e-10)
    np.testing.assert_allclose(found.measure.masses, 0.25, atol=1e-10)


@pytest.mark.parametrize("d", [3, 4])
def test_X4_higher_dimension(d):
    landscape = al.Landscape(al.Attention(1.0), al.Perceptron.random(d, rng=1))
    found = al.minimize(landscape)
    assert found.success and found.gap <= 1e-8
    probe = al.sphere.uniform(20_000, d, rng=3)
    level = found.measure.masses @ landscape.first_variation(found.measure, found.measure.points)
    assert landscape.first_variation(found.measure, probe).min() >= level - 1e-8


def test_X2_on_the_sphere():
    # quadratic potential on S^2 below its threshold: the energy of the diffuse minimiser
    q = np.diag([0.2, -0.05, 0.12])
    perceptron = al.Perceptron(np.eye(3), np.diag(q), activation="identity")
    attention = al.Attention(1.0)
    lam = attention.eigenvalues(3, 2)
    traceless = q - np.trace(q) / 3 * np.eye(3)
    assert np.linalg.eigvalsh(traceless)[-1] < 2 * lam[2]
    expected = lam[0] / 2 + np.trace(q) / 6 - 1 / (8 * lam[2]) * 2 * np.sum(traceless**2) / 15
    found = al.minimize(al.Landscape(attention, perceptron), tol=1e-9)
    assert found.success and 0 <= found.energy - expected + 1e-14 <= found.gap + 1e-13


def test_pure_attention_is_minimised_by_the_uniform_law():
    found = al.minimize(al.Landscape(al.Attention(3.0)), 2)
    assert found.energy == pytest.approx(4.88079258586502408 / 6, rel=1e-14)  # I_0(3)/6
    assert found.measure.moments(2)[1:].max() < 1e-6


def test_matrix_must_be_positive_definite():
    perceptron = neurons("relu")
    good = al.Landscape(al.Attention(matrix=np.diag([1.0, 2.0])), perceptron)
    assert al.minimize(good).success
    bad = al.Landscape(al.Attention(matrix=np.diag([1.0, -2.0])), perceptron)
    with pytest.raises(ValueError, match="positive definite"):
        al.minimize(bad)
    # B = beta I: energies are beta times those of beta, with weights times beta (E5)
    same = al.Landscape(
        al.Attention(matrix=2 * np.eye(2)),
        al.Perceptron(perceptron.directions, 2 * perceptron.weights),
    )
    assert al.minimize(same).energy == pytest.approx(2 * 0.569573729365961027, rel=1e-12)


def test_gap_bounds_the_suboptimality():
    landscape = landscape_of("relu", 1.0)
    best = al.minimize(landscape).energy
    oracle = _descent.make_oracle(landscape, 2)
    for seed in range(20):
        mu = al.Measure.uniform(1 + seed, 2, rng=seed)
        gap = _descent.gap_of(landscape, mu, oracle(mu)[1])
        assert gap >= landscape.energy(mu) - best


def test_interrupt_returns_what_there_is(monkeypatch):
    real, calls = _descent.minima_circle, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(_descent, "minima_circle", interrupted)
    found = al.minimize(landscape_of("relu", 5.0))
    assert found.measure.n > 0 and np.isfinite(found.gap)
    assert "interrupted" in found.message


def test_failure_is_told(monkeypatch):
    real = _descent.frank_wolfe

    def one_round(landscape, d, goal, rounds):
        return real(landscape, d, 0.0, 1)

    monkeypatch.setattr("attention_landscape.critical.frank_wolfe", one_round)
    found = al.minimize(landscape_of("relu", 10.0), tol=1e-15)
    assert not found.success and "no convergence" in found.message
    assert found.energy == landscape_of("relu", 10.0).energy(found.measure)


def test_X4_forty_digits_find_the_fifteen_atoms():
    activation, beta, energy, angles, masses = MINIMA[4]
    landscape = landscape_of(activation, beta)
    sharp = al.minimize_extended(landscape, al.minimize(landscape), digits=40)
    assert sharp.success and sharp.n_atoms == 15 and sharp.gap < 1e-39
    np.testing.assert_allclose([float(t) for t in sharp.angles], angles, atol=1e-15, rtol=0)
    np.testing.assert_allclose([float(m) for m in sharp.masses], masses, atol=1e-15, rtol=0)
    assert float(sharp.energy) == energy
    spectrum = al.classify(landscape, sharp.measure).spectrum
    assert spectrum[0] == pytest.approx(1.26e-5, rel=0.01)


@pytest.mark.parametrize(
    "activation", ["relu", "leaky_relu", "identity", "gelu", "tanh", "softplus"]
)
def test_extended_functions_agree_with_double_precision(activation):
    import mpmath as mp

    from attention_landscape._extended import _Circle

    perceptron = al.Perceptron([[0.6, 0.8], [-1.0, 0.3]], [0.7, -0.4], [0.1, -0.2],
                               activation=activation)  # fmt: skip
    landscape = al.Landscape(al.Attention(1.5, log_scale=-0.5), perceptron)
    mu = al.Measure.from_angles([0.3, 2.0, 4.0], [0.2, 0.5, 0.3])
    at = np.array([0.7, 3.3])
    value, gradient, hessian = landscape.variations(mu, al.sphere.from_angles(at), 2)
    frame = al.sphere.tangent_frames(al.sphere.from_angles(at))[:, 0]
    with mp.workdps(30):
        circle = _Circle(landscape)
        atoms = [mp.mpf(t) for t in (0.3, 2.0, 4.0)], [mp.mpf(m) for m in (0.2, 0.5, 0.3)]
        sharp = np.array([[float(x) for x in circle.variation(mp.mpf(t), *atoms)] for t in at])
        assert float(circle.energy(*atoms)) == pytest.approx(landscape.energy(mu), rel=1e-14)
    np.testing.assert_allclose(sharp[:, 0], value, rtol=1e-13)
    np.testing.assert_allclose(sharp[:, 1], np.sum(frame * gradient, axis=1), atol=1e-13)
    bends = np.einsum("id,ide,ie->i", frame, hessian, frame)
    np.testing.assert_allclose(sharp[:, 2], bends, atol=1e-13)


@pytest.mark.parametrize("size", [0.0, 1e-15, 1e-12, 1e-8, 1e-4, 1e-2])
@pytest.mark.parametrize(("activation", "digits"), [("relu", 30), ("relu", 45), ("gelu", 30)])
def test_extended_does_not_depend_on_the_last_digits_of_the_start(activation, digits, size):
    """At the end the energy stands still to all digits, and Newton's method must go on."""
    landscape = landscape_of(activation, 1.0)
    found = al.minimize(landscape)
    rng = np.random.default_rng(0)
    angles = found.measure.angles + size * rng.normal(size=found.n_atoms)
    masses = found.measure.masses * np.exp(size * rng.normal(size=found.n_atoms))
    start = al.Measure.from_angles(angles, masses / masses.sum())
    moved = al.Minimum(start, 0.0, 1.0, start.n, False, "", 0)
    sharp = al.minimize_extended(landscape, moved, digits=digits)
    assert sharp.success and sharp.n_atoms == found.n_atoms
    assert abs(float(sharp.energy) - found.energy) < 1e-14


def test_extended_failure_is_told():
    landscape = landscape_of("relu", 1.0)
    found = al.minimize(landscape)
    lone = al.Minimum(al.Measure([[1.0, 0.0]]), 0.0, 1.0, 1, False, "", 0)
    sharp = al.minimize_extended(landscape, lone, digits=16)
    assert not sharp.success and "support not found" in sharp.message
    custom = al.Activation(
        "own", np.tanh, lambda s: 1 - np.tanh(s) ** 2, np.square, 1.0, "analytic"
    )
    bad = [
        ("digits", lambda: al.minimize_extended(landscape, found, digits=3)),
        ("found", lambda: al.minimize_extended(landscape, found.measure)),
        ("landscape", lambda: al.minimize_extended(None, found)),
        ("matrix", lambda: al.minimize_extended(
            al.Landscape(al.Attention(matrix=np.eye(2))), found)),
        ("circle", lambda: al.minimize_extended(
            al.Landscape(al.Attention(1.0)),
            al.Minimum(al.Measure(np.eye(3)), 0.0, 1.0, 3, False, "", 0))),
        ("activations", lambda: al.minimize_extended(
            al.Landscape(al.Attention(1.0), al.Perceptron([[1.0, 0.0]], [1.0], activation=custom)),
            found)),
        ("atoms", lambda: al.minimize_extended(
            al.Landscape(al.Attention(50.0)),
            al.Minimum(al.Measure.from_angles(np.arange(100) * 0.06), 0.0, 1.0, 9, False, "", 0))),
    ]  # fmt: skip
    for text, call in bad:
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_simplex_minimum_against_all_faces(rank):
    rng = np.random.default_rng(rank)
    for _ in range(30):
        root = rng.normal(size=(6, rank))
        matrix, linear = root @ root.T, rng.normal(size=6)
        m = simplex_minimum(matrix, linear, np.full(6, 1 / 6))
        assert m.min() >= 0 and m.sum() == pytest.approx(1, abs=1e-12)
        slack = matrix @ m + linear
        # the optimality conditions of a convex problem are sufficient
        assert slack.min() >= m @ slack - 1e-10
        for i, j in itertools.combinations(range(6), 2):
            t = np.linspace(0, 1, 101)[:, None]
            edge = t * np.eye(6)[i] + (1 - t) * np.eye(6)[j]
            values = np.einsum("ti,ij,tj->t", edge, matrix, edge) / 2 + edge @ linear
            assert values.min() >= m @ matrix @ m / 2 + linear @ m - 1e-10


BAD = [
    ("d must be given", lambda: al.minimize(al.Landscape(al.Attention(1.0)))),
    ("d", lambda: al.minimize(landscape_of("relu", 1.0), 3)),
    ("d", lambda: al.minimize(landscape_of("relu", 1.0), 1)),
    ("tol", lambda: al.minimize(landscape_of("relu", 1.0), tol=-1.0)),
    ("landscape", lambda: al.minimize(None)),
]


@pytest.mark.parametrize(("text", "call"), BAD)
def test_bad_input(text, call):
    with pytest.raises(ValueError, match=text):
        call()
