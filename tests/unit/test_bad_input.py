"""Each public entry rejects bad input with a ValueError that names the argument."""

from __future__ import annotations

import numpy as np
import pytest

import attention_landscape as al
from attention_landscape import sphere

NAN, INF = float("nan"), float("inf")
E1 = [[1.0, 0.0]]
MU = al.Measure([[1.0, 0.0], [0.0, 1.0]])
MU3 = al.Measure(np.eye(3))
TWINS = al.Measure([[1.0, 0.0], [1.0, 0.0]])
P2 = al.Perceptron(E1, [1.0])
PURE = al.Landscape(al.Attention(1.0))
FULL = al.Landscape(al.Attention(1.0), P2)


def still(x):
    return np.zeros_like(x)


CASES = [
    # measures
    ("points", lambda: al.Measure([1.0, 0.0])),
    ("points", lambda: al.Measure(np.empty((0, 2)))),
    ("points", lambda: al.Measure([[1.0], [1.0]])),
    ("points", lambda: al.Measure([[1.0, 1.0]])),
    ("points", lambda: al.Measure([[NAN, 1.0]])),
    ("points", lambda: al.Measure([[INF, 1.0]])),
    ("points", lambda: al.Measure("abc")),
    ("points", lambda: al.Measure([[1j, 0.0]])),
    ("points", lambda: al.Measure([[1.0, 0.0], [1.0]])),
    ("masses", lambda: al.Measure(E1, [0.5])),
    ("masses", lambda: al.Measure(E1, [0.5, 0.5])),
    ("masses", lambda: al.Measure([[1.0, 0.0]] * 2, [1.5, -0.5])),
    ("masses", lambda: al.Measure(E1, [NAN])),
    ("masses", lambda: al.Measure(E1, [[1.0]])),
    ("angles", lambda: al.Measure.from_angles([[0.0]])),
    ("angles", lambda: al.Measure.from_angles([INF])),
    ("angles", lambda: MU3.angles),
    ("n", lambda: al.Measure.uniform(0, 2)),
    ("n", lambda: al.Measure.uniform(2.5, 2)),
    ("d", lambda: al.Measure.uniform(3, 1)),
    ("d", lambda: al.Measure.uniform(3, True)),
    ("d", lambda: al.Measure.from_density(lambda x: 1.0, 4, n=10)),
    ("density", lambda: al.Measure.from_density(lambda x: np.ones(3), 2, n=10)),
    ("density", lambda: al.Measure.from_density(lambda x: x[:, 0], 2, n=10)),
    ("density", lambda: al.Measure.from_density(lambda x: 2 + 0 * x[:, 0], 2, n=10)),
    ("density", lambda: al.Measure.from_density(lambda x: NAN * x[:, 0], 3, n=10)),
    ("tol", lambda: MU.merged(-1.0)),
    ("tol", lambda: MU.merged(NAN)),
    ("diameter", lambda: MU.clusters(-0.1)),
    ("diameter", lambda: MU3.clusters("wide")),
    ("degree", lambda: MU.moments(-1)),
    ("degree", lambda: MU.moments(1.5)),
    ("mu", lambda: al.wasserstein([[1.0, 0.0]], MU)),
    ("nu", lambda: al.wasserstein(MU, MU3)),
    ("nu", lambda: al.wasserstein(MU3, None)),
    ("nu", lambda: al.wasserstein(MU3, al.Measure(np.eye(3)[:2]))),
    ("nu", lambda: al.wasserstein(MU3, al.Measure(np.eye(3), [0.5, 0.25, 0.25]))),
    ("p", lambda: al.wasserstein(MU, MU, p=0.5)),
    # the sphere
    ("vectors", lambda: sphere.project([[0.0, 0.0]])),
    ("vectors", lambda: sphere.project([1.0])),
    ("vectors", lambda: sphere.tangent_project(E1, [[1.0, 0.0, 0.0]])),
    ("vectors", lambda: sphere.exp(E1, [[1.0, 0.0]])),
    ("vectors", lambda: sphere.retract(E1, [[0.0, NAN]])),
    ("targets", lambda: sphere.log(E1, [[-1.0, 0.0]])),
    ("targets", lambda: sphere.distance(E1, [[1.0, 0.0, 0.0]])),
    ("points", lambda: sphere.tangent_frames([[2.0, 0.0]])),
    ("points", lambda: sphere.to_angles(np.eye(3))),
    # attention
    ("beta", lambda: al.Attention(0.0)),
    ("beta", lambda: al.Attention(-1.0)),
    ("beta", lambda: al.Attention(NAN)),
    ("beta", lambda: al.Attention(True)),
    ("beta", lambda: al.Attention("1")),
    ("beta", lambda: al.Attention([1.0, 2.0])),
    ("beta", lambda: al.Attention()),
    ("beta and matrix", lambda: al.Attention(1.0, matrix=np.eye(2))),
    ("log_scale", lambda: al.Attention(701.0)),
    ("log_scale", lambda: al.Attention(1.0, log_scale=-800.0)),
    ("log_scale", lambda: al.Attention(1.0, log_scale=NAN)),
    ("matrix", lambda: al.Attention(matrix=np.ones((2, 2)))),
    ("matrix", lambda: al.Attention(matrix=np.ones((2, 3)))),
    ("matrix", lambda: al.Attention(matrix=[[1.0, NAN], [0.0, 1.0]])),
    ("matrix", lambda: al.Attention(matrix=800 * np.eye(2))),
    ("matrix", lambda: al.Attention(matrix=np.eye(2)).eigenvalues(2, 3)),
    ("d", lambda: al.Attention(1.0).eigenvalues(1, 3)),
    ("degree", lambda: al.Attention(1.0).eigenvalues(2, -1)),
    ("mu", lambda: al.Attention(1.0).potential(E1, E1)),
    ("mu", lambda: al.Attention(matrix=np.eye(2)).potential(MU3, np.eye(3))),
    ("x", lambda: al.Attention(1.0).gradient(MU, np.eye(3))),
    ("x", lambda: al.Attention(1.0).hessian(MU, [[0.5, 0.5]])),
    # perceptrons
    ("directions", lambda: al.Perceptron([1.0, 0.0], [1.0])),
    ("directions", lambda: al.Perceptron(np.empty((0, 2)), [])),
    ("weights", lambda: al.Perceptron(E1, [1.0, 2.0])),
    ("weights", lambda: al.Perceptron(E1, [NAN])),
    ("biases", lambda: al.Perceptron(E1, [1.0], [0.0, 0.0])),
    ("activation", lambda: al.Perceptron(E1, [1.0], activation="swish")),
    ("activation", lambda: al.Perceptron(E1, [1.0], activation=np.tanh)),
    ("d", lambda: al.Perceptron.random(1)),
    ("k", lambda: al.Perceptron.random(2, k=0)),
    ("scale", lambda: al.Perceptron.random(2, scale=-1.0)),
    ("x", lambda: P2.potential([[1.0, 1.0]])),
    ("x", lambda: P2.gradient(np.eye(3))),
    ("function", lambda: al.Activation("own", 1, np.cos, np.sin, 1.0, "analytic")),
    ("lipschitz", lambda: al.Activation("own", np.sin, np.cos, np.sin, NAN, "analytic")),
    ("smoothness", lambda: al.Activation("own", np.sin, np.cos, np.sin, 1.0, "smooth")),
    # the landscape
    ("attention", lambda: al.Landscape(1.0)),
    ("perceptron", lambda: al.Landscape(al.Attention(1.0), "relu")),
    ("matrix", lambda: al.Landscape(al.Attention(matrix=[[1.0, 1.0], [0.0, 1.0]]))),
    ("perceptron", lambda: al.Landscape(al.Attention(matrix=np.eye(3)), P2)),
    ("mu", lambda: FULL.energy(MU3)),
    ("mu", lambda: PURE.energy(E1)),
    ("x", lambda: FULL.first_variation(MU, [[NAN, 0.0]])),
    ("normalization", lambda: FULL.gradient(MU, normalization="none")),
    ("xi", lambda: FULL.hessian_form(MU, [[0.0, 1.0]])),
    ("xi", lambda: FULL.hessian_form(MU, [[1.0, 0.0], [1.0, 0.0]])),
    ("merged", lambda: FULL.spectrum(TWINS)),
    ("merged", lambda: FULL.spectrum(al.Measure(MU.points, [1.0, 0.0]))),
    # flows
    ("landscape", lambda: al.gradient_flow(P2, MU)),
    ("mu", lambda: al.gradient_flow(FULL, E1)),
    ("direction", lambda: al.gradient_flow(FULL, MU, direction="up")),
    ("normalization", lambda: al.gradient_flow(FULL, MU, normalization="hard")),
    ("t_max", lambda: al.gradient_flow(FULL, MU, t_max=0.0)),
    ("t_eval", lambda: al.gradient_flow(FULL, MU, t_eval=[1.0, 0.5])),
    ("t_eval", lambda: al.gradient_flow(FULL, MU, t_eval=[])),
    ("t_eval", lambda: al.gradient_flow(FULL, MU, t_eval=[0.5, 2.0], t_max=1.0)),
    ("t_eval", lambda: al.gradient_flow(FULL, MU, t_eval=[-0.5, 2.0])),
    ("rtol", lambda: al.gradient_flow(FULL, MU, rtol=0.0)),
    ("atol", lambda: al.gradient_flow(FULL, MU, atol=-1.0)),
    ("stationary_tol", lambda: al.gradient_flow(FULL, MU, stationary_tol=NAN)),
    ("points", lambda: al.layer([[1.0, 1.0]], al.Attention(1.0), P2, 0.1)),
    ("attention", lambda: al.layer(E1, 1.0, P2, 0.1)),
    ("perceptron", lambda: al.layer(E1, al.Attention(1.0), "relu", 0.1)),
    ("points", lambda: al.layer(np.eye(3), al.Attention(1.0), P2, 0.1)),
    ("points", lambda: al.layer(np.eye(3), al.Attention(matrix=np.eye(2)), None, 0.1)),
    ("dt", lambda: al.layer(E1, al.Attention(1.0), P2, 0.0)),
    ("direction", lambda: al.layer(E1, al.Attention(1.0), P2, 0.1, direction=1)),
    ("steps", lambda: al.iterate_layer(E1, al.Attention(1.0), P2, 0.1, -1)),
    ("method", lambda: al.step(still, E1, 0.1, method="heun")),
    ("field", lambda: al.step(lambda x: x[:, :1], E1, 0.1)),
    ("field", lambda: al.step(lambda x: NAN * x, E1, 0.1)),
    ("dt", lambda: al.step(still, E1, INF)),
]


@pytest.mark.parametrize(("name", "call"), CASES)
def test_value_error_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()


def test_messages_say_what_came():
    with pytest.raises(ValueError, match=r"beta must be a positive finite number, got -1.0"):
        al.Attention(-1.0)
    with pytest.raises(ValueError, match=r"'relu', 'gelu'.*got 'swish'"):
        al.Perceptron(E1, [1.0], activation="swish")
    with pytest.raises(ValueError, match="log_scale=-beta"):
        al.Attention(900.0)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = al.nothing
