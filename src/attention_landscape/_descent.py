"""Fully corrective Frank-Wolfe on measures: the oracle, exact masses, joint Newton polishing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from . import sphere
from ._checks import Array
from ._newton import polish_minimum
from ._oracle import circle_grid, grid_size, minima_circle, minima_sphere
from ._simplex import simplex_minimum
from .landscape import Landscape
from .measures import Measure

#: A measure to the points and values of the local minima of its first variation.
Oracle = Callable[[Measure], tuple[Array, Array]]

#: Below this gap (times the scale) line searches on energies see only rounding.
_SLIDE = 1e-6

_EPS = 2.3e-16


@dataclass
class State:
    """The best measure so far, its gap, and whether Newton converged there."""

    measure: Measure
    gap: float
    polished: bool = False
    interrupted: bool = False


def make_oracle(landscape: Landscape, d: int) -> Oracle:
    """All local minima on the circle; the best of many starts in higher dimension."""
    if d == 2:
        n_grid = grid_size(landscape)

        def circle(mu: Measure) -> tuple[Array, Array]:
            angles, values = minima_circle(landscape, mu, n_grid)
            return sphere.from_angles(angles), values

        return circle
    starts = sphere.uniform(2000 * (d - 1), d, rng=0)
    if landscape.perceptron is not None:
        a = landscape.perceptron.directions
        a = sphere.project(a[np.linalg.norm(a, axis=1) > 0]) if np.any(a) else a[:0]
        starts = np.concatenate([starts, a, -a])
    return lambda mu: minima_sphere(landscape, mu, starts, keep=64 * (d - 1))


def gap_of(landscape: Landscape, mu: Measure, values: Array) -> float:
    """``int dE dmu - min dE``, the minimum over the values and the atoms."""
    own = landscape.variations(mu, mu.points, 0)[0]
    return float(mu.masses @ own - min(own.min(), values.min(initial=np.inf)))


def frank_wolfe(landscape: Landscape, d: int, goal: float, rounds: int) -> tuple[State, int]:
    """Minimise the energy over all measures on the sphere.

    Each round asks the oracle for the local minima of ``dE``, gives the atoms and these points
    their exact masses, lets the atoms slide downhill, and tries to replace them by a polished
    support. The energy never rises from round to round; the measure of smallest gap is kept.
    """
    oracle = make_oracle(landscape, d)
    mu = _start(landscape, d)
    best = State(mu, np.inf)
    stalled, count = 0, 0

    def offer(measure: Measure, gap: float, polished: bool) -> bool:
        nonlocal best
        if gap < best.gap:
            best = State(measure, gap, polished)
        return best.gap <= goal

    try:
        while count < rounds:
            count += 1
            before = best.gap
            points, values = oracle(mu)
            gap = gap_of(landscape, mu, values)
            offer(mu, gap, False)
            for guess in _guesses(landscape, mu, points, values):
                if best.gap <= goal:
                    break
                tried = _newton(landscape, guess, goal)
                if tried is not None:
                    offer(tried, gap_of(landscape, tried, oracle(tried)[1]), True)
            stalled = 0 if best.gap < 0.7 * before else stalled + 1
            if best.gap <= goal or stalled >= 10:
                break
            mu = _corrected(landscape, mu, points, values)
            if (d > 2 or stalled) and gap > _SLIDE * landscape.scale:
                mu = _slid(landscape, mu)
        best = _simplified(landscape, oracle, best, goal)
    except KeyboardInterrupt:
        best.interrupted = True  # what was found so far is whole: return it
    return best, count


def _simplified(landscape: Landscape, oracle: Oracle, best: State, goal: float) -> State:
    """Fewer atoms with as small a gap: first the fewest, by merging and by the minima of dE."""
    points, values = oracle(best.measure)
    for guess in sorted(_guesses(landscape, best.measure, points, values), key=lambda g: g.n):
        if guess.n >= best.measure.n:
            break
        tried = _newton(landscape, guess, goal)
        if tried is None:
            continue
        gap = gap_of(landscape, tried, oracle(tried)[1])
        if gap <= max(goal, best.gap):
            return State(tried, gap, True)
    return best


def _start(landscape: Landscape, d: int) -> Measure:
    """Exact masses on a grid of half the kernel's width, or on a sample in higher dimension."""
    if d == 2:
        spacing = 0.5 / np.sqrt(1 + landscape.attention._strength)
        n = int(min(400, max(24, np.ceil(2 * np.pi / spacing))))
        points = sphere.from_angles(circle_grid(n))
        return _exact_masses(landscape, points, np.full(n, 1.0 / n))
    points = sphere.uniform(150 * (d - 1), d, rng=1)
    return _exact_masses(landscape, points, np.eye(1, points.shape[0])[0])


