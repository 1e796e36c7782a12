"""Flows: the discrete layer, its limit ODE with fixed or adaptive steps, and how they stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _threads
from ._checks import Array, array, choice, number
from ._layers import DIRECTIONS, iterate_layer, layer, step
from .landscape import NORMALIZATIONS, Landscape
from .measures import Measure
from .perceptrons import Perceptron

__all__ = ["layer", "iterate_layer", "step", "gradient_flow", "Trajectory"]

#: Rows of one block of elementwise work.
_BLOCK = 1 << 13

#: Accepted steps after which a flow without ``t_max`` gives up.
MAX_STEPS = 100_000

#: Every so many steps a flow of more than `_MANY` tokens looks whether tokens have met.
_MEETING, _MANY = 4, 250


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What `gradient_flow` returns.

    Attributes
    ----------
    t : (s,) array
        Times kept: ``t_eval``, or start and end.
    points : (s, n, d) array
        Atoms at these times; unit rows.
    energies : (s,) array
        Energy at these times.
    final : Measure
        The last state.
    residual : float
        Largest norm of the field over the atoms of ``final``.
    status : int
        1 stationary, 0 reached ``t_max``, -1 gave up, -2 interrupted.
    message : str
        The same in words; says so when the energy was not monotone.
    """

    t: Array
    points: Array
    energies: Array
    final: Measure
    residual: float
    status: int
    message: str


