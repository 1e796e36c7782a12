"""Bounds: the concavity window of ``e^{beta cos t}`` and what it says about clusters and atoms."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ._checks import Array, array, integer, number


def concavity_angle(beta: float) -> float:
    """Half-width ``theta_c`` of the window on which ``K(t) = e^{beta cos t}`` is concave (L2).

    Parameters
    ----------
    beta : float
        Positive.

    Returns
    -------
    float
        ``arccos((sqrt(1 + 4 beta^2) - 1) / (2 beta))`` in radians, below ``beta^{-1/2}`` (E9).

    Raises
    ------
    ValueError
        If ``beta`` is not a positive finite number.

    Examples
    --------
    >>> round(concavity_angle(1.0), 6)
    0.904557
    """
    beta = number("beta", beta, positive=True)
    # with c = cos theta_c: beta (1 - c^2) = c, so 1 - c = c / (beta (1 + c)); no cancellation
    root = math.hypot(1.0, 2 * beta)
    cosine = 2 * beta / (1 + root)
    return 2 * math.asin(math.sqrt(cosine / (2 * beta * (1 + cosine))))


def kernel_second_derivative(beta: float, angle: ArrayLike, *, scaled: bool = False) -> Array:
    """Second derivative ``K''(t) = beta e^{beta cos t} (beta sin^2 t - cos t)`` (L2).

    Parameters
    ----------
    beta : float
        Positive.
    angle : array
        In radians, of any shape.
    scaled : bool
        Return ``e^{-beta} K''``, which does not overflow.

    Returns
    -------
    array
        Of the shape of ``angle``.

    Raises
    ------
    ValueError
        If ``beta`` is not a positive finite number, an angle is not finite, or ``beta > 700``
        without ``scaled=True``.

    Examples
    --------
    >>> kernel_second_derivative(2.0, [0.0, np.pi], scaled=True).round(6)
    array([-2.      ,  0.036631])
    """
    beta = number("beta", beta, positive=True)
    t = array("angle", angle)
    shift = 0.0 if scaled else _exponent(beta)
    half = np.sin(t / 2) ** 2  # cos t - 1 = -2 sin^2(t/2) keeps its digits near 0
    return beta * np.exp(shift - 2 * beta * half) * (beta * np.sin(t) ** 2 - np.cos(t))


def kernel_second_derivative_max(beta: float, *, scaled: bool = False) -> float:
    """Largest value of ``K''``, in closed form (L2).

    Parameters
    ----------
    beta : float
        Positive.
    scaled : bool
        Return it times ``e^{-beta}``, which does not overflow.

    Returns
    -------
    float
        ``(q - 2) e^{(q-3)/2}``, ``q = sqrt(5 + 4 beta^2)``, for ``beta >= 1/3``, where
        ``cos t = (q - 3) / (2 beta)``; ``beta e^{-beta}``, at ``t = pi``, below.

    Raises
    ------
    ValueError
        If ``beta`` is not a positive finite number, or above 700 without ``scaled=True``.

    Examples
    --------
    >>> round(kernel_second_derivative_max(4.0), 6)
    89.560325
    """
    beta = number("beta", beta, positive=True)
    shift = 0.0 if scaled else _exponent(beta)
    if beta <= 1 / 3:
        return beta * math.exp(shift - 2 * beta)
    q = math.hypot(math.sqrt(5.0), 2 * beta)
    # q/2 - beta = 5 / (2 (q + 2 beta)): the exponent (q - 3)/2 - beta without cancellation
    return (q - 2) * math.exp(shift + 2.5 / (q + 2 * beta) - 1.5)


def kernel_second_derivative_max_simple(beta: float, *, scaled: bool = False) -> float:
    """Compute the simple bound ``2 beta e^{beta - 3/2}`` of ``K''``, valid from 0.42295 on (L2).

    Parameters
    ----------
    beta : float
        Positive.
    scaled : bool
        Return it times ``e^{-beta}``.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If ``beta`` is not a positive finite number, or above 700 without ``scaled=True``.

    Examples
    --------
    >>> kernel_second_derivative_max_simple(0.1) < kernel_second_derivative_max(0.1)
    True
    """
    beta = number("beta", beta, positive=True)
    return 2 * beta * math.exp((0.0 if scaled else _exponent(beta)) - 1.5)


def concavity_bound(beta: float, fraction: float, *, scaled: bool = False) -> float:
    """Bound ``-e^{-l^2/2} ((1 - l^2)/2) beta e^beta`` of ``K''`` on ``|t| <= l theta_c`` (L2).

    Parameters
    ----------
    beta : float
        Positive; the bound holds from ``l^2 / (1 - l^2)`` on.
    fraction : float
        The ``l``, in ``(0, 1)``.
    scaled : bool
        Return it times ``e^{-beta}``.

    Returns
    -------
    float
        Negative.

    Raises
    ------
    ValueError
        If ``beta`` is not a positive finite number, ``fraction`` not in ``(0, 1)``, or ``beta``
        above 700 without ``scaled=True``.

    Examples
    --------
    >>> round(concavity_bound(4.0, 0.5, scaled=True), 6)
    -1.323745
    """
    beta = number("beta", beta, positive=True)
    square = _open_unit("fraction", fraction) ** 2
    shift = 0.0 if scaled else _exponent(beta)
    return -(1 - square) / 2 * beta * math.exp(shift - square / 2)


def cluster_mass_bound(beta: float, curvature_bound: float, *, window: float = 0.5) -> float:
    """Bound the mass of a cluster of two or more atoms at a stable point (X1; ours).

    ``(max K'' + beta W) / (max K'' + A)`` with ``A = -K''(window / sqrt(beta))``: for every
    stable (SOPD) measure on the circle and every cluster of at least two atoms and diameter
    at most ``window / sqrt(beta)``, in the paper's units.

    Parameters
    ----------
    beta : float
        Positive.
    curvature_bound : float
        ``W``, a bound of ``|v''|/2``: `Perceptron.curvature_bound`.
    window : float
        The ``r`` in ``(0, 1)``.

    Returns
    -------
    float
        Above one where it says nothing.

    Raises
    ------
    ValueError
        If ``beta`` is not a positive finite number, ``curvature_bound`` negative, ``window`` not
        in ``(0, 1)``, or ``window / sqrt(beta) >= theta_c``: the kernel is not concave there.

    Examples
    --------
    >>> round(cluster_mass_bound(10.0, 0.0), 4)
    0.3973
    """
    beta = number("beta", beta, positive=True)
    curvature_bound = _nonnegative("curvature_bound", curvature_bound)
    window = _open_unit("window", window)
    angle = window / math.sqrt(beta)
    if angle >= concavity_angle(beta):
        raise ValueError(
            "window / sqrt(beta) must be below theta_c, got "
            f"{angle:.6g} >= {concavity_angle(beta):.6g} at beta = {beta:.6g}"
        )
    top = kernel_second_derivative_max(beta, scaled=True)
    inner = -float(kernel_second_derivative(beta, angle, scaled=True))
    return (top + beta * curvature_bound * math.exp(-beta)) / (top + inner)


def cluster_mass_limit(window: float) -> float:
    """Limit ``c(r)`` of `cluster_mass_bound` as ``beta`` grows (X1, and X9 at 0; ours).

    Parameters
    ----------
    window : float
        The ``r``, in ``[0, 1)``; 0 gives the limit for single atoms (X9).

    Returns
    -------
    float
        ``2 e^{-3/2} / (2 e^{-3/2} + (1 - r^2) e^{-r^2/2})``.

    Raises
    ------
    ValueError
        If ``window`` is not in ``[0, 1)``.

    Examples
    --------
    >>> [round(cluster_mass_limit(r), 4) for r in (0, 0.25, 0.5, 0.75)]
    [0.3086, 0.3294, 0.4027, 0.5747]
    """
    r = 0.0 if window == 0 else _open_unit("window", window)
    top = 2 * math.exp(-1.5)
    return top / (top + (1 - r**2) * math.exp(-(r**2) / 2))


def atom_mass_bound(beta: float, curvature_bound: float) -> float:
    """Bound the mass of an atom at which ``dE'' >= 0`` (X9; ours).

    ``(max K'' + beta W) / (max K'' + beta e^beta)``, on the circle, in the paper's units: so
    for every atom of the global minimiser.

    Parameters
    ----------
    beta : float
        Positive.
    curvature_bound : float
        ``W``, a bound of ``|v''|/2``: `Perceptron.curvature_bound`.

    Returns
    -------
    float
        Above one where it says nothing.

    Raises
    ------
    ValueError
        If ``beta`` is not a positive finite number or ``curvature_bound`` is negative.

    Examples
    --------
    >>> round(atom_mass_bound(1000.0, 1.0), 3)
    0.308
    """
    beta = number("beta", beta, positive=True)
    curvature_bound = _nonnegative("curvature_bound", curvature_bound)
    top = kernel_second_derivative_max(beta, scaled=True)
    return (top + beta * curvature_bound * math.exp(-beta)) / (top + beta)


def poster_cluster_mass_bound(beta: float, weight_bound: float) -> float:
    """Compute the explicit bound of Theorem 4 (T4; the paper's).

    ``(2 e^{beta - 3/2} + C) / (2 e^{beta - 3/2} + (3/8) e^{beta - 1/8})``, ``C = 2 sum |w| |a|^2``,
    for clusters of two or more atoms of diameter at most ``1/(2 sqrt(beta))``, large ``beta``.

    Parameters
    ----------
    beta : float
        Positive.
    weight_bound : float
        ``sum_j |w_j| |a_j|^2``: `Perceptron.weight_bound`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If ``beta`` is not a positive finite number or ``weight_bound`` is negative.

    Examples
    --------
    >>> round(poster_cluster_mass_bound(50.0, 1.0), 4)
    0.5742
    """
    beta = number("beta", beta, positive=True)
    weight_bound = _nonnegative("weight_bound", weight_bound)
    top = 2 * math.exp(-1.5)
    return (top + 2 * weight_bound * math.exp(-beta)) / (top + 3 / 8 * math.exp(-1 / 8))


def atom_count_bound(
    mass: float, beta: float, *, arcs: int, length: float, constant: float
) -> float:
    """Bound the number of atoms of mass at least ``mass`` as the corollary does (C4; see E8).

    ``(arcs / mass) (1 + 2 length sqrt(beta)) constant``, when ``arcs`` arcs of length at most
    ``length < 2 pi`` cover the support. It is never below the trivial ``1 / mass`` (E8).

    Parameters
    ----------
    mass : float
        In ``(0, 1]``.
    beta : float
        Positive.
    arcs : int
        At least one.
    length : float
        In ``(0, 2 pi)``.
    constant : float
        The cluster-mass bound; at least 1/2, else the statement is false (E8).

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(atom_count_bound(0.1, 100.0, arcs=1, length=1.0, constant=0.5742), 2)
    120.58
    """
    beta = number("beta", beta, positive=True)
    mass = number("mass", mass, positive=True)
    if mass > 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    arcs = integer("arcs", arcs, minimum=1)
    length = number("length", length, positive=True)
    if length >= 2 * math.pi:
        raise ValueError(f"length must be in (0, 2 pi), got {length}")
    constant = number("constant", constant)
    if constant < 0.5:
        raise ValueError(f"constant must be at least 1/2, else the bound is false, got {constant}")
    return arcs / mass * (1 + 2 * length * math.sqrt(beta)) * constant


def _exponent(beta: float) -> float:
    if beta > 700:
        raise ValueError(f"beta must be at most 700 unless scaled=True, got {beta}")
    return beta


def _nonnegative(name: str, value: float) -> float:
    result = number(name, value)
    if result < 0:
        raise ValueError(f"{name} must be >= 0, got {result}")
    return result


def _open_unit(name: str, value: float) -> float:
    result = number(name, value)
    if not 0 < result < 1:
        raise ValueError(f"{name} must be in (0, 1), got {result}")
    return result
