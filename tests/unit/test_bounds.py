"""Bounds: reference values, an independent computation, and what the statements claim."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_landscape import Perceptron, bounds

BETAS = np.geomspace(0.05, 1000, 60)
#: from 40-digit computations: beta, theta_c
KERNEL = [(1.0, 0.90455689430238136413)]
#: beta, W, bound of the poster, bound X1
MASSES = [
    (0.5, 0.0, 0.5741922784451560940, 0.4594305190907818276),
    (0.5, 1.0, 2.135008714984120229, 1.132425527773445725),
    (1.0, 0.0, 0.5741922784451560940, 0.3909532693920138203),
    (1.0, 1.0, 1.520875301389455651, 0.7819065387840276406),
    (2.0, 1.0, 0.9224574998923967243, 0.5194956788378952912),
    (4.0, 1.0, 0.6213248508311800458, 0.4081984125565865428),
    (10.0, 0.0, 0.5741922784451560940, 0.3973243745916241127),
    (10.0, 1.0, 0.5743091084115498356, 0.3973662842664197889),
]


def second_derivative(beta, angle):
    beta, angle = mp.mpf(beta), mp.mpf(angle)
    value = beta * mp.sin(angle) ** 2 - mp.cos(angle)
    return beta * mp.exp(beta * (mp.cos(angle) - 1)) * value


def test_L2_angle_against_mpmath():
    assert bounds.concavity_angle(1.0) == pytest.approx(KERNEL[0][1], rel=1e-15)
    for beta in [*BETAS, 1e-3, 1e6]:
        with mp.workdps(60):
            b = mp.mpf(float(beta))
            exact = mp.acos((mp.sqrt(1 + 4 * b**2) - 1) / (2 * b))
        assert bounds.concavity_angle(float(beta)) == pytest.approx(float(exact), rel=1e-14)


def test_L2_second_derivative_against_mpmath():
    angles = np.linspace(-4, 4, 41)
    for beta in BETAS:
        ours = bounds.kernel_second_derivative(float(beta), angles, scaled=True)
        with mp.workdps(60):
            exact = [float(second_derivative(float(beta), float(t))) for t in angles]
        size = max(1.0, float(beta))
        np.testing.assert_allclose(ours, exact, rtol=1e-11, atol=1e-15 * size)


def test_L2_second_derivative_against_differences():
    h, t = 1e-3, np.linspace(0, 3, 13)
    kernel = np.exp(2.0 * np.cos(t[:, None] + h * np.array([-2, -1, 0, 1, 2])))
    second = kernel @ np.array([-1, 16, -30, 16, -1]) / (12 * h**2)
    np.testing.assert_allclose(bounds.kernel_second_derivative(2.0, t), second, atol=1e-8)


def test_L2_maximum_is_the_maximum():
    assert bounds.kernel_second_derivative_max(4.0) == pytest.approx(89.56032488820736, rel=1e-14)
    assert bounds.kernel_second_derivative_max(1.0) == pytest.approx(1.0, rel=1e-15)
    for beta in BETAS:
        grid = np.linspace(0, np.pi, 200_001)
        largest = bounds.kernel_second_derivative(float(beta), grid, scaled=True).max()
        assert bounds.kernel_second_derivative_max(float(beta), scaled=True) == pytest.approx(
            largest, rel=1e-6
        )
        assert bounds.kernel_second_derivative_max(float(beta), scaled=True) >= largest * (
            1 - 1e-13
        )


def test_L2_simple_maximum_holds_from_its_threshold_on():
    threshold = 0.4229525375948977
    for beta in BETAS:
        holds = bounds.kernel_second_derivative_max(
            float(beta), scaled=True
        ) <= bounds.kernel_second_derivative_max_simple(float(beta), scaled=True)
        assert holds == (beta >= threshold), beta
    near = [bounds.kernel_second_derivative_max(b) for b in (threshold - 1e-9, threshold + 1e-9)]
    simple = [
        bounds.kernel_second_derivative_max_simple(b) for b in (threshold - 1e-9, threshold + 1e-9)
    ]
    assert near[0] > simple[0] and near[1] < simple[1]
    assert bounds.kernel_second_derivative_max(0.1) == pytest.approx(0.0905, abs=5e-5)
    assert bounds.kernel_second_derivative_max_simple(0.1) == pytest.approx(0.0493, abs=5e-5)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.floats(0.01, 1000), st.floats(-np.pi, np.pi))
def test_L2_negative_exactly_inside_the_window(beta, angle):
    value = float(bounds.kernel_second_derivative(beta, angle, scaled=True))
    edge = bounds.concavity_angle(beta)
    if abs(abs(angle) - edge) > 1e-9 and value != 0:
        assert (value < 0) == (abs(angle) < edge)
    assert abs(value) <= beta * (1 + 1e-14)  # |K''| is largest at 0


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.floats(1e-3, 1e6))
def test_E9_window_is_narrower_than_the_scale(beta):
    assert math.sqrt(beta) * bounds.concavity_angle(beta) < 1


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.floats(0.05, 0.95), st.floats(0, 1), st.floats(1.0, 50.0))
def test_L2_concavity_bound_holds_from_its_threshold_on(fraction, inside, factor):
    beta = fraction**2 / (1 - fraction**2) * factor
    angle = inside * fraction * bounds.concavity_angle(beta)
    bound = bounds.concavity_bound(beta, fraction, scaled=True)
    value = float(bounds.kernel_second_derivative(beta, angle, scaled=True))
    assert value <= bound + 1e-13 * beta


@pytest.mark.parametrize(("beta", "weight", "poster", "ours"), MASSES)
def test_X1_and_T4_reference(beta, weight, poster, ours):
    assert bounds.poster_cluster_mass_bound(beta, weight) == pytest.approx(poster, rel=1e-13)
    assert bounds.cluster_mass_bound(beta, weight) == pytest.approx(ours, rel=1e-13)


def test_X1_limits():
    expected = {0: 0.30856154596377242, 0.25: 0.32936371183681235, 0.5: 0.40271368275309884}
    for window, value in expected.items():
        assert bounds.cluster_mass_limit(window) == pytest.approx(value, rel=1e-14)
    assert bounds.cluster_mass_limit(0.75) == pytest.approx(0.57470547267247167, rel=1e-14)
    for window in (0.25, 0.5, 0.75):
        assert bounds.cluster_mass_bound(1e3, 5.0, window=window) == pytest.approx(
            bounds.cluster_mass_limit(window), rel=2e-3
        )
    assert bounds.poster_cluster_mass_bound(1000.0, 3.0) == pytest.approx(0.57419227844515609)


@settings(deadline=None, derandomize=True)
@given(st.floats(0.2, 900), st.floats(0, 50), st.floats(0.01, 5))
def test_X1_grows_with_the_weights_and_beats_the_poster(beta, weight, more):
    low = bounds.cluster_mass_bound(beta, weight)
    assert low <= bounds.cluster_mass_bound(beta, weight + more)
    if beta >= 0.423:  # where the poster's maximum of K'' is one
        assert low <= bounds.poster_cluster_mass_bound(beta, weight) * (1 + 1e-13)


def test_X1_window_must_be_concave():
    threshold = 0.11827
    bounds.cluster_mass_bound(threshold * 1.001, 0.0)
    with pytest.raises(ValueError, match="window"):
        bounds.cluster_mass_bound(threshold * 0.999, 0.0)


def test_X9_limit_and_order():
    for beta in (1.0, 10.0, 1000.0):
        assert bounds.atom_mass_bound(beta, 0.0) < bounds.cluster_mass_bound(beta, 0.0)
    assert bounds.atom_mass_bound(1000.0, 2.0) == pytest.approx(0.30856, abs=5e-4)


def test_C4_is_weaker_than_counting():
    constant = bounds.poster_cluster_mass_bound(100.0, 0.0)
    for mass in (0.01, 0.1, 0.4):
        assert (
            bounds.atom_count_bound(mass, 100.0, arcs=2, length=1e-6, constant=constant) > 1 / mass
        )


def test_curvature_bound_feeds_the_bounds():
    perceptron = Perceptron.random(2, activation="gelu", rng=1)
    assert perceptron.curvature_bound == pytest.approx(
        1.1289041451851548 * perceptron.weight_bound, rel=1e-13
    )


BAD = [
    ("beta", lambda: bounds.concavity_angle(0.0)),
    ("beta", lambda: bounds.concavity_angle(float("nan"))),
    ("beta", lambda: bounds.concavity_angle("1")),
    ("beta", lambda: bounds.kernel_second_derivative(-1.0, 0.0)),
    ("beta", lambda: bounds.kernel_second_derivative(701.0, 0.0)),
    ("angle", lambda: bounds.kernel_second_derivative(1.0, [np.nan])),
    ("beta", lambda: bounds.kernel_second_derivative_max(800.0)),
    ("beta", lambda: bounds.kernel_second_derivative_max_simple(800.0)),
    ("fraction", lambda: bounds.concavity_bound(1.0, 1.0)),
    ("beta", lambda: bounds.concavity_bound(800.0, 0.5)),
    ("window", lambda: bounds.cluster_mass_bound(1.0, 0.0, window=0.0)),
    ("window", lambda: bounds.cluster_mass_bound(0.05, 0.0)),
    ("curvature_bound", lambda: bounds.cluster_mass_bound(1.0, -1.0)),
    ("curvature_bound", lambda: bounds.atom_mass_bound(1.0, float("inf"))),
    ("weight_bound", lambda: bounds.poster_cluster_mass_bound(1.0, -0.1)),
    ("window", lambda: bounds.cluster_mass_limit(1.0)),
    ("mass", lambda: bounds.atom_count_bound(1.5, 1.0, arcs=1, length=1.0, constant=0.6)),
    ("arcs", lambda: bounds.atom_count_bound(0.5, 1.0, arcs=0, length=1.0, constant=0.6)),
    ("length", lambda: bounds.atom_count_bound(0.5, 1.0, arcs=1, length=7.0, constant=0.6)),
    ("constant", lambda: bounds.atom_count_bound(0.5, 1.0, arcs=1, length=1.0, constant=0.4)),
]


@pytest.mark.parametrize(("name", "call"), BAD)
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()
