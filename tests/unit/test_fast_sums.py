"""Fast sums against sums in extended precision: every method, order, beta, and edge."""

from __future__ import annotations

import builtins
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_landscape import _harmonics, _threads, summation

BETAS = [0.01, 0.3, 1.0, 9.0, 50.0, 200.0, 1000.0]


def points(n, d, rng):
    x = rng.normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def exact(x, y, m, beta, *, log_scale):
    """Value, spherical gradient and Hessian in long double, from the definition."""
    x, y, m = (np.asarray(a, dtype=np.longdouble) for a in (x, y, m))
    # beta (x.y - 1) = -beta |x - y|^2 / 2: no cancellation where the kernel is large
    distance = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    norms = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2
    kernel = m * np.exp(-np.longdouble(beta) * (distance - norms) / 2 + beta + log_scale)
    value = kernel.sum(axis=1)
    ambient = beta * kernel @ y
    second = np.longdouble(beta) ** 2 * np.einsum("ij,ja,jb->iab", kernel, y, y)
    radial = (ambient * x).sum(axis=1)
    projector = np.eye(x.shape[1]) - x[:, :, None] * x[:, None, :]
    hessian = np.einsum("iab,ibc,icd->iad", projector, second, projector)
    gradient = ambient - radial[:, None] * x
    return value, gradient, hessian - radial[:, None, None] * projector


def errors(sums, reference, beta, m, *, log_scale):
    """Largest error of each derivative, in the units of the contract."""
    peak = np.exp(np.longdouble(beta + log_scale)) * np.abs(m).sum()
    root = max(1.0, beta) ** 0.5
    return [
        float(np.abs(got - want).max() / (peak * root**r))
        for r, (got, want) in enumerate(zip(sums, reference, strict=False))
    ]


def rounding(beta):
    """What an exponent of size beta loses in float64, three orders up."""
    return 1e-15 * (1 + beta) ** 1.0


