"""Attention's mean-field landscape: energies on the sphere, their flows and critical points.

A Transformer layer is two blocks, attention and perceptron; together they make a landscape, an
energy on measures. Flows move measures on it, and critical points are where they stop.
"""

from . import sphere
from .attention import Attention
from .landscape import Landscape
from .measures import Measure, wasserstein
from .perceptrons import Activation, Perceptron

__all__ = [
    "Measure",
    "wasserstein",
    "Activation",
    "Perceptron",
    "Attention",
    "Landscape",
    "sphere",
]