def _exact_masses(landscape: Landscape, points: Array, masses: Array) -> Measure:
    attention = landscape.attention
    kernel = attention.prefactor * np.exp(
        points @ attention.exponents(points).T + attention.log_scale
    )
    linear = np.zeros(points.shape[0])
    if landscape.perceptron is not None:
        linear = landscape.perceptron._potential(points) / 2
    m = simplex_minimum((kernel + kernel.T) / 2, linear, masses)
    keep = m > 0
    return Measure(points[keep], m[keep] / m[keep].sum())


def _corrected(landscape: Landscape, mu: Measure, points: Array, values: Array) -> Measure:
    own = landscape.variations(mu, mu.points, 0)[0]
    level = float(mu.masses @ own)
    useful = points[values < level]
    fresh = [p for p in useful[:100] if np.min(np.sum((mu.points - p) ** 2, axis=1)) > (1e-9) ** 2]
    if not fresh:
        return mu
    all_points = np.concatenate([mu.points, np.array(fresh)])
    masses = np.concatenate([mu.masses, np.zeros(len(fresh))])
    return _exact_masses(landscape, all_points, masses)


def _slid(landscape: Landscape, mu: Measure) -> Measure:
    """Move atoms and masses downhill together (L-BFGS), then drop atoms that lost their mass."""
    from scipy.optimize import minimize

    n, d = mu.points.shape

    def unpack(z: Array) -> tuple[Array, Array, Array, float]:
        rows, root = z[: n * d].reshape(n, d), z[n * d :]
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        total = float(root @ root)
        return rows / length, root**2 / total, length, total

    def energy(z: Array) -> tuple[float, Array]:
        x, m, length, total = unpack(z)
        measure = Measure._trusted(x, m)
        value, gradient = landscape.variations(measure, x, 1)
        half = value / 2
        if landscape.perceptron is not None:
            half = half + landscape.perceptron._potential(x) / 4
        down = 2 * z[n * d :] * (value - m @ value) / total
        return float(m @ half), np.concatenate([(m[:, None] * gradient / length).ravel(), down])

    start = np.concatenate([mu.points.ravel(), np.sqrt(mu.masses)])
    options = {"maxiter": 300, "maxcor": 30, "ftol": 0.0, "gtol": 1e-13 * landscape.scale}
    found: Any = cast(Any, minimize)(energy, start, jac=True, method="L-BFGS-B", options=options)
    x, m, _, _ = unpack(found.x)
    keep = m > 1e-14
    return Measure(x[keep], m[keep] / m[keep].sum())


def _guesses(landscape: Landscape, mu: Measure, points: Array, values: Array) -> list[Measure]:
    """Guesses of the support: the atoms merged within some distance, and the minima of dE."""
    width = 1 / np.sqrt(1 + landscape.attention._strength)
    result: list[Measure] = []
    for tol in (0.3 * width, 0.1 * width, 0.02 * width, 1e-3 * width):
        merged = mu.merged(tol)
        if not result or merged.n != result[-1].n:
            result.append(merged)
    level = float(mu.masses @ landscape.variations(mu, mu.points, 0)[0])
    low = points[values <= level + 1e-3 * landscape.scale]
    if len(low):
        low = Measure(low).merged(1e-6).points
        distance = np.sum((mu.points[:, None, :] - low[None, :, :]) ** 2, axis=2)
        masses = np.bincount(np.argmin(distance, axis=1), weights=mu.masses, minlength=len(low))
        keep = masses > 1e-6
        result.append(Measure(low[keep], masses[keep] / masses[keep].sum()))
    limit = 600 if mu.d == 2 else 240  # of coordinates: Newton is cubic in them
    return [guess for guess in result if guess.n * guess.d <= limit]


def _newton(landscape: Landscape, guess: Measure, goal: float) -> Measure | None:
    """Joint Newton from a guess; None when an atom lost its mass on the way."""
    tried, _, _ = polish_minimum(landscape, guess, max(goal / 30, _EPS * landscape.scale))
    return tried if tried.masses.min() > 1e-10 else None
