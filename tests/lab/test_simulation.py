"""The lab's JavaScript computes what the package computes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import attention_landscape as al
from attention_landscape.perceptrons import ACTIVATIONS

SOURCE = Path(al.__file__).with_name("lab.js")
STEPS = 10
SIGN = {"ascent": 1.0, "descent": -1.0}


def random_case(rng, d, activation, normalization, beta, n):
    """Options of the lab, and the same landscape and measure in Python."""
    perceptron = al.Perceptron.random(d, k=3, activation=activation, rng=rng)
    measure = al.Measure.uniform(n, d, rng=rng)
    flat = measure.angles if d == 2 else measure.points.ravel()
    options = {
        "d": d,
        "beta": beta,
        "activation": activation,
        "normalization": normalization,
        "directions": perceptron.directions.tolist(),
        "weights": perceptron.weights.tolist(),
        "points": flat.tolist(),
        "dt": 0.05 * rng.choice([-1.0, 1.0]),
        "steps": STEPS,
        "tol": 0.05,
    }
    landscape = al.Landscape(al.Attention(beta, log_scale=-beta), perceptron)
    return options, landscape, measure


def cases():
    rng = np.random.default_rng(0)
    for d in (2, 3):
        for activation in ACTIVATIONS:
            for normalization in ("unnormalized", "softmax"):
                beta = float(np.exp(rng.uniform(np.log(0.1), np.log(100))))
                yield random_case(rng, d, activation, normalization, beta, int(rng.integers(1, 40)))
    yield random_case(rng, 2, "gelu", "unnormalized", 1000.0, 300)
    yield random_case(rng, 2, "relu", "unnormalized", 0.01, 300)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What node makes of all cases."""
    program = shutil.which("node")
    assert program, "the lab's tests need node (it comes with npm)"
    module = tmp_path_factory.mktemp("lab") / "lab.mjs"
    shutil.copy(SOURCE, module)
    made = list(cases())
    command = [program, str(Path(__file__).with_name("simulate.mjs")), str(module)]
    text = json.dumps([options for options, _, _ in made])
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return list(zip(made, json.loads(done.stdout), strict=True))


def tangent(measure, field):
    """A field of the package as the lab has it: slopes in the angle, or flat vectors."""
    if measure.d == 3:
        return field.ravel()
    x = measure.points
    return -field[:, 0] * x[:, 1] + field[:, 1] * x[:, 0]


def test_energy_field_and_residual(answers):
    for (options, landscape, measure), answer in answers:
        field = landscape.gradient(measure, normalization=options["normalization"])
        np.testing.assert_allclose(answer["energy"], landscape.energy(measure), atol=1e-10, rtol=0)
        np.testing.assert_allclose(answer["field"], tangent(measure, field), atol=1e-10, rtol=0)
        largest = np.linalg.norm(field, axis=1).max()
        np.testing.assert_allclose(answer["residual"], largest, atol=1e-10, rtol=0)


def test_ten_steps(answers):
    for (options, landscape, measure), answer in answers:

        def field(x, landscape=landscape, kind=options["normalization"]):
            return landscape.gradient(al.Measure(x), normalization=kind)

        x = measure.points
        for _ in range(STEPS):
            x = al.step(field, x, options["dt"], method="rk4")
        found = np.asarray(answer["points"])
        found = al.sphere.from_angles(found) if measure.d == 2 else found.reshape(-1, 3)
        assert np.abs(x - measure.points).max() > 1e-4 or measure.n == 1
        np.testing.assert_allclose(found, x, atol=1e-10, rtol=0)


def test_atoms(answers):
    for (options, _, measure), answer in answers:
        merged = measure.merged(options["tol"])
        found = sorted(group["mass"] for group in answer["atoms"])
        np.testing.assert_allclose(found, np.sort(merged.masses), atol=1e-12)


def test_uniform_points(answers):
    (_, first), *_, (_, last) = answers
    for answer in (first, last):
        assert answer["uniform"] == first["uniform"]  # the seed decides
    sphere = next(a for (o, _, _), a in answers if o["d"] == 3)["uniform"]
    np.testing.assert_allclose(np.linalg.norm(np.reshape(sphere, (-1, 3)), axis=1), 1, atol=1e-15)
