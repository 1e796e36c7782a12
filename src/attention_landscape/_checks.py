"""Checks of arguments: each returns the cleaned value or raises a ValueError that names it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Rows must have length one up to this; they are then normalised.
UNIT_TOLERANCE = 1e-8


def number(name: str, value: Any, *, positive: bool = False) -> float:
    """Return a finite float, optionally positive."""
    rule = "a positive finite number" if positive else "a finite number"
    if isinstance(value, (bool, np.bool_, str, bytes)) or np.ndim(value) != 0:
        raise ValueError(f"{name} must be {rule}, got {_shown(value)}")
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {rule}, got {_shown(value)}") from None
    if not np.isfinite(result) or (positive and result <= 0):
        raise ValueError(f"{name} must be {rule}, got {_shown(value)}")
    return result


def integer(name: str, value: Any, *, minimum: int) -> int:
    """Return an int that is at least ``minimum``."""
    if (
        isinstance(value, (bool, np.bool_))
        or not isinstance(value, (int, np.integer))
        or value < minimum
    ):
        raise ValueError(f"{name} must be an integer >= {minimum}, got {_shown(value)}")
    return int(value)


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the allowed names."""
    names = list(allowed)
    if not isinstance(value, str) or value not in names:
        known = ", ".join(repr(n) for n in names)
        raise ValueError(f"{name} must be one of {known}, got {_shown(value)}")
    return value


def array(name: str, value: Any, *, ndim: int | None = None) -> Array:
    """Return a finite float64 array of the given number of dimensions."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "biuf":
            raise TypeError
        result = raw.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of real numbers, got {_shown(value)}") from None
    if ndim is not None and result.ndim != ndim:
        shape = {1: "(n,)", 2: "(n, d)"}.get(ndim, f"{ndim} dimensions")
        raise ValueError(f"{name} must have shape {shape}, got shape {result.shape}")
    if not np.isfinite(result).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return result


def unit_rows(name: str, value: Any, *, d: int | None = None) -> Array:
    """Return a ``(n, d)`` array of unit rows, ``n >= 1`` and ``d >= 2``."""
    points = array(name, value, ndim=2)
    if points.shape[0] == 0:
        raise ValueError(f"{name} must have at least one row, got shape {points.shape}")
    if points.shape[1] < 2:
        raise ValueError(
            f"{name} must have rows in dimension d >= 2, got shape {points.shape}; "
            "for angles on the circle use Measure.from_angles or sphere.from_angles"
        )
    if d is not None and points.shape[1] != d:
        raise ValueError(f"{name} must have rows in dimension {d}, got shape {points.shape}")
    norms = np.linalg.norm(points, axis=1)
    worst = int(np.argmax(np.abs(norms - 1.0)))
    if abs(norms[worst] - 1.0) > UNIT_TOLERANCE:
        raise ValueError(
            f"{name} must have unit rows (points on the sphere), "
            f"got |row {worst}| = {norms[worst]:.6g}; use sphere.project"
        )
    # Rows that are unit to rounding are kept bit for bit: normalising again would move them.
    off = np.abs(norms - 1.0) > 4e-16
    if off.any():
        points[off] /= norms[off, None]
    return points


def tangent_rows(name: str, value: Any, points: Array) -> Array:
    """Return a ``(n, d)`` array of vectors tangent to the sphere at the rows of ``points``."""
    vectors = array(name, value, ndim=2)
    if vectors.shape != points.shape:
        raise ValueError(f"{name} must have shape {points.shape}, got shape {vectors.shape}")
    normal = np.abs(np.einsum("ij,ij->i", vectors, points))
    size = np.linalg.norm(vectors, axis=1)
    worst = int(np.argmax(normal - UNIT_TOLERANCE * size))
    if normal[worst] > UNIT_TOLERANCE * (size[worst] + 1e-300):
        raise ValueError(
            f"{name} must have tangent rows, "
            f"got <row {worst}, point {worst}> = {normal[worst]:.3g}; use sphere.tangent_project"
        )
    return vectors


def _shown(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