def fast(x, y, m, beta, *, log_scale, order, accuracy=1e-12):
    """The linear method, whatever the number of points."""
    if x.shape[1] == 2:
        modes = summation.fourier_modes(beta, accuracy)
        return summation.fourier_sums(x, y, m, beta, modes=modes, log_scale=log_scale, order=order)
    degree = summation.harmonic_degree(beta, accuracy)
    return summation.harmonic_sums(
        x, y, m, beta, degree=degree, log_scale=log_scale, order=order, accuracy=accuracy
    )


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("signed", [False, True])
def test_linear_methods_are_exact(beta, d, signed):
    rng = np.random.default_rng([d, int(100 * beta), signed])
    x, y = points(70, d, rng), points(90, d, rng)
    m = rng.normal(size=90) if signed else rng.dirichlet(np.ones(90))
    sums = fast(x, y, m, beta, log_scale=-beta, order=2)
    reference = exact(x, y, m, beta, log_scale=-beta)
    assert max(errors(sums, reference, beta, m, log_scale=-beta)) < 1e-12
    assert np.abs(np.einsum("ij,ij->i", sums[1], x)).max() < 1e-12 * max(1, beta) ** 0.5
    np.testing.assert_array_equal(sums[2], sums[2].transpose(0, 2, 1))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 300), t=st.integers(1, 300), d=st.integers(2, 6),
    beta=st.floats(0.01, 1000.0), order=st.integers(0, 2), same=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_contract(n, t, d, beta, order, same, seed):
    rng = np.random.default_rng(seed)
    y = points(n, d, rng)
    x = y if same else points(t, d, rng)
    m = rng.exponential(size=n) * rng.choice([-1.0, 1.0], size=n)
    sums = summation.kernel_sums(x, y, m, beta, log_scale=-beta, order=order)
    assert len(sums) == order + 1
    found = errors(sums, exact(x, y, m, beta, log_scale=-beta), beta, m, log_scale=-beta)
    assert max(found) < 1e-12 + 3 * rounding(beta)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("accuracy", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("beta", [0.5, 9.0, 300.0])
def test_accuracy_is_a_bound_and_saves_terms(d, accuracy, beta):
    rng = np.random.default_rng(5)
    x, m = points(60, d, rng), rng.normal(size=60)
    sums = fast(x, x, m, beta, log_scale=-beta, order=2, accuracy=accuracy)
    reference = exact(x, x, m, beta, log_scale=-beta)
    assert max(errors(sums, reference, beta, m, log_scale=-beta)) < accuracy
    size = summation.fourier_modes if d == 2 else summation.harmonic_degree
    assert size(beta, 1e-4) < size(beta, 1e-12)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("log_scale", [0.0, -3.0, 2.0])
def test_log_scale_multiplies(d, log_scale):
    rng = np.random.default_rng(6)
    x, m = points(40, d, rng), np.full(40, 1 / 40)
    plain = fast(x, x, m, 7.0, log_scale=0.0, order=1)
    scaled = fast(x, x, m, 7.0, log_scale=log_scale, order=1)
    for a, b in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(b, np.exp(log_scale) * a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("beta", [0.01, 9.0, 1000.0])
@pytest.mark.parametrize("d", [2, 3])
def test_edges(beta, d):
    """Poles, points on the seam, coincident points, n = 1, all mass at one point."""
    axes = np.concatenate([np.eye(d), -np.eye(d)])
    tiny = np.eye(d)[0] + 1e-9 * np.eye(d)[1]
    zero = -np.eye(d)[0] - 1e-300 * np.eye(d)[1]
    near_pole = np.eye(d)[-1] + 1e-12 * np.eye(d)[0]
    rng = np.random.default_rng(8)
    x = np.concatenate([axes, axes, [tiny, zero, near_pole], points(9, d, rng)])
    for m in (np.full(len(x), 1 / len(x)), np.eye(len(x))[0], np.eye(len(x))[d - 1]):
        reference = exact(x, x, m, beta, log_scale=-beta)
        sums = fast(x, x, m, beta, log_scale=-beta, order=2)
        assert max(errors(sums, reference, beta, m, log_scale=-beta)) < 1e-12
    for row in x[:, None]:
        sums = fast(row, row, np.ones(1), beta, log_scale=-beta, order=2)
        reference = exact(row, row, np.ones(1), beta, log_scale=-beta)
        assert max(errors(sums, reference, beta, np.ones(1), log_scale=-beta)) < 1e-12


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("beta", [30.0, 1000.0])
def test_relative_accuracy_far_from_all_sources(d, beta):
    """Softmax: gradient over value, where the value is 1e-4 to 1e-300 of the peak."""
    rng = np.random.default_rng(9)
    y = points(3000, d, rng) * 0.05 + np.eye(d)[0]
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    angles = np.linspace(0.0, 0.8, 400) if beta > 100 else np.linspace(0.0, np.pi, 400)
    x = np.zeros((400, d))
    x[:, 0], x[:, 1] = np.cos(angles), np.sin(angles)
    m = rng.dirichlet(np.ones(3000))
    value, gradient = summation.kernel_sums(x, y, m, beta, log_scale=-beta, order=1, relative=True)
    rows = slice(None, None, 20)
    want, slope = exact(x[rows], y, m, beta, log_scale=-beta)[:2]
    assert want.min() < 1e-20 < value.max()
    np.testing.assert_allclose(value[rows], want.astype(float), rtol=1e-9)
    ratio = (slope / want[:, None]).astype(float)
    np.testing.assert_allclose(
        gradient[rows] / value[rows, None], ratio, rtol=1e-9, atol=1e-9 * beta**0.5
    )


@pytest.mark.parametrize(("n", "d"), [(20_000, 2), (30_000, 3)])
def test_large_sums_and_threads(n, d, monkeypatch):
    """Many blocks and two threads give what a few dense rows give."""
    rng = np.random.default_rng(10)
    x, beta = points(n, d, rng), 9.0
    m = rng.dirichlet(np.ones(n))
    if d == 2:
        monkeypatch.setattr("attention_landscape._circle._BLOCK", 1000)
    one, two = [], []
    for threads, kept in ((1, one), (2, two)):
        monkeypatch.setattr(_threads, "count", lambda threads=threads: threads)
        kept.extend(summation.kernel_sums(x, x, m, beta, log_scale=-beta, order=2))
    reference = exact(x[:20], x, m, beta, log_scale=-beta)
    for sums in (one, two):
        found = errors([s[:20] for s in sums], reference, beta, m, log_scale=-beta)
        assert max(found) < 1e-12


@pytest.mark.parametrize("n", [20, 2000])
@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("relative", [False, True])
def test_last_alone(n, d, order, relative):
    rng = np.random.default_rng(14)
    x, m = points(n, d, rng), np.full(n, 1 / n)
    options = {"log_scale": -9.0, "order": order, "relative": relative}
    every = summation.kernel_sums(x, x, m, 9.0, **options)
    (alone,) = summation.kernel_sums(x, x, m, 9.0, last=True, **options)
    np.testing.assert_array_equal(alone, every[-1])


def test_symmetric_tiles_and_threads(monkeypatch):
    rng = np.random.default_rng(11)
    x, m = points(1200, 5, rng), rng.normal(size=1200)
    z = 4.0 * x
    plain = summation.dense_sums(x, z, m, log_scale=-4.0, order=2)
    for threads in (1, 2):
        monkeypatch.setattr(_threads, "count", lambda threads=threads: threads)
        halved = summation.dense_sums(x, z, m, log_scale=-4.0, order=2, symmetric=True)
        for a, b in zip(plain, halved, strict=True):
            np.testing.assert_allclose(b, a, rtol=0, atol=1e-13 * np.abs(m).sum() * 16)


def test_source_derivative_is_a_difference_quotient():
    rng = np.random.default_rng(12)
    x, z, w, m = points(30, 4, rng), 3 * points(50, 4, rng), points(50, 4, rng), rng.random(50)
    step = 1e-6
    ahead = summation.dense_sums(x, z + step * w, m, log_scale=-3.0, order=1)[1]
    behind = summation.dense_sums(x, z - step * w, m, log_scale=-3.0, order=1)[1]
    found = summation.dense_source_derivative(x, z, w, m, log_scale=-3.0)
    np.testing.assert_allclose(found, (ahead - behind) / (2 * step), atol=1e-7)


def test_works_without_ducc0(monkeypatch):
    """The sphere is summed densely, the circle does not notice."""
    original = builtins.__import__

    def no_ducc0(name, *args, **kwargs):
        if name == "ducc0":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_ducc0)
    assert _harmonics.library() is None
    rng = np.random.default_rng(13)
    for d in (2, 3):
        x, m = points(2000, d, rng), np.full(2000, 1 / 2000)
        sums = summation.kernel_sums(x, x, m, 9.0, log_scale=-9.0, order=2)
        reference = exact(x[:10], x, m, 9.0, log_scale=-9.0)
        found = errors([s[:10] for s in sums], reference, 9.0, m, log_scale=-9.0)
        assert max(found) < 1e-12
    x = points(3, 3, rng)
    with pytest.raises(ImportError, match="ducc0"):
        summation.harmonic_sums(x, x, np.ones(3), 1.0, degree=5)


def test_ducc0_is_imported_only_when_needed():
    code = (
        "import sys, numpy as np, attention_landscape as al\n"
        "mu = al.Measure.uniform(3000, 2, rng=1)\n"
        "al.Attention(9.0).gradient(mu, mu.points)\n"
        "assert 'ducc0' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
