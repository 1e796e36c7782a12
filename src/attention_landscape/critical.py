"""Critical points: polish, classify, the global minimiser with a certificate, the maximisers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import sphere
from ._checks import Array, choice, integer, number
from ._descent import frank_wolfe
from ._extended import ExtendedMinimum, extended_minimum
from ._newton import MAX_COORDINATES, largest, polish_positions
from ._oracle import Profile, circle_grid, circle_profile, circle_roots, descend, grid_size
from .landscape import COINCIDENT, NORMALIZATIONS, Landscape
from .measures import Measure

#: Eigenvalues below this, times ``scale max(1, beta)``, count as zero in `classify`.
ZERO_TOLERANCE = 1e-10

#: A residual above this, times ``scale``, is not called stationary.
STATIONARY_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class CriticalPoint:
    """What `polish` and `classify` return.

    Attributes
    ----------
    measure : Measure
        Distinct atoms of positive mass.
    residual : float
        Largest norm of the field over the atoms.
    scale : float
        ``e^{beta + log_scale} + weight_bound``, the natural size of the field.
    spectrum : (n (d-1),) array or None
        Eigenvalues of the Hessian relative to ``|xi|^2`` in ``L^2(mu)``, ascending. None for
        softmax (no energy) and beyond 4000 coordinates.
    splitting : float or None
        Smallest eigenvalue of the spherical Hessian of ``dE`` over the atoms: negative when
        some atom splits as its particles are nudged apart (S5). None for softmax.
    kind : str
        "strict SOPD", "SOPD (degenerate)", "saddle", "strict maximum", "maximum (degenerate)";
        "stationary" for softmax; "not stationary" when the residual exceeds ``1e-6 scale``;
        "unclassified" beyond 4000 coordinates.
    n_atoms : int
        Number of atoms.
    success : bool
        Whether ``residual <= tol scale``.
    message : str
        In words, with the tolerances used and the zero modes.
    n_iterations : int
        Newton iterations.
    """

    measure: Measure
    residual: float
    scale: float
    spectrum: Array | None
    splitting: float | None
    kind: str
    n_atoms: int
    success: bool
    message: str
    n_iterations: int = 0


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


def polish(
    landscape: Landscape,
    mu: Measure,
    *,
    normalization: str = "unnormalized",
    tol: float = 1e-13,
) -> CriticalPoint:
    """Take the end of a flow to a critical point, to rounding.

    First coincident atoms are merged. The distance is the largest of ``sqrt(residual/scale)``
    (at most ``0.01/sqrt(1+beta)``) and its tenths, hundredths, ... for which each group stays
    within twice that distance of its mean: clumps are joined, chains are not. Then a damped
    Newton iteration moves the atoms, at fixed masses, until the residual is at most
    ``tol scale``; atoms that meet on the way are merged. Zero modes, such as the rotations of
    pure attention, get no step. On the kink of a ReLU the derivative is the mean of both
    sides, and the line search on the residual decides.

    Parameters
    ----------
    landscape : Landscape
        The energy.
    mu : Measure
        Close to a critical point; Newton finds the kind of point that is near, minimum or not.
    normalization : {"unnormalized", "softmax"}
        Stationarity of the gradient flow, or of the layer (S7, weights as in the layer).
    tol : float
        Of the residual, relative to ``scale``.

    Returns
    -------
    CriticalPoint
        With ``success=False`` and the best point found when the tolerance is not met.

    Raises
    ------
    ValueError
        If an argument is of the wrong kind, out of range or of another dimension.

    Examples
    --------
    >>> from attention_landscape import Attention, Perceptron, gradient_flow
    >>> perceptron = Perceptron.random(d=2, activation="gelu", rng=777)
    >>> landscape = Landscape(Attention(1.0, log_scale=-1.0), perceptron)
    >>> path = gradient_flow(landscape, Measure.uniform(200, 2, rng=1), stationary_tol=1e-4)
    >>> point = polish(landscape, path.final)
    >>> point.kind, point.n_atoms, point.success
    ('strict SOPD', 3, True)
    """
    _check(landscape, mu, normalization)
    tol = number("tol", tol, positive=True)
    goal = tol * landscape.scale
    total = 0
    for _ in range(20):
        mu = _compacted(landscape, mu, normalization)
        if mu.n * (mu.d - 1) > MAX_COORDINATES:
            break
        n = mu.n
        mu, residual, count = polish_positions(landscape, mu, normalization, goal)
        total += count
        mu = _compacted(landscape, mu, normalization)
        if mu.n == n and (residual <= goal or count == 0):
            break
        if mu.n == n and count < 2:
            break
    return _classified(landscape, mu, normalization, goal, total)


def classify(
    landscape: Landscape, mu: Measure, *, normalization: str = "unnormalized"
) -> CriticalPoint:
    """Say what kind of critical point a measure is, without moving it (S5).

    Parameters
    ----------
    landscape : Landscape
        The energy.
    mu : Measure
        Atoms at equal places are joined, zero masses dropped.
    normalization : {"unnormalized", "softmax"}
        With "softmax" only the residual is reported: of ``prefactor grad log f^mu + grad v/2``,
        the layer's convention. The paper's ``grad log f^mu + grad v/2`` is the same field with
        the weights divided by ``beta``, times ``beta``.

    Returns
    -------
    CriticalPoint
        ``success`` says whether the residual is at most ``1e-13 scale``.

    Raises
    ------
    ValueError
        If an argument is of the wrong kind, out of range or of another dimension.

    Examples
    --------
    Two atoms close to each other and one opposite are stable as a measure (X8 with no
    perceptron), yet the lone atom splits when its particles are nudged apart:

    >>> from attention_landscape import Attention
    >>> eps = 0.5
    >>> p = 0.5 / (1 + np.cos(eps / 2) * np.exp(np.cos(eps) + np.cos(eps / 2)))
    >>> mu = Measure.from_angles([-eps / 2, eps / 2, np.pi], [p, p, 1 - 2 * p])
    >>> point = classify(Landscape(Attention(beta=1.0)), mu)
    >>> point.kind, round(point.splitting, 3)
    ('SOPD (degenerate)', -2.283)
    >>> point.message
    'stationary; zero modes: 1 (1 of rotation); zero means below 2.7e-10'
    """
    _check(landscape, mu, normalization)
    return _classified(landscape, mu.merged(COINCIDENT), normalization, 1e-13 * landscape.scale, 0)


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


def _check(landscape: Landscape, mu: Measure, normalization: str) -> None:
    if not isinstance(landscape, Landscape):
        raise ValueError(f"landscape must be a Landscape, got {type(landscape).__name__}")
    landscape._check(mu)
    choice("normalization", normalization, NORMALIZATIONS)


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


def _compacted(landscape: Landscape, mu: Measure, normalization: str) -> Measure:
    """Merge clumps of atoms, not chains: see `polish` for the rule."""
    from scipy.spatial import cKDTree

    residual = largest(landscape.field(mu, mu.points, normalization))
    cap = 0.01 / np.sqrt(1 + landscape.attention._strength)
    tol = min(cap, max(1e-9, float(np.sqrt(residual / landscape.scale))))
    while tol >= 1e-9:
        merged = mu.merged(tol)
        if merged.n < mu.n:
            away = np.asarray(cKDTree(merged.points).query(mu.points[mu.masses > 0])[0])
            if away.max() <= 2 * tol:
                return merged
        tol /= 10
    return mu.merged(COINCIDENT)


def _classified(
    landscape: Landscape, mu: Measure, normalization: str, goal: float, count: int
) -> CriticalPoint:
    residual = largest(landscape.field(mu, mu.points, normalization))
    scale = landscape.scale
    success = residual <= goal
    message = "stationary" if success else f"residual {residual:.2e} above {goal:.2e}"
    spectrum, splitting = None, None
    if normalization == "softmax":
        kind = "stationary"
    elif mu.n * (mu.d - 1) > MAX_COORDINATES:
        kind = "unclassified"
        message += (
            f"; {mu.n} distinct atoms are too many for dense linear algebra "
            f"(at most {MAX_COORDINATES} coordinates): follow the flow further"
        )
    else:
        spectrum = landscape.spectrum(mu)
        splitting = _splitting(landscape, mu)
        zero = ZERO_TOLERANCE * scale * max(1.0, landscape.attention._strength)
        kind = _kind(spectrum, splitting, zero)
        zeros = int(np.sum(np.abs(spectrum) <= zero))
        if zeros:
            turns = _rotation_modes(landscape, mu, zero)
            message += f"; zero modes: {zeros} ({turns} of rotation)"
        message += f"; zero means below {zero:.1e}"
    if residual > STATIONARY_TOLERANCE * scale:
        kind = "not stationary"
    return CriticalPoint(
        mu, residual, scale, spectrum, splitting, kind, mu.n, success, message, count
    )


def _kind(spectrum: Array, splitting: float, zero: float) -> str:
    low, high = spectrum[0], spectrum[-1]
    if low > zero:
        return "strict SOPD"
    if high < -zero:
        return "strict maximum"
    if low >= -zero and (high > zero or splitting >= -zero):
        return "SOPD (degenerate)"
    # a vanishing Hessian (one Dirac of pure attention) is told apart by the splitting
    return "maximum (degenerate)" if high <= zero else "saddle"


def _splitting(landscape: Landscape, mu: Measure) -> float:
    frames = sphere.tangent_frames(mu.points)
    own = landscape.variations(mu, mu.points, 2)[2]
    return float(np.linalg.eigvalsh(frames @ own @ frames.transpose(0, 2, 1)).min())


def _rotation_modes(landscape: Landscape, mu: Measure, zero: float) -> int:
    """Dimension of the rotations of the atoms on which the Hessian vanishes."""
    d = mu.d
    frames = sphere.tangent_frames(mu.points)
    root = np.sqrt(mu.masses)
    modes = []
    for i in range(d):
        for j in range(i):
            turned = np.zeros_like(mu.points)
            turned[:, i], turned[:, j] = mu.points[:, j], -mu.points[:, i]
            modes.append((np.einsum("iad,id->ia", frames, turned) * root[:, None]).ravel())
    u, s, _ = np.linalg.svd(np.array(modes).T, full_matrices=False)
    basis = u[:, s > 1e-9]
    scaled = landscape.hessian(mu) / np.outer(np.repeat(root, d - 1), np.repeat(root, d - 1))
    return int(np.sum(np.linalg.svd(scaled @ basis, compute_uv=False) <= 10 * zero))


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
