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
    scale = np.abs(matrix).max() + np.abs(linear).max()
    while True:
        face = np.flatnonzero(m > 0)
        start = m[face]
        step, bounded = _face_step(matrix[np.ix_(face, face)], (matrix @ m + linear)[face], scale)
        result = np.zeros_like(m)
        falling = np.flatnonzero(step < 0)
        ratio = start[falling] / -step[falling]
        length = float(ratio.min()) if falling.size else np.inf
        if bounded and length > 1:
            new = start + step
        elif np.isinf(length):
            return m
        else:
            new = start + length * step
            new[falling[ratio <= length * (1 + 1e-12)]] = 0.0
            new[new < 0] = 0.0
        result[face] = new / new.sum()
        m = result
        if bounded and length > 1:
            return m


def _face_step(matrix: Array, gradient: Array, scale: float) -> tuple[Array, bool]:
    """Step to the minimiser on the plane of a face, or a direction in which it falls forever.

    On the null space of the matrix the energy is linear: where it falls, there is no minimiser
    on the plane, and the walk must go on to the boundary of the face.
    """
    centred = matrix - matrix.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    w, q = np.linalg.eigh((centred + centred.T) / 2)
    slope = q.T @ (gradient - gradient.mean())
    null = w <= 1e-14 * max(np.abs(w).max(), 1e-300)
    if np.abs(slope[null]).max(initial=0.0) > 2e-15 * scale * np.sqrt(w.size):
        direction = -q[:, null] @ slope[null]
        return direction - direction.mean(), False
    step = -q[:, ~null] @ (slope[~null] / w[~null])
    return step - step.mean(), True
