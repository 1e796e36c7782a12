"""The perceptron: activations with their primitives, and the potential that they add."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ._checks import Array, array, choice, integer, number, unit_rows

_Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Activation:
    """An activation with its derivative and the primitive that makes the potential (S4).

    The named ones are in the dict ``attention_landscape.perceptrons.ACTIVATIONS``.

    Parameters
    ----------
    name : str
        Its name.
    function : callable
        ``sigma``, on arrays.
    derivative : callable
        ``sigma'``. At a kink it is the mean of both sides, the limit of symmetric differences.
    primitive : callable
        ``phi`` with ``phi' = 2 sigma`` and ``phi(0) = 0``.
    lipschitz : float
        The smallest Lipschitz constant of ``sigma``.
    smoothness : {"analytic", "piecewise polynomial"}
        Which theorems apply: T2 and X3, or T1 and R3.

    Examples
    --------
    >>> ACTIVATIONS["gelu"].lipschitz.__round__(6)
    1.128904
    >>> float(ACTIVATIONS["relu"].primitive(np.array(3.0)))
    9.0
    """

    name: str
    function: _Function
    derivative: _Function
    primitive: _Function
    lipschitz: float
    smoothness: str

    def __post_init__(self) -> None:
        for name in ("function", "derivative", "primitive"):
            if not callable(getattr(self, name)):
                raise ValueError(f"{name} must be callable, got {getattr(self, name)!r}")
        number("lipschitz", self.lipschitz)
        choice("smoothness", self.smoothness, ("analytic", "piecewise polynomial"))


_LEAK = 0.01


def _ramp(left: float) -> tuple[_Function, _Function, _Function]:
    """Slope one on the right and ``left`` on the left."""

    def sigma(s: Array) -> Array:
        return np.where(s > 0, s, left * s)

    def derivative(s: Array) -> Array:
        return np.where(s > 0, 1.0, np.where(s < 0, left, (1 + left) / 2))

    def primitive(s: Array) -> Array:
        return np.where(s > 0, 1.0, left) * s**2

    return sigma, derivative, primitive


def _normal(s: Array) -> Array:
    return np.exp(-(s**2) / 2) / math.sqrt(2 * math.pi)


def _gelu_primitive(s: Array) -> Array:
    # s^2 Phi + s pdf - Phi + 1/2: even part s^2/2, odd part by erf (no cancellation at 0)
    half = special.erf(s / math.sqrt(2)) / 2
    return s**2 / 2 + (s**2 - 1) * half + s * _normal(s)


def _log_cosh(s: Array) -> Array:
    a = np.abs(s)
    near = np.log1p(2 * np.sinh(np.minimum(a, 1.0) / 2) ** 2)
    return np.where(a < 1, near, a + np.log1p(np.exp(-2 * a)) - math.log(2))


def _softplus_primitive(s: Array) -> Array:
    # -2 Li2(-e^s) - pi^2/6; for s > 0 by the inversion of the dilogarithm (no overflow)
    # -pi^2/6 is 2 Li2(-1), computed as the tail is: the value at 0 is then exactly 0
    tail = 2 * (special.spence(1 + np.exp(-np.abs(s))) - special.spence(2.0))
    return np.where(s > 0, s**2 + tail, -tail)


ACTIVATIONS: dict[str, Activation] = {
    a.name: a
    for a in (
        Activation("relu", *_ramp(0.0), 1.0, "piecewise polynomial"),
        Activation(
            "gelu",
            lambda s: s * special.ndtr(s),
            lambda s: special.ndtr(s) + s * _normal(s),
            _gelu_primitive,
            0.5 + math.erf(1.0) / 2 + math.exp(-1.0) / math.sqrt(math.pi),  # sigma'(sqrt 2)
            "analytic",
        ),
        Activation(
            "tanh",
            np.tanh,
            lambda s: 1 - np.tanh(s) ** 2,
            lambda s: 2 * _log_cosh(s),
            1.0,
            "analytic",
        ),
        Activation(
            "softplus",
            lambda s: np.logaddexp(0.0, s),
            special.expit,
            _softplus_primitive,
            1.0,
            "analytic",
        ),
        Activation("leaky_relu", *_ramp(_LEAK), 1.0, "piecewise polynomial"),
        Activation("identity", lambda s: 1.0 * s, np.ones_like, np.square, 1.0, "analytic"),
    )
}


@dataclass(frozen=True, eq=False, repr=False)
class Perceptron:
    """A conservative perceptron (S3): ``k`` neurons, potential ``sum_j w_j phi(a_j . x + b_j)``.

    Parameters
    ----------
    directions : (k, d) array
        The ``a_j``, of any length, ``k >= 1``.
    weights : (k,) array
        The ``w_j``: output weights are ``w_j a_j`` (S3).
    biases : (k,) array, optional
        The ``b_j``, zero when left out.
    activation : str or Activation
        ``"relu"``, ``"gelu"``, ``"tanh"``, ``"softplus"``, ``"leaky_relu"`` (slope 0.01) or
        ``"identity"``, or an `Activation` of your own.

    Attributes
    ----------
    k, d : int
        Number of neurons and dimension.
    weight_bound : float
        ``sum_j |w_j| |a_j|^2``.
    curvature_bound : float
        A bound of ``|v''|/2`` along unit-speed great circles.

    Raises
    ------
    ValueError
        On wrong shapes, NaN or infinity, or an unknown activation.

    Examples
    --------
    >>> perceptron = Perceptron([[1.0, 0.0]], [0.5], activation="relu")
    >>> perceptron.potential([[1.0, 0.0], [-1.0, 0.0]])
    array([0.5, 0. ])
    """

    directions: Array
    weights: Array
    biases: Array = field(default=cast(Any, None))
    activation: Activation = field(default=cast(Any, "relu"), kw_only=True)

    def __init__(
        self,
        directions: ArrayLike,
        weights: ArrayLike,
        biases: ArrayLike | None = None,
        *,
        activation: str | Activation = "relu",
    ) -> None:
        a = array("directions", directions, ndim=2)
        if a.shape[0] < 1 or a.shape[1] < 2:
            raise ValueError(f"directions must have shape (k, d), k >= 1, d >= 2, got {a.shape}")
        k = a.shape[0]
        cleaned = {"directions": a, "weights": array("weights", weights, ndim=1)}
        cleaned["biases"] = np.zeros(k) if biases is None else array("biases", biases, ndim=1)
        for name in ("weights", "biases"):
            if cleaned[name].shape != (k,):
                raise ValueError(f"{name} must have shape ({k},), got shape {cleaned[name].shape}")
        for name, value in cleaned.items():
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        object.__setattr__(self, "activation", _activation(activation))

    def __repr__(self) -> str:
        return f"Perceptron(k={self.k}, d={self.d}, activation={self.activation.name!r})"

    @classmethod
    def random(
        cls,
        d: int,
        *,
        k: int | None = None,
        activation: str | Activation = "relu",
        scale: float = 1.0,
        rng: Any = None,
    ) -> Perceptron:
        """Draw unit directions and normal weights, in this order.

        Parameters
        ----------
        d : int
            Dimension, at least 2.
        k : int, optional
            Number of neurons; ``d`` when left out, as in the paper.
        activation : str or Activation
            As for `Perceptron`.
        scale : float
            Standard deviation of the weights.
        rng : None, int or numpy.random.Generator
            Source of randomness; an int is a seed.

        Returns
        -------
        Perceptron

        Raises
        ------
        ValueError
            If a number is out of range or the activation unknown.

        Examples
        --------
        >>> Perceptron.random(2, rng=777).weights.round(5)
        array([ 0.63246, -0.46968])
        """
        d = integer("d", d, minimum=2)
        k = d if k is None else integer("k", k, minimum=1)
        scale = number("scale", scale)
        if scale < 0:
            raise ValueError(f"scale must be >= 0, got {scale}")
        generator = np.random.default_rng(rng)
        directions = generator.normal(size=(k, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        weights = scale * generator.normal(size=k)
        return cls(directions, weights, activation=activation)

    @property
    def k(self) -> int:
        """Number of neurons."""
        return int(self.directions.shape[0])

    @property
    def d(self) -> int:
        """Dimension of the ambient space."""
        return int(self.directions.shape[1])

    @property
    def weight_bound(self) -> float:
        """``sum_j |w_j| |a_j|^2``, the ``W`` of T4 and X1 for Lipschitz constant one."""
        return float(np.abs(self.weights) @ np.sum(self.directions**2, axis=1))

    @property
    def curvature_bound(self) -> float:
        """Bound of ``|v''|/2`` along unit-speed great circles, for S6, X1, X9 and E10.

        ``v''/2 = sum_j w_j (sigma'(s)(a . xi)^2 - sigma(s) a . x)`` with ``s = a . x + b``, and
        ``|sigma(s)| <= |sigma(b)| + L |a . x|``, hence
        ``|v''|/2 <= sum_j |w_j| (L |a_j|^2 + |sigma(b_j)| |a_j|)``.
        """
        length = np.linalg.norm(self.directions, axis=1)
        offset = np.abs(self.activation.function(self.biases))
        terms = self.activation.lipschitz * length**2 + offset * length
        return float(np.abs(self.weights) @ terms)

    def potential(self, x: ArrayLike) -> Array:
        """Return ``v`` at the rows of ``x`` (S4).

        Parameters
        ----------
        x : (m, d) array
            Unit rows.

        Returns
        -------
        (m,) array

        Raises
        ------
        ValueError
            On wrong shapes or rows that are not unit.

        Examples
        --------
        >>> Perceptron([[2.0, 0.0]], [1.0], activation="identity").potential([[1.0, 0.0]])
        array([4.])
        """
        return self._potential(unit_rows("x", x, d=self.d))

    def gradient(self, x: ArrayLike) -> Array:
        """Return the gradient of ``v``: ``2 P_x sum_j w_j sigma(a_j . x + b_j) a_j`` (S4).

        Parameters
        ----------
        x : (m, d) array
            Unit rows.

        Returns
        -------
        (m, d) array
            Tangent vectors.

        Raises
        ------
        ValueError
            On wrong shapes or rows that are not unit.

        Examples
        --------
        >>> Perceptron([[1.0, 1.0]], [0.5]).gradient([[1.0, 0.0]])
        array([[0., 1.]])
        """
        return self._gradient(unit_rows("x", x, d=self.d))

    def hessian(self, x: ArrayLike) -> Array:
        """Return the spherical Hessian of ``v`` as ambient matrices that vanish on ``x`` (S5).

        On the kink of a ReLU it is the mean of the two one-sided second derivatives, which is
        what symmetric second differences along geodesics converge to.

        Parameters
        ----------
        x : (m, d) array
            Unit rows.

        Returns
        -------
        (m, d, d) array

        Raises
        ------
        ValueError
            On wrong shapes or rows that are not unit.

        Examples
        --------
        >>> Perceptron([[0.0, 1.0]], [0.5], activation="identity").hessian([[1.0, 0.0]])[0]
        array([[0., 0.],
               [0., 1.]])
        """
        return self._hessian(unit_rows("x", x, d=self.d))

    def drift(self, x: ArrayLike) -> Array:
        """Return the perceptron's part of the field: half the gradient of ``v`` (S2, S4).

        Parameters
        ----------
        x : (m, d) array
            Unit rows.

        Returns
        -------
        (m, d) array
            Tangent vectors ``P_x sum_j w_j sigma(a_j . x + b_j) a_j``.

        Raises
        ------
        ValueError
            On wrong shapes or rows that are not unit.

        Examples
        --------
        >>> Perceptron([[1.0, 1.0]], [0.5]).drift([[1.0, 0.0]])
        array([[0. , 0.5]])
        """
        return self.gradient(x) / 2

    def inactive(self, x: ArrayLike) -> np.ndarray:
        """Say where no neuron is active: all ``a_j . x + b_j <= 0``.

        Parameters
        ----------
        x : (m, d) array
            Unit rows.

        Returns
        -------
        (m,) boolean array
            With ReLU, the potential vanishes there; the other points are the active region of T3.

        Raises
        ------
        ValueError
            On wrong shapes or rows that are not unit.

        Examples
        --------
        >>> Perceptron([[1.0, 0.0]], [1.0]).inactive([[1.0, 0.0], [-1.0, 0.0]])
        array([False,  True])
        """
        return np.asarray((self._preactivations(unit_rows("x", x, d=self.d)) <= 0).all(axis=1))

    def _preactivations(self, x: Array) -> Array:
        return x @ self.directions.T + self.biases

    def _potential(self, x: Array) -> Array:
        return self.activation.primitive(self._preactivations(x)) @ self.weights

    def _gradient(self, x: Array) -> Array:
        g = self._ambient_gradient(x).T
        return (g - np.einsum("in,in->n", x.T, g) * x.T).T

    def _ambient_gradient(self, x: Array) -> Array:
        # neurons by points: inner loops over the points are twice as fast
        values = self.activation.function(self.directions @ x.T + self.biases[:, None])
        return (self.directions.T @ (2 * values * self.weights[:, None])).T

    def _hessian(self, x: Array) -> Array:
        slopes = 2 * self.weights * self.activation.derivative(self._preactivations(x))
        ambient = np.einsum("mk,ki,kj->mij", slopes, self.directions, self.directions)
        radial = np.einsum("ij,ij->i", x, self._ambient_gradient(x))
        projector = np.eye(self.d) - x[:, :, None] * x[:, None, :]
        return projector @ ambient @ projector - radial[:, None, None] * projector


def _activation(value: Any) -> Activation:
    if isinstance(value, Activation):
        return value
    return ACTIVATIONS[choice("activation", value, ACTIVATIONS)]
