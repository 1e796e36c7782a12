"""Minimisers on the circle with many digits, where double precision cannot see the support."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._checks import integer
from .landscape import Landscape
from .measures import Measure


@dataclass(frozen=True, eq=False)
class ExtendedMinimum:
    """What `minimize_extended` returns; numbers are ``mpmath.mpf``.

    Attributes
    ----------
    angles, masses : tuple of mpf
        The atoms, by angle.
    energy : mpf
        The energy.
    gap : mpf
        ``int dE dmu - min dE``, the minimum over a grid and its refined local minima (X4).
    n_atoms : int
        Number of atoms.
    success : bool
        Whether all masses are positive and ``gap`` is at most ``10^{-digits}`` times the scale.
    message : str
        In words.
    measure : Measure
        The same, rounded to double precision.
    """

    angles: tuple[Any, ...]
    masses: tuple[Any, ...]
    energy: Any
    gap: Any
    n_atoms: int
    success: bool
    message: str
    measure: Measure


def _functions(name: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """``phi``, ``sigma`` and ``sigma'`` of a named activation for mpmath numbers."""
    import mpmath as mp

    def normal(s: Any) -> Any:
        return mp.exp(-s * s / 2) / mp.sqrt(2 * mp.pi)

    def ramp(left: Any) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        return (
            lambda s: s * s * (1 if s > 0 else left),
            lambda s: s if s > 0 else left * s,
            lambda s: mp.mpf(1) if s > 0 else mp.mpf(left) if s < 0 else (1 + mp.mpf(left)) / 2,
        )

    table = {
        "relu": ramp(0),
        "leaky_relu": ramp(mp.mpf(0.01)),
        "identity": ramp(1),
        "gelu": (
            lambda s: s * s * mp.ncdf(s) + s * normal(s) - mp.ncdf(s) + mp.mpf(1) / 2,
            lambda s: s * mp.ncdf(s),
            lambda s: mp.ncdf(s) + s * normal(s),
        ),
        "tanh": (
            lambda s: 2 * mp.log(mp.cosh(s)),
            mp.tanh,
            lambda s: 1 / mp.cosh(s) ** 2,
        ),
        "softplus": (
            lambda s: -2 * mp.polylog(2, -mp.exp(s)) - mp.pi**2 / 6,
            lambda s: mp.log1p(mp.exp(s)),
            lambda s: 1 / (1 + mp.exp(-s)),
        ),
    }
    if name not in table:
        raise ValueError(
            f"landscape.perceptron must have one of the named activations, got {name!r}"
        )
    return table[name]


class _Circle:
    """Energy and derivatives in the angle, for one landscape at the current precision."""

    def __init__(self, landscape: Landscape) -> None:
        import mpmath as mp

        self.mp = mp
        self.beta = mp.mpf(landscape.attention._strength)
        self.factor = mp.exp(mp.mpf(landscape.attention.log_scale)) / self.beta
        p = landscape.perceptron
        self.neurons: list[tuple[Any, ...]] = []
        if p is not None:
            self.functions = _functions(p.activation.name)
            self.neurons = [
                (mp.mpf(a[0]), mp.mpf(a[1]), mp.mpf(w), mp.mpf(b))
                for a, w, b in zip(
                    p.directions.tolist(), p.weights.tolist(), p.biases.tolist(), strict=True
                )
            ]

    def kernel(self, t: Any) -> tuple[Any, Any, Any]:
        """``K/beta`` and its first two derivatives."""
        c, s = self.mp.cos(t), self.mp.sin(t)
        value = self.factor * self.mp.exp(self.beta * c)
        return value, -self.beta * s * value, self.beta * (self.beta * s * s - c) * value

    def half_potential(self, t: Any) -> tuple[Any, Any, Any]:
        """``v/2`` and its first two derivatives."""
        c, s = self.mp.cos(t), self.mp.sin(t)
        value, slope, curvature = self.mp.mpf(0), self.mp.mpf(0), self.mp.mpf(0)
        for a, b, w, bias in self.neurons:
            along, across = a * c + b * s, -a * s + b * c
            phi, sigma, derivative = (f(along + bias) for f in self.functions)
            value += w * phi / 2
            slope += w * sigma * across
            curvature += w * (derivative * across**2 - sigma * along)
        return value, slope, curvature

    def energy(self, angles: list[Any], masses: list[Any]) -> Any:
        """``E`` of a measure."""
        total = self.mp.mpf(0)
        for i, (t, m) in enumerate(zip(angles, masses, strict=True)):
            total += m * (self.half_potential(t)[0] + m * self.kernel(self.mp.mpf(0))[0] / 2)
            for s, other in zip(angles[:i], masses[:i], strict=True):
                total += m * other * self.factor * self.mp.exp(self.beta * self.mp.cos(t - s))
        return total

    def variation(self, t: Any, angles: list[Any], masses: list[Any]) -> tuple[Any, Any, Any]:
        """``dE`` and its first two derivatives at one angle."""
        total = list(self.half_potential(t))
        for angle, mass in zip(angles, masses, strict=True):
            for i, part in enumerate(self.kernel(t - angle)):
                total[i] += mass * part
        return total[0], total[1], total[2]


