"""Kernel sums on S^2: spherical harmonics through the nonuniform transforms of ducc0."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
from scipy import special

from . import _threads
from ._checks import Array
from ._circle import angle

#: Points of one block of elementwise work.
_BLOCK = 1 << 14


def library() -> ModuleType | None:
    """Return the module ducc0, imported now, or None where it is not installed.

    Returns
    -------
    module or None

    Examples
    --------
    >>> library() is None or hasattr(library(), "sht")
    True
    """
    try:
        import ducc0
    except ImportError:
        return None
    module: ModuleType = ducc0
    return module


@lru_cache(maxsize=256)
def harmonic_degree(beta: float, accuracy: float = 1e-12) -> int:
    """Return the largest degree of the harmonics that the wanted accuracy needs on ``S^2``.

    Parameters
    ----------
    beta : float
        Inverse temperature, positive.
    accuracy : float
        Bound of the truncation error, as for `kernel_sums`.

    Returns
    -------
    int
        The smallest ``L`` found with
        ``sum_{l > L} max(1, l/sqrt(beta))^2 (2l+1) i_l(beta) e^{-beta}`` at most
        ``max(accuracy, 1e-15) / 10``.

    Notes
    -----
    ``e^{beta x . y} = sum_l (2l+1) i_l(beta) P_l(x . y)`` with
    ``i_l = sqrt(pi/(2 beta)) I_{l+1/2}``. Along a great circle ``P_l(x . y)`` is a trigonometric
    polynomial of degree ``l`` bounded by one, so by Bernstein's inequality its derivative of
    order ``r`` is at most ``l^r``. What is left out is at most the sum over ``l > L``, whose
    terms fall off at least geometrically once they fall (see `fourier_modes`).

    Examples
    --------
    >>> harmonic_degree(9.0) < harmonic_degree(100.0)
    True
    """
    goal = max(accuracy, 1e-15) / 10
    degree = np.arange(int(20 + 12 * np.sqrt(beta) + min(4 * beta, 40)))
    terms = _bessel(degree, beta) * (2 * degree + 1) * np.maximum(1.0, degree**2 / beta)
    tails = np.cumsum(terms[::-1])[::-1]
    return max(2, int(np.argmax(tails <= goal)) - 1)


def harmonic_sums(
    targets: Array,
    sources: Array,
    masses: Array,
    beta: float,
    *,
    degree: int,
    log_scale: float = 0.0,
    order: int = 0,
    accuracy: float = 1e-12,
    last: bool = False,
) -> tuple[Array, ...]:
    """Kernel sums on ``S^2`` through harmonics up to ``degree`` (L1). Needs ducc0.

    Parameters
    ----------
    targets, sources, masses, beta, log_scale, order, accuracy, last
        As for `kernel_sums`, with ``d = 3``.
    degree : int
        From `harmonic_degree`.

    Returns
    -------
    tuple of arrays
        As for `kernel_sums`.

    Notes
    -----
    The moments ``sum_j m_j conj(Y_lm(y_j))`` times the Funk-Hecke eigenvalue
    ``4 pi i_l(beta)`` are the coefficients of the sum. Its gradient is a synthesis of spin 1.
    Its Hessian has the trace ``Delta f``, with coefficients times ``-l (l+1)``, and a traceless
    part ``[[q, u], [u, -q]]`` in the frame of the meridians and parallels, a synthesis of spin 2
    with coefficients times ``sqrt((l-1) l (l+1) (l+2))``. Functions of spin 1 and 2 are smooth
    in each point's own frame, at the poles too: there longitude 0 fixes the frame.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0, 1.0]])
    >>> if library():
    ...     value, gradient = harmonic_sums(x, x, np.ones(1), 2.0, degree=30, order=1)
    ...     assert abs(value[0] - np.exp(2.0)) < 1e-11 and abs(gradient).max() < 1e-11
    """
    ducc0 = library()
    if ducc0 is None:
        raise ImportError("harmonic_sums needs ducc0: pip install ducc0")
    sht: Any = ducc0.sht
    large = max(targets.shape[0], sources.shape[0]) > 20_000
    options = {
        "lmax": degree,
        "epsilon": max(accuracy / 2, 2.5e-13),
        "nthreads": _threads.count() if large else 1,
    }
    places = _places(sources)
    moments = sht.adjoint_synthesis_general(map=masses[None], spin=0, loc=places, **options)
    eigenvalues, trace, traceless = _factors(float(beta), degree)
    moments *= eigenvalues * np.exp(beta + log_scale)
    if targets is not sources:
        places = _places(targets)
    result = []
    if order == 0 or not last:
        result.append(sht.synthesis_general(alm=moments, spin=0, loc=places, **options)[0])
    if order == 1 or (order == 2 and not last):
        south_east = sht.synthesis_general(
            alm=moments, spin=1, mode="DERIV1", loc=places, **options
        )
        result.append(_from_frame(targets, *south_east))
    if order < 2:
        return tuple(result)
    laplacian = sht.synthesis_general(alm=moments * trace, spin=0, loc=places, **options)[0]
    q, u = sht.synthesis_general(
        alm=moments * traceless, spin=2, mode="GRAD_ONLY", loc=places, **options
    )
    frame = np.stack([np.stack(vector, axis=1) for vector in _frame(targets)], axis=1)
    in_frame = np.stack([laplacian - q, -u, -u, laplacian + q], axis=1).reshape(-1, 2, 2) / 2
    hessian = frame.transpose(0, 2, 1) @ in_frame @ frame
    return (*result, (hessian + hessian.transpose(0, 2, 1)) / 2)


def _bessel(degree: np.ndarray, beta: float) -> Array:
    """``i_l(beta) e^{-beta}``."""
    result: Array = np.sqrt(np.pi / (2 * beta)) * special.ive(degree + 0.5, beta)
    return result


@lru_cache(maxsize=32)
def _factors(beta: float, degree: int) -> tuple[Array, Array, Array]:
    """Eigenvalue times e^{-beta}, factors of the trace and the traceless part, for all (l, m)."""
    index = np.concatenate([np.arange(m, degree + 1) for m in range(degree + 1)])
    k = np.arange(degree + 1.0)
    eigenvalues = 4 * np.pi * _bessel(k, beta)
    return (
        eigenvalues[index],
        (-k * (k + 1))[index],
        np.sqrt((k - 1) * k * (k + 1) * (k + 2))[index],
    )


def _places(points: Array) -> Array:
    """Colatitude in ``[0, pi]`` and longitude in ``[0, 2 pi]`` of each row."""
    places = np.empty((points.shape[0], 2))
    for start in range(0, points.shape[0], _BLOCK):
        block = slice(start, start + _BLOCK)
        x, y, z = points[block].T.copy()
        radius = np.sqrt(x * x + y * y)
        places[block, 0] = angle(z, radius)
        longitude = angle(x, y, radius)
        longitude += 2 * np.pi * (longitude < 0)
        places[block, 1] = longitude
    return places


def _from_frame(points: Array, south: Array, east: Array) -> Array:
    """Tangent vectors with these components."""
    result = np.empty(points.shape)
    for start in range(0, points.shape[0], _BLOCK):
        block = slice(start, start + _BLOCK)
        first, second = _frame(points[block])
        for axis in range(3):
            first[axis] *= south[block]
            second[axis] *= east[block]
            np.add(first[axis], second[axis], out=result[block, axis])
    return result


def _frame(points: Array) -> tuple[list[Array], list[Array]]:
    """Unit vectors to the south and to the east, as lists of Cartesian components."""
    x, y, z = points.T.copy()
    radius = np.sqrt(x * x + y * y)
    polar = radius == 0
    divisor = np.where(polar, 1.0, radius)
    cosine, sine = np.where(polar, 1.0, x / divisor), y / divisor
    return [z * cosine, z * sine, -radius], [-sine, cosine, np.zeros_like(z)]
