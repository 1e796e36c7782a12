"""Maximisers: all critical points of the potential on the circle, Diracs as maximisers (P1)."""

from __future__ import annotations

import numpy as np
import pytest
from seed777 import neurons

import attention_landscape as al


def test_P1_argmax_of_relu():
    found = al.maximize(al.Landscape(al.Attention(1.0), neurons("relu")))
    angle = float(al.sphere.to_angles(found.point[None])[0])
    assert angle == pytest.approx(2.81602731136384744047, abs=1e-13)
    assert found.values[0] == pytest.approx(0.542174417883084540654, abs=1e-14)
    assert found.energy == pytest.approx(1.63022812317106488800738, rel=1e-14)
    angles = al.sphere.to_angles(found.all_points)
    assert np.abs(angles - 4.38682363815874405970).min() < 1e-13


@pytest.mark.parametrize(
    ("beta", "energy"), [(0.25, 2.83913804231702523847), (2.0, 2.11835123367420482713)]
)
def test_P1_maximal_energy(beta, energy):
    landscape = al.Landscape(al.Attention(beta), neurons("relu"))
    found = al.maximize(landscape)
    assert found.energy == pytest.approx(energy, rel=1e-14)
    assert landscape.energy(al.Measure(found.point[None])) == pytest.approx(energy, rel=1e-14)
    for seed in range(50):  # nothing beats it
        mu = al.Measure.uniform(1 + seed % 5, 2, rng=seed)
        assert landscape.energy(mu) <= energy * (1 + 1e-14)


@pytest.mark.parametrize(
    "activation", ["relu", "gelu", "tanh", "softplus", "leaky_relu", "identity"]
)
def test_all_critical_points_on_the_circle(activation):
    perceptron = al.Perceptron.random(2, k=5, activation=activation, scale=2.0, rng=4)
    found = al.maximize(al.Landscape(al.Attention(1.0), perceptron))
    slopes = np.linalg.norm(perceptron.gradient(found.all_points), axis=1)
    assert slopes.max() < 1e-13 * perceptron.weight_bound * 10
    grid = al.sphere.from_angles(np.linspace(0, 2 * np.pi, 20_001))
    assert perceptron.potential(grid).max() <= found.values[0] + 1e-14
    assert (np.diff(found.values) <= 0).all()
    if activation not in ("relu", "leaky_relu"):  # no plateaus: maxima and minima alternate
        assert len(found.all_points) % 2 == 0


def test_plateau_is_a_maximum():
    # all weights negative: v = 0 on the arc where no neuron is active, below zero elsewhere
    perceptron = al.Perceptron([[1.0, 0.0], [0.0, 1.0]], [-1.0, -2.0])
    found = al.maximize(al.Landscape(al.Attention(1.0), perceptron))
    assert found.values[0] == 0 and perceptron.inactive(found.point[None])[0]
    angle = float(al.sphere.to_angles(found.point[None])[0])
    assert angle == pytest.approx(1.25 * np.pi, abs=0.01)


def test_zero_potential_and_pure_attention():
    zero = al.Perceptron([[1.0, 0.0]], [0.0])
    assert al.maximize(al.Landscape(al.Attention(1.0), zero)).values[0] == 0
    pure = al.maximize(al.Landscape(al.Attention(1.0)), 3)
    assert pure.energy == pytest.approx(np.e / 2) and pure.point.shape == (3,)


@pytest.mark.parametrize("d", [3, 5])
def test_higher_dimension(d):
    perceptron = al.Perceptron.random(d, activation="gelu", rng=d)
    found = al.maximize(al.Landscape(al.Attention(1.0), perceptron))
    assert perceptron.potential(al.sphere.uniform(20_000, d, rng=1)).max() <= found.values[0]
    assert np.linalg.norm(perceptron.gradient(found.point[None])) < 1e-13


def test_bad_input():
    landscape = al.Landscape(al.Attention(matrix=np.eye(2)), neurons("relu"))
    with pytest.raises(ValueError, match="matrix"):
        al.maximize(landscape)
    with pytest.raises(ValueError, match="d must be given"):
        al.maximize(al.Landscape(al.Attention(1.0)))
    with pytest.raises(ValueError, match="landscape"):
        al.maximize(None)
