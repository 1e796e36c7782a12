"""Optimal transport on the circle: the best cut of lifted quantile functions."""

from __future__ import annotations

import numpy as np

from ._checks import Array

#: Angles in ``[0, 2 pi)`` and masses.
Atoms = tuple[Array, Array]


def circle_distance(mu: Atoms, nu: Atoms, p: float) -> float:
    """Wasserstein distance of two measures on the circle: see `measures.wasserstein`."""
    a, level_a = _quantiles(mu)
    b, level_b = _quantiles(nu)

    def lifted(angles: Array, levels: Array, u: Array) -> Array:
        turns = np.floor(u)
        index = np.searchsorted(levels, u - turns, side="right")
        index = np.minimum(index, angles.size - 1)
        return angles[index] + 2 * np.pi * turns

    def cost_and_slope(shift: float) -> tuple[float, float]:
        cuts = np.concatenate([level_a, np.mod(level_b - shift, 1.0)])
        cuts.sort()
        width = np.diff(cuts, prepend=0.0)
        middle = cuts - width / 2
        gap = np.abs(lifted(a, level_a, middle) - lifted(b, level_b, middle + shift))
        cost = float(width @ gap**p)
        # Raising the shift replaces, just below each jump of nu's quantiles, the value before
        # the jump by the value after it.
        here = lifted(a, level_a, level_b - shift)
        after = np.append(b[1:], b[0] + 2 * np.pi)
        slope = float(np.sum(np.abs(here - after) ** p - np.abs(here - b) ** p))
        return cost, slope

    low, high = -1.0, 1.0
    (cost_low, slope_low), (cost_high, slope_high) = cost_and_slope(low), cost_and_slope(high)
    best = min(cost_low, cost_high)
    for step in range(200):
        if slope_low >= 0 or slope_high <= 0 or high - low < 4e-16:
            break
        # where the two tangents meet: exact once no breakpoint is left between
        meet = (cost_high - cost_low + slope_low * low - slope_high * high) / (
            slope_low - slope_high
        )
        floor = cost_low + slope_low * (meet - low)
        shift = min(max(meet, low), high) if step % 2 == 0 else (low + high) / 2
        cost, slope = cost_and_slope(shift)
        best = min(best, cost)
        if best - floor <= 1e-15 * max(best, 1e-300):
            break
        if slope < 0:
            low, cost_low, slope_low = shift, cost, slope
        else:
            high, cost_high, slope_high = shift, cost, slope
    return float(max(best, 0.0) ** (1 / p))


def _quantiles(mu: Atoms) -> tuple[Array, Array]:
    """Sorted angles of positive mass and the cumulative masses, the last exactly one."""
    angles, masses = mu
    order = np.argsort(angles, kind="stable")
    order = order[masses[order] > 0]
    levels = np.cumsum(masses[order])
    levels[-1] = 1.0
    return angles[order], np.minimum(levels, 1.0)
