"""Stationary points: from the end of a flow to rounding, and what kind they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import sphere
from ._checks import Array, choice, number
from ._newton import MAX_COORDINATES, largest, polish_positions
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


def polish(
    landscape: Landscape,
    mu: Measure,
    *,
    normalization: str = "unnormalized",
    tol: float = 1e-13,
) -> CriticalPoint:
    """Take the end of a flow to a critical point, to rounding (S5, S7).

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
    """Say what kind of critical point a measure is, without moving it (S5, S7).

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


def _check(landscape: Landscape, mu: Measure, normalization: str) -> None:
    if not isinstance(landscape, Landscape):
        raise ValueError(f"landscape must be a Landscape, got {type(landscape).__name__}")
    landscape._check(mu)
    choice("normalization", normalization, NORMALIZATIONS)


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
