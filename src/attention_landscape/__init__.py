"""Attention's mean-field landscape: energies on the sphere, their flows and critical points.

A Transformer layer is two blocks, attention and perceptron; together they make a landscape, an
energy on measures. Flows move measures on it, and critical points are where they stop.
"""

from typing import Any

from . import bounds, sphere
from ._extended import ExtendedMinimum
from .attention import Attention
from .critical import (
    CriticalPoint,
    Maximum,
    Minimum,
    classify,
    maximize,
    minimize,
    minimize_extended,
    polish,
)
from .flows import Trajectory, gradient_flow, iterate_layer, layer, step
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
    "layer",
    "iterate_layer",
    "step",
    "gradient_flow",
    "Trajectory",
    "polish",
    "classify",
    "minimize",
    "minimize_extended",
    "maximize",
    "CriticalPoint",
    "Minimum",
    "ExtendedMinimum",
    "Maximum",
    "figures",
    "lab",
    "bounds",
    "sphere",
]


def __getattr__(name: str) -> Any:
    if name in ("figures", "lab"):  # matplotlib and anywidget: imported when first used
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
