"""Probability measures with finitely many atoms on the sphere, and the distance between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import sphere
from ._checks import Array, array, integer, number, unit_rows
from ._linkage import linkage, merge_circle, merge_sphere
from ._transport import circle_distance

#: The masses may miss a sum of one by this; they are then divided by their sum.
MASS_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class Measure:
    """A probability measure ``sum_i m_i delta_{x_i}`` on the unit sphere (S4).

    Parameters
    ----------
    points : (n, d) array
        Unit rows, ``n >= 1``, ``d >= 2``. Rows may coincide.
    masses : (n,) array, optional
        Nonnegative, summing to one; ``1/n`` each when left out.

    Attributes
    ----------
    points, masses : arrays
        Read-only copies.
    angles : (n,) array
        Angles in ``[0, 2 pi)``, on the circle only.
    n, d : int
        Number of atoms and dimension of the ambient space.

    Raises
    ------
    ValueError
        On wrong shapes, rows that are not unit, NaN or infinity, negative masses, or masses
        that do not sum to one.

    Examples
    --------
    >>> mu = Measure([[1.0, 0.0], [0.0, 1.0]], [0.25, 0.75])
    >>> mu
    Measure(n=2, d=2)
    >>> mu.angles.round(4)
    array([0.    , 1.5708])
    """

    points: Array
    masses: Array = field(default=cast(Any, None))

    def __init__(self, points: ArrayLike, masses: ArrayLike | None = None) -> None:
        x = unit_rows("points", points)
        n = x.shape[0]
        if masses is None:
            m = np.full(n, 1.0 / n)
        else:
            m = array("masses", masses, ndim=1)
            if m.shape != (n,):
                raise ValueError(f"masses must have shape ({n},), got shape {m.shape}")
            if m.min() < 0:
                raise ValueError(f"masses must be >= 0, got {m.min():.6g}")
            total = math.fsum(m)
            if abs(total - 1) > MASS_TOLERANCE:
                raise ValueError(f"masses must sum to one, got {total:.10g}")
            if abs(total - 1) > 1e-14:
                m /= total
        self._set(x, m)

    def _set(self, points: Array, masses: Array) -> None:
        points.flags.writeable = False
        masses.flags.writeable = False
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "masses", masses)

    @classmethod
    def _trusted(cls, points: Array, masses: Array) -> Measure:
        """Skip the checks: for arrays that the package itself has just made."""
        self = object.__new__(cls)
        self._set(points, masses)
        return self

    def __repr__(self) -> str:
        return f"Measure(n={self.n}, d={self.d})"

    @property
    def n(self) -> int:
        """Number of atoms."""
        return int(self.points.shape[0])

    @property
    def d(self) -> int:
        """Dimension of the ambient space."""
        return int(self.points.shape[1])

    @property
    def angles(self) -> Array:
        """Angles in ``[0, 2 pi)``; ValueError unless ``d == 2``."""
        if self.d != 2:
            raise ValueError(f"angles are defined on the circle (d = 2), got d = {self.d}")
        return sphere.to_angles(self.points)

    @classmethod
    def from_angles(cls, angles: ArrayLike, masses: ArrayLike | None = None) -> Measure:
        """Make a measure on the circle from angles in radians.

        Parameters
        ----------
        angles : (n,) array
            Angles in radians.
        masses : (n,) array, optional
            As for `Measure`.

        Returns
        -------
        Measure

        Raises
        ------
        ValueError
            As for `Measure`.

        Examples
        --------
        >>> Measure.from_angles([0.0, np.pi]).points.round(12)
        array([[ 1.,  0.],
               [-1.,  0.]])
        """
        return cls(sphere.from_angles(angles), masses)

    @classmethod
    def uniform(cls, n: int, d: int, *, rng: Any = None) -> Measure:
        """Draw ``n`` independent uniform points, of equal mass.

        Parameters
        ----------
        n, d : int
            Number of points and dimension of the ambient space.
        rng : None, int or numpy.random.Generator
            Source of randomness; an int is a seed.

        Returns
        -------
        Measure

        Raises
        ------
        ValueError
            If ``n`` or ``d`` is not an integer of the allowed size.

        Examples
        --------
        >>> Measure.uniform(n=1000, d=3, rng=42)
        Measure(n=1000, d=3)
        """
        return cls(sphere.uniform(n, d, rng=rng))

    @classmethod
    def from_density(cls, density: Callable[[Array], ArrayLike], d: int, *, n: int) -> Measure:
        """Quadrature of a density with respect to the uniform law.

        The atoms are quadrature nodes: they approximate integrals, and say nothing about the
        support. On the circle the nodes are equispaced, on S^2 they are Gauss-Legendre in the
        height times equispaced in the longitude.

        Parameters
        ----------
        density : callable
            Takes points ``(m, d)``, returns the density ``(m,)``, nonnegative.
        d : int
            2 or 3.
        n : int
            Number of nodes; on S^2 about this many (``k`` heights times ``2 k`` longitudes,
            ``k = ceil(sqrt(n / 2))``).

        Returns
        -------
        Measure
            With masses divided by their sum.

        Raises
        ------
        ValueError
            If ``d`` is not 2 or 3, or the density is negative, not finite, or integrates to a
            number that is not one within 1 %.

        Examples
        --------
        >>> mu = Measure.from_density(lambda x: 1 + x[:, 0], 2, n=64)
        >>> float((mu.masses @ mu.points)[0].round(12))
        0.5
        """
        if d not in (2, 3) or isinstance(d, bool):
            raise ValueError(f"d must be 2 or 3 for a quadrature, got {d}")
        n = integer("n", n, minimum=1)
        if d == 2:
            points = sphere.from_angles(np.arange(n) * (2 * np.pi / n))
            weights = np.full(n, 1.0 / n)
        else:
            k = math.ceil(math.sqrt(n / 2))
            height, weight = np.polynomial.legendre.leggauss(k)
            ring = sphere.from_angles(np.arange(2 * k) * (np.pi / k))
            radius = np.sqrt((1 - height) * (1 + height))
            points = np.concatenate(
                [
                    np.repeat(radius, 2 * k)[:, None] * np.tile(ring, (k, 1)),
                    np.repeat(height, 2 * k)[:, None],
                ],
                axis=1,
            )
            weights = np.repeat(weight / 2 / (2 * k), 2 * k)
        values = array("density", density(points), ndim=1)
        if values.shape != weights.shape:
            raise ValueError(f"density must return shape {weights.shape}, got shape {values.shape}")
        if values.min() < 0:
            raise ValueError(f"density must be >= 0, got {values.min():.6g}")
        masses = values * weights
        total = masses.sum()
        if abs(total - 1) > 0.01:
            raise ValueError(
                f"density must integrate to one against the uniform law, got {total:.6g}"
            )
        return cls(points, masses / total)

    def merged(self, tol: float) -> Measure:
        """Join atoms closer than ``tol`` and drop zero masses.

        Single linkage: chains of atoms at geodesic distance at most ``tol`` become one atom, at
        their weighted Frechet mean. On the circle the result is sorted by angle.

        Parameters
        ----------
        tol : float
            Geodesic distance in radians, ``>= 0``. With 0 only atoms at equal places are joined.

        Returns
        -------
        Measure
            In ``d >= 3``, when more than 2e7 pairs are close, atoms closer than ``tol / 1000``
            are joined first, so that ``tol`` is then met to one part in a thousand.

        Raises
        ------
        ValueError
            If ``tol`` is negative or not finite.

        Examples
        --------
        >>> mu = Measure.from_angles([0.1, 0.3, 2.0], [0.25, 0.25, 0.5]).merged(0.25)
        >>> mu.angles.round(12), mu.masses
        (array([0.2, 2. ]), array([0.5, 0.5]))
        """
        tol = number("tol", tol)
        if tol < 0:
            raise ValueError(f"tol must be >= 0, got {tol}")
        keep = self.masses > 0
        x, m = self.points[keep], self.masses[keep]
        return Measure(*(merge_circle if self.d == 2 else merge_sphere)(x, m, tol))

    def clusters(self, diameter: float) -> list[NDArray[np.intp]]:
        """Find the groups of atoms of at most the given diameter: the clusters of T4.

        Parameters
        ----------
        diameter : float
            In radians, ``>= 0``.

        Returns
        -------
        list of index arrays
            On the circle: the atoms in each closed arc of that length, for all arcs that are
            maximal (they may overlap). For ``diameter < 2 pi / 3`` these are exactly the maximal
            sets whose pairwise distances are at most ``diameter``; beyond, a set may have that
            diameter and lie in no such arc (three atoms at 120 degrees, E1). In ``d >= 3``: the
            classes of single linkage at distance ``diameter``.

        Raises
        ------
        ValueError
            If ``diameter`` is negative or not finite.

        Examples
        --------
        >>> Measure.from_angles([0.0, 1.0, 2.0]).clusters(1.5)
        [array([0, 1]), array([1, 2])]
        """
        diameter = number("diameter", diameter)
        if diameter < 0:
            raise ValueError(f"diameter must be >= 0, got {diameter}")
        if self.d != 2:
            labels = linkage(self.points, diameter)
            order = np.argsort(labels, kind="stable")
            return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        if diameter >= 2 * np.pi:
            return [np.arange(self.n)]
        angles = self.angles
        order = np.argsort(angles, kind="stable")
        turns = np.concatenate([angles[order], angles[order] + 2 * np.pi])
        # the last atom (counted on the doubled circle) within reach of each start
        reach = np.searchsorted(turns, turns[: self.n] + diameter * (1 + 1e-15), side="right")
        reach = np.minimum(reach, np.arange(self.n) + self.n)
        before = np.concatenate([[reach[-1] - self.n], reach[:-1]])
        groups = [
            np.sort(order[np.arange(i, stop) % self.n])
            for i, stop in enumerate(reach)
            if stop > before[i]
        ]
        return groups if groups else [np.arange(self.n)]

    def moments(self, degree: int) -> Array:
        """Size of the moments of each degree, invariant under rotations.

        The entry ``k`` is ``sqrt(iint P_k(x . y) dmu dmu)`` with ``P_k`` the zonal polynomial
        (cosine of ``k`` times the angle on the circle, Gegenbauer in general), ``P_k(1) = 1``:
        the norm of the projection of the measure to harmonics of degree ``k``, one for a Dirac
        mass, zero for the uniform law when ``k >= 1``. Up to a factor it is the size of the
        coefficients ``m_{kl}`` of L1.

        Parameters
        ----------
        degree : int
            Largest degree.

        Returns
        -------
        (degree + 1,) array
            On the circle ``|int e^{ik theta} dmu|``. In ``d >= 4`` the cost is quadratic in
            ``n``, and values below 1e-8 are rounding.

        Raises
        ------
        ValueError
            If ``degree`` is not an integer ``>= 0``.

        Examples
        --------
        >>> Measure.from_angles([0.0, np.pi]).moments(3).round(12)
        array([1., 0., 1., 0.])
        """
        from scipy import special

        degree = integer("degree", degree, minimum=0)
        x, m = self.points, self.masses
        result = np.empty(degree + 1)
        if self.d == 2:
            turn = x[:, 0] + 1j * x[:, 1]
            power = np.ones_like(turn)
            for k in range(degree + 1):
                result[k] = abs(m @ power)
                power *= turn
            return result
        if self.d == 3:
            polar = np.arctan2(np.hypot(x[:, 0], x[:, 1]), x[:, 2])
            longitude = np.arctan2(x[:, 1], x[:, 0])
            for k in range(degree + 1):
                sizes = [
                    abs(m @ special.sph_harm_y(k, order, polar, longitude)) ** 2
                    for order in range(k + 1)
                ]
                square = sizes[0] + 2 * sum(sizes[1:])
                result[k] = math.sqrt(square * 4 * np.pi / (2 * k + 1))
            return result
        result[:] = 0.0
        alpha = self.d / 2 - 1
        for start in range(0, self.n, 512):
            cosine = np.clip(x[start : start + 512] @ x.T, -1, 1)
            for k in range(degree + 1):
                zonal = special.eval_gegenbauer(k, alpha, cosine) @ m
                result[k] += m[start : start + 512] @ zonal / special.eval_gegenbauer(k, alpha, 1.0)
        return np.sqrt(np.maximum(result, 0.0))


def wasserstein(mu: Measure, nu: Measure, *, p: float = 2) -> float:
    """Wasserstein distance for the geodesic distance of the sphere (S6).

    On the circle it is exact for any masses: the lifted quantile functions are compared at the
    best cut, which minimises a convex, piecewise linear function of the shift of the levels
    (Delon, Salomon and Sobolevskii 2010).

    Parameters
    ----------
    mu, nu : Measure
        On the same sphere. In ``d >= 3`` both need the same number of atoms, at most 2000, all
        of equal mass: the optimal plan is then an assignment.
    p : float
        Exponent, ``>= 1``.

    Returns
    -------
    float
        Distance in radians.

    Raises
    ------
    ValueError
        If the spheres differ, ``p < 1``, or the measures are not of the kind above.

    Examples
    --------
    >>> mu, nu = Measure.from_angles([0.1]), Measure.from_angles([2 * np.pi - 0.1])
    >>> round(wasserstein(mu, nu), 12)
    0.2
    """
    for name, measure in (("mu", mu), ("nu", nu)):
        if not isinstance(measure, Measure):
            raise ValueError(f"{name} must be a Measure, got {type(measure).__name__}")
    if mu.d != nu.d:
        raise ValueError(f"nu must live in the dimension of mu, d = {mu.d}, got d = {nu.d}")
    p = number("p", p)
    if p < 1:
        raise ValueError(f"p must be a finite number >= 1, got {p}")
    if mu.d == 2:
        return circle_distance((mu.angles, mu.masses), (nu.angles, nu.masses), p)
    from scipy.optimize import linear_sum_assignment

    if mu.n != nu.n or mu.n > 2000:
        raise ValueError(
            f"nu must have as many atoms as mu, at most 2000, when d >= 3, got {mu.n} and {nu.n}"
        )
    for name, measure in (("mu", mu), ("nu", nu)):
        if np.ptp(measure.masses) > 1e-12:
            raise ValueError(f"{name} must have equal masses when d >= 3, got unequal ones")
    chord = np.linalg.norm(mu.points[:, None, :] - nu.points[None, :, :], axis=2)
    cost = (2 * np.arcsin(np.minimum(chord / 2, 1.0))) ** p
    rows, columns = linear_sum_assignment(cost)
    return float(cost[rows, columns].mean() ** (1 / p))