def extended_minimum(landscape: Landscape, mu: Measure, digits: int) -> ExtendedMinimum:
    """Polish a float64 minimiser to many digits, trying supports by merging its atoms."""
    import mpmath as mp

    digits = integer("digits", digits, minimum=16)
    width = 1 / np.sqrt(1 + landscape.attention._strength)
    best: ExtendedMinimum | None = None
    seen: set[int] = set()
    with mp.workdps(digits + 20):
        circle = _Circle(landscape)
        for tol in (0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02, 1e-3):
            guess = mu.merged(tol * width)
            if guess.n in seen or guess.n > 60:
                continue
            seen.add(guess.n)
            angles, masses = _newton(circle, guess, digits)
            found = _certified(circle, landscape, angles, masses, digits)
            if best is None or found.gap < best.gap:
                best = found
            if found.success:
                return found
    if best is None:
        raise ValueError(f"mu must have at most 60 atoms after merging, got {mu.n}")
    return best


def _newton(circle: _Circle, guess: Measure, digits: int) -> tuple[list[Any], list[Any]]:
    """Damped Newton on the energy of places and masses, for atoms that keep their number.

    In a flat valley the residual misleads, as a step of 1e-3 hardly changes it; the energy,
    with enough digits, does not. So a step counts when the energy falls; at the end the energy
    stands still to all its digits, which fix places to half as many, and the residual decides.
    """
    mp = circle.mp
    order = np.argsort(guess.angles)
    angles = [mp.mpf(float(t)) for t in guess.angles[order]]
    masses = [mp.mpf(float(m)) for m in guess.masses[order]]
    masses = [m / sum(masses) for m in masses]
    n = guess.n
    goal = mp.mpf(10) ** (-digits - 5)
    damping, energy = mp.mpf(10) ** -6, circle.energy(angles, masses)
    noise = 10_000 * mp.eps * max(abs(energy), circle.kernel(mp.mpf(0))[0])
    for _ in range(100):
        residual, jacobian = _equations(circle, angles, masses)
        error = max(abs(r) for r in residual)
        if error < goal:
            break
        # unknowns scaled by square roots of the masses: the matrix is then symmetric
        root = [mp.sqrt(m) for m in masses]
        left = [*root, *root, mp.mpf(1)]
        right = [*(1 / r for r in root), *root, mp.mpf(1)]
        for i in range(2 * n + 1):
            residual[i] *= left[i]
            for j in range(2 * n + 1):
                jacobian[i, j] *= left[i] * right[j]
        for _ in range(15):
            damped = jacobian.copy()
            for i in range(2 * n):
                damped[i, i] += damping
            step = mp.lu_solve(damped, -residual)
            trial = [t + step[i] * right[i] for i, t in enumerate(angles)]
            mass = [m + step[n + i] * right[n + i] for i, m in enumerate(masses)]
            if min(mass) > 0:
                change = circle.energy(trial, mass) - energy
                if abs(change) < noise:
                    better = max(abs(r) for r in _equations(circle, trial, mass)[0]) < error
                else:
                    better = change < 0
                if better:
                    break
            damping = max(10 * damping, mp.mpf(10) ** (-digits))
        else:
            break
        angles, masses, energy = trial, mass, circle.energy(trial, mass)
        damping /= 10
    return angles, masses


