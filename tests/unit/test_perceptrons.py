"""Activations and potentials against quadrature, maximisation and random great circles."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from seed777 import DIRECTIONS, WEIGHTS

import attention_landscape as al
from attention_landscape.perceptrons import ACTIVATIONS

names = pytest.mark.parametrize("name", list(ACTIVATIONS))


def exact_sigma(name, s):
    s = mp.mpf(s)
    return {
        "relu": lambda: max(s, mp.mpf(0)),
        "leaky_relu": lambda: s if s > 0 else mp.mpf(0.01) * s,
        "identity": lambda: s,
        "gelu": lambda: s * mp.ncdf(s),
        "tanh": lambda: mp.tanh(s),
        "softplus": lambda: mp.log1p(mp.exp(s)),
    }[name]()


@names
def test_primitive_is_twice_the_integral(name):
    activation = ACTIVATIONS[name]
    assert float(activation.primitive(np.array(0.0))) == pytest.approx(0, abs=1e-15)
    for s in (-30.0, -3.0, -0.7, -1e-3, 1e-3, 0.5, 2.0, 9.0, 40.0):
        with mp.workdps(30):
            points = [0, *(mp.mpf(s) * i / 8 for i in range(1, 9))]
            exact = 2 * mp.quad(lambda t: exact_sigma(name, t), points)
            sigma = float(exact_sigma(name, s))
        assert float(activation.primitive(np.array(s))) == pytest.approx(
            float(exact), rel=1e-12, abs=2e-15
        )
        assert float(activation.function(np.array(s))) == pytest.approx(
            sigma, rel=1e-13, abs=1e-300
        )


@names
def test_derivative_and_lipschitz_constant(name):
    activation = ACTIVATIONS[name]
    s = np.linspace(-6, 6, 4000)
    h = 1e-5
    numeric = (activation.function(s + h) - activation.function(s - h)) / (2 * h)
    np.testing.assert_allclose(activation.derivative(s), numeric, atol=2e-9)
    fine = np.linspace(-10, 40, 500_001)
    largest = np.abs(activation.derivative(fine)).max()
    assert largest <= activation.lipschitz + 1e-15
    assert largest == pytest.approx(activation.lipschitz, abs=1e-8)


def test_E10_gelu_constants():
    gelu = ACTIVATIONS["gelu"]
    assert gelu.lipschitz == pytest.approx(1.128904145185154786340744, rel=1e-15)
    assert float(gelu.derivative(np.sqrt(2.0))) == pytest.approx(gelu.lipschitz, rel=1e-15)
    unit = np.linspace(-1, 1, 20_001)
    assert gelu.derivative(unit).max() == pytest.approx(1.083315470587686298, rel=1e-14)


def test_large_arguments_do_not_overflow():
    s = np.array([-1e5, -800.0, 800.0, 1e5])
    for activation in ACTIVATIONS.values():
        for function in (activation.function, activation.derivative, activation.primitive):
            assert np.isfinite(function(s)).all(), activation.name


@names
@pytest.mark.parametrize("d", [2, 3, 5])
def test_curvature_bound_holds_on_great_circles(name, d):
    rng = np.random.default_rng(d)
    for _ in range(20):
        k = int(rng.integers(1, 4))
        perceptron = al.Perceptron(
            rng.normal(size=(k, d)), rng.normal(size=k), rng.normal(size=k), activation=name
        )
        x = al.sphere.uniform(200, d, rng=rng)
        frames = al.sphere.tangent_frames(x)
        bends = frames @ perceptron.hessian(x) @ frames.transpose(0, 2, 1)
        assert np.abs(np.linalg.eigvalsh(bends)).max() / 2 <= perceptron.curvature_bound * (
            1 + 1e-12
        )


def test_curvature_bound_is_sharp_without_biases():
    perceptron = al.Perceptron([[1.0, 0.0]], [1.0])
    assert perceptron.curvature_bound == 1
    assert abs(perceptron.hessian([[0.0, 1.0 - 0.0]])[0, 0, 0]) / 2 == 0.5  # the mean at the kink
    point = al.sphere.from_angles([np.pi / 2 - 1e-9])
    frame = al.sphere.tangent_frames(point)[0, 0]
    assert frame @ perceptron.hessian(point)[0] @ frame / 2 == pytest.approx(1, abs=1e-8)


@names
@pytest.mark.parametrize("d", [2, 3, 5])
def test_gradient_and_hessian_are_derivatives(name, d):
    rng = np.random.default_rng(10 * d)
    perceptron = al.Perceptron(
        rng.normal(size=(3, d)), rng.normal(size=3), rng.normal(size=3), activation=name
    )
    x = al.sphere.uniform(30, d, rng=rng)
    if name in ("relu", "leaky_relu"):  # away from kinks, where second derivatives jump
        x = x[np.abs(perceptron._preactivations(x)).min(axis=1) > 0.05]
    xi = al.sphere.tangent_project(x, rng.normal(size=x.shape))
    xi /= np.linalg.norm(xi, axis=1, keepdims=True)
    h = 1e-3
    steps = [perceptron.potential(al.sphere.exp(x, t * h * xi)) for t in (-2, -1, 0, 1, 2)]
    first = (steps[0] - 8 * steps[1] + 8 * steps[3] - steps[4]) / (12 * h)
    second = (-steps[0] + 16 * steps[1] - 30 * steps[2] + 16 * steps[3] - steps[4]) / (12 * h**2)
    np.testing.assert_allclose(np.sum(xi * perceptron.gradient(x), axis=1), first, atol=1e-9)
    along = np.einsum("id,ide,ie->i", xi, perceptron.hessian(x), xi)
    np.testing.assert_allclose(along, second, atol=1e-7)
    np.testing.assert_allclose(perceptron.drift(x), perceptron.gradient(x) / 2)
    np.testing.assert_allclose(np.sum(perceptron.gradient(x) * x, axis=1), 0, atol=1e-14)


def test_random_draws_are_the_printed_neurons():
    perceptron = al.Perceptron.random(2, rng=777)
    np.testing.assert_array_equal(perceptron.directions.round(5), DIRECTIONS)
    np.testing.assert_array_equal(perceptron.weights.round(5), WEIGHTS)
    scaled = al.Perceptron.random(3, k=5, scale=0.0, rng=1)
    assert scaled.k == 5 and (scaled.weights == 0).all() and "relu" in repr(scaled)


def test_inactive_sector():
    perceptron = al.Perceptron([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], [0.0, -2.0])
    np.testing.assert_array_equal(perceptron.inactive([[-1.0, 0.0], [1.0, 0.0]]), [True, False])


def test_X7_even_relu_pairs_are_quadratic():
    # per line, orientation times w |a|^2 sums to zero: the potential is a quadratic form
    a = np.array([[1.0, 2.0], [-1.0, -2.0], [0.5, -1.0], [1.0, -2.0]])
    w = np.array([0.7, 0.7, 0.8, -0.2])
    pair = al.Perceptron(a, w)
    x = al.sphere.uniform(50, 2, rng=0)
    form = np.sum(w * (x @ a.T) ** 2, axis=1) / 2
    np.testing.assert_allclose(pair.potential(x), form, atol=1e-14)
