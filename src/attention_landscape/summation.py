"""Sums of the attention kernel, the one hard numerical kernel of the package.

For targets ``x`` and sources ``(y, m)`` these are the sums over ``j`` of ``m_j e^{x . z_j + s}``,
with ``z_j = beta y_j`` (or ``B y_j``), and their first and second derivatives in ``x`` on the
sphere. Three methods give the same numbers: dense tiles, for any dimension and any ``z``;
Fourier-Bessel moments on the circle; spherical harmonics on ``S^2``. The cost of the last two is
linear in the number of points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import _threads
from ._checks import Array
from ._circle import fourier_modes, fourier_sums
from ._harmonics import harmonic_degree, harmonic_sums, library

__all__ = [
    "dense_source_derivative",
    "dense_sums",
    "fourier_modes",
    "fourier_sums",
    "harmonic_degree",
    "harmonic_sums",
    "kernel_sums",
    "on_sphere",
]

#: Entries of one dense tile, at most: 512 kB of float64, which stays in the cache.
TILE = 1 << 16

#: Part of the peak below which a value counts as small: see ``relative``.
SMALL = 1e-4


def kernel_sums(
    targets: Array,
    sources: Array,
    masses: Array,
    beta: float,
    *,
    log_scale: float = 0.0,
    order: int = 0,
    accuracy: float = 1e-12,
    relative: bool = False,
    last: bool = False,
) -> tuple[Array, ...]:
    """Sum ``m_j e^{beta x . y_j + log_scale}`` over the sources, with derivatives in ``x`` (S4).

    The method is chosen by the numbers of points, the dimension and ``beta``.

    Parameters
    ----------
    targets : (t, d) array
        Unit rows. Cheaper when it is the same object as ``sources``.
    sources : (n, d) array
        Unit rows.
    masses : (n,) array
        Of any sign.
    beta : float
        Inverse temperature, positive.
    log_scale : float
        Logarithm of a factor of the kernel.
    order : {0, 1, 2}
        How many derivatives.
    accuracy : float
        Bound of the error, relative to the peak ``e^{beta + log_scale} sum |m|`` (and to
        ``max(1, beta)^{order/2}`` times this for the derivatives), above rounding.
    relative : bool
        With masses ``>= 0``: keep value and gradient accurate relative to the value too, as a
        softmax needs. Targets whose value is below ``1e-4`` of the peak are summed densely, so
        that the error relative to the value is at most ``1e4`` times ``accuracy`` by the bound,
        and some ``1e-11`` by measurement.
    last : bool
        Return the derivative of order ``order`` alone, which is cheaper.

    Returns
    -------
    tuple of arrays
        The value ``(t,)``, then the spherical gradient ``(t, d)``, then the spherical Hessian
        ``(t, d, d)``, as many as ``order`` asks for; with ``last`` only the last of these.

    Notes
    -----
    The arguments are not checked: the public entries of the package have done it. A linear method
    is used where it is faster by measurement: on the circle from about 250 points on, on ``S^2``
    from about 500 points at ``beta = 9`` and 2500 at ``beta = 1000``, where the harmonics alone
    (degree 260) cost as much as so many points. Without ducc0, ``S^2`` is summed densely.
    Rounding is ``1e-16 beta`` for dense sums, whose exponents have it.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0]])
    >>> (value,) = kernel_sums(x, x, np.array([1.0]), 2.0)
    >>> float(value[0].round(4))
    7.3891
    """
    (t, d), n = targets.shape, sources.shape[0]
    alone = last and not relative  # relative needs the value
    if d == 2 and t * n > 45_000 + 9 * (t + n):
        modes = fourier_modes(beta, min(accuracy, 1e-15))  # more modes cost next to nothing
        sums = fourier_sums(
            targets, sources, masses, beta,
            modes=modes, log_scale=log_scale, order=order, last=alone,
        )  # fmt: skip
    elif d == 3 and _worth_harmonics(t, n, harmonic_degree(beta, accuracy)):
        degree = harmonic_degree(beta, accuracy)
        sums = harmonic_sums(
            targets, sources, masses, beta,
            degree=degree, log_scale=log_scale, order=order, accuracy=accuracy, last=alone,
        )  # fmt: skip
    else:
        sums = _dense_kernel_sums(targets, sources, masses, beta, log_scale, order)
        relative = False
    if relative:
        small = sums[0] < SMALL * np.exp(beta + log_scale) * masses.sum()
        if small.any():
            again = _dense_kernel_sums(targets[small], sources, masses, beta, log_scale, order)
            for fast, dense in zip(sums, again, strict=True):
                fast[small] = dense
    return sums[-1:] if last else sums


def _worth_harmonics(t: int, n: int, degree: int) -> bool:
    return t * n > 100_000 + 75 * degree**2 + 40 * (t + n) and library() is not None


def _dense_kernel_sums(
    targets: Array, sources: Array, masses: Array, beta: float, log_scale: float, order: int
) -> tuple[Array, ...]:
    sums = dense_sums(
        targets, beta * sources, masses,
        log_scale=log_scale, order=order, symmetric=targets is sources,
    )  # fmt: skip
    return on_sphere(targets, sums)


def on_sphere(targets: Array, sums: tuple[Array, ...]) -> tuple[Array, ...]:
    """Turn ambient derivatives at unit rows into spherical ones.

    With ``P = I - x x^T``, ``g`` the ambient gradient and ``H`` the ambient Hessian, these are
    ``P g`` and ``P H P - (x . g) P``: the last term is the curvature of the sphere.

    Parameters
    ----------
    targets : (t, d) array
        Unit rows.
    sums : tuple of arrays
        Value, ambient gradient, ambient Hessian (one to three of them).

    Returns
    -------
    tuple of arrays
        Value, spherical gradient, spherical Hessian.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0]])
    >>> on_sphere(x, (np.zeros(1), np.array([[1.0, 2.0]])))[1]
    array([[1., 0.]])
    """
    result = [sums[0]]
    if len(sums) > 1:
        radial = np.einsum("ij,ij->i", targets, sums[1])
        result.append(sums[1] - radial[:, None] * targets)
    if len(sums) > 2:
        projector = np.eye(targets.shape[1]) - targets[:, :, None] * targets[:, None, :]
        hessian = projector @ sums[2] @ projector - radial[:, None, None] * projector
        result.append(hessian)
    return tuple(result)


def dense_sums(
    targets: Array,
    exponents: Array,
    masses: Array,
    *,
    log_scale: float = 0.0,
    order: int = 0,
    symmetric: bool = False,
) -> tuple[Array, ...]:
    """Sum ``m_j e^{x . z_j + log_scale}`` tile by tile, with ambient derivatives in ``x``.

    Parameters
    ----------
    targets : (t, d) array
        Points.
    exponents : (n, d) array
        The vectors ``z_j``, of any length.
    masses : (n,) array
        Of any sign.
    log_scale : float
        Logarithm of a factor of the kernel.
    order : {0, 1, 2}
        How many derivatives.
    symmetric : bool
        Says that ``x_i . z_j = x_j . z_i``: each exponential is then used twice.

    Returns
    -------
    tuple of arrays
        Sums of ``m e``, ``m e z`` and ``m e z z^T``: shapes ``(t,)``, ``(t, d)``, ``(t, d, d)``.

    Notes
    -----
    One product and one exponential a tile, in place, in two threads where it is worth it. No
    array is larger than a tile but those that are returned and the ``O(n d^order)`` columns that
    the tiles multiply.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0]])
    >>> dense_sums(x, 2 * x, np.array([1.0]), log_scale=-2.0, order=1)[1]
    array([[2., 0.]])
    """
    (t, d), n = targets.shape, exponents.shape[0]
    columns = [masses[:, None]]
    if order > 0:
        columns.append(masses[:, None] * exponents)
    if order > 1:
        columns.append((columns[1][:, :, None] * exponents[:, None, :]).reshape(n, d * d))
    right = np.concatenate(columns, axis=1)
    # log_scale goes into the product: x . z + s = (x, 1) . (z, s)
    left = np.concatenate([targets, np.ones((t, 1))], axis=1)
    lifted = np.concatenate([exponents, np.full((n, 1), log_scale)], axis=1)
    side = _side(max(d + 1, right.shape[1]))

    def rows(starts: Sequence[int]) -> Array:
        total = np.zeros((t, right.shape[1]))
        buffer = np.empty(side * side)
        for top in starts:
            i = slice(top, top + side)
            for start in range(top if symmetric else 0, n, side):
                j = slice(start, start + side)
                tile = buffer[: left[i].shape[0] * lifted[j].shape[0]]
                tile = tile.reshape(left[i].shape[0], -1)
                np.matmul(left[i], lifted[j].T, out=tile)
                np.exp(tile, out=tile)
                total[i] += tile @ right[j]
                if symmetric and start > top:
                    total[j] += tile.T @ right[i]
        return total

    first, *rest = _threads.share(rows, range(0, t, side), worth=t * n > 1 << 20)
    total = sum(rest, start=first)
    result: list[Array] = [total[:, 0]]
    if order > 0:
        result.append(total[:, 1 : d + 1])
    if order > 1:
        result.append(total[:, d + 1 :].reshape(t, d, d))
    return tuple(result)


def dense_source_derivative(
    targets: Array, exponents: Array, moved: Array, masses: Array, *, log_scale: float = 0.0
) -> Array:
    """Change of the ambient gradient of `dense_sums` when the ``z_j`` move with given velocities.

    Parameters
    ----------
    targets : (t, d) array
        Points.
    exponents, moved : (n, d) arrays
        The vectors ``z_j`` and their velocities ``w_j``.
    masses : (n,) array
        Of any sign.
    log_scale : float
        Logarithm of a factor of the kernel.

    Returns
    -------
    (t, d) array
        Sums of ``m_j e^{x . z_j + log_scale} (w_j + (x . w_j) z_j)``.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0]])
    >>> dense_source_derivative(x, x, np.array([[0.0, 1.0]]), np.ones(1), log_scale=-1.0)
    array([[0., 1.]])
    """
    t, d = targets.shape
    side = _side(d)

    def rows(starts: Sequence[int]) -> Array:
        total = np.zeros((t, d))
        for top in starts:
            x = targets[top : top + side]
            for start in range(0, exponents.shape[0], side):
                j = slice(start, start + side)
                kernel = x @ exponents[j].T
                kernel += log_scale
                np.exp(kernel, out=kernel)
                kernel *= masses[j]
                total[top : top + side] += kernel @ moved[j]
                kernel *= x @ moved[j].T
                total[top : top + side] += kernel @ exponents[j]
        return total

    worth = t * exponents.shape[0] > 1 << 20
    first, *rest = _threads.share(rows, range(0, t, side), worth=worth)
    return sum(rest, start=first)


def _side(width: int) -> int:
    """Side of a square tile: products of ``width`` columns stay on the thread, tiles in cache."""
    most = min(TILE, _threads.PRODUCT // width)
    return max(48, int(np.sqrt(most)) // 16 * 16)