def _equations(circle: _Circle, angles: list[Any], masses: list[Any]) -> tuple[Any, Any]:
    """Residuals (slopes, levels above their mean, total mass) and their derivatives."""
    mp, n = circle.mp, len(angles)
    kernels = [[circle.kernel(s - t) for t in angles] for s in angles]
    own = [circle.half_potential(s) for s in angles]
    value = [o[0] + sum(m * k[0] for m, k in zip(masses, row, strict=True))
             for o, row in zip(own, kernels, strict=True)]  # fmt: skip
    slope = [o[1] + sum(m * k[1] for m, k in zip(masses, row, strict=True))
             for o, row in zip(own, kernels, strict=True)]  # fmt: skip
    level = sum(m * v for m, v in zip(masses, value, strict=True))
    residual = mp.matrix([*slope, *(v - level for v in value), sum(masses) - 1])
    jacobian = mp.zeros(2 * n + 1)
    for i in range(n):
        bend = own[i][2] + sum(m * k[2] for m, k in zip(masses, kernels[i], strict=True))
        for j in range(n):
            k = kernels[i][j]
            jacobian[i, j] = -masses[j] * k[2] + (bend if i == j else 0)
            jacobian[i, n + j] = k[1]
            jacobian[n + i, j] = -masses[j] * k[1] + (slope[i] if i == j else 0)
            jacobian[n + i, n + j] = k[0]
        jacobian[n + i, 2 * n] = -1
        jacobian[2 * n, n + i] = 1
    return residual, jacobian


def _certified(
    circle: _Circle, landscape: Landscape, angles: list[Any], masses: list[Any], digits: int
) -> ExtendedMinimum:
    """Gap over a grid with its local minima refined, and the result."""
    mp = circle.mp
    value = [circle.variation(t, angles, masses)[0] for t in angles]
    level = sum(m * v for m, v in zip(masses, value, strict=True))
    size = max(240, 12 * len(angles))
    grid = [2 * mp.pi * (i + mp.mpf(0.381966)) / size for i in range(size)]
    samples = [circle.variation(t, angles, masses) for t in grid]
    lowest = min([s[0] for s in samples] + value)
    for i in range(size):
        if samples[i - 1][1] < 0 <= samples[i][1]:
            low = grid[i - 1] - (2 * mp.pi if i == 0 else 0)
            t = _root(circle, angles, masses, low, grid[i])
            lowest = min(lowest, circle.variation(t, angles, masses)[0])
    gap = level - lowest
    energy = circle.energy(angles, masses)
    goal = mp.mpf(10) ** (-digits) * mp.mpf(landscape.scale)
    success = bool(min(masses) > 0 and gap <= goal)
    turn = 2 * mp.pi
    pairs = sorted((t - turn * mp.floor(t / turn), m) for t, m in zip(angles, masses, strict=True))
    message = f"gap {mp.nstr(gap, 3)} with {len(angles)} atoms at {digits} digits"
    if not success:
        message = f"support not found: {message}, above {mp.nstr(goal, 3)}"
    rounded = np.maximum([float(m) for _, m in pairs], 0.0)
    measure = Measure.from_angles([float(t) for t, _ in pairs], rounded / rounded.sum())
    return ExtendedMinimum(
        tuple(t for t, _ in pairs), tuple(m for _, m in pairs), energy, gap, len(pairs), success,
        message, measure,
    )  # fmt: skip


def _root(circle: _Circle, angles: list[Any], masses: list[Any], low: Any, high: Any) -> Any:
    """Zero of the slope in a bracket, by safeguarded Newton."""
    t = (low + high) / 2
    for _ in range(60):
        _, slope, bend = circle.variation(t, angles, masses)
        low, high = (low, t) if slope >= 0 else (t, high)
        new = t - slope / bend if bend != 0 else low
        if not low < new < high:
            new = (low + high) / 2
        if abs(new - t) < circle.mp.mpf(10) ** (-circle.mp.mp.dps + 8):
            break
        t = new
    return t
