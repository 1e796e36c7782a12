"""Speeds of the kernel sums, each against a yardstick timed in the same run (`make bench`).

The yardstick runs before every round, so noise of the machine hits both. What is kept is the
ratio of the two best times; `report.py` makes the table.
"""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest

import attention_landscape as al
from attention_landscape import summation

BETA = 9.0


def textbook(angles):
    """Attention's field on the circle as one writes it first: n^2 sines, cosines, exponentials."""
    difference = angles[None, :] - angles[:, None]
    return (np.exp(BETA * np.cos(difference)) * np.sin(difference)).mean(axis=1)


def sines_and_cosines(n):
    angles = np.random.default_rng(3).uniform(-np.pi, np.pi, n)
    return lambda: (np.sin(angles), np.cos(angles))


def field(n, d):
    """One evaluation of the field at the atoms, and the angles or points."""
    mu = al.Measure.uniform(n, d, rng=42)
    landscape = al.Landscape(al.Attention(BETA))
    return mu, lambda: landscape.gradient(mu)


@pytest.fixture
def compare(benchmark):
    """Time a function and its yardstick in turns; keep best times, ratio and target."""

    def run(work, target, ours, yardstick, *, rounds, speedup=None, cost=None, note=""):
        times = []

        def before():
            start = time.perf_counter()
            yardstick()
            times.append(time.perf_counter() - start)

        benchmark.pedantic(ours, setup=before, rounds=rounds, warmup_rounds=1)
        best, reference = benchmark.stats.stats.min, min(times)
        ratio = reference / best if speedup else best / reference
        benchmark.extra_info.update(
            work=work, target=target, ours=best, yardstick=reference,
            measured=f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}",
            met=bool(ratio >= speedup if speedup else ratio <= cost), note=note,
        )  # fmt: skip

    return run


@pytest.mark.parametrize(("n", "speedup", "rounds"), [(1000, 60, 15), (4000, 800, 4)])
def test_circle_against_textbook(compare, n, speedup, rounds):
    mu, ours = field(n, 2)
    angles = mu.angles
    expected = textbook(angles)
    tangent = np.stack([-mu.points[:, 1], mu.points[:, 0]], axis=1)
    np.testing.assert_allclose(ours(), expected[:, None] * tangent, atol=1e-12 * np.exp(BETA))
    compare(
        f"circle, n = {n:,}: textbook dense sum / field", f">= {speedup}",
        ours, lambda: textbook(angles), rounds=rounds, speedup=speedup,
    )  # fmt: skip


def test_circle_memory(benchmark):
    _, ours = field(4000, 2)
    ours()
    tracemalloc.start()
    ours()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    benchmark.pedantic(ours, rounds=3)
    benchmark.extra_info.update(
        work="circle, n = 4,000: peak memory above the inputs (MB)", target="< 4",
        measured=f"{peak:.2f}", met=peak < 4,
    )  # fmt: skip


@pytest.mark.parametrize(("d", "cost"), [(2, 2.5), (3, 12.0)])
def test_million_against_sines(compare, d, cost):
    name = {2: "circle", 3: "S^2"}[d]
    compare(
        f"{name}, n = 1e6: field / one pass of np.sin and np.cos", f"<= {cost:g}",
        field(10**6, d)[1], sines_and_cosines(10**6), rounds=6, cost=cost,
    )  # fmt: skip


def test_sphere_against_dense(compare):
    mu, ours = field(1000, 3)
    x, m = mu.points, mu.masses

    def dense():
        sums = summation.dense_sums(x, BETA * x, m, order=1, symmetric=True)
        return summation.on_sphere(x, sums)

    compare("S^2, n = 1,000: field / dense tiles", "<= 1", ours, dense, rounds=20, cost=1.0)


def test_ten_dimensions_against_product_and_exponential(compare):
    mu, ours = field(4000, 10)
    scores = np.empty((4000, 4000))

    def product_and_exponential():
        np.matmul(mu.points, BETA * mu.points.T, out=scores)
        np.exp(scores, out=scores)

    compare(
        "d = 10, n = 4,000: field / one GEMM plus one exp", "<= 1.3",
        ours, product_and_exponential, rounds=6, cost=1.3,
    )  # fmt: skip


@pytest.mark.parametrize("d", [2, 3])
def test_slope(benchmark, d):
    sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000]
    best = []
    for n in sizes:
        ours = field(n, d)[1]
        ours()
        times = []
        for _ in range(8 if n <= 100_000 else 4):
            start = time.perf_counter()
            ours()
            times.append(time.perf_counter() - start)
        best.append(min(times))
    slope = np.polyfit(np.log(sizes), np.log(best), 1)[0]
    benchmark.pedantic(ours, rounds=1)
    benchmark.extra_info.update(
        work=f"{ {2: 'circle', 3: 'S^2'}[d]}, n = 1e4 to 1e6: log-log slope of the cost",
        target="<= 1.1", measured=f"{slope:.2f}", met=bool(slope <= 1.1),
        note=", ".join(f"{1e3 * t:.3g} ms at {n:.0e}" for n, t in zip(sizes, best, strict=True)),
    )  # fmt: skip


def test_import(benchmark):
    def seconds(code):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    base, ours = [], []
    for _ in range(7):
        base.append(seconds("import numpy, scipy.special"))
        ours.append(seconds("import numpy, scipy.special, attention_landscape"))
    extra = min(ours) - min(base)
    benchmark.pedantic(lambda: seconds("import attention_landscape"), rounds=1)
    benchmark.extra_info.update(
        work="import attention_landscape, over numpy and scipy.special (s)", target="< 0.25",
        measured=f"{extra:.3f}", met=extra < 0.25,
    )  # fmt: skip


@pytest.mark.parametrize("beta", [1.0, 10.0, 50.0])
def test_flow(benchmark, beta):
    perceptron = al.Perceptron.random(d=2, activation="gelu", rng=777)
    landscape = al.Landscape(al.Attention(beta, log_scale=-beta), perceptron)
    mu = al.Measure.uniform(1000, 2, rng=42)
    point = benchmark.pedantic(
        lambda: al.polish(landscape, al.gradient_flow(landscape, mu).final),
        rounds=2, warmup_rounds=0,
    )  # fmt: skip
    assert point.success
    best = benchmark.stats.stats.min
    benchmark.extra_info.update(
        work=f"circle, n = 1,000, beta = {beta:g}: gradient_flow and polish (s)", target="< 2",
        measured=f"{best:.2f}", met=best < 2,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "target"), [(100_000, 20), (1_000_000, 300)])
def test_flow_of_many(benchmark, n, target):
    perceptron = al.Perceptron.random(d=2, activation="gelu", rng=777)
    landscape = al.Landscape(al.Attention(BETA, log_scale=-BETA), perceptron)
    mu = al.Measure.uniform(n, 2, rng=42)
    options = {"rtol": 1e-4, "atol": 1e-6, "stationary_tol": 1e-6}
    point = benchmark.pedantic(
        lambda: al.polish(landscape, al.gradient_flow(landscape, mu, **options).final), rounds=1
    )
    assert point.success and point.residual <= 1e-12
    best = benchmark.stats.stats.min
    benchmark.extra_info.update(
        work=f"circle, n = {n:.0e}, beta = 9: flow to residual 1e-6, polished to 1e-12 (s)",
        target=f"< {target}", measured=f"{best:.1f}", met=best < target,
    )  # fmt: skip
