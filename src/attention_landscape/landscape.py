"""The landscape: energy of attention plus perceptron, its first and second variation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from . import sphere, summation
from ._checks import Array, choice, tangent_rows, unit_rows
from ._pairs import pair_blocks
from .attention import Attention
from .measures import Measure
from .perceptrons import Perceptron

NORMALIZATIONS = ("unnormalized", "softmax")

#: Atoms closer than this count as one place where distinct atoms are needed.
COINCIDENT = 1e-12


@dataclass(frozen=True, eq=False)
class Landscape:
    """The energy ``E[mu] = (1/2 beta) iint e^{beta x.y} dmu dmu + (1/2) int v dmu`` (S4).

    Parameters
    ----------
    attention : Attention
        With a matrix it must be symmetric, and the prefactor is 1/2 (E5).
    perceptron : Perceptron, optional
        None means pure attention.

    Raises
    ------
    ValueError
        If the matrix is not symmetric, or the dimensions of matrix and neurons differ.

    Examples
    --------
    >>> perceptron = Perceptron([[1.0, 0.0]], [0.5])
    >>> landscape = Landscape(Attention(beta=1.0), perceptron)
    >>> round(landscape.energy(Measure([[1.0, 0.0]])), 4)  # e/2 + 1/4
    1.6091
    """

    attention: Attention
    perceptron: Perceptron | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.attention, Attention):
            raise ValueError(f"attention must be an Attention, got {type(self.attention).__name__}")
        if self.perceptron is not None and not isinstance(self.perceptron, Perceptron):
            raise ValueError(
                f"perceptron must be a Perceptron or None, got {type(self.perceptron).__name__}"
            )
        matrix = self.attention.matrix
        if matrix is not None:
            off = np.abs(matrix - matrix.T).max()
            if off > 1e-12 * np.abs(matrix).max():
                raise ValueError(
                    "attention.matrix must be symmetric for an energy to exist, "
                    f"got |B - B^T| up to {off:.3g}"
                )
            if self.perceptron is not None:
                self.attention.check_dimension("perceptron", self.perceptron.d)

    @property
    def scale(self) -> float:
        """The natural size of the field, ``e^{beta + log_scale}`` plus the weight bound."""
        return self.attention.peak + (
            0.0 if self.perceptron is None else self.perceptron.weight_bound
        )

    def energy(self, mu: Measure) -> float:
        """Return ``E[mu]`` (S4).

        Parameters
        ----------
        mu : Measure
            On the sphere of the landscape.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If ``mu`` is not a measure, or lives on another sphere.

        Examples
        --------
        >>> round(Landscape(Attention(beta=2.0)).energy(Measure([[1.0, 0.0]])), 4)  # e^2/4
        1.8473
        """
        self._check(mu)
        return float(mu.masses @ self._energy_density(mu))

    def _energy_density(self, mu: Measure) -> Array:
        density = self.attention.prefactor / 2 * self.attention.sums(mu, mu.points, 0)[0]
        if self.perceptron is not None:
            density += self.perceptron._potential(mu.points) / 2
        return density

    def first_variation(self, mu: Measure, x: ArrayLike) -> Array:
        """Return ``dE(x) = prefactor f^mu(x) + v(x)/2`` at the rows of ``x`` (S4).

        Parameters
        ----------
        mu : Measure
            The measure at which the energy is varied.
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
        >>> mu = Measure([[1.0, 0.0]])
        >>> Landscape(Attention(beta=1.0)).first_variation(mu, [[0.0, 1.0]])
        array([1.])
        """
        self._check(mu)
        return self.variations(mu, unit_rows("x", x, d=mu.d), 0)[0]

    def variations(self, mu: Measure, x: Array, order: int) -> tuple[Array, ...]:
        """First variation at unit rows, its spherical gradient and Hessian, unchecked (S4).

        Parameters
        ----------
        mu : Measure
            The measure at which the energy is varied.
        x : (m, d) array
            Unit rows.
        order : {0, 1, 2}
            How many derivatives.

        Returns
        -------
        tuple of arrays
            Shapes ``(m,)``, ``(m, d)``, ``(m, d, d)``, as many as asked for.

        Examples
        --------
        >>> mu = Measure([[1.0, 0.0]])
        >>> Landscape(Attention(beta=1.0)).variations(mu, mu.points, 1)[1]
        array([[0., 0.]])
        """
        sums = [self.attention.prefactor * s for s in self.attention.sums(mu, x, order)]
        if self.perceptron is not None:
            p = self.perceptron
            for i, part in enumerate((p._potential, p._gradient, p._hessian)[: order + 1]):
                sums[i] = sums[i] + part(x) / 2
        return tuple(sums)

    def gradient(
        self, mu: Measure, x: ArrayLike | None = None, *, normalization: str = "unnormalized"
    ) -> Array:
        """Return the field: the spherical gradient of the first variation (S4), or softmax's (S7).

        Parameters
        ----------
        mu : Measure
            The measure that makes the field.
        x : (m, d) array, optional
            Unit rows; the atoms of ``mu`` when left out.
        normalization : {"unnormalized", "softmax"}
            "softmax" divides the attention part by ``f^mu``: ``prefactor grad log f^mu`` plus
            ``grad v / 2``, the convention of the layer (S7; the paper's "normalised"
            stationarity has weights divided by ``beta``).

        Returns
        -------
        (m, d) array
            Tangent vectors.

        Raises
        ------
        ValueError
            On wrong shapes or dimensions, rows that are not unit, or an unknown normalization.

        Examples
        --------
        >>> landscape = Landscape(Attention(beta=1.0))
        >>> landscape.gradient(Measure([[0.0, 1.0]]), [[1.0, 0.0]])
        array([[0., 1.]])
        """
        self._check(mu)
        choice("normalization", normalization, NORMALIZATIONS)
        rows = mu.points if x is None else unit_rows("x", x, d=mu.d)
        return self.field(mu, rows, normalization)

    def field(self, mu: Measure, x: Array, normalization: str = "unnormalized") -> Array:
        """Compute the field at unit rows, unchecked (S4, S7): see `gradient`.

        Parameters
        ----------
        mu : Measure
            The measure that makes the field.
        x : (m, d) array
            Unit rows.
        normalization : {"unnormalized", "softmax"}
            As for `gradient`.

        Returns
        -------
        (m, d) array

        Examples
        --------
        >>> landscape = Landscape(Attention(beta=1.0))
        >>> landscape.field(Measure([[0.0, 1.0]]), np.array([[1.0, 0.0]]))
        array([[0., 1.]])
        """
        if normalization == "unnormalized":
            (result,) = self.attention.sums(mu, x, 1, last=True)
        else:
            value, result = self.attention.sums(mu, x, 1, relative=True)
            result /= value[:, None]
        result *= self.attention.prefactor
        if self.perceptron is not None:
            result += self.perceptron._gradient(x) / 2
        return result

    def hessian(self, mu: Measure) -> Array:
        """Return the Wasserstein Hessian as a matrix in `sphere.tangent_frames` (S5).

        Parameters
        ----------
        mu : Measure
            ``n`` atoms; the array returned is the only one of this size in the package.

        Returns
        -------
        (n (d-1), n (d-1)) array
            The quadratic form ``d^2/dt^2 E`` at 0 along ``exp_x(t xi(x))``. Where an atom sits
            on the kink of a ReLU, it is the limit of symmetric second differences.

        Raises
        ------
        ValueError
            If ``mu`` is not a measure, or lives on another sphere.

        Examples
        --------
        >>> mu = Measure.from_angles([0.0, np.pi])
        >>> Landscape(Attention(beta=1.0)).hessian(mu).round(4)
        array([[ 0.092, -0.092],
               [-0.092,  0.092]])
        """
        self._check(mu)
        x, m = mu.points, mu.masses
        frames = sphere.tangent_frames(x)
        n, q, _ = frames.shape
        result = pair_blocks(self.attention, x, frames)[2]
        result *= m[:, None, None, None] * m[None, None, :, None]
        own = self.variations(mu, x, 2)[2]
        index = np.arange(n)
        result[index, :, index, :] += m[:, None, None] * (frames @ own @ frames.transpose(0, 2, 1))
        matrix = result.reshape(n * q, n * q)
        return (matrix + matrix.T) / 2

    def hessian_form(self, mu: Measure, xi: ArrayLike) -> float:
        """Return the Wasserstein Hessian in the direction ``xi``, without its matrix (S5).

        Parameters
        ----------
        mu : Measure
            ``n`` atoms.
        xi : (n, d) array
            A tangent vector at each atom.

        Returns
        -------
        float
            ``d^2/dt^2 E`` at 0 along ``exp_x(t xi(x))``.

        Raises
        ------
        ValueError
            On wrong shapes or dimensions, or vectors that are not tangent.

        Examples
        --------
        >>> mu = Measure.from_angles([0.0, np.pi])
        >>> xi = [[0.0, 1.0], [0.0, 1.0]]  # opposite turns: the first up, the second back
        >>> round(Landscape(Attention(beta=1.0)).hessian_form(mu, xi), 4)
        0.3679
        """
        self._check(mu)
        vectors = tangent_rows("xi", xi, mu.points)
        own = np.einsum("ij,ijk,ik->i", vectors, self.variations(mu, mu.points, 2)[2], vectors)
        moved = self.source_derivative(mu, vectors)
        return float(mu.masses @ (own + np.einsum("ij,ij->i", vectors, moved)))

    def source_derivative(self, mu: Measure, xi: Array) -> Array:
        """Change of the field at fixed places when the atoms move with velocity ``xi``, unchecked.

        It is the part of the Hessian that couples the atoms (S5).

        Parameters
        ----------
        mu : Measure
            ``n`` atoms.
        xi : (n, d) array
            A tangent vector at each atom.

        Returns
        -------
        (n, d) array
            ``int e^{x.By} P_x (B xi + (x . B xi) B y) dmu(y)`` times the prefactor.

        Examples
        --------
        >>> mu = Measure([[1.0, 0.0]])
        >>> landscape = Landscape(Attention(beta=1.0))
        >>> landscape.source_derivative(mu, np.array([[0.0, 1.0]]))[0, 1].round(4)
        np.float64(2.7183)
        """
        x, p = mu.points, self.attention.prefactor
        if mu.d == 2 and self.attention.matrix is None:
            frame = sphere.tangent_frames(x)[:, 0]
            signed = mu.masses * np.einsum("ij,ij->i", frame, xi)
            # on the circle moving sources differentiates the kernel: -K'' against signed masses
            (second,) = self.attention._signed_sums(x, x, signed, 2, last=True)
            return -p * np.einsum("ijk,ik->ij", second, frame)
        if mu.d == 3 and self.attention.beta is not None:
            # sum_a x_a S_a, where S_a sums with masses m xi_a, differentiates to this
            total = np.zeros_like(x)
            for axis in range(3):
                signed = self.attention.beta * mu.masses * xi[:, axis]
                value, slope = self.attention._signed_sums(x, x, signed, 1)
                total[:, axis] += value
                total += x[:, axis, None] * slope
        else:
            total = summation.dense_source_derivative(
                x, self.attention.exponents(x), self.attention.exponents(xi), mu.masses,
                log_scale=self.attention.log_scale,
            )  # fmt: skip
        total -= np.einsum("ij,ij->i", x, total)[:, None] * x
        return p * total

    def spectrum(self, mu: Measure) -> Array:
        """Return the eigenvalues of the Hessian relative to ``|xi|^2`` in ``L^2(mu)`` (S5).

        Parameters
        ----------
        mu : Measure
            Distinct atoms of positive mass.

        Returns
        -------
        (n (d-1),) array
            Ascending. The first is the ``kappa`` of strict stability when it is positive.

        Raises
        ------
        ValueError
            If a mass is zero or two atoms coincide: use ``mu.merged(tol)``. The tangent space
            gives coincident atoms one common vector, so their split is not a direction of it.

        Examples
        --------
        >>> mu = Measure.from_angles([0.0, np.pi])
        >>> Landscape(Attention(beta=1.0)).spectrum(mu).round(4)
        array([0.    , 0.3679])
        """
        self._check(mu)
        if mu.masses.min() <= 0:
            raise ValueError(
                "mu must have positive masses for a spectrum, got a zero mass; use mu.merged(tol)"
            )
        if mu.n > 1 and mu.merged(COINCIDENT).n < mu.n:
            raise ValueError(
                "mu must have distinct atoms for a spectrum, got coincident ones; "
                "use mu.merged(tol)"
            )
        root = np.repeat(np.sqrt(mu.masses), mu.d - 1)
        return np.asarray(np.linalg.eigvalsh(self.hessian(mu) / np.outer(root, root)), dtype=float)

    def _check(self, mu: Measure) -> None:
        if not isinstance(mu, Measure):
            raise ValueError(f"mu must be a Measure, got {type(mu).__name__}")
        if self.perceptron is not None and mu.d != self.perceptron.d:
            raise ValueError(
                f"mu must live in the dimension of perceptron, d = {self.perceptron.d}, "
                f"got d = {mu.d}"
            )
        self.attention.check_dimension("mu", mu.d)
