"""Exact minimisation of a convex quadratic over the probability simplex."""

from __future__ import annotations

import numpy as np

from ._checks import Array


def simplex_minimum(matrix: Array, linear: Array, masses: Array) -> Array:
    """Minimise ``m.K m / 2 + c.m`` over ``m >= 0``, ``sum m = 1``, by a primal active set.

    Parameters
    ----------
    matrix : (n, n) array
        ``K``, symmetric positive semidefinite.
    linear : (n,) array
        ``c``.
    masses : (n,) array
        A feasible start: the energy never rises above its energy.

    Returns
    -------
    (n,) array
        The minimiser, up to rounding; coordinates off the support are exactly zero.
    """
    m = masses.copy()
    scale = np.abs(matrix).max() + np.abs(linear).max()
    refused = np.zeros(m.size, dtype=bool)
    entering = -1
    for _ in range(20 * m.size + 100):
        m = _descend_faces(matrix, linear, m)
        if entering >= 0:
            # decided by the sign of masses, not by energies: a slack of 1e-9 lowers the energy
            # by 1e-18, which rounding hides
            refused[entering] = m[entering] <= 0
        slack = matrix @ m + linear
        slack -= m @ slack
        slack[(m > 0) | refused] = 0.0
        entering = int(np.argmin(slack))
        if slack[entering] >= -1e-15 * scale:
            break
        direction = -m
        direction[entering] += 1.0
        curvature = direction @ matrix @ direction
        step = 1.0 if curvature <= 0 else min(1.0, -slack[entering] / curvature)
        m = m + step * direction
    return m


def _descend_faces(matrix: Array, linear: Array, m: Array) -> Array:
    """Walk to the minimiser on the face of ``m``, to smaller faces where a mass would vanish."""
    while True:
        face = np.flatnonzero(m > 0)
        start, target = m[face], _face_minimum(matrix, linear, face)
        result = np.zeros_like(m)
        if (target > 0).all():
            result[face] = target
            return result
        falling = np.flatnonzero(target <= 0)
        ratio = start[falling] / (start[falling] - target[falling])
        new = start + ratio.min() * (target - start)
        new[falling[ratio <= ratio.min() * (1 + 1e-12)]] = 0.0
        new[new < 0] = 0.0
        result[face] = new / new.sum()
        m = result


def _face_minimum(matrix: Array, linear: Array, face: np.ndarray) -> Array:
    k = face.size
    system = np.zeros((k + 1, k + 1))
    scale = np.abs(matrix[np.ix_(face, face)]).max()
    system[:k, :k] = matrix[np.ix_(face, face)] / scale
    system[:k, k] = system[k, :k] = 1.0
    right = np.append(-linear[face] / scale, 1.0)
    solution = np.linalg.lstsq(system, right, rcond=1e-15)[0]
    return solution[:k] / solution[:k].sum()
