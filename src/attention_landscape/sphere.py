"""The unit sphere: project, exp, log, distance, retract, frames, samples, angles on the circle.

Points are unit rows of arrays ``(n, d)``; tangent vectors are rows orthogonal to their point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._checks import Array, array, integer, tangent_rows, unit_rows


def project(vectors: ArrayLike) -> Array:
    """Divide each row by its length: the nearest point of the sphere (layer norm, S1).

    Parameters
    ----------
    vectors : (n, d) array
        Rows that are not zero.

    Returns
    -------
    (n, d) array
        Unit rows.

    Raises
    ------
    ValueError
        If a row is zero, or an entry is not finite.

    Examples
    --------
    >>> project([[3.0, 4.0]])
    array([[0.6, 0.8]])
    """
    rows = array("vectors", vectors, ndim=2)
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if rows.shape[1] == 0 or not (largest > 0).all():
        raise ValueError("vectors must have rows that are not zero: a zero row has no direction")
    rows = rows / largest  # no overflow or underflow in the norm
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def tangent_project(points: ArrayLike, vectors: ArrayLike) -> Array:
    """Remove the normal part of each row: ``P_x v = v - (x . v) x`` (S2).

    Parameters
    ----------
    points : (n, d) array
        Unit rows.
    vectors : (n, d) array
        One ambient vector for each point.

    Returns
    -------
    (n, d) array
        Tangent vectors.

    Raises
    ------
    ValueError
        On wrong shapes, points that are not unit, or entries that are not finite.

    Examples
    --------
    >>> tangent_project([[1.0, 0.0]], [[2.0, 3.0]])
    array([[0., 3.]])
    """
    x = unit_rows("points", points)
    v = array("vectors", vectors, ndim=2)
    if v.shape != x.shape:
        raise ValueError(f"vectors must have shape {x.shape}, got shape {v.shape}")
    return _tangent(x, v)


def _tangent(x: Array, v: Array) -> Array:
    return v - np.einsum("ij,ij->i", x, v)[:, None] * x


def exp(points: ArrayLike, vectors: ArrayLike) -> Array:
    """Follow the geodesic from each point with the given velocity for unit time.

    Along these curves the energy is differentiated, once in S4 and twice in S5.

    Parameters
    ----------
    points : (n, d) array
        Unit rows.
    vectors : (n, d) array
        Tangent vectors.

    Returns
    -------
    (n, d) array
        ``cos|v| x + sin|v| v/|v|``, unit rows.

    Raises
    ------
    ValueError
        On wrong shapes, points that are not unit, or vectors that are not tangent.

    Examples
    --------
    >>> exp([[1.0, 0.0]], [[0.0, np.pi / 2]]).round(12)
    array([[0., 1.]])
    """
    x = unit_rows("points", points)
    return _exp(x, tangent_rows("vectors", vectors, x))


def _exp(x: Array, v: Array) -> Array:
    t = np.linalg.norm(v, axis=1, keepdims=True)
    y = np.cos(t) * x + np.sinc(t / np.pi) * v
    return y / np.linalg.norm(y, axis=1, keepdims=True)


def log(points: ArrayLike, targets: ArrayLike) -> Array:
    """Return the tangent vector at each point whose ``exp`` is the target.

    Parameters
    ----------
    points, targets : (n, d) arrays
        Unit rows; no pair may be antipodal.

    Returns
    -------
    (n, d) array
        Tangent vectors of length ``distance(points, targets)``.

    Raises
    ------
    ValueError
        If a pair is antipodal: the shortest geodesic is not unique.

    Examples
    --------
    >>> log([[1.0, 0.0]], [[0.0, 1.0]]).round(4)
    array([[0.    , 1.5708]])
    """
    x = unit_rows("points", points)
    y = unit_rows("targets", targets)
    _same_shape(x, y)
    if np.any(np.linalg.norm(x + y, axis=1) < 1e-12):
        raise ValueError("targets must not be antipodal to points: the geodesic is not unique")
    return _log(x, y)


def _log(x: Array, y: Array) -> Array:
    # The tangent part of y is that of y - x, or of y + x: the smaller one cancels less.
    side = np.where(np.einsum("ij,ij->i", x, y) >= 0, 1.0, -1.0)
    v = _tangent(x, y - side[:, None] * x)
    s = np.linalg.norm(v, axis=1)
    angle = _angle(x, y)
    factor = np.divide(angle, s, out=np.ones_like(s), where=s > 0)
    return v * factor[:, None]


def distance(points: ArrayLike, targets: ArrayLike) -> Array:
    """Return the geodesic distance of each pair of rows, in radians.

    Parameters
    ----------
    points, targets : (n, d) arrays
        Unit rows.

    Returns
    -------
    (n,) array
        Angles in ``[0, pi]``, accurate also for close and for nearly antipodal pairs.

    Raises
    ------
    ValueError
        On wrong shapes, rows that are not unit, or entries that are not finite.

    Examples
    --------
    >>> distance([[1.0, 0.0]], [[-1.0, 0.0]])
    array([3.14159265])
    """
    x = unit_rows("points", points)
    y = unit_rows("targets", targets)
    _same_shape(x, y)
    return _angle(x, y)


def _angle(x: Array, y: Array) -> Array:
    # arccos(x.y) loses half the digits near 0 and pi; half-chords do not.
    return 2 * np.arctan2(np.linalg.norm(x - y, axis=1), np.linalg.norm(x + y, axis=1))


def retract(points: ArrayLike, vectors: ArrayLike) -> Array:
    """Step along the vector and divide by the length: ``(x + v)/|x + v|``, a first-order ``exp``.

    Parameters
    ----------
    points : (n, d) array
        Unit rows.
    vectors : (n, d) array
        Tangent vectors.

    Returns
    -------
    (n, d) array
        Unit rows.

    Raises
    ------
    ValueError
        On wrong shapes, points that are not unit, or vectors that are not tangent.

    Examples
    --------
    >>> retract([[1.0, 0.0]], [[0.0, 1.0]]).round(4)
    array([[0.7071, 0.7071]])
    """
    x = unit_rows("points", points)
    v = tangent_rows("vectors", vectors, x)
    return project(x + v)


def uniform(n: int, d: int, *, rng: Any = None) -> Array:
    """Draw independent uniform points.

    Parameters
    ----------
    n : int
        Number of points, at least 1.
    d : int
        Dimension of the ambient space, at least 2.
    rng : None, int or numpy.random.Generator
        Source of randomness; an int is a seed.

    Returns
    -------
    (n, d) array
        Unit rows.

    Raises
    ------
    ValueError
        If ``n`` or ``d`` is not an integer of the allowed size.

    Examples
    --------
    >>> uniform(5, 3, rng=0).shape
    (5, 3)
    """
    n = integer("n", n, minimum=1)
    d = integer("d", d, minimum=2)
    return project(np.random.default_rng(rng).normal(size=(n, d)))


def tangent_frames(points: ArrayLike) -> Array:
    """Return an orthonormal basis of each tangent space.

    On the circle the basis is the unit vector of increasing angle. In higher dimension it is
    the image of the last ``d - 1`` axes under a Householder reflection of the first axis to
    the point.

    Parameters
    ----------
    points : (n, d) array
        Unit rows.

    Returns
    -------
    (n, d - 1, d) array
        ``frames[i]`` has orthonormal rows, orthogonal to ``points[i]``.

    Raises
    ------
    ValueError
        On wrong shapes, rows that are not unit, or entries that are not finite.

    Examples
    --------
    >>> tangent_frames([[0.0, 1.0]])
    array([[[-1.,  0.]]])
    """
    x = unit_rows("points", points)
    n, d = x.shape
    if d == 2:
        return np.stack([-x[:, 1], x[:, 0]], axis=1)[:, None, :]
    # Reflect e_1 to -sign(x_1) x: the vector e_1 + sign(x_1) x is never small.
    sign = np.where(x[:, 0] >= 0, 1.0, -1.0)
    w = sign[:, None] * x
    w[:, 0] += 1.0
    square = np.einsum("ij,ij->i", w, w)
    frames = np.broadcast_to(np.eye(d)[1:], (n, d - 1, d)).copy()
    return frames - (2 / square)[:, None, None] * w[:, 1:, None] * w[:, None, :]


def to_angles(points: ArrayLike) -> Array:
    """Return the angles in ``[0, 2 pi)`` of points on the circle.

    Parameters
    ----------
    points : (n, 2) array
        Unit rows.

    Returns
    -------
    (n,) array
        Angles in radians.

    Raises
    ------
    ValueError
        If the points are not on the circle.

    Examples
    --------
    >>> to_angles([[0.0, -1.0]]).round(4)
    array([4.7124])
    """
    x = unit_rows("points", points, d=2)
    angles = np.mod(np.arctan2(x[:, 1], x[:, 0]), 2 * np.pi)
    return np.where(angles < 2 * np.pi, angles, 0.0)  # mod(-1e-17) rounds up to 2 pi


def from_angles(angles: ArrayLike) -> Array:
    """Return the points ``(cos t, sin t)`` of the circle.

    Parameters
    ----------
    angles : (n,) array
        Angles in radians.

    Returns
    -------
    (n, 2) array
        Unit rows.

    Raises
    ------
    ValueError
        On wrong shape or entries that are not finite.

    Examples
    --------
    >>> from_angles([0.0])
    array([[1., 0.]])
    """
    t = array("angles", angles, ndim=1)
    return np.stack([np.cos(t), np.sin(t)], axis=1)


def _same_shape(x: Array, y: Array) -> None:
    if x.shape != y.shape:
        raise ValueError(f"targets must have shape {x.shape}, got shape {y.shape}")
