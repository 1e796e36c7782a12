"""The problem set through its autograder: full marks, none, and what typical mistakes cost."""

from __future__ import annotations

import csv
import importlib.util
import re
import shutil
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
POINTS, QUESTIONS = 30, 10

#: Typical wrong answers: what is replaced in the reference solution, and the marks that are left.
MISTAKES = {
    # the example's vector is tangential already
    "not-projected": ("x + dt * tangent", "x + dt * g", POINTS - 2),
    "factor-forgotten": (
        "return m @ kernel @ m / (2 * beta)",
        "return m @ kernel @ m / beta",
        POINTS - 3,
    ),
    "wrong-sign": ("return (np.sin(difference)", "return -(np.sin(difference)", POINTS - 3),
    # the potential is needed once more by the last question
    "half-a-primitive": ("return active**2 @ w", "return active**2 @ w / 2", POINTS - 3 - 2),
}


def tool():
    """tools/problems.py as a module."""
    spec = importlib.util.spec_from_file_location("problems", ROOT / "tools" / "problems.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course folder with the student's version."""
    folder = tmp_path_factory.mktemp("course")
    tool().assign(folder)
    return folder


def submit(course, student, text):
    place = course / "submitted" / student / "problem-set"
    place.mkdir(parents=True)
    (place / "problem-set.ipynb").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def marks(course):
    """Marks of all submissions: nbgrader runs each and writes a table."""
    master = tool().MASTER.read_text(encoding="utf-8")
    release = (course / "release" / "problem-set" / "problem-set.ipynb").read_text("utf-8")
    submit(course, "reference", master)
    submit(course, "empty", release)
    for student, (right, wrong, _) in MISTAKES.items():
        assert master.count(right) == 1, right
        submit(course, student, master.replace(right, wrong))
    tool().nbgrader(course, "autograde", "problem-set", "--create")
    tool().nbgrader(course, "export", "--to", "grades.csv")
    with (course / "grades.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert all(float(row["max_score"]) == POINTS for row in rows)
    return {row["student_id"]: float(row["score"]) for row in rows}


def test_reference_and_empty(marks):
    assert marks["reference"] == POINTS
    assert marks["empty"] == 0


@pytest.mark.parametrize("student", MISTAKES)
def test_typical_mistakes_cost_what_they_should(marks, student):
    assert marks[student] == MISTAKES[student][2]


def test_students_do_not_see_solutions_or_hidden_tests(course):
    student = nbformat.read(course / "release" / "problem-set" / "problem-set.ipynb", 4)
    master = nbformat.read(tool().MASTER, 4)
    nbformat.validate(student)
    text = "\n".join(cell.source for cell in student.cells)
    assert not re.search("BEGIN|END (SOLUTION|HIDDEN)", text)
    assert text.count('raise NotImplementedError("write your answer here")') == QUESTIONS
    hidden = [
        line.strip()
        for cell in master.cells
        for block in re.findall(
            r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END", cell.source, re.S
        )
        for line in block.splitlines()
        if len(line.strip()) > 25
    ]
    assert len(hidden) > 60
    examples = "\n".join(c.source for c in master.cells if c.source.startswith("def "))
    signatures = re.findall(r"^def .*", examples, re.M)
    assert all(signature in text for signature in signatures)
    assert not [line for line in hidden if line in text]


def test_form_of_the_master():
    cells = nbformat.read(tool().MASTER, 4).cells
    graded = [cell.metadata.nbgrader for cell in cells if cell.metadata.nbgrader.grade]
    assert sum(g.points for g in graded) == POINTS and len(graded) == 2 * QUESTIONS
    assert len({cell.metadata.nbgrader.grade_id for cell in cells}) == len(cells)
    titles = re.findall(r"^## (\d+)\. ", "\n".join(cell.source for cell in cells), re.M)
    assert titles == [str(k) for k in range(1, QUESTIONS + 1)]
    assert not any(cell.get("outputs") for cell in cells)


def test_solutions_agree_with_the_package():
    """The reference answers, run here, are what the package computes."""
    import numpy as np

    import attention_landscape as al

    answers: dict = {}
    for cell in nbformat.read(tool().MASTER, 4).cells:
        if cell.cell_type == "code" and (
            cell.metadata.nbgrader.solution or "import" in cell.source.split("\n")[0]
        ):
            exec(cell.source, answers)
    rng = np.random.default_rng(0)
    for beta in (0.5, 1.0, 5.0):
        theta, m = rng.uniform(0, 6.28, 9), rng.dirichlet(np.ones(9))
        alpha, w = rng.uniform(0, 6.28, 3), rng.normal(size=3)
        mu = al.Measure.from_angles(theta, m)
        neurons = al.Perceptron(al.sphere.from_angles(alpha), w)
        pure = al.Landscape(al.Attention(beta))
        whole = al.Landscape(al.Attention(beta), neurons)
        tangents = np.column_stack([-np.sin(theta), np.cos(theta)])

        def along(field, tangents=tangents):
            return np.sum(field * tangents, axis=1)

        close = {"rtol": 1e-9, "atol": 1e-9}
        field = rng.normal(size=(9, 2))
        step = al.sphere.project(mu.points + 0.1 * al.sphere.tangent_project(mu.points, field))
        np.testing.assert_allclose(answers["tangent_step"](mu.points, field, 0.1), step, **close)
        np.testing.assert_allclose(
            answers["attention_energy"](theta, m, beta), pure.energy(mu), **close
        )
        velocity = along(-pure.gradient(mu))
        np.testing.assert_allclose(answers["descent_velocity"](theta, m, beta), velocity, **close)
        v, slope = answers["relu_potential"](theta, alpha, w)
        np.testing.assert_allclose(v, neurons.potential(mu.points), **close)
        np.testing.assert_allclose(slope, along(neurons.gradient(mu.points)), **close)
        top = answers["highest_angle"](alpha, w)
        highest = al.maximize(whole).values[0]
        at_top = neurons.potential(al.sphere.from_angles([top]))[0]
        assert highest - 1e-9 < at_top < highest + 1e-12
        xi = rng.normal(size=9)
        form = pure.hessian_form(mu, xi[:, None] * tangents)
        np.testing.assert_allclose(xi @ answers["hessian"](theta, m, beta) @ xi, form, **close)
        eigenvalues = al.Attention(beta).eigenvalues(2, 6)
        computed = [answers["eigenvalue"](k, beta) for k in range(7)]
        np.testing.assert_allclose(computed, eigenvalues, rtol=1e-8)
        edge = answers["concavity_angle"](beta)
        np.testing.assert_allclose(edge, al.bounds.concavity_angle(beta), **close)
        W = neurons.curvature_bound
        bound = al.bounds.atom_mass_bound(beta, W)
        if beta >= 1:
            np.testing.assert_allclose(answers["heaviest_atom"](beta, W), bound, **close)
        bottom = al.minimize(whole)
        gap = answers["duality_gap"](bottom.measure.angles, bottom.measure.masses, beta, alpha, w)
        assert abs(gap) < 1e-5 * np.exp(beta)


def test_a_broken_grader_is_told(tmp_path, monkeypatch, capsys):
    """The reason is printed, not a traceback."""
    problems = tool()
    broken = tmp_path / "problem-set.ipynb"
    shutil.copy(ROOT / "README.md", broken)
    monkeypatch.setattr(problems, "MASTER", broken)
    assert problems.main(tmp_path / "course") == 1
    assert "nbgrader generate_assignment problem-set" in capsys.readouterr().err


def test_paths_in_the_instructions_exist():
    text = (ROOT / "teaching" / "README.md").read_text(encoding="utf-8")
    assert "make problems" in text and "nbgrader autograde problem-set" in text
    assert (ROOT / "teaching" / "problem-set.ipynb").exists() and Path(tool().__file__).exists()