def gradient_flow(
    landscape: Landscape,
    mu: Measure,
    *,
    direction: str = "descent",
    normalization: str = "unnormalized",
    t_max: float | None = None,
    t_eval: ArrayLike | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    stationary_tol: float | None = None,
    callback: Callable[[float, float], Any] | None = None,
) -> Trajectory:
    """Follow the Wasserstein gradient flow ``d mu/dt +- div(mu grad dE) = 0`` (S2, S4).

    The adaptive integrator is the one of Dormand and Prince of order 8 (scipy's DOP853), with
    the field extended by ``F(x) = F(x/|x|)`` and each accepted step projected to the sphere.

    Parameters
    ----------
    landscape : Landscape
        The energy.
    mu : Measure
        Initial atoms and masses; the masses do not change.
    direction : {"descent", "ascent"}
        Descent is repulsive attention (``V = -I``), ascent attractive (``V = I``).
    normalization : {"unnormalized", "softmax"}
        Gradient flow, or the layer's softmax field (S7), whose energy need not be monotone.
    t_max : float, optional
        Final time. None: run until ``stationary_tol`` (or to the end of ``t_eval``).
    t_eval : (s,) array, optional
        Increasing times in ``[0, t_max]`` to keep. Without it only start and end are kept. If
        the flow stops before, the times reached are kept, then the last state.
    rtol, atol : float
        Tolerances of a step; with ``stationary_tol`` they shrink with the residual. Tokens that
        have met to within ``atol`` move on as one, as solutions that meet stay together: a flow
        of many tokens is fast once they are in clusters.
    stationary_tol : float, optional
        Stop when the largest field norm is at most this. Default ``1e-8 scale`` when neither
        ``t_max`` nor ``t_eval`` is given, else no such stop.
    callback : callable, optional
        Called with time and residual after each step: show progress here.

    Returns
    -------
    Trajectory
        A flow that is interrupted (Ctrl-C) or gives up returns what it has; see ``status``.

    Raises
    ------
    ValueError
        If an argument is of the wrong kind, out of range or of another dimension.

    Examples
    --------
    >>> from attention_landscape import Attention, sphere
    >>> landscape = Landscape(Attention(beta=1.0))
    >>> path = gradient_flow(landscape, Measure.from_angles([0.0, 1.0]), direction="descent")
    >>> path.message
    'stationary: residual at most 2.72e-08'
    >>> x = path.final.points
    >>> sphere.distance(x[:1], x[1:]).round(4)  # the two atoms repel
    array([3.1416])
    """
    from scipy.integrate import DOP853

    sign, times, t_max, stationary_tol = _flow_arguments(
        landscape, mu, direction, normalization, t_max, t_eval, stationary_tol
    )
    rtol, atol = number("rtol", rtol, positive=True), number("atol", atol, positive=True)
    x, masses, labels = mu.points, mu.masses, np.arange(mu.n, dtype=np.intp)
    shape = x.shape

    def speed(_: float, y: Array) -> Array:
        field = _field(landscape, _unit(y, shape), masses, normalization)[0]
        field *= sign
        return field.ravel()

    energy, field = _energy_and_field(landscape, x, masses, normalization)
    residual = _largest(field)
    kept = _Kept(times, x, energy)
    t, worst_rise, status = 0.0, 0.0, None
    solver: Any = None
    first = None
    try:
        for i in range(MAX_STEPS):
            if stationary_tol is not None and residual <= stationary_tol:
                status = 1
                break
            if t >= t_max:
                status = 0
                break
            if solver is None:
                solver = DOP853(
                    speed, t, x.ravel(), t_max, rtol=rtol, atol=atol, first_step=first
                )  # fmt: skip
            if stationary_tol is not None:  # errors of a step must not hide that it settles
                most = max(residual / (10 * landscape.scale), 1e-13)
                solver.rtol, solver.atol = min(rtol, most), min(atol, most)
            failure = solver.step()
            if solver.status == "failed":
                status, reason = -1, str(failure)
                break
            between = solver.dense_output() if kept.wants(solver.t) else None
            new = _unit(solver.y, shape)
            new_energy, field = _energy_and_field(landscape, new, masses, normalization)
            solver.y, solver.f = new.ravel(), sign * field.ravel()
            while between is not None and kept.wants(solver.t):
                state = _unit(between(kept.next), shape)
                kept.add(
                    state[labels], _energy_and_field(landscape, state, masses, normalization)[0]
                )
            worst_rise = max(worst_rise, -sign * (new_energy - energy))
            t, x, energy, residual = float(solver.t), new, new_energy, _largest(field)
            if callback is not None:
                callback(t, residual)
            if i % _MEETING == 0 and x.shape[0] > _MANY:
                index, inverse = _met(x, max(atol, 1e-15))
                if 4 * index.size <= 3 * x.shape[0]:
                    x, masses = x[index], np.bincount(inverse, weights=masses).astype(np.float64)
                    shape, labels = x.shape, inverse[labels]
                    first, solver = min(float(solver.h_abs), t_max - t) or None, None
        else:
            status, reason = -1, f"residual {residual:.3g} after {MAX_STEPS} steps"
    except KeyboardInterrupt:
        status = -2
    message = {
        1: f"stationary: residual at most {stationary_tol or 0.0:.3g}",
        0: f"reached t_max = {t_max:.6g}",
        -1: "",
        -2: f"interrupted at t = {t:.6g}",
    }[status]
    if status == -1:
        message = f"gave up at t = {t:.6g}: {reason}"
    if normalization == "unnormalized" and worst_rise > 1e-9 * landscape.scale:
        message += f"; the energy was not monotone (a step of {worst_rise:.3g} the wrong way)"
    x = x[labels]
    all_t, points, energies = kept.finish(t, x, energy)
    return Trajectory(all_t, points, energies, Measure(x, mu.masses), residual, status, message)


class _Kept:
    """The states that a flow keeps: those of ``times``, or start and end."""

    def __init__(self, times: Array | None, x: Array, energy: float) -> None:
        self.times = np.empty(0) if times is None else times
        self.t: list[float] = []
        self.points: list[Array] = []
        self.energies: list[float] = []
        self._only_ends = times is None
        if self._only_ends or self.wants(0.0):
            self._append(0.0, x, energy)

    @property
    def next(self) -> float:
        return float(self.times[len(self.t)])

    def wants(self, t: float) -> bool:
        return not self._only_ends and len(self.t) < self.times.size and self.next <= t

    def add(self, x: Array, energy: float) -> None:
        self._append(self.next, x, energy)

    def _append(self, t: float, x: Array, energy: float) -> None:
        self.t.append(t)
        self.points.append(x)
        self.energies.append(energy)

    def finish(self, t: float, x: Array, energy: float) -> tuple[Array, Array, Array]:
        if self._only_ends or (len(self.t) < self.times.size and (not self.t or self.t[-1] < t)):
            self._append(t, x, energy)
        return np.array(self.t), np.stack(self.points), np.array(self.energies)


