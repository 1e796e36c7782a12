"""The discrete layer and its iteration, and single steps of fixed size on the sphere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import sphere, summation
from ._checks import Array, array, choice, integer, number, unit_rows
from .attention import Attention
from .perceptrons import Perceptron

#: Sign of the field: attractive attention ascends, repulsive attention descends (S3).
DIRECTIONS = {"descent": -1.0, "ascent": 1.0}


def layer(
    points: ArrayLike,
    attention: Attention,
    perceptron: Perceptron | None,
    dt: float,
    *,
    direction: str = "ascent",
) -> Array:
    """Apply one post-LN encoder layer (S1): attention, normalise, perceptron, normalise.

    Parameters
    ----------
    points : (n, d) array
        Tokens, unit rows.
    attention : Attention
        Softmax attention; ``V = I`` for ascent, ``-I`` for descent, with a matrix too: the flow
        of ``Landscape(Attention(matrix=B))`` is the limit for ``V = +-B`` instead.
    perceptron : Perceptron or None
        ``W = A^T Omega`` for ascent, ``-A^T Omega`` for descent.
    dt : float
        Step, positive.
    direction : {"ascent", "descent"}
        The signs above.

    Returns
    -------
    (n, d) array
        Tokens after the layer.

    Raises
    ------
    ValueError
        If an argument is of the wrong kind, out of range or of another dimension.

    Examples
    --------
    >>> layer([[1.0, 0.0], [0.0, 1.0]], Attention(1.0), None, 0.1).round(4)
    array([[0.9997, 0.0251],
           [0.0251, 0.9997]])
    """
    x, dt, sign = _layer_arguments(points, attention, perceptron, dt, direction)
    return _layer(x, attention, perceptron, dt * sign)


def iterate_layer(
    points: ArrayLike,
    attention: Attention,
    perceptron: Perceptron | None,
    dt: float,
    steps: int,
    *,
    direction: str = "ascent",
) -> Array:
    """Apply `layer` again and again: a deep Transformer with weights constant in depth (S1).

    Parameters
    ----------
    points, attention, perceptron, dt, direction
        As for `layer`.
    steps : int
        Number of layers, ``>= 0``.

    Returns
    -------
    (steps + 1, n, d) array
        Tokens before the first layer and after each.

    Raises
    ------
    ValueError
        If an argument is of the wrong kind, out of range or of another dimension.

    Examples
    --------
    >>> tokens = iterate_layer([[1.0, 0.0], [0.0, 1.0]], Attention(1.0), None, 0.1, 200)
    >>> bool(tokens[-1][0] @ tokens[-1][1] > 0.999)  # attention attracts
    True
    """
    x, dt, sign = _layer_arguments(points, attention, perceptron, dt, direction)
    steps = integer("steps", steps, minimum=0)
    result = np.empty((steps + 1, *x.shape))
    result[0] = x
    for i in range(steps):
        result[i + 1] = _layer(result[i], attention, perceptron, dt * sign)
    return result


def step(
    field: Callable[[Array], Array], points: ArrayLike, dt: float, *, method: str = "euler"
) -> Array:
    """Take one step of fixed size along a tangent field, projected to the sphere (S2).

    Parameters
    ----------
    field : callable
        Takes points ``(n, d)``, returns tangent vectors ``(n, d)``.
    points : (n, d) array
        Unit rows.
    dt : float
        Step, of either sign.
    method : {"euler", "rk4"}
        Order 1 or 4. The stages of "rk4" are projected too.

    Returns
    -------
    (n, d) array
        Unit rows.

    Raises
    ------
    ValueError
        If an argument is of the wrong kind or out of range, or the field has another shape.

    Examples
    --------
    >>> turn = lambda x: np.stack([-x[:, 1], x[:, 0]], axis=1)
    >>> step(turn, [[1.0, 0.0]], 0.1, method="rk4").round(6)  # cos 0.1, sin 0.1
    array([[0.995004, 0.099833]])
    """
    x = unit_rows("points", points)
    dt = number("dt", dt)
    choice("method", method, ("euler", "rk4"))

    def at(y: Array) -> Array:
        value = array("field", field(sphere.project(y)), ndim=2)
        if value.shape != x.shape:
            raise ValueError(f"field must return shape {x.shape}, got shape {value.shape}")
        return value

    first = at(x)
    if method == "euler":
        return sphere.project(x + dt * first)
    second = at(x + dt / 2 * first)
    third = at(x + dt / 2 * second)
    fourth = at(x + dt * third)
    return sphere.project(x + dt / 6 * (first + 2 * second + 2 * third + fourth))


def _layer(
    x: Array, attention: Attention, perceptron: Perceptron | None, signed_dt: float
) -> Array:
    # The average needs its normal part too, so these sums are ambient ones.
    z = attention.exponents(x)
    value, gradient = summation.dense_sums(
        x, z, np.full(x.shape[0], 1.0), log_scale=-attention._strength, order=1
    )
    average = gradient / value[:, None]
    if attention.matrix is None:
        average /= attention._strength
    else:  # the sums averaged B^T y
        average = np.asarray(np.linalg.solve(attention.matrix.T, average.T).T, dtype=float)
    y = sphere.project(x + signed_dt * average)
    return (
        y
        if perceptron is None
        else sphere.project(y + signed_dt / 2 * perceptron._ambient_gradient(y))
    )


def _layer_arguments(
    points: ArrayLike, attention: Any, perceptron: Any, dt: float, direction: str
) -> tuple[Array, float, float]:
    x = unit_rows("points", points)
    if not isinstance(attention, Attention):
        raise ValueError(f"attention must be an Attention, got {type(attention).__name__}")
    attention.check_dimension("points", x.shape[1])
    if perceptron is not None:
        if not isinstance(perceptron, Perceptron):
            raise ValueError(
                f"perceptron must be a Perceptron or None, got {type(perceptron).__name__}"
            )
        if perceptron.d != x.shape[1]:
            raise ValueError(
                f"points must live in the dimension of perceptron, d = {perceptron.d}, "
                f"got d = {x.shape[1]}"
            )
    sign = DIRECTIONS[choice("direction", direction, DIRECTIONS)]
    return x, number("dt", dt, positive=True), sign
