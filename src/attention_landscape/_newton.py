"""Safeguarded Newton iterations for stationary atoms, with fixed or with free masses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import sphere
from ._checks import Array
from ._pairs import pair_blocks
from .landscape import Landscape
from .measures import Measure

#: Beyond this many tangent coordinates the dense linear algebra of Newton is refused.
MAX_COORDINATES = 4000

_ITERATIONS = 100


def largest(field: Array) -> float:
    """Largest norm of the rows."""
    return float(np.sqrt(np.einsum("ij,ij->i", field, field).max()))


def step_limit(landscape: Landscape) -> float:
    """How far an atom may move in one step: a fraction of the width of the kernel."""
    return 0.3 / np.sqrt(1 + landscape.attention._strength)


def positions_jacobian(landscape: Landscape, mu: Measure, normalization: str) -> Array:
    """Derivative of the field at the atoms with respect to their positions, in frames.

    Scaled by ``sqrt(m_i / m_j)``, so that it is the symmetric Hessian relative to ``L^2(mu)``
    when the field is a gradient.
    """
    x, m = mu.points, mu.masses
    frames = sphere.tangent_frames(x)
    n, q, _ = frames.shape
    _, _, mixed = pair_blocks(landscape.attention, x, frames)
    root = np.sqrt(m)
    mixed *= root[:, None, None, None] * root[None, None, :, None]
    if normalization == "unnormalized":
        own = frames @ landscape.variations(mu, x, 2)[2] @ frames.transpose(0, 2, 1)
    else:
        p = landscape.attention.prefactor
        value, gradient, hessian = landscape.attention.sums(mu, x, 2)
        slope = np.einsum("iad,id->ia", frames, gradient) / value[:, None]
        own = p * (frames @ hessian @ frames.transpose(0, 2, 1)) / value[:, None, None]
        own -= p * slope[:, :, None] * slope[:, None, :]
        if landscape.perceptron is not None:
            own += frames @ landscape.perceptron._hessian(x) @ frames.transpose(0, 2, 1) / 2
        mixed /= value[:, None, None, None]
        # f^mu changes too when a source moves: its slope in the source's coordinates
        transposed = pair_blocks(landscape.attention, x, frames)[1].transpose(2, 0, 1)
        change = transposed * (root[:, None, None] * root[None, :, None]) / value[:, None, None]
        mixed -= slope[:, :, None, None] * change[:, None, :, :]
    index = np.arange(n)
    mixed[index, :, index, :] += own
    return mixed.reshape(n * q, n * q)


def polish_positions(
    landscape: Landscape, mu: Measure, normalization: str, goal: float
) -> tuple[Measure, float, int]:
    """Levenberg-Marquardt on the field at the atoms; masses fixed.

    The pseudo-inverse leaves zero modes (rotations of pure attention) alone. On a kink the
    derivative is the mean of both sides, as in `Perceptron.hessian`.

    Returns
    -------
    tuple
        The best measure found, its residual, the number of iterations.
    """
    limit = step_limit(landscape)
    field = landscape.field(mu, mu.points, normalization)
    residual, damping, count = largest(field), 0.0, 0
    while residual > goal and count < _ITERATIONS:
        count += 1
        frames = sphere.tangent_frames(mu.points)
        root = np.sqrt(mu.masses)
        right = (np.einsum("iad,id->ia", frames, field) * root[:, None]).ravel()
        jacobian = positions_jacobian(landscape, mu, normalization)
        if normalization == "unnormalized":
            values, vectors = np.linalg.eigh((jacobian + jacobian.T) / 2)
            left = vectors
        else:
            left, values, vectors_t = np.linalg.svd(jacobian)
            vectors = vectors_t.T
        coefficients = left.T @ right

        def moved(
            damping: float,
            mu: Measure = mu,
            frames: Array = frames,
            root: Array = root,
            spectral: tuple[Array, Array, Array] = (values, vectors, coefficients),
        ) -> Measure:
            w, v, c = spectral
            top = np.abs(w).max()
            floor = (1e-12 * top) ** 2
            # zero modes get no step: their share of the residual is rounding
            factors = np.where(w**2 > floor, w / (w**2 + damping * top**2 + 1e-300), 0.0)
            xi = -(v @ (factors * c)).reshape(mu.n, -1) / root[:, None]
            vectors_ = np.einsum("ia,iad->id", xi, frames)
            vectors_ *= min(1.0, limit / max(largest(vectors_), 1e-300))
            return Measure._trusted(sphere._exp(mu.points, vectors_), mu.masses)

        improved = False
        for _ in range(25):
            trial = moved(damping)
            trial_field = landscape.field(trial, trial.points, normalization)
            trial_residual = _size(trial, trial_field)
            if trial_residual < (1 - 1e-3) * _size(mu, field):
                mu, field, improved = trial, trial_field, True
                damping = 0.0 if damping < 1e-12 else damping / 10
                break
            damping = max(damping * 10, 1e-14)
        residual = largest(field)
        if not improved:
            break
    return mu, residual, count


def _size(mu: Measure, field: Array) -> float:
    """Norm of the field in ``L^2(mu)``, the merit function."""
    return float(np.sqrt(mu.masses @ np.einsum("ij,ij->i", field, field)))


def polish_minimum(landscape: Landscape, mu: Measure, goal: float) -> tuple[Measure, float, int]:
    """Newton for positions and masses: ``grad dE = 0`` and ``dE = lambda`` at every atom.

    Returns
    -------
    tuple
        The best measure found (positive masses), the largest violation, the number of
        iterations.
    """
    limit = step_limit(landscape)

    def equations(measure: Measure) -> tuple[Array, Array, Array]:
        value, gradient = landscape.variations(measure, measure.points, 1)
        frames = sphere.tangent_frames(measure.points)
        slope = np.einsum("iad,id->ia", frames, gradient)
        return value - measure.masses @ value, slope, frames

    def violation(value: Array, slope: Array) -> float:
        return float(max(np.abs(value).max(), np.abs(slope).max()))

    value, slope, frames = equations(mu)
    size, damping, count = violation(value, slope), 0.0, 0
    while size > goal and count < 40:
        count += 1
        solve = _joint_solver(landscape, mu, value, slope, frames)
        improved = False
        for _ in range(12):
            turn, change = solve(damping)
            vectors = np.einsum("ia,iad->id", turn, frames)
            # keep masses positive and moves short
            shrink = min(1.0, limit / max(largest(vectors), 1e-300))
            falling = change < 0
            if falling.any():
                shrink = min(shrink, 0.9 * float((mu.masses[falling] / -change[falling]).min()))
            masses = mu.masses + shrink * change
            trial = Measure._trusted(
                sphere._exp(mu.points, shrink * vectors), masses / masses.sum()
            )
            trial_value, trial_slope, trial_frames = equations(trial)
            trial_size = violation(trial_value, trial_slope)
            if trial_size < (1 - 1e-3) * size:
                mu, value, slope, frames, size = (
                    trial,
                    trial_value,
                    trial_slope,
                    trial_frames,
                    trial_size,
                )
                damping = 0.0 if damping < 1e-12 else damping / 10
                improved = True
                break
            damping = max(damping * 100, 1e-14)
        if not improved:
            break
    return mu, size, count


def _joint_solver(
    landscape: Landscape, mu: Measure, value: Array, slope: Array, frames: Array
) -> Callable[[float], tuple[Array, Array]]:
    x, m = mu.points, mu.masses
    n, q, _ = frames.shape
    kernel, along, mixed = pair_blocks(landscape.attention, x, frames)
    own = frames @ landscape.variations(mu, x, 2)[2] @ frames.transpose(0, 2, 1)
    size = n * q
    matrix = np.zeros((size + n + 1, size + n + 1))
    # unknowns: turns times sqrt(m), changes of mass over sqrt(m), the level lambda
    root = np.sqrt(m)
    block = mixed * (root[:, None, None, None] * root[None, None, :, None])
    index = np.arange(n)
    block[index, :, index, :] += own
    matrix[:size, :size] = block.reshape(size, size)
    cross = along * (root[:, None, None] * root[None, None, :])
    cross[index, :, index] += slope
    matrix[:size, size : size + n] = cross.reshape(size, n)
    matrix[size : size + n, :size] = matrix[:size, size : size + n].T
    matrix[size : size + n, size : size + n] = kernel * np.outer(root, root)
    matrix[size : size + n, -1] = matrix[-1, size : size + n] = -root
    right = np.concatenate([(slope * root[:, None]).ravel(), value * root, [0.0]])
    w, v = np.linalg.eigh((matrix + matrix.T) / 2)
    coefficients = v.T @ right
    top = np.abs(w).max()

    def solve(damping: float) -> tuple[Array, Array]:
        factors = np.where(np.abs(w) > 1e-15 * top, w / (w**2 + damping * top**2 + 1e-300), 0.0)
        solution = -(v @ (factors * coefficients))
        turn = solution[:size].reshape(n, q) / root[:, None]
        return turn, solution[size : size + n] * root

    return solve
