"""Attention: the potential of a measure for the kernel ``e^{beta x . y}`` or ``e^{x . B y}``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from . import summation
from ._checks import Array, array, integer, number, unit_rows
from .measures import Measure

#: Largest exponent of the kernel: exp(700) is close to the largest float64.
MAX_EXPONENT = 700.0


@dataclass(frozen=True, eq=False, repr=False)
class Attention:
    """Attention with inverse temperature ``beta``, or with an invertible matrix ``B``.

    Its potential is ``f^mu(x) = e^{log_scale} int e^{beta x . y} dmu(y)`` (S4), or
    ``e^{log_scale} int e^{x . B^T y} dmu(y)`` with a matrix (R6).

    Parameters
    ----------
    beta : float, optional
        Positive. Give exactly one of ``beta`` and ``matrix``.
    matrix : (d, d) array, optional
        Invertible ``B``. `Landscape` asks for a symmetric one.
    log_scale : float
        The kernel is multiplied by ``e^{log_scale}``. ``log_scale=-beta`` gives
        ``e^{beta (x . y - 1)}``: in the paper's units, weights times ``e^beta`` and another
        clock.

    Attributes
    ----------
    prefactor : float
        ``1 / beta``, or 1 with a matrix: ``E = (prefactor / 2) iint + (1/2) int v``, so with
        ``B = beta I`` the energy is ``beta`` times the one of ``Attention(beta)``.
    peak : float
        The largest value of the kernel, ``e^{beta + log_scale}``.

    Raises
    ------
    ValueError
        If ``beta`` is not a positive finite number, ``matrix`` is singular or not square, both
        or none are given, or ``beta + log_scale > 700`` (overflow; use ``log_scale=-beta``).

    Examples
    --------
    >>> Attention(beta=5.0)
    Attention(beta=5.0)
    >>> mu = Measure([[1.0, 0.0]])
    >>> float(Attention(2.0).potential(mu, [[1.0, 0.0]])[0].round(4))
    7.3891
    """

    beta: float | None = None
    matrix: Array | None = field(default=None, kw_only=True)
    log_scale: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "log_scale", number("log_scale", self.log_scale))
        if (self.beta is None) == (self.matrix is None):
            given = "neither" if self.beta is None else "both"
            raise ValueError(f"give exactly one of beta and matrix, got {given}")
        if self.matrix is None:
            object.__setattr__(self, "beta", number("beta", self.beta, positive=True))
            name = "beta"
        else:
            matrix = array("matrix", self.matrix, ndim=2)
            if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
                raise ValueError(f"matrix must be square, d >= 2, got shape {matrix.shape}")
            values = np.linalg.svd(matrix, compute_uv=False)
            if values[-1] <= 1e-13 * values[0]:
                raise ValueError(
                    "matrix must be invertible, "
                    f"got smallest and largest singular values {values[-1]:.3g}, {values[0]:.3g}"
                )
            matrix.flags.writeable = False
            object.__setattr__(self, "matrix", matrix)
            name = "|matrix|"
        top = self._strength + self.log_scale
        if top > MAX_EXPONENT:
            raise ValueError(
                f"{name} + log_scale must be at most {MAX_EXPONENT:.0f}, else the kernel "
                f"overflows, got {top:.6g}; use log_scale=-{name}"
            )
        if top < -MAX_EXPONENT:
            raise ValueError(
                f"{name} + log_scale must be at least {-MAX_EXPONENT:.0f}, else the kernel "
                f"vanishes, got {top:.6g}; use log_scale=-{name}"
            )

    def __repr__(self) -> str:
        what = f"beta={self.beta}" if self.matrix is None else f"matrix={self.matrix.tolist()}"
        scale = f", log_scale={self.log_scale}" if self.log_scale else ""
        return f"Attention({what}{scale})"

    @property
    def _strength(self) -> float:
        """The largest exponent: ``beta``, or the norm of ``B``."""
        if self.matrix is None:
            assert self.beta is not None
            return self.beta
        return float(np.linalg.norm(self.matrix, 2))

    @property
    def prefactor(self) -> float:
        """``1 / beta``, or 1 with a matrix."""
        return 1.0 if self.beta is None else 1.0 / self.beta

    @property
    def peak(self) -> float:
        """The largest value of the kernel on the sphere (with a matrix, a bound of it)."""
        return math.exp(self._strength + self.log_scale)

    def exponents(self, points: Array) -> Array:
        """Return ``beta y`` or ``B^T y`` for each row ``y``: the kernel is ``e^{x . that}``."""
        return self._strength * points if self.matrix is None else points @ self.matrix

    def sums(
        self, mu: Measure, x: Array, order: int, *, relative: bool = False, last: bool = False
    ) -> tuple[Array, ...]:
        """Potential, spherical gradient and Hessian at unit rows, unchecked, in one pass (S4).

        Parameters
        ----------
        mu : Measure
            The sources.
        x : (m, d) array
            Unit rows.
        order : {0, 1, 2}
            How many derivatives.
        relative : bool
            Keep them accurate relative to the potential, for softmax: see
            `summation.kernel_sums`.
        last : bool
            Return the last derivative alone.

        Returns
        -------
        tuple of arrays
            Shapes ``(m,)``, ``(m, d)``, ``(m, d, d)``, as many as asked for.

        Examples
        --------
        >>> mu = Measure([[1.0, 0.0]])
        >>> len(Attention(2.0).sums(mu, mu.points, 2))
        3
        """
        return self._signed_sums(x, mu.points, mu.masses, order, relative=relative, last=last)

    def _signed_sums(
        self,
        x: Array,
        y: Array,
        masses: Array,
        order: int,
        *,
        relative: bool = False,
        last: bool = False,
    ) -> tuple[Array, ...]:
        if self.matrix is None:
            assert self.beta is not None
            return summation.kernel_sums(
                x, y, masses, self.beta,
                log_scale=self.log_scale, order=order, relative=relative, last=last,
            )  # fmt: skip
        symmetric = x is y and np.array_equal(self.matrix, self.matrix.T)
        sums = summation.dense_sums(
            x, self.exponents(y), masses,
            log_scale=self.log_scale, order=order, symmetric=symmetric,
        )  # fmt: skip
        sums = summation.on_sphere(x, sums)
        return sums[-1:] if last else sums

    def potential(self, mu: Measure, x: ArrayLike) -> Array:
        """Return ``f^mu`` at the rows of ``x`` (S4).

        Parameters
        ----------
        mu : Measure
            The sources.
        x : (m, d) array
            Unit rows.

        Returns
        -------
        (m,) array

        Raises
        ------
        ValueError
            On wrong shapes or dimensions, or rows that are not unit.

        Examples
        --------
        >>> mu = Measure.from_angles([0.0, np.pi])
        >>> Attention(1.0).potential(mu, [[1.0, 0.0]]).round(4)
        array([1.5431])
        """
        return self.sums(mu, self._points(mu, x), 0)[0]

    def gradient(self, mu: Measure, x: ArrayLike) -> Array:
        """Return the gradient of ``f^mu``, ``beta int e^{beta x . y} P_x y dmu(y)`` (S4).

        Parameters
        ----------
        mu : Measure
            The sources.
        x : (m, d) array
            Unit rows.

        Returns
        -------
        (m, d) array
            Tangent vectors.

        Raises
        ------
        ValueError
            On wrong shapes or dimensions, or rows that are not unit.

        Examples
        --------
        >>> mu = Measure([[0.0, 1.0]])
        >>> Attention(2.0).gradient(mu, [[1.0, 0.0]])
        array([[0., 2.]])
        """
        return self.sums(mu, self._points(mu, x), 1, last=True)[0]

    def hessian(self, mu: Measure, x: ArrayLike) -> Array:
        """Return the spherical Hessian of ``f^mu`` as ambient matrices that vanish on ``x`` (S5).

        Parameters
        ----------
        mu : Measure
            The sources.
        x : (m, d) array
            Unit rows.

        Returns
        -------
        (m, d, d) array
            ``xi^T H xi`` is the second derivative along the geodesic of velocity ``xi``.

        Raises
        ------
        ValueError
            On wrong shapes or dimensions, or rows that are not unit.

        Examples
        --------
        >>> mu = Measure([[0.0, 1.0]])
        >>> Attention(2.0).hessian(mu, [[1.0, 0.0]])[0]
        array([[0., 0.],
               [0., 4.]])
        """
        return self.sums(mu, self._points(mu, x), 2, last=True)[0]

    def eigenvalues(self, d: int, degree: int) -> Array:
        """Return the Funk-Hecke eigenvalues ``lambda_0 .. lambda_degree`` (L1).

        ``lambda_j = Gamma(d/2) (2/beta)^{d/2-1} I_{j+d/2-1}(beta)``, times ``e^{log_scale}``:
        the potential of ``Y dsigma`` is ``lambda_j Y`` for a harmonic ``Y`` of degree ``j``.
        Without perceptron the least energy is ``lambda_0 / (2 beta)`` (B1), and the moments of
        degree ``j`` decay at the rate ``j (j + d - 2) lambda_j / beta`` near the uniform law (B1p).

        Parameters
        ----------
        d : int
            Dimension of the ambient space, at least 2.
        degree : int
            Largest degree.

        Returns
        -------
        (degree + 1,) array

        Raises
        ------
        ValueError
            If a matrix was given, or ``d`` or ``degree`` is out of range.

        Examples
        --------
        >>> Attention(1.0).eigenvalues(2, 2).round(6)
        array([1.266066, 0.565159, 0.135748])
        """
        if self.beta is None:
            raise ValueError("matrix: Funk-Hecke eigenvalues need Attention(beta), got a matrix")
        d = integer("d", d, minimum=2)
        degree = integer("degree", degree, minimum=0)
        nu = d / 2 - 1
        j = np.arange(degree + 1)
        # logarithms: each factor alone may overflow for large d or large beta
        constant = special.gammaln(d / 2) + nu * math.log(2 / self.beta)
        bessel = special.ive(j + nu, self.beta)
        scale = math.exp(constant + self.beta + self.log_scale)
        values = np.asarray(bessel * scale, dtype=np.float64)
        small = bessel < 1e-290
        if small.any():  # the power series, whose first terms are enough where I underflows
            k = j[small] + nu
            log_first = (
                special.gammaln(d / 2) - special.gammaln(k + 1) + j[small] * math.log(self.beta / 2)
            )
            q = self.beta**2 / 4
            values[small] = np.exp(log_first + self.log_scale) * special.hyp0f1(k + 1, q)
        return values

    def _points(self, mu: Measure, x: ArrayLike) -> Array:
        if not isinstance(mu, Measure):
            raise ValueError(f"mu must be a Measure, got {type(mu).__name__}")
        self.check_dimension("mu", mu.d)
        return mu.points if x is mu.points else unit_rows("x", x, d=mu.d)

    def check_dimension(self, name: str, d: int) -> None:
        """Raise a ValueError naming ``name`` unless dimension ``d`` fits the matrix."""
        if self.matrix is not None and self.matrix.shape[0] != d:
            raise ValueError(
                f"{name} must live in the dimension of matrix, d = {self.matrix.shape[0]}, "
                f"got d = {d}"
            )
