"""The paper's statements and ours, one test each: what random inputs must not break."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import special
from seed777 import neurons

import attention_landscape as al

DIFFUSE = al.Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.25, -0.15], activation="identity")


def diffuse_minimiser(n, beta=1.0):
    """X2: the density 1 - (beta/2 lambda_2) x^T Q_0 x at n equispaced angles."""
    quadratic = np.einsum("j,ji,jk->ik", DIFFUSE.weights, DIFFUSE.directions, DIFFUSE.directions)
    traceless = quadratic - np.trace(quadratic) / 2 * np.eye(2)
    x = al.sphere.from_angles(2 * np.pi * np.arange(n) / n)
    values = np.einsum("ni,ij,nj->n", x, traceless, x)
    density = 1 - beta / (2 * special.iv(2, beta)) * values
    assert density.min() > 0
    return al.Measure(x, density / density.sum())


def gelu_coefficient(k, radius=1.0):
    """X3: modulus of the k-th Fourier coefficient of phi(r cos t), k >= 3 odd."""
    total = 0.0
    for mu in (-2, 0):
        logs = (
            special.gammaln((k + mu) / 2)
            + mu / 2 * np.log(2)
            - special.gammaln(k + 1)
            + k * np.log(radius / np.sqrt(2))
        )
        kummer = special.hyp1f1((k - mu) / 2 + 1, k + 1, radius**2 / 2)
        total += np.exp(logs - radius**2 / 2) * kummer
    return total / np.pi


def test_T2_a_compact_form_has_no_positive_lower_bound():
    landscape = al.Landscape(al.Attention(1.0), DIFFUSE)
    assert np.abs(landscape.gradient(diffuse_minimiser(64))).max() < 1e-14
    # amplitude of the density; the lowest mode on bins, 1/density, is the one that is no gradient
    amplitude = 1 - diffuse_minimiser(400).masses.min() * 400
    for n in (8, 12, 16, 20, 24):
        second = landscape.spectrum(diffuse_minimiser(n))[1]
        expected = 2 * (n / 2) ** 2 * special.iv(n / 2, 1.0) * np.sqrt(1 - amplitude**2)
        assert second == pytest.approx(expected, rel=0.01)
    found = al.minimize(al.Landscape(al.Attention(0.5), neurons("gelu")))
    assert al.Landscape(al.Attention(0.5), neurons("gelu")).spectrum(found.measure)[0] > 0.2903


@pytest.mark.parametrize("d", [2, 3, 5])
def test_T3_parameters_move_the_field_in_every_direction(d):
    rng = np.random.default_rng(d)
    perceptron = al.Perceptron.random(d, activation="gelu", rng=rng)
    for x in al.sphere.uniform(10, d, rng=rng):
        (frame,) = al.sphere.tangent_frames(x[None])
        frame = frame.reshape(d - 1, d)
        derivative = []
        for j, axis in itertools.product(range(d), range(d - 1)):
            moved = []
            for sign in (1, -1):
                directions = perceptron.directions.copy()
                directions[j] += sign * 1e-6 * frame[axis]
                other = al.Perceptron(directions, perceptron.weights, activation="gelu")
                moved.append(other.drift(x[None])[0])
            derivative.append((moved[0] - moved[1]) / 2e-6)
            sigma = perceptron.activation.function(perceptron.directions[j] @ x)
            expected = perceptron.weights[j] * sigma * frame[axis]
            np.testing.assert_allclose(derivative[-1], expected, atol=1e-8)
        assert np.linalg.matrix_rank(np.array(derivative), tol=1e-6) == d - 1


def test_R2_E4_a_hyperplane_through_the_sphere_need_not_break_analyticity():
    direction = np.array([0.6, 0.8])
    both = al.Perceptron([direction, -direction], [0.7, 0.7], [-0.3, 0.3], activation="relu")
    smooth = al.Perceptron([direction], [0.7], [-0.3], activation="identity")
    x = al.sphere.uniform(200, 2, rng=0)
    offset = both.potential(x) - smooth.potential(x)
    np.testing.assert_allclose(offset, offset[0], atol=1e-14)


def test_R3_leaky_relu_equilibria_are_finite():
    rng = np.random.default_rng(3)
    for _ in range(5):
        landscape = al.Landscape(
            al.Attention(rng.uniform(0.3, 2.0)),
            al.Perceptron.random(2, activation="leaky_relu", rng=rng),
        )
        found = al.minimize(landscape)
        assert found.success and found.n_atoms < 15 and "not resolved" not in found.message


def test_R4_interior_support_means_a_density_of_degree_two():
    mu = diffuse_minimiser(64)
    landscape = al.Landscape(al.Attention(1.0), DIFFUSE)
    values = landscape.first_variation(mu, al.sphere.uniform(100, 2, rng=1))
    assert np.ptp(values) < 1e-14
    spectrum = np.abs(np.fft.fft(mu.masses))
    assert spectrum[3:-2].max() < 1e-16 < spectrum[2]


def test_R6_potentials_with_a_matrix_determine_the_measure():
    rng = np.random.default_rng(4)
    matrix = np.array([[1.5, 0.4, 0.0], [0.4, -1.0, 0.2], [0.0, 0.2, 0.7]])
    attention = al.Attention(matrix=matrix)
    probes = al.sphere.uniform(60, 3, rng=rng)
    x = al.sphere.uniform(8, 3, rng=rng)
    columns = [attention.potential(al.Measure(row[None]), probes) for row in x]
    assert np.linalg.matrix_rank(np.array(columns)) == 8


@pytest.mark.parametrize("beta", [1.0, 2.0, 5.0, 10.0])
def test_T4_X1_random_stable_pairs_obey_the_bound(beta):
    # two atoms held together by an identity neuron (X8 with free eps and strength)
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(200):
        eps = rng.uniform(0.05, 0.5) / np.sqrt(beta)
        strength = np.exp(beta) * rng.uniform(0.0, 1.2)
        perceptron = al.Perceptron([[1.0, 0.0]], [-strength], activation="identity")
        mass = rng.uniform(0.02, 0.98)
        mu = al.Measure.from_angles(
            [-eps / 2, eps / 2, np.pi], [mass / 2, mass / 2, 1 - mass]
        )  # fmt: skip
        landscape = al.Landscape(al.Attention(beta), perceptron)
        if landscape.spectrum(mu)[0] < 0:
            continue  # not stable: T4 and X1 only use the second-order condition
        seen += 1
        weight = perceptron.curvature_bound
        assert mass <= al.bounds.cluster_mass_bound(beta, weight) + 1e-12
        assert mass <= al.bounds.poster_cluster_mass_bound(beta, weight) + 1e-12
    assert seen > 20


def test_X1s_stress_is_the_same_at_every_cut():
    beta, eps = 1.0, 0.5
    p = 0.5 / (1 + np.cos(eps / 2) * np.exp(beta * (np.cos(eps) + np.cos(eps / 2))))
    angles, masses = np.array([-eps / 2, eps / 2, np.pi]), np.array([p, p, 1 - 2 * p])
    mu = al.Measure.from_angles(angles, masses)
    assert np.abs(al.Landscape(al.Attention(beta)).gradient(mu)).max() < 1e-15
    stresses = []
    for cut in np.linspace(-np.pi, np.pi, 40)[1:-1] + 1e-3:
        total = 0.0
        for i, j in itertools.combinations(range(3), 2):
            start, length = angles[i], np.mod(angles[j] - angles[i], 2 * np.pi)
            if length > np.pi:
                start, length = angles[j], 2 * np.pi - length
            if np.mod(cut - start, 2 * np.pi) < length:
                force = beta * np.sin(length) * np.exp(beta * np.cos(length))
                total += masses[i] * masses[j] * abs(force)
        stresses.append(total)
    assert np.ptp(stresses) < 1e-14


def test_X6_E1_three_atoms_are_one_cluster_exactly_below_the_threshold():
    threshold = 9 / (16 * np.pi**2)
    assert threshold == pytest.approx(0.056993, abs=5e-7)
    mu = al.Measure.from_angles(2 * np.pi * np.arange(3) / 3)
    for beta in (0.05, 0.06, 0.5):
        landscape = al.Landscape(al.Attention(beta))
        assert np.abs(landscape.gradient(mu)).max() < 1e-15
        assert landscape.spectrum(mu)[0] > -1e-14
        assert (2 * np.pi / 3 <= 0.5 / np.sqrt(beta)) == (beta <= threshold)


def test_E3_stationarity_of_a_given_measure_is_a_null_event():
    rng = np.random.default_rng(6)
    mu = al.Measure.from_angles([0.3, 1.9, 4.0])
    attention = al.Attention(1.0)
    pull = attention.gradient(mu, mu.points)
    smallest = []
    for size in (100, 800, 6400):
        best = []
        for _ in range(9):
            residuals = [
                np.linalg.norm(
                    pull + al.Perceptron.random(2, activation="gelu", rng=rng).drift(mu.points)
                )
                for _ in range(size // 8)
            ]
            best.append(min(residuals))
        smallest.append(np.median(best))
    slope = np.polyfit(np.log([100, 800, 6400]), np.log(smallest), 1)[0]
    assert smallest[2] > 0 and slope == pytest.approx(-1 / 3, abs=0.15)


@pytest.mark.parametrize(("beta", "index"), [(0.5, 3), (1.0, 5), (2.0, 15), (3.0, 29), (5.0, 71)])
def test_X3_first_mode_that_attention_cannot_cancel(beta, index):
    k = np.arange(3, 81, 2)
    logs = np.array([np.log(gelu_coefficient(int(i))) for i in k])
    violated = logs + np.log(beta / 2) > np.log(special.ive(k, beta)) + beta
    assert k[violated][0] == index


def test_X3_coefficients_against_a_transform():
    nodes = 512
    x = al.sphere.from_angles(2 * np.pi * np.arange(nodes) / nodes)
    for radius in (0.5, 1.0, 2.0):
        unit = al.Perceptron([[radius, 0.0]], [1.0], activation="gelu")
        series = np.abs(np.fft.fft(unit.potential(x))) / nodes
        for k in (3, 5, 7, 9):
            assert series[k] == pytest.approx(gelu_coefficient(k, radius), rel=1e-8, abs=1e-15)


def test_X5_P2_the_diffuse_minimiser_is_not_a_softmax_equilibrium():
    mu, landscape = diffuse_minimiser(256), al.Landscape(al.Attention(1.0), DIFFUSE)
    assert np.abs(landscape.gradient(mu)).max() < 1e-14
    residual = np.linalg.norm(landscape.gradient(mu, normalization="softmax"), axis=1).max()
    assert residual == pytest.approx(0.0351, abs=2e-4)


def test_X7_dichotomy_at_its_threshold():
    for ratio, diffuse in ((0.7, True), (1.5, False)):
        beta = 1.0
        a = ratio * 2 * special.iv(2, beta) / beta
        # v = 2 a cos^2 t - a + const from two opposite ReLU neurons
        pair = al.Perceptron([[1.0, 0.0], [-1.0, 0.0]], [2 * a, 2 * a], activation="relu")
        found = al.minimize(al.Landscape(al.Attention(beta), pair))
        closed = special.iv(0, beta) / (2 * beta) + a / 2 - beta * a**2 / (16 * special.iv(2, beta))
        assert (abs(found.energy - closed) < 1e-12) == diffuse
        assert (found.n_atoms < 8) == (not diffuse)


def test_S6_dobrushin():
    rng = np.random.default_rng(8)
    for _ in range(10):
        landscape = al.Landscape(
            al.Attention(rng.uniform(0.2, 3.0)), al.Perceptron.random(2, rng=rng)
        )
        rate = 2 * np.exp(landscape.attention.beta) + landscape.perceptron.curvature_bound
        mu, nu = (al.Measure.uniform(12, 2, rng=rng) for _ in range(2))
        ends = [al.gradient_flow(landscape, m, t_max=1 / rate).final for m in (mu, nu)]
        assert al.wasserstein(*ends) <= np.e * al.wasserstein(mu, nu)


def test_B3_clusters_are_metastable_under_ascent():
    # two tight groups a right angle apart: the time to merge grows exponentially in beta
    mu = al.Measure.from_angles([0.0, np.pi / 2])
    times = []
    for beta in (4.0, 6.0, 8.0):
        landscape = al.Landscape(al.Attention(beta, log_scale=-beta))
        path = al.gradient_flow(
            landscape, mu, direction="ascent", t_eval=np.linspace(0, 6000, 3001), rtol=1e-6
        )
        apart = al.sphere.distance(path.points[:, 0], path.points[:, 1])
        times.append(path.t[np.argmax(apart < 1.0)])
    growth = np.diff(np.log(times)) / 2
    assert np.all(growth > 0.5) and np.all(growth < 1.5)
