"""Critical points: polish, classify, the global minimiser with a certificate, the maximisers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import sphere
from ._checks import Array, integer, number
from ._descent import frank_wolfe
from ._extended import ExtendedMinimum, extended_minimum
from ._oracle import Profile, circle_grid, circle_profile, circle_roots, descend, grid_size
from ._stationary import CriticalPoint, classify, polish
from .landscape import Landscape
from .measures import Measure

__all__ = [
    "polish",
    "classify",
    "minimize",
    "minimize_extended",
    "maximize",
    "CriticalPoint",
    "Minimum",
    "ExtendedMinimum",
    "Maximum",
]


@dataclass(frozen=True, eq=False)
class Minimum:
    """What `minimize` returns.

    Attributes
    ----------
    measure : Measure
        The best measure found.
    energy : float
        Its energy.
    gap : float
        ``int dE dmu - min dE``, an upper bound of ``energy`` minus the true minimum (X4).
    n_atoms : int
        Atoms of ``measure``; see ``message`` for whether double precision resolves them.
    success : bool
        Whether ``gap <= tol scale``.
    message : str
        In words.
    n_iterations : int
        Rounds of Frank-Wolfe.
    """

    measure: Measure
    energy: float
    gap: float
    n_atoms: int
    success: bool
    message: str
    n_iterations: int


@dataclass(frozen=True, eq=False)
class Maximum:
    """What `maximize` returns.

    Attributes
    ----------
    point : (d,) array
        A global maximum of ``v``: the Dirac mass there maximises the energy (P1).
    energy : float
        ``prefactor e^{beta + log_scale} / 2 + max v / 2``.
    all_points : (m, d) array
        Critical points of ``v`` found, highest first.
    values : (m,) array
        ``v`` there.
    """

    point: Array
    energy: float
    all_points: Array
    values: Array


def minimize(landscape: Landscape, d: int | None = None, *, tol: float = 1e-10) -> Minimum:
    """Find the global minimiser of the energy over all probability measures, certified (X4).

    The energy is convex on measures (P1), so ``E[nu] >= E[mu] - gap`` for every ``nu``, with
    ``gap = int dE dmu - min dE``. The algorithm is fully corrective Frank-Wolfe: the local
    minima of ``dE`` are added as atoms, the masses are minimised exactly on the simplex, and
    Newton moves places and masses together.

    Parameters
    ----------
    landscape : Landscape
        With a positive definite matrix, if it has one: else the energy is not convex.
    d : int, optional
        Dimension; from the perceptron or the matrix when left out.
    tol : float
        ``success`` means ``gap <= tol scale``, with ``scale = e^{beta + log_scale} + W``.

    Returns
    -------
    Minimum
        With ``success=False`` and the best measure found when the gap stays larger.

    Raises
    ------
    ValueError
        If ``d`` is needed, or the matrix is not positive definite.

    Notes
    -----
    On the circle all local minima of ``dE`` are found: the grid has 64 nodes to a width of
    the kernel or of the steepest neuron, and each sign change of the slope is refined. The
    gap is then a bound up to rounding. In higher dimension the minimum of ``dE`` is the best
    of many starts (2000 (d - 1) seeded points, the neurons, the atoms), each polished by
    Newton: the gap is a bound if none of them misses the global minimum of ``dE``, which is
    not proved. Where ``dE`` is flat to rounding between atoms, as for GELU from ``beta = 2``
    on, the energy and the gap are right but the atoms are not determined in double precision:
    ``message`` says so, and `minimize_extended` decides.

    Examples
    --------
    >>> from attention_landscape import Attention, Perceptron
    >>> perceptron = Perceptron.random(d=2, activation="relu", rng=777)
    >>> found = minimize(Landscape(Attention(beta=1.0), perceptron))
    >>> found.n_atoms, round(found.energy, 5), found.gap < 1e-12
    (4, 0.59973, True)
    """
    d = _dimension(landscape, d)
    tol = number("tol", tol, positive=True)
    matrix = landscape.attention.matrix
    if matrix is not None:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        if smallest <= 0:
            raise ValueError(
                "landscape.attention.matrix must be positive definite for the energy to be "
                f"convex, got smallest eigenvalue {smallest:.6g}"
            )
    scale = landscape.scale
    floor = 1e-13 * scale
    goal = floor if d == 2 else max(tol * min(1.0, scale), floor)
    state, rounds = frank_wolfe(landscape, d, goal, rounds=60)
    mu = state.measure
    message = f"gap {state.gap:.2e} after {rounds} rounds"
    success = state.gap <= tol * scale
    if state.interrupted:
        message = f"interrupted: {message}"
    elif not success:
        message = f"no convergence: {message}, above {tol * scale:.2e}"
    if mu.n > 1:
        barrier = _barrier(landscape, mu)
        if not state.polished or barrier < 100 * floor:
            message += (
                f"; support not resolved in double precision: dE rises by only {barrier:.1e} "
                f"between some of the {mu.n} atoms, so their number has no meaning"
            )
    return Minimum(mu, landscape.energy(mu), state.gap, mu.n, success, message, rounds)


def minimize_extended(landscape: Landscape, found: Minimum, *, digits: int = 40) -> ExtendedMinimum:
    """Decide the support of a minimiser on the circle with many digits (X4).

    Double precision cannot see a support between whose atoms ``dE`` rises by 1e-11 only. Here
    the float64 atoms are merged within some distance, and places and masses polished by a
    damped Newton iteration on the energy with ``digits + 20`` digits. A measure with positive
    masses and a vanishing gap *is* the minimiser, which is unique (P1).

    Parameters
    ----------
    landscape : Landscape
        On the circle, with ``beta`` and a named activation.
    found : Minimum
        From `minimize`, on the same landscape.
    digits : int
        At least 16.

    Returns
    -------
    ExtendedMinimum
        With mpmath numbers; ``success=False`` when no merged support reaches the gap.

    Raises
    ------
    ValueError
        If an argument is of the wrong kind, the landscape is not on the circle or has a matrix,
        or more than 60 atoms are left.

    Notes
    -----
    The gap is taken over a grid of 240 angles or more and the local minima between its nodes.

    Examples
    --------
    >>> from attention_landscape import Attention, Perceptron
    >>> landscape = Landscape(Attention(beta=0.5), Perceptron.random(2, rng=777))
    >>> sharp = minimize_extended(landscape, minimize(landscape), digits=30)
    >>> sharp.n_atoms, sharp.success, float(sharp.gap) < 1e-29
    (3, True, True)
    """
    if not isinstance(landscape, Landscape):
        raise ValueError(f"landscape must be a Landscape, got {type(landscape).__name__}")
    if landscape.attention.matrix is not None:
        raise ValueError("landscape.attention must have beta, not a matrix")
    if not isinstance(found, Minimum):
        raise ValueError(f"found must be a Minimum, got {type(found).__name__}")
    landscape._check(found.measure)
    if found.measure.d != 2:
        raise ValueError(f"found must be on the circle (d = 2), got d = {found.measure.d}")
    return extended_minimum(landscape, found.measure, digits)


def maximize(landscape: Landscape, d: int | None = None) -> Maximum:
    """Find the maximisers of the energy: Dirac masses at the maxima of ``v`` (P1).

    Without a perceptron every Dirac mass is one (B1), and the one on the first axis is returned.

    Parameters
    ----------
    landscape : Landscape
        With ``beta``, not with a matrix: else Diracs at ``argmax v`` need not be maximisers.
    d : int, optional
        Dimension; from the perceptron when left out.

    Returns
    -------
    Maximum
        On the circle, all isolated critical points of ``v`` to rounding, and the middle of
        each arc where ``v`` is constant; in higher dimension the local maxima reached from
        many starts.

    Raises
    ------
    ValueError
        If ``d`` is needed, or the landscape has a matrix.

    Examples
    --------
    >>> from attention_landscape import Attention, Perceptron
    >>> landscape = Landscape(Attention(beta=1.0), Perceptron([[1.0, 0.0]], [0.5]))
    >>> found = maximize(landscape)
    >>> found.point.round(8) + 0.0, round(found.energy, 4)
    (array([1., 0.]), 1.6091)
    """
    d = _dimension(landscape, d)
    if landscape.attention.matrix is not None:
        raise ValueError("landscape.attention must have beta, not a matrix, to be maximised")
    top = landscape.attention.prefactor * landscape.attention.peak / 2
    perceptron = landscape.perceptron
    if perceptron is None:
        point = np.eye(d)[:1]
        return Maximum(point[0], top, point, np.zeros(1))

    def potential(x: Array, order: int) -> tuple[Array, ...]:
        parts = (perceptron._potential, perceptron._gradient, perceptron._hessian)
        return tuple(part(x) for part in parts[: order + 1])

    if d == 2:
        n_grid = grid_size(landscape)
        grid = circle_grid(n_grid)
        profile = circle_profile(potential)
        angles = np.concatenate([circle_roots(profile, grid, None), _flat_arcs(profile, grid)])
        points = sphere.from_angles(angles if angles.size else grid[:1])
    else:
        a = perceptron.directions[np.linalg.norm(perceptron.directions, axis=1) > 0]
        starts = sphere.uniform(500 * (d - 1), d, rng=0)
        if len(a):
            starts = np.concatenate([starts, sphere.project(a), -sphere.project(a)])
        reached, _ = descend(
            lambda x, order: tuple(-part for part in potential(x, order)), starts, 0.3
        )
        points = Measure(reached).merged(1e-6).points
    values = perceptron._potential(points)
    order = np.argsort(-values, kind="stable")
    points, values = points[order], values[order]
    return Maximum(points[0], top + float(values[0]) / 2, points, values)


def _dimension(landscape: Landscape, d: int | None) -> int:
    if not isinstance(landscape, Landscape):
        raise ValueError(f"landscape must be a Landscape, got {type(landscape).__name__}")
    known = None
    if landscape.perceptron is not None:
        known = landscape.perceptron.d
    elif landscape.attention.matrix is not None:
        known = landscape.attention.matrix.shape[0]
    if d is None:
        if known is None:
            raise ValueError("d must be given when there is no perceptron, got None")
        return known
    d = integer("d", d, minimum=2)
    if known is not None and d != known:
        raise ValueError(f"d must be {known}, the dimension of the landscape, got {d}")
    return d


def _barrier(landscape: Landscape, mu: Measure) -> float:
    """Smallest rise of ``dE`` half-way between an atom and its nearest neighbour."""
    from scipy.spatial import cKDTree

    index = np.asarray(cKDTree(mu.points).query(mu.points, k=2)[1])
    middle = mu.points + mu.points[index[:, 1]]
    middle = sphere.project(middle[np.linalg.norm(middle, axis=1) > 1e-9])
    if len(middle) == 0:
        return np.inf
    level = float(mu.masses @ landscape.variations(mu, mu.points, 0)[0])
    return float(landscape.variations(mu, middle, 0)[0].min() - level)


def _flat_arcs(profile: Profile, angles: Array) -> Array:
    """Middles of the arcs of a grid on which the slope vanishes identically."""
    flat = profile(angles, 1)[1] == 0
    if flat.all() or not flat.any():
        return angles[:1] if flat.all() else angles[:0]
    starts = np.flatnonzero(flat & ~np.roll(flat, 1))
    stops = np.flatnonzero(flat & ~np.roll(flat, -1))
    if stops[0] < starts[0]:
        stops = np.roll(stops, -1)
    step = 2 * np.pi / angles.size
    length = np.mod(stops - starts, angles.size)
    return angles[starts] + length * step / 2
