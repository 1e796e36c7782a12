"""All local minima of the first variation (or of a potential): the linear oracle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import sphere
from ._checks import Array
from .landscape import Landscape
from .measures import Measure

#: value, slope along the frame, second derivative along the frame, at angles
Profile = Callable[[Array, int], tuple[Array, ...]]


def circle_profile(variations: Callable[[Array, int], tuple[Array, ...]]) -> Profile:
    """Turn value, gradient and Hessian at points into derivatives in the angle."""

    def profile(angles: Array, order: int) -> tuple[Array, ...]:
        x = sphere.from_angles(angles)
        parts = variations(x, order)
        frame = sphere.tangent_frames(x)[:, 0]
        result = [parts[0]]
        if order > 0:
            result.append(np.einsum("id,id->i", frame, parts[1]))
        if order > 1:
            result.append(np.einsum("id,ide,ie->i", frame, parts[2], frame))
        return tuple(result)

    return profile


def grid_size(landscape: Landscape) -> int:
    """Nodes on the circle: several to each width of the kernel and of each neuron."""
    width = np.sqrt(landscape.attention._strength)
    if landscape.perceptron is not None:
        p = landscape.perceptron
        steepness = np.linalg.norm(p.directions, axis=1) + np.abs(p.biases)
        width = max(width, float(steepness.max()))
    return int(2 ** np.ceil(np.log2(max(1024.0, 64 * width))))


def circle_grid(n: int) -> Array:
    """Equispaced angles, turned by an irrational part: symmetric data must not hide a root."""
    return np.asarray((np.arange(n) + 0.381966) * (2 * np.pi / n), dtype=np.float64)


def circle_roots(profile: Profile, angles: Array, rising: bool | None) -> Array:
    """Zeros of the slope between neighbours of a grid around the circle, to rounding.

    ``rising=True`` keeps the minima (slope from minus to plus), ``False`` the maxima, ``None``
    both. Bisection safeguards Newton, so kinks of the second derivative do no harm.
    """
    slope = profile(angles, 1)[1]
    after = np.roll(slope, -1)
    up = (slope < 0) & (after >= 0)
    down = (slope > 0) & (after <= 0)
    flat = (after == 0) & (np.roll(slope, -2) == 0)  # the edge of a plateau is no isolated zero
    up, down = up & ~flat, down & ~flat
    chosen = up if rising else down if rising is False else up | down
    index = np.flatnonzero(chosen)
    low = angles[index]
    high = np.roll(angles, -1)[index] + 2 * np.pi * (index == angles.size - 1)
    sign = np.where(up[index], 1.0, -1.0)
    x = (low + high) / 2
    for _ in range(80):
        if x.size == 0:
            break
        _, first, second = profile(x, 2)
        first, second = sign * first, sign * second
        high = np.where(first >= 0, x, high)
        low = np.where(first < 0, x, low)
        newton = x - np.divide(first, second, out=np.full_like(first, np.inf), where=second != 0)
        inside = (newton > low) & (newton < high)
        # a Newton step must also shrink the bracket as fast as bisection does in the long run
        new = np.where(inside, newton, (low + high) / 2)
        done = np.abs(new - x) <= 2e-16 * np.maximum(1.0, np.abs(x))
        x = new
        if done.all():
            break
    return np.mod(x, 2 * np.pi)


def minima_circle(landscape: Landscape, mu: Measure, n_grid: int) -> tuple[Array, Array]:
    """Angles and values of the local minima of ``dE``, with the lowest grid node; by value."""
    profile = circle_profile(lambda x, order: landscape.variations(mu, x, order))
    grid = circle_grid(n_grid)
    values = profile(grid, 0)[0]
    angles = np.append(circle_roots(profile, grid, True), grid[np.argmin(values)])
    values = profile(angles, 0)[0]
    order = np.argsort(values, kind="stable")
    return angles[order], values[order]


def descend(
    variations: Callable[[Array, int], tuple[Array, ...]], x: Array, limit: float
) -> tuple[Array, Array]:
    """Minimise a function on the sphere from many starts at once; returns points and values.

    Newton steps in tangent frames, with the eigenvalues of the Hessian replaced by their
    absolute values, at most ``limit`` long, halved until the value falls.
    """
    value, gradient, hessian = variations(x, 2)
    active = np.arange(x.shape[0])
    x, value = x.copy(), value.copy()
    for _ in range(60):
        frames = sphere.tangent_frames(x[active])
        slope = np.einsum("iad,id->ia", frames, gradient)
        w, v = np.linalg.eigh(frames @ hessian @ frames.transpose(0, 2, 1))
        w = np.maximum(np.abs(w), 1e-9 * np.abs(w).max(axis=1, keepdims=True) + 1e-300)
        turn = -np.einsum("iab,ib->ia", v, np.einsum("iab,ia->ib", v, slope) / w)
        vectors = np.einsum("ia,iad->id", turn, frames)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors *= np.minimum(1.0, limit / np.maximum(length, 1e-300))
        better = np.zeros(active.size, dtype=bool)
        for _ in range(8):
            rest = np.flatnonzero(~better)
            if rest.size == 0:
                break
            trial = sphere._exp(x[active[rest]], vectors[rest])
            trial_value = variations(trial, 0)[0]
            lower = trial_value < value[active[rest]]
            x[active[rest[lower]]] = trial[lower]
            value[active[rest[lower]]] = trial_value[lower]
            better[rest[lower]] = True
            vectors[rest[~lower]] /= 4
        active = active[better & (length[:, 0] > 1e-12)]
        if active.size == 0:
            break
        _, gradient, hessian = variations(x[active], 2)
    return _refined(variations, x)


def _refined(
    variations: Callable[[Array, int], tuple[Array, ...]], x: Array
) -> tuple[Array, Array]:
    """Two short Newton steps for the gradient: values alone fix a place to half the digits."""
    value, gradient, hessian = variations(x, 2)
    for _ in range(2):
        frames = sphere.tangent_frames(x)
        slope = np.einsum("iad,id->ia", frames, gradient)
        inverse = np.linalg.pinv(frames @ hessian @ frames.transpose(0, 2, 1), hermitian=True)
        vectors = -np.einsum("iab,ib,iad->id", inverse, slope, frames)
        trial = sphere._exp(x, vectors)
        trial_value, trial_gradient, trial_hessian = variations(trial, 2)
        before, after = np.linalg.norm(gradient, axis=1), np.linalg.norm(trial_gradient, axis=1)
        better = (np.linalg.norm(vectors, axis=1) < 1e-4) & (after < before)
        x = np.where(better[:, None], trial, x)
        value = np.where(better, trial_value, value)
        gradient = np.where(better[:, None], trial_gradient, gradient)
        hessian = np.where(better[:, None, None], trial_hessian, hessian)
    return x, value


def minima_sphere(
    landscape: Landscape, mu: Measure, starts: Array, keep: int
) -> tuple[Array, Array]:
    """Points and values of local minima of ``dE`` found from the best of many starts."""
    values = landscape.variations(mu, starts, 0)[0]
    best = starts[np.argsort(values, kind="stable")[:keep]]
    x, values = descend(
        lambda y, order: landscape.variations(mu, y, order),
        np.concatenate([best, mu.points]),
        0.3 / np.sqrt(1 + landscape.attention._strength),
    )
    x = Measure(x).merged(1e-6).points  # many starts end at one place
    values = landscape.variations(mu, x, 0)[0]
    order = np.argsort(values, kind="stable")
    return x[order], values[order]
