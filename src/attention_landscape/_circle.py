"""Kernel sums on the circle: Fourier-Bessel moments through a nonuniform FFT in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy import special

from . import _threads
from ._checks import Array

#: Points of one block: a few of its columns stay in the cache.
_BLOCK = 1 << 15


@lru_cache(maxsize=256)
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
    last: bool = False,
) -> tuple[Array, ...]:
    """Kernel sums on the circle through ``modes`` Fourier moments (L1: the lemma is the algorithm).

    Parameters
    ----------
    targets, sources, masses, beta, log_scale, order, last
        As for `kernel_sums`, with ``d = 2``.
    modes : int
        From `fourier_modes`.

    Returns
    -------
    tuple of arrays
        As for `kernel_sums`.

    Notes
    -----
    The moments ``sum_j m_j e^{-i k theta_j}``, times ``I_k``, are the Fourier coefficients of
    the sum. Both steps, points to moments and moments to points, go through a grid of ``M``
    angles: with ``theta = c h + u h``, ``h = 2 pi / M`` and ``|u| <= 1/2``,

    ``e^{i k theta} = e^{i k c h} sum_{q < P} (i k h u)^q / q! + R``,
    ``|R| <= (k h / 2)^P / P!``,

    so ``P`` real FFTs of length ``M``, ``P`` histograms and ``P`` gathers do it, in
    ``O(P n + P M log M)``. The ``s``-th derivative of a Taylor polynomial is one of degree
    ``P - 1 - s``; ``_plan`` takes the first ``P`` for which the errors of both steps, summed
    against ``2 I_k e^{-beta}``, are below ``1e-14``. So the error is that of the modes left out
    (see `fourier_modes`) plus at most ``2e-14`` of the peak, for rounding also; measured against
    extended precision it is some ``1e-16``.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0]])
    >>> float(fourier_sums(x, x, np.array([1.0]), 2.0, modes=30)[0][0].round(4))
    7.3891
    """
    t, n = targets.shape[0], sources.shape[0]
    cells = 1 << min(max(max(t, n).bit_length() - 2, 9), 12)
    while cells < 4 * modes:
        cells *= 2
    down, up = _plan(float(beta), modes, cells, order)
    same = targets is sources
    place = np.empty(n if same else 0, dtype=np.intp)
    rest = np.empty(n if same else 0)

    def gather(starts: Sequence[int]) -> Array:
        counts = np.zeros((down.shape[0], cells))
        for start in starts:
            block = slice(start, start + _BLOCK)
            i, u = _locate(sources[block], cells)
            if same:
                place[block], rest[block] = i, u
            weights = masses[block]
            counts[0] += np.bincount(i, weights, cells)
            for q in range(1, counts.shape[0]):
                weights = weights * u
                counts[q] += np.bincount(i, weights, cells)
        return counts

    first, *others = _threads.share(gather, range(0, n, _BLOCK), worth=n > 4 * _BLOCK)
    counts = sum(others, start=first)
    moments = np.einsum("qk,qk->k", down, np.fft.rfft(counts)[:, : modes + 1])
    moments *= np.exp(beta + log_scale)
    tables = np.fft.irfft(up * moments, n=cells)
    wanted = range(order if last else 0, order + 1)
    result = [np.empty((t,) + (2,) * r) for r in wanted]

    def spread(starts: Sequence[int]) -> None:
        for start in starts:
            block = slice(start, start + _BLOCK)
            x = targets[block]
            i, u = (place[block], rest[block]) if same else _locate(x, cells)
            rows = _horner(tables, i, u, order)
            for r, out in zip(wanted, result, strict=True):
                _along_tangent(rows[r], x, out[block], r, cells / (2 * np.pi))

    _threads.share(spread, range(0, t, _BLOCK), worth=t > 4 * _BLOCK)
    return tuple(result)


def angle(x: Array, y: Array, radius: Array | float = 1.0) -> Array:
    """Angle of ``(x, y)`` in ``[-pi/2, 3 pi/2]``, given its length: faster than ``arctan2``.

    Parameters
    ----------
    x, y : (n,) arrays
        Cartesian coordinates.
    radius : (n,) array or float
        ``hypot(x, y)``; zero is allowed and gives the angle 0.

    Returns
    -------
    (n,) array

    Examples
    --------
    >>> angle(np.array([1.0, -1.0]), np.array([0.0, 0.0])).round(4)
    array([0.    , 3.1416])
    """
    t = np.abs(x)
    t += radius
    if not np.isscalar(radius):
        t[t == 0] = 1.0
    np.divide(y, t, out=t)
    np.arctan(t, out=t)
    back = x < 0
    t *= np.where(back, -2.0, 2.0)
    t += np.pi * back  # cheaper than a masked operation
    return t


def _locate(points: Array, cells: int) -> tuple[np.ndarray, Array]:
    """Nearest grid angle of each point, and the distance to it in units of the grid."""
    u = angle(points[:, 0], points[:, 1])
    u *= cells / (2 * np.pi)
    nearest = np.rint(u)
    u -= nearest
    index = nearest.astype(np.intp)
    index &= cells - 1  # cells is a power of two
    return index, u


def _along_tangent(row: Array, x: Array, out: Array, order: int, cells: float) -> None:
    """Write a derivative, of which ``row`` is the Taylor coefficient, as a tensor at ``x``."""
    if order == 0:
        out[...] = row
    elif order == 1:
        row *= cells
        np.multiply(row, x[:, 0], out=out[:, 1])
        np.negative(row, out=row)
        np.multiply(row, x[:, 1], out=out[:, 0])
    else:
        row *= 2 * cells**2
        tangent = np.stack([-x[:, 1], x[:, 0]], axis=1)
        np.multiply(row[:, None, None], tangent[:, :, None] * tangent[:, None, :], out=out)


def _horner(tables: Array, index: np.ndarray, u: Array, order: int) -> Array:
    """Taylor polynomials with coefficients ``tables[:, index]``: value, p', p''/2 at ``u``."""
    top = tables.shape[0] - 1
    rows = np.zeros((order + 1, u.size))
    rows[0] = tables[top].take(index)
    for q in range(top - 1, -1, -1):
        for r in range(min(order, top - q), 0, -1):
            rows[r] *= u
            rows[r] += rows[r - 1]
        rows[0] *= u
        rows[0] += tables[q].take(index)
    return rows


@lru_cache(maxsize=64)
def _plan(beta: float, modes: int, cells: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Factors from histograms to moments, and from moments to Taylor coefficients."""
    k = np.arange(modes + 1)
    bessel = special.ive(k, beta)
    step = 2 * np.pi / cells
    growth = 2 * bessel * np.maximum(1.0, k / np.sqrt(beta)) ** order
    terms = order + 1
    while terms < 40:  # R of order `order` at the targets; the one at the sources is smaller
        left = terms - order
        if np.sum(growth * (k * step / 2) ** left) / special.factorial(left) < 1e-14:
            break
        terms += 1
    q = np.arange(terms)[:, None]
    taylor = (1j * k * step) ** q / special.factorial(q)
    down, up = taylor.conj(), taylor * (bessel * cells)
    return down, up
