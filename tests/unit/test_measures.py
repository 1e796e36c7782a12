"""Measures against brute force: merging, clusters, moments, transport."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from scipy.special import eval_gegenbauer

import attention_landscape as al
from attention_landscape import measures, sphere

angle_lists = st.lists(st.floats(0, 6.28), min_size=1, max_size=12)


def gaps(s, t):
    gap = np.abs(s - t) % (2 * np.pi)
    return np.minimum(gap, 2 * np.pi - gap)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(angle_lists, st.floats(0.0, 1.0))
def test_merged_is_single_linkage(angles, tol):
    mu = al.Measure.from_angles(angles)
    merged = mu.merged(tol)
    close = gaps(mu.angles[:, None], mu.angles[None, :]) <= tol
    reach = np.linalg.matrix_power(close.astype(float), len(angles)) > 0
    classes = {tuple(row) for row in reach}
    near = np.abs(gaps(mu.angles[:, None], mu.angles[None, :]) - tol).min() < 1e-12
    if not near:
        assert merged.n == len(classes)
    assert merged.masses.sum() == pytest.approx(1, abs=1e-12)
    assert (np.diff(merged.angles) >= 0).all()


def test_merged_over_the_cut_and_around_the_circle():
    mu = al.Measure.from_angles([6.2, 0.1, 3.0], [0.25, 0.25, 0.5]).merged(0.3)
    np.testing.assert_allclose(mu.angles, [(0.1 + 6.2 - 2 * np.pi) / 2, 3.0], atol=1e-14)
    ring = al.Measure.from_angles(np.arange(100) * 0.0628).merged(0.1)
    assert ring.n == 1
    assert al.Measure.from_angles([1.0, 1.0, 2.0], [0.5, 0.5, 0.0]).merged(0.0).n == 1
    single = al.Measure.from_angles([1.0])
    np.testing.assert_array_equal(single.merged(1.0).points, single.points)


@pytest.mark.parametrize("d", [3, 4])
def test_merged_in_higher_dimension(d, monkeypatch):
    rng = np.random.default_rng(d)
    centres = sphere.uniform(5, d, rng=rng)
    points = sphere.project(np.repeat(centres, 40, axis=0) + 1e-5 * rng.normal(size=(200, d)))
    mu = al.Measure(points)
    merged = mu.merged(1e-3)
    assert merged.n == 5
    np.testing.assert_allclose(merged.masses, 0.2, atol=1e-14)
    # the Frechet mean: the logarithms of the members sum to zero
    for i in range(5):
        members = points[40 * i : 40 * i + 40]
        best = merged.points[np.argmax(merged.points @ members[0])]
        logs = sphere.log(np.broadcast_to(best, members.shape), members)
        assert np.abs(logs.mean(axis=0)).max() < 1e-14
    assert mu.merged(4.0).n == 1


def test_many_close_pairs_take_the_short_way(monkeypatch):
    from attention_landscape import _linkage

    monkeypatch.setattr(_linkage, "MANY_PAIRS", 1e4)
    rng = np.random.default_rng(0)
    points = np.repeat(sphere.uniform(3, 3, rng=rng), 2000, axis=0)
    points = sphere.project(points + 1e-8 * rng.normal(size=points.shape))
    assert al.Measure(points).merged(1e-4).n == 3


@settings(deadline=None, derandomize=True, max_examples=150)
@given(angle_lists, st.floats(0.01, 2.0))
def test_clusters_are_all_maximal_arcs(angles, diameter):
    mu = al.Measure.from_angles(angles)
    t = mu.angles
    found = {frozenset(group.tolist()) for group in mu.clusters(diameter)}
    sets = set()
    for start in t:  # each maximal arc can be moved until it starts at an atom
        sets.add(frozenset(np.flatnonzero((t - start) % (2 * np.pi) <= diameter).tolist()))
    maximal = {a for a in sets if not any(a < b for b in sets)}
    gap = np.abs((t[:, None] - t[None, :]) % (2 * np.pi) - diameter).min()
    turn = (t[:, None] - t[None, :]) % (2 * np.pi)
    if gap > 1e-9 and not ((turn > 6.283) & (turn < 2 * np.pi)).any():
        assert found == maximal


def test_clusters_elsewhere():
    assert len(al.Measure.from_angles([0.0, 1.0, 4.0]).clusters(7.0)) == 1
    mu = al.Measure(sphere.project([[1, 0, 0], [1, 0.01, 0], [0, 0, 1]]))
    groups = mu.clusters(0.1)
    assert [g.tolist() for g in groups] == [[0, 1], [2]]


@pytest.mark.parametrize("d", [2, 3, 4])
def test_moments_are_zonal_and_invariant(d):
    mu = al.Measure.uniform(20, d, rng=1)
    q, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(d, d)))
    moments = mu.moments(4)
    np.testing.assert_allclose(al.Measure(mu.points @ q.T).moments(4), moments, atol=1e-9)
    if d > 2:
        cosine = np.clip(mu.points @ mu.points.T, -1, 1)
        for k in range(5):
            zonal = eval_gegenbauer(k, d / 2 - 1, cosine) / eval_gegenbauer(k, d / 2 - 1, 1.0)
            assert moments[k] == pytest.approx(np.sqrt(zonal.mean()), abs=1e-9)
    np.testing.assert_allclose(al.Measure(np.eye(d)[:1]).moments(3), 1, atol=1e-12)


def test_from_density_integrates_polynomials():
    mu = al.Measure.from_density(lambda x: 1 + 0.5 * x[:, 2] + x[:, 0] * x[:, 1], 3, n=800)
    x = mu.points
    assert mu.masses @ x[:, 2] == pytest.approx(0.5 / 3, abs=1e-14)
    assert mu.masses @ (x[:, 0] * x[:, 1]) == pytest.approx(1 / 15, abs=1e-14)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(1, 6), st.integers(1, 6), st.floats(1, 3), st.integers(0, 10**6))
def test_wasserstein_on_the_circle_is_optimal(n, m, p, seed):
    rng = np.random.default_rng(seed)
    mu = al.Measure.from_angles(rng.uniform(0, 6.28, n), rng.dirichlet(np.ones(n)))
    nu = al.Measure.from_angles(rng.uniform(0, 6.28, m), rng.dirichlet(np.ones(m)))
    cost = gaps(mu.angles[:, None], nu.angles[None, :]) ** p
    rows = [np.kron(np.eye(n)[i], np.ones(m)) for i in range(n)]
    columns = [np.kron(np.ones(n), np.eye(m)[j]) for j in range(m)]
    plan = linprog(
        cost.ravel(), A_eq=np.array(rows + columns), b_eq=[*mu.masses, *nu.masses], method="highs"
    )
    assert al.wasserstein(mu, nu, p=p) ** p == pytest.approx(plan.fun, abs=1e-9)
    assert al.wasserstein(nu, mu, p=p) == pytest.approx(al.wasserstein(mu, nu, p=p), abs=1e-9)


def test_wasserstein_equal_masses():
    mu, nu = al.Measure.uniform(60, 2, rng=1), al.Measure.uniform(60, 2, rng=2)
    cost = gaps(mu.angles[:, None], nu.angles[None, :]) ** 2
    i, j = linear_sum_assignment(cost)
    assert al.wasserstein(mu, nu) == pytest.approx(np.sqrt(cost[i, j].mean()), rel=1e-12)
    assert al.wasserstein(mu, mu) < 1e-8  # the square root of rounding
    mu, nu = al.Measure.uniform(5, 3, rng=1), al.Measure.uniform(5, 3, rng=2)
    best = min(
        np.mean(sphere.distance(mu.points, nu.points[list(order)]) ** 2)
        for order in itertools.permutations(range(5))
    )
    assert al.wasserstein(mu, nu) == pytest.approx(np.sqrt(best), rel=1e-12)


def test_measure_is_frozen_and_normalised():
    mu = al.Measure([[1.0, 0.0]] * 2, [0.5, 0.5 + 1e-10])
    assert mu.masses.sum() == pytest.approx(1, abs=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        mu.points[0, 0] = 0.0
    assert repr(mu) == "Measure(n=2, d=2)" and measures.MASS_TOLERANCE < 1e-6
