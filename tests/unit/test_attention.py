"""Attention: closed forms, eigenvalues against quadrature, derivatives, unit systems."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import iv

import attention_landscape as al

#: Funk-Hecke eigenvalues of degrees 0, 1, 2 with 20 digits and more
EIGENVALUES = {
    (2, 1.0): [1.266065877752008335598, 0.5651591039924850272, 0.1357476697670382811829],
    (2, 25.0): [5774560606.466310315771, 5657865129.878701353104, 5321931396.076014207024],
    (3, 0.5): [1.042190610987494723244, 0.1708707084377721239628, 0.01696636036086197946837],
    (5, 5.0): [7.124316769107611117845, 4.629795207870084404554, 2.494521561237526711310],
}


@pytest.mark.parametrize(("key", "values"), EIGENVALUES.items())
def test_L1_eigenvalues(key, values):
    d, beta = key
    np.testing.assert_allclose(al.Attention(beta).eigenvalues(d, 2), values, rtol=1e-13)
    scaled = al.Attention(beta, log_scale=-beta).eigenvalues(d, 2)
    np.testing.assert_allclose(scaled, np.array(values) * np.exp(-beta), rtol=1e-13)


@pytest.mark.parametrize("d", [2, 3, 5, 10])
def test_L1_eigenvalues_against_quadrature(d):
    # Funk-Hecke: lambda_0 and lambda_1 are means of e^{beta t} and t e^{beta t}
    t, weight = np.polynomial.legendre.leggauss(400)
    angle = np.pi * (t + 1) / 2
    density = np.sin(angle) ** (d - 2) * weight
    density /= density.sum()
    for beta in (0.3, 2.0, 30.0):
        kernel = np.exp(beta * (np.cos(angle) - 1))
        expected = [density @ kernel, density @ (np.cos(angle) * kernel)]
        found = al.Attention(beta, log_scale=-beta).eigenvalues(d, 1)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_L1_high_degrees_do_not_underflow_silently():
    values = al.Attention(0.01).eigenvalues(2, 78)  # the last is 1e-295
    assert (values > 0).all()
    ratio = values[61:] / values[60:-1]
    np.testing.assert_allclose(ratio, 0.005 / np.arange(61, 79), rtol=1e-6)


def test_L1_potential_of_a_harmonic():
    attention = al.Attention(1.7)
    mu = al.Measure.from_density(lambda x: 1 + 0.5 * (x[:, 0] ** 2 - x[:, 1] ** 2), 2, n=64)
    lam = attention.eigenvalues(2, 2)
    x = al.sphere.uniform(20, 2, rng=0)
    expected = lam[0] + 0.5 * lam[2] * (x[:, 0] ** 2 - x[:, 1] ** 2)
    np.testing.assert_allclose(attention.potential(mu, x), expected, rtol=1e-13)
    np.testing.assert_allclose(lam, iv([0, 1, 2], 1.7), rtol=1e-14)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_derivatives_along_geodesics(d):
    rng = np.random.default_rng(d)
    matrix = rng.normal(size=(d, d))  # not symmetric: R6 allows it
    for attention in (al.Attention(2.0, log_scale=-1.0), al.Attention(matrix=matrix)):
        mu = al.Measure(al.sphere.uniform(6, d, rng=rng), rng.dirichlet(np.ones(6)))
        x = al.sphere.uniform(9, d, rng=rng)
        xi = al.sphere.tangent_project(x, rng.normal(size=x.shape))
        h = 1e-3 / np.linalg.norm(xi, axis=1).max()
        steps = [attention.potential(mu, al.sphere.exp(x, t * h * xi)) for t in (-2, -1, 0, 1, 2)]
        first = (steps[0] - 8 * steps[1] + 8 * steps[3] - steps[4]) / (12 * h)
        second = (-steps[0] + 16 * steps[1] - 30 * steps[2] + 16 * steps[3] - steps[4]) / (
            12 * h**2
        )
        size = steps[2].max()
        found = np.sum(xi * attention.gradient(mu, x), axis=1)
        np.testing.assert_allclose(found, first, atol=1e-8 * size)
        along = np.einsum("id,ide,ie->i", xi, attention.hessian(mu, x), xi)
        np.testing.assert_allclose(along, second, atol=1e-5 * size)


def test_matrix_beta_identity_is_beta():
    mu, x = al.Measure.uniform(5, 3, rng=1), al.sphere.uniform(4, 3, rng=2)
    one, two = al.Attention(2.5), al.Attention(matrix=2.5 * np.eye(3))
    np.testing.assert_allclose(one.potential(mu, x), two.potential(mu, x), rtol=1e-14)
    np.testing.assert_allclose(one.hessian(mu, x), two.hessian(mu, x), atol=1e-12)
    assert one.prefactor == 0.4 and two.prefactor == 1.0
    assert one.peak == pytest.approx(two.peak) and "matrix" in repr(two)


@pytest.mark.parametrize("beta", [800.0, 1000.0])
def test_large_beta_with_log_scale(beta):
    attention = al.Attention(beta, log_scale=-beta)
    mu = al.Measure.uniform(500, 2, rng=0)
    assert np.isfinite(attention.potential(mu, mu.points)).all()
    assert attention.peak == 1.0 and "log_scale" in repr(attention)
