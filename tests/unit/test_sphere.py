"""The sphere: inverse maps, distances near 0 and pi, frames."""

from __future__ import annotations

import numpy as np
import pytest

from attention_landscape import sphere


@pytest.mark.parametrize("d", [2, 3, 7])
def test_exp_and_log_are_inverse(d):
    x, y = sphere.uniform(200, d, rng=1), sphere.uniform(200, d, rng=2)
    v = sphere.log(x, y)
    np.testing.assert_allclose(np.sum(v * x, axis=1), 0, atol=1e-14)
    np.testing.assert_allclose(sphere.exp(x, v), y, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), sphere.distance(x, y), rtol=1e-13)


@pytest.mark.parametrize("angle", [1e-12, 1e-8, 1e-3, np.pi - 1e-8])
def test_distance_keeps_its_digits(angle):
    x, y = sphere.from_angles([0.3]), sphere.from_angles([0.3 + angle])
    assert sphere.distance(x, y)[0] == pytest.approx(angle, abs=1e-15, rel=1e-3)
    assert sphere.distance(x, x)[0] == 0
    assert (sphere.log(x, x) == 0).all()


@pytest.mark.parametrize("d", [2, 3, 8])
def test_frames_are_orthonormal(d):
    x = np.concatenate([sphere.uniform(50, d, rng=3), np.eye(d), -np.eye(d)])
    frames = sphere.tangent_frames(x)
    gram = frames @ frames.transpose(0, 2, 1)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(d - 1), gram.shape), atol=1e-14)
    np.testing.assert_allclose(np.einsum("iad,id->ia", frames, x), 0, atol=1e-14)


def test_angles_round_trip_and_stay_below_a_turn():
    t = np.array([0.0, 1e-17, -1e-17, 1.0, 6.28, -1.0])
    back = sphere.to_angles(sphere.from_angles(t))
    assert (back >= 0).all() and (back < 2 * np.pi).all()
    np.testing.assert_allclose(np.exp(1j * back), np.exp(1j * t), atol=1e-15)


def test_project_survives_large_and_small_rows():
    rows = np.array([[3e300, 4e300], [3e-300, 4e-300]])
    np.testing.assert_allclose(sphere.project(rows), [[0.6, 0.8], [0.6, 0.8]], rtol=1e-15)


def test_retract_agrees_with_exp_to_first_order():
    x = sphere.uniform(20, 4, rng=0)
    v = sphere.tangent_project(x, np.random.default_rng(1).normal(size=x.shape))
    errors = [np.abs(sphere.retract(x, h * v) - sphere.exp(x, h * v)).max() for h in (1e-2, 1e-3)]
    assert errors[0] / errors[1] == pytest.approx(1000, rel=0.1)  # third order, in fact


def test_uniform_is_reproducible_and_uniform():
    x = sphere.uniform(40_000, 3, rng=7)
    np.testing.assert_array_equal(x, sphere.uniform(40_000, 3, rng=7))
    np.testing.assert_allclose(x.T @ x / len(x), np.eye(3) / 3, atol=0.01)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=0.015)
