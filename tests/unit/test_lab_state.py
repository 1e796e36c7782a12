"""The widget's state: what Python sets and reads, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import attention_landscape as al


def test_the_landscape_is_the_one_that_is_shown():
    for d in (2, 3):
        perceptron = al.Perceptron.random(d, activation="softplus", rng=3)
        lab = al.lab.Lab(perceptron, beta=3.0)
        assert lab.landscape.attention.log_scale == -3.0
        mu = al.Measure.uniform(20, d, rng=1)
        expected = al.Landscape(al.Attention(3.0, log_scale=-3.0), perceptron)
        assert lab.landscape.energy(mu) == pytest.approx(expected.energy(mu), abs=1e-14)
        lab.beta = 5.0
        assert lab.landscape.attention.beta == 5.0


def test_without_neurons_it_is_pure_attention():
    lab = al.lab.Lab(directions=[], weights=[])
    assert lab.landscape.perceptron is None


def test_measure_in_and_out():
    lab = al.lab.Lab()
    with pytest.raises(ValueError, match="not known before the lab is shown"):
        lab.measure  # noqa: B018
    for d in (2, 3):
        mu = al.Measure.uniform(30, d, rng=2)
        lab.measure = mu
        assert lab.d == d
        np.testing.assert_allclose(lab.measure.points, mu.points, atol=1e-15)
    lab.tokens = [1.0, 0.0, 0.0]  # as the browser reports
    np.testing.assert_allclose(lab.measure.points, [[1.0, 0.0, 0.0]])


def test_state_reaches_the_browser():
    """What is synchronised is what lab.js asks for."""
    state = al.lab.Lab(beta=2.0).get_state()
    source = al.lab.Lab._esm
    text = str(source)
    defaults = text[text.index("export const DEFAULTS = {") : text.index("/** Scenes")]
    for name in ("beta", "direction", "directions", "weights", "start", "tokens", "speed"):
        assert f"\n  {name}: " in defaults and name in state


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: al.lab.Lab(beta=-1.0), "beta must be a positive"),
        (lambda: al.lab.Lab(beta=1e-9), "beta must be between 0.01 and 1000"),
        (lambda: al.lab.Lab(d=4), "d must be 2 or 3"),
        (lambda: al.lab.Lab(n=0), "n must be between 1 and 2000"),
        (lambda: al.lab.Lab(seed=-1), "seed must be"),
        (lambda: al.lab.Lab(activation="swish"), "activation must be one of"),
        (lambda: al.lab.Lab(direction="up"), "direction must be"),
        (lambda: al.lab.Lab(normalization="none"), "normalization must be"),
        (lambda: al.lab.Lab(betta=1.0), "no argument 'betta'"),
        (lambda: al.lab.Lab("relu"), "perceptron must be a Perceptron"),
        (lambda: al.lab.Lab(al.Perceptron(np.eye(4), np.ones(4))), "dimension 2 or 3"),
        (lambda: al.lab.Lab(al.Perceptron([[1.0, 0.0]], [1.0], [0.5])), "no biases"),
        (lambda: al.lab.Lab(al.Perceptron([[2.0, 0.0]], [1.0])), "length one"),
        (lambda: setattr(al.lab.Lab(), "measure", [0.0]), "must be a Measure"),
        (lambda: setattr(al.lab.Lab(), "measure", al.Measure.uniform(700, 3, rng=0)), "n <= 600"),
        (
            lambda: setattr(al.lab.Lab(), "measure", al.Measure.from_angles([0, 1], [0.3, 0.7])),
            "equal masses",
        ),
    ],
)
def test_bad_state(make, words):
    with pytest.raises(ValueError, match=words):
        make()
