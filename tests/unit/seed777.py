"""The neurons "seed-777", as printed: five decimals, used exactly."""

from __future__ import annotations

from attention_landscape import Perceptron

DIRECTIONS = [(-0.99675, 0.08061), (-0.61985, -0.78472)]
WEIGHTS = [0.63246, -0.46968]


def neurons(activation: str) -> Perceptron:
    """The two neurons, with an activation."""
    return Perceptron(DIRECTIONS, WEIGHTS, activation=activation)
