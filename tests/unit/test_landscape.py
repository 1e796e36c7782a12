"""The landscape: reference values, derivatives along geodesics, spectra, memory."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from seed777 import neurons

import attention_landscape as al

ACTIVATIONS = ["relu", "gelu", "tanh", "softplus", "leaky_relu", "identity"]

#: energy, dE at the query, field there, dE/dt, Hessian form: 30 digits and more, two ways.
#: d = 2: beta 1.5, angles .3, 1.9, 4.1, masses .2, .5, .3; query 2.8
CIRCLE = {
    "relu": (
        0.691029894580481022,
        1.185707098971763454,
        0.564662224797368052,
        -0.04738319275737378,
        0.213325836744103431,
    ),
    "leaky_relu": (
        0.690960322121892977,
        1.188637513677496689,
        0.563650413624126285,
        -0.04860133720277049,
        0.215408763773736431,
    ),
    "gelu": (
        0.697358925826461827,
        1.262053814179974646,
        0.569629930626450579,
        -0.07070825986529195,
        0.231641280557756167,
    ),
    "tanh": (
        0.686069944468984193,
        1.441628798589775097,
        0.505945542741295060,
        -0.14969604854570948,
        0.368291061461131962,
    ),
    "softplus": (
        0.579850533986601084,
        0.934058982007524032,
        0.437493845023898655,
        0.039255343493420009,
        0.294936000345917963,
    ),
    "identity": (
        0.684072648721676537,
        1.478748569545087009,
        0.463481107473191350,
        -0.16919763729704517,
        0.421618539707403391,
    ),
}
#: d = 3: beta 2, masses .4, .3, .2, .1; query (2, 3, 6)/7
SPHERE = {
    "relu": (
        0.724076481818483897,
        1.820891320716149678,
        -0.05232711967561173,
        1.832777295269962051,
        13.90407806268379651,
    ),
    "leaky_relu": (
        0.723810681818483897,
        1.820891320716149678,
        -0.05232711967561173,
        1.830102295269962051,
        13.91423466268379651,
    ),
    "gelu": (
        0.749983300525597309,
        1.901998343273781573,
        -0.04454693164674616,
        1.719651073808150711,
        13.16164064973862305,
    ),
    "tanh": (
        0.714046807511520843,
        1.866623460503646124,
        -0.06139731088095499,
        1.565534370216342160,
        14.26692037921584791,
    ),
    "softplus": (
        0.601541861857482955,
        1.576084995126311001,
        -0.10584319881402560,
        2.120387625000223356,
        16.57068392891489107,
    ),
    "identity": (
        0.697496481818483897,
        1.820891320716149678,
        -0.05232711967561173,
        1.565277295269962051,
        14.91973806268379651,
    ),
}


def configuration(d):
    if d == 2:
        mu = al.Measure.from_angles([0.3, 1.9, 4.1], [0.2, 0.5, 0.3])
        a, w = [[1.0, 0.0], [0.6, 0.8]], [0.7, -0.4]
        xi = np.array([[0.5], [-0.25], [1.0]]) * al.sphere.tangent_frames(mu.points)[:, 0]
        return 1.5, mu, a, w, xi, al.sphere.from_angles([2.8])
    points = al.sphere.project([[1, 2, 2], [2, -1, 2], [-3, 0, 4], [0, -4, -3]])
    mu = al.Measure(points, [0.4, 0.3, 0.2, 0.1])
    a = [[1.0, 0.25, 0.0], [0.0, 0.6, 0.8], [0.5, -0.5, 1.0]]
    xi = al.sphere.tangent_project(points, [[2, -1, 0], [1, 2, 0], [4, 1, 3], [1, 0, 0]])
    return 2.0, mu, a, [0.5, -1.0, 0.25], xi, al.sphere.project([[2, 3, 6]])


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("d", [2, 3])
def test_S4_S5_reference_values(d, name):
    beta, mu, a, w, xi, query = configuration(d)
    landscape = al.Landscape(al.Attention(beta), al.Perceptron(a, w, activation=name))
    energy, variation, last, rate, form = (CIRCLE if d == 2 else SPHERE)[name]
    rel = 1e-12
    assert landscape.energy(mu) == pytest.approx(energy, rel=rel)
    assert landscape.first_variation(mu, query)[0] == pytest.approx(variation, rel=rel)
    assert landscape.gradient(mu, query)[0, -1] == pytest.approx(last, rel=rel)
    slope = np.sum(mu.masses * np.sum(landscape.gradient(mu) * xi, axis=1))
    assert slope == pytest.approx(rate, rel=rel)
    assert landscape.hessian_form(mu, xi) == pytest.approx(form, rel=rel)
    frames = al.sphere.tangent_frames(mu.points)
    coordinates = np.einsum("iad,id->ia", frames, xi).ravel()
    assert coordinates @ landscape.hessian(mu) @ coordinates == pytest.approx(form, rel=rel)


def random_landscape(d, name, seed, **attention):
    rng = np.random.default_rng(seed)
    perceptron = al.Perceptron(
        rng.normal(size=(3, d)), rng.normal(size=3), rng.normal(size=3), activation=name
    )
    attention = attention or {"beta": float(rng.uniform(0.3, 4))}
    mu = al.Measure(al.sphere.uniform(6, d, rng=rng), rng.dirichlet(np.ones(6)))
    xi = al.sphere.tangent_project(mu.points, rng.normal(size=(6, d)))
    return al.Landscape(al.Attention(**attention), perceptron), mu, xi


def differences(landscape, mu, xi, h):
    """First and second derivative of the energy along geodesics, to fourth order."""
    e = [
        landscape.energy(al.Measure(al.sphere.exp(mu.points, t * h * xi), mu.masses))
        for t in (-2, -1, 0, 1, 2)
    ]
    first = (e[0] - 8 * e[1] + 8 * e[3] - e[4]) / (12 * h)
    return first, (-e[0] + 16 * e[1] - 30 * e[2] + 16 * e[3] - e[4]) / (12 * h**2)


@pytest.mark.parametrize("name", ["gelu", "tanh", "softplus", "identity"])
@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("kind", ["beta", "scaled", "matrix"])
def test_S4_S5_derivatives_of_the_energy(d, name, kind):
    matrix = np.diag(np.linspace(-1, 2, d)) + 0.3  # symmetric, indefinite
    attention = {
        "beta": {},
        "scaled": {"beta": 3.0, "log_scale": -3.0},
        "matrix": {"matrix": matrix},
    }
    landscape, mu, xi = random_landscape(d, name, d, **attention[kind])
    first, second = differences(landscape, mu, xi, 1e-3)
    slope = np.sum(mu.masses * np.sum(landscape.gradient(mu) * xi, axis=1))
    form = landscape.hessian_form(mu, xi)
    size = max(1.0, abs(landscape.energy(mu)))
    assert slope == pytest.approx(first, abs=1e-8 * size)
    assert form == pytest.approx(second, rel=1e-6, abs=1e-6 * size)
    frames = al.sphere.tangent_frames(mu.points)
    coordinates = np.einsum("iad,id->ia", frames, xi).ravel()
    assert coordinates @ landscape.hessian(mu) @ coordinates == pytest.approx(form, rel=1e-11)


@pytest.mark.parametrize("d", [2, 3])
def test_relu_kink_is_the_symmetric_difference(d):
    direction = np.zeros(d)
    direction[0] = 1.0
    perceptron = al.Perceptron([direction], [0.8])
    mu = al.Measure(np.eye(d)[1:2])  # on the kink
    xi = np.eye(d)[:1]
    landscape = al.Landscape(al.Attention(1.0), perceptron)
    h = 1e-4
    e = [landscape.energy(al.Measure(al.sphere.exp(mu.points, t * xi))) for t in (-h, 0, h)]
    assert landscape.hessian_form(mu, xi) == pytest.approx(
        (e[0] - 2 * e[1] + e[2]) / h**2, abs=1e-6
    )


@pytest.mark.parametrize("d", [2, 3, 5])
def test_invariance_under_rotations(d):
    landscape, mu, xi = random_landscape(d, "gelu", 7, beta=1.3)
    q, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(d, d)))
    p = landscape.perceptron
    turned = al.Landscape(
        landscape.attention,
        al.Perceptron(p.directions @ q.T, p.weights, p.biases, activation="gelu"),
    )
    nu = al.Measure(mu.points @ q.T, mu.masses)
    assert turned.energy(nu) == pytest.approx(landscape.energy(mu), rel=1e-13)
    np.testing.assert_allclose(turned.gradient(nu), landscape.gradient(mu) @ q.T, atol=1e-13)
    np.testing.assert_allclose(turned.spectrum(nu), landscape.spectrum(mu), atol=1e-12)


def test_B1_extremal_energies():
    for beta in (0.5, 3.0):
        pure = al.Landscape(al.Attention(beta))
        assert pure.energy(al.Measure([[0.0, 1.0]])) == pytest.approx(np.exp(beta) / (2 * beta))
        ring = al.Measure.from_angles(np.arange(64) * (2 * np.pi / 64))
        lam = al.Attention(beta).eigenvalues(2, 0)[0]
        assert pure.energy(ring) == pytest.approx(lam / (2 * beta), rel=1e-14)


def test_rotation_is_a_zero_mode_of_pure_attention():
    pure = al.Landscape(al.Attention(2.0))
    mu = al.Measure.uniform(5, 3, rng=1)
    turn = np.cross([0.3, -1.0, 0.5], mu.points)
    assert pure.hessian_form(mu, turn) == pytest.approx(
        -np.sum(mu.masses * np.sum(pure.gradient(mu) * _bend(turn, mu), axis=1)), abs=1e-12
    )
    # at a stationary measure the form itself vanishes
    ring = al.Measure.from_angles(np.arange(7) * (2 * np.pi / 7))
    tangent = al.sphere.tangent_frames(ring.points)[:, 0]
    assert pure.hessian_form(ring, tangent) == pytest.approx(0, abs=1e-13)


def _bend(turn, mu):
    # a rotation curves away from the geodesic: its tangential acceleration
    axis = np.array([0.3, -1.0, 0.5])
    acceleration = np.cross(axis, turn)
    return al.sphere.tangent_project(mu.points, acceleration)


def test_R1_condition_just_above_its_threshold():
    # v'' = 2 e^beta + 2 kappa on the support makes the point strictly stable with kappa
    beta, kappa = 1.0, 0.1
    weight = (np.exp(beta) + kappa) / 1.0
    perceptron = al.Perceptron([[1.0, 0.0]], [-weight], activation="identity")
    mu = al.Measure.from_angles([0.0, np.pi])  # v = -w cos^2, v'' = 2 w at both atoms
    landscape = al.Landscape(al.Attention(beta), perceptron)
    assert np.linalg.norm(landscape.gradient(mu)) < 1e-14
    assert landscape.spectrum(mu)[0] >= kappa


def test_softmax_field_is_the_layers_average():
    mu = al.Measure.uniform(6, 3, rng=2)
    landscape = al.Landscape(al.Attention(1.7), al.Perceptron.random(3, activation="gelu", rng=1))
    weights = np.exp(1.7 * mu.points @ mu.points.T)
    average = weights @ mu.points / weights.sum(axis=1, keepdims=True)
    expected = al.sphere.tangent_project(mu.points, average) + landscape.perceptron.drift(mu.points)
    found = landscape.gradient(mu, normalization="softmax")
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize(
    ("n", "beta", "rho", "plain", "softmax"),
    [(5, 2.0, 0.3, 1.1224251810405536, 0.38236170581454548),
     (10, 4.0, -0.05, 0.094563401980506905, 0.015260351296133882)],
)  # fmt: skip
def test_B4_equiangular_rates(n, beta, rho, plain, softmax):
    gram = (1 - rho) * np.eye(n) + rho
    points = al.sphere.project(np.linalg.cholesky(gram))
    landscape, mu = al.Landscape(al.Attention(beta)), al.Measure(points)
    for normalization, expected in (("unnormalized", plain), ("softmax", softmax)):
        field = landscape.gradient(mu, normalization=normalization)
        rate = field[0] @ points[1] + points[0] @ field[1]
        assert rate == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("d", [2, 3, 10])
def test_memory_stays_linear(d):
    n = 20_000
    landscape = al.Landscape(al.Attention(9.0, log_scale=-9.0), al.Perceptron.random(d, rng=0))
    mu = al.Measure.uniform(n, d, rng=1)
    if d == 10:  # quadratic time: few targets are enough to see the tiles
        mu = al.Measure(mu.points)
        targets = mu.points[:2000]
    else:
        targets = mu.points
    landscape.variations(mu, targets[:1], 1)  # imports
    tracemalloc.start()
    landscape.variations(mu, targets, 1)
    if d < 10:
        landscape.energy(mu)
        landscape.hessian_form(mu, al.sphere.tangent_frames(mu.points)[:, 0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6  # an n-by-n array would take 3.2 GB


def test_import_is_light():
    code = "import sys, attention_landscape; print([m for m in sys.modules if m in "
    code += "('matplotlib', 'ducc0', 'mpmath', 'joblib', 'scipy.optimize', 'scipy.integrate')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_matrix_energies_scale():
    relu = neurons("relu")
    mu = al.Measure.uniform(5, 2, rng=0)
    one = al.Landscape(al.Attention(2.0), relu)
    two = al.Landscape(
        al.Attention(matrix=2 * np.eye(2)), al.Perceptron(relu.directions, 2 * relu.weights)
    )
    assert two.energy(mu) == pytest.approx(2 * one.energy(mu), rel=1e-13)
    np.testing.assert_allclose(two.gradient(mu), 2 * one.gradient(mu), atol=1e-13)