def _met(x: Array, side: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """One token for each cell of a grid, and the place of each token's cell among these."""
    cells = np.rint(x / side).astype(np.int64)
    odd = 2 * np.random.default_rng(0).integers(1 << 61, size=x.shape[1]) + 1
    keys = cells @ odd  # modulo 2^64
    _, index, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if np.abs(x - x[index[inverse]]).max() > 2 * side:  # two cells with one key
        index = inverse = np.arange(x.shape[0])
    return index, inverse


def _field(
    landscape: Landscape, x: Array, masses: Array, normalization: str, *, value: bool = False
) -> tuple[Array, ...]:
    """Field at the atoms, and the attention's potential there if it is wanted or needed."""
    attention, perceptron = landscape.attention, landscape.perceptron
    softmax = normalization == "softmax"
    *values, field = attention._signed_sums(
        x, x, masses, 1, relative=softmax, last=not (value or softmax)
    )
    field *= attention.prefactor
    if softmax:
        field /= values[0][:, None]
    if perceptron is not None:
        _add_drift(perceptron, x, field)
    return (field, *values)


def _add_drift(perceptron: Perceptron, x: Array, field: Array) -> None:
    """Add the perceptron's field in blocks that stay in the cache."""

    def add(starts: Sequence[int]) -> None:
        for start in starts:
            block = slice(start, start + _BLOCK)
            field[block] += perceptron._gradient(x[block]) / 2

    _threads.share(add, range(0, x.shape[0], _BLOCK), worth=x.shape[0] > 4 * _BLOCK)


def _energy_and_field(
    landscape: Landscape, x: Array, masses: Array, normalization: str
) -> tuple[float, Array]:
    """Energy and field in one pass over the kernel sums."""
    field, value = _field(landscape, x, masses, normalization, value=True)
    density = landscape.attention.prefactor / 2 * value
    if landscape.perceptron is not None:
        density += landscape.perceptron._potential(x) / 2
    return float(masses @ density), field


def _unit(y: Array, shape: tuple[int, ...]) -> Array:
    y, x = y.reshape(shape), np.empty(shape)

    def project(starts: Sequence[int]) -> None:
        for start in starts:
            rows = y[start : start + _BLOCK]
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            for axis in range(shape[1]):
                np.divide(rows[:, axis], norms, out=x[start : start + _BLOCK, axis])

    _threads.share(project, range(0, shape[0], _BLOCK), worth=shape[0] > 4 * _BLOCK)
    return x


def _largest(field: Array) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", field, field).max()))


def _flow_arguments(
    landscape: Any,
    mu: Measure,
    direction: str,
    normalization: str,
    t_max: float | None,
    t_eval: ArrayLike | None,
    stationary_tol: float | None,
) -> tuple[float, Array | None, float, float | None]:
    if not isinstance(landscape, Landscape):
        raise ValueError(f"landscape must be a Landscape, got {type(landscape).__name__}")
    landscape._check(mu)
    sign = DIRECTIONS[choice("direction", direction, DIRECTIONS)]
    choice("normalization", normalization, NORMALIZATIONS)
    if t_max is not None:
        t_max = number("t_max", t_max, positive=True)
    times = None
    if t_eval is not None:
        times = array("t_eval", t_eval, ndim=1)
        end = t_max if t_max is not None else times[-1] if times.size else 0.0
        if times.size == 0 or times[0] < 0 or np.any(np.diff(times) <= 0) or times[-1] > end:
            raise ValueError(f"t_eval must increase within [0, t_max], got {t_eval!r:.60}")
        t_max = float(end)
    if stationary_tol is not None:
        stationary_tol = number("stationary_tol", stationary_tol, positive=True)
    elif t_max is None:
        stationary_tol = 1e-8 * landscape.scale
    return sign, times, np.inf if t_max is None else t_max, stationary_tol
