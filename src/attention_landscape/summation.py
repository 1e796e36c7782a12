"""Sums of the attention kernel, the one hard numerical kernel of the package.

For targets ``x`` and sources ``(y, m)`` these are the sums over ``j`` of ``m_j e^{x . z_j + s}``,
with ``z_j = beta y_j`` (or ``B y_j``), and their first and second derivatives in ``x`` on the
sphere. Two methods give the same numbers: dense tiles, for any dimension and any ``z``, and
Fourier-Bessel moments on the circle, whose cost is linear in the number of points.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from ._checks import Array

#: Entries of one dense tile: 1 MB of float64, which stays in the cache.
TILE = 1 << 17

#: Points of one block of the Fourier sums.
_BLOCK = 1024


def kernel_sums(
    targets: Array,
    sources: Array,
    masses: Array,
    beta: float,
    *,
    log_scale: float = 0.0,
    order: int = 0,
    accuracy: float = 1e-12,
) -> tuple[Array, ...]:
    """Sum ``m_j e^{beta x . y_j + log_scale}`` over the sources, with derivatives in ``x``.

    The method (dense tiles, or Fourier-Bessel moments on the circle) is chosen by the numbers
    of points, the dimension and ``beta``.

    Parameters
    ----------
    targets : (t, d) array
        Unit rows.
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
        Bound of the error, relative to ``e^{beta + log_scale}`` times the total ``|m|`` (and to
        ``beta^{order/2}`` times this for the derivatives), above rounding.

    Returns
    -------
    tuple of arrays
        The value ``(t,)``, then the spherical gradient ``(t, d)``, then the spherical Hessian
        ``(t, d, d)``, as many as ``order`` asks for.

    Notes
    -----
    The arguments are not checked: the public entries of the package have done it.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0]])
    >>> (value,) = kernel_sums(x, x, np.array([1.0]), 2.0)
    >>> float(value[0].round(4))
    7.3891
    """
    d = targets.shape[1]
    if d == 2:
        modes = fourier_modes(beta, accuracy)
        pairs = targets.shape[0] * sources.shape[0]
        if pairs > 8 * modes * (targets.shape[0] + sources.shape[0]):
            return fourier_sums(
                targets, sources, masses, beta, modes=modes, log_scale=log_scale, order=order
            )
    sums = dense_sums(targets, beta * sources, masses, log_scale=log_scale, order=order)
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
    targets: Array, exponents: Array, masses: Array, *, log_scale: float = 0.0, order: int = 0
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

    Returns
    -------
    tuple of arrays
        Sums of ``m e``, ``m e z`` and ``m e z z^T``: shapes ``(t,)``, ``(t, d)``, ``(t, d, d)``.

    Notes
    -----
    One product and one exponential a tile, in place. No array is larger than a tile but those
    that are returned and the ``O(n d^order)`` columns that the tiles multiply.

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
    total = np.zeros((t, right.shape[1]))
    width = min(n, 512)
    height = max(1, min(t, TILE // width))
    buffer = np.empty(height * width)
    for top in range(0, t, height):
        x = targets[top : top + height]
        for left in range(0, n, width):
            z = exponents[left : left + width]
            tile = buffer[: x.shape[0] * z.shape[0]].reshape(x.shape[0], z.shape[0])
            np.matmul(x, z.T, out=tile)
            if log_scale:
                tile += log_scale
            np.exp(tile, out=tile)
            total[top : top + height] += tile @ right[left : left + width]
    result: list[Array] = [total[:, 0]]
    if order > 0:
        result.append(total[:, 1 : d + 1])
    if order > 1:
        result.append(total[:, d + 1 :].reshape(t, d, d))
    return tuple(result)


def fourier_modes(beta: float, accuracy: float = 1e-12) -> int:
    """Return how many Fourier modes of ``e^{beta cos}`` the wanted accuracy needs.

    Parameters
    ----------
    beta : float
        Inverse temperature, positive.
    accuracy : float
        Bound of the truncation error, as for `kernel_sums`.

    Returns
    -------
    int
        The smallest ``K`` found with ``2 sum_{k > K} max(1, k/sqrt(beta))^2 I_k(beta) e^{-beta}``
        at most ``max(accuracy, 1e-15) / 10``.

    Notes
    -----
    ``e^{beta cos t} = I_0 + 2 sum_k I_k cos(k t)``, so what is left out beyond ``K`` is at most
    the sum of ``2 k^r I_k`` over ``k > K`` for the derivative of order ``r``. The ratios
    ``I_{k+1}/I_k < beta / (2 k + 2)`` and ``I_{k+1}/I_k < 1`` decrease with ``k``, so the terms
    fall off at least geometrically once they fall, and the sum is taken until it no longer
    changes.

    Examples
    --------
    >>> fourier_modes(9.0) < fourier_modes(100.0)
    True
    """
    goal = max(accuracy, 1e-15) / 10
    size = int(20 + 12 * np.sqrt(beta) + min(4 * beta, 40))
    k = np.arange(size)
    terms = 2 * special.ive(k, beta) * np.maximum(1.0, k * k / beta)
    tails = np.cumsum(terms[::-1])[::-1]  # tails[k] = sum of the terms from k on
    return max(1, int(np.argmax(tails <= goal)) - 1)


def fourier_sums(
    targets: Array,
    sources: Array,
    masses: Array,
    beta: float,
    *,
    modes: int,
    log_scale: float = 0.0,
    order: int = 0,
) -> tuple[Array, ...]:
    """Kernel sums on the circle through ``modes`` Fourier moments (L1: the lemma is the algorithm).

    Parameters
    ----------
    targets, sources, masses, beta, log_scale, order
        As for `kernel_sums`, with ``d = 2``.
    modes : int
        From `fourier_modes`.

    Returns
    -------
    tuple of arrays
        As for `kernel_sums`.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0]])
    >>> float(fourier_sums(x, x, np.array([1.0]), 2.0, modes=30)[0][0].round(4))
    7.3891
    """
    moments = np.zeros(modes, dtype=complex)
    for start in range(0, sources.shape[0], _BLOCK):
        powers = _powers(sources[start : start + _BLOCK], modes)
        moments += powers @ masses[start : start + _BLOCK]
    k = np.arange(1, modes + 1)
    bessel = special.ive(np.arange(modes + 1), beta) * np.exp(beta + log_scale)
    rows = [2 * bessel[1:] * moments.conj()]
    for _ in range(order):
        rows.append(1j * k * rows[-1])  # d/dtheta of e^{i k theta}
    coefficients = np.stack(rows)
    t = targets.shape[0]
    sums = np.empty((order + 1, t))
    for start in range(0, t, _BLOCK):
        powers = _powers(targets[start : start + _BLOCK], modes)
        sums[:, start : start + _BLOCK] = (coefficients @ powers).real
    sums[0] += bessel[0] * masses.sum()
    tangent = np.stack([-targets[:, 1], targets[:, 0]], axis=1)
    result: list[Array] = [sums[0]]
    if order > 0:
        result.append(sums[1][:, None] * tangent)
    if order > 1:
        result.append(sums[2][:, None, None] * tangent[:, :, None] * tangent[:, None, :])
    return tuple(result)


def _powers(points: Array, modes: int) -> np.ndarray:
    """``e^{i k theta}`` for k = 1..modes, by doubling: log(modes) roundings, no trigonometry."""
    powers = np.empty((modes, points.shape[0]), dtype=complex)
    powers[0].real, powers[0].imag = points[:, 0], points[:, 1]
    done = 1
    while done < modes:
        more = min(done, modes - done)
        np.multiply(powers[:more], powers[done - 1], out=powers[done : done + more])
        done += more
    return powers
