"""The form of the committed notebooks: executed, clean, light, described."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from sources import NOTEBOOKS, tool

TAGS = {"hide-input", "remove-input", "hide-output", "widget", "nbval-ignore-output"}
MIMES = {"text/plain", "text/html", "text/latex", "text/markdown"}
SECTIONS = [
    "The setting",
    "The statement",
    "Try to break it",
    "The derivation",
    "What this does not show",
    "Exercises",
    "Notes and references",
]
#: What an output must not hold, and why.
UNWANTED = {
    r"0x[0-9a-f]{6,}": "a memory address",
    r"<[\w.]+ object\b": "the repr of an object",
    r"np\.\w+\(|\barray\(": "the repr of a numpy value",
    r"\d\.\d{11,}": "an unrounded number",
    r"(^|[\s'\"(])/(home|root|tmp|usr|opt|Users)/": "a path of a machine",
    r"site-packages|\.venv": "a path of an environment",
    r"\d\s?(ms|µs|seconds?|minutes?)\b": "a time",
    r"\w+Warning\b": "a warning",
}

chapters = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    """Read and check against the notebook format."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def code_cells(path: Path) -> list[Any]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def texts(cell: Any) -> list[str]:
    """Every text that a cell's outputs show."""
    found = []
    for output in cell.outputs:
        found += [output.text] if output.output_type == "stream" else list(output.data.values())
    return found


def prints(code: str) -> bool:
    """Does a cell call print when it runs (not only inside a function)?"""
    functions = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
    todo: list[ast.AST] = [ast.parse(code)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
            return True
        todo += [child for child in ast.iter_child_nodes(node) if not isinstance(child, functions)]
    return False


def test_there_are_notebooks():
    assert NOTEBOOKS


@chapters
def test_committed_form(path):
    text = path.read_text(encoding="utf-8")
    normal = tool("normalize_notebooks").text(read(path))
    assert text == normal, "run: make notebooks"


@chapters
def test_cells_ran_in_order(path):
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1)) and counts


@chapters
def test_outputs_are_stored(path):
    for cell in code_cells(path):
        if prints(cell.source):
            assert any(o.output_type == "stream" for o in cell.outputs), cell.source


@chapters
def test_outputs_are_clean(path):
    for cell in code_cells(path):
        for output in cell.outputs:
            assert output.output_type in ("stream", "display_data", "execute_result"), cell.source
            assert output.get("name", "stdout") == "stdout", cell.source
            assert set(output.get("data", {})) <= MIMES, cell.source
        for text in texts(cell):
            for pattern, what in UNWANTED.items():
                match = re.search(pattern, text, re.MULTILINE)
                assert match is None, f"{what}, {match.group(0)!r}, from:\n{cell.source}"


@chapters
def test_figures_are_described(path):
    for cell in code_cells(path):
        shown = [text for text in texts(cell) if text.startswith("<Figure")]
        described = cell.metadata.get("mystnb", {})
        assert ("plt.show()" in cell.source) == bool(shown) == bool(described), cell.source
        if described:
            assert len(shown) == 1, f"one figure a cell:\n{cell.source}"
            figure, image = described["figure"], described["image"]
            assert figure["name"].startswith("fig-")
            assert len(figure["caption"]) >= 20
            assert len(image["alt"]) >= 20 and image["alt"] != figure["caption"]


def test_names_of_figures_are_unique():
    cells = [cell for path in NOTEBOOKS for cell in code_cells(path)]
    names = [c.metadata.mystnb.figure.name for c in cells if "mystnb" in c.metadata]
    assert len(names) == len(set(names))


@chapters
def test_tags_are_known(path):
    for cell in read(path).cells:
        assert set(cell.metadata.get("tags", [])) <= TAGS, cell.source


@chapters
def test_sliders_come_after_a_figure_that_says_it(path):
    figure = False
    for cell in read(path).cells:
        tags = set(cell.metadata.get("tags", []))
        figure = figure or "mystnb" in cell.metadata
        assert ("widget" in tags) == ("nbval-ignore-output" in tags) == ("slider(" in cell.source)
        if "widget" in tags:
            assert figure and not cell.outputs and not prints(cell.source), cell.source
        elif re.match(r"#{2,3} ", cell.source):
            figure = False


def test_some_chapters_have_sliders():
    assert sum("figures.slider(" in path.read_text("utf-8") for path in NOTEBOOKS) >= 4


@chapters
def test_size(path):
    assert path.stat().st_size < 300_000


@chapters
def test_sections(path):
    markdown = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    prose = re.sub(r"^(`{3,}|:{3,}).*?^\1", "", "\n\n".join(markdown), flags=re.M | re.S)
    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1
    if path.stem != "index":
        assert re.findall(r"^## (.+)$", prose, re.MULTILINE) == SECTIONS


@chapters
def test_exercises_have_solutions(path):
    text = "\n".join(cell.source for cell in read(path).cells)
    exercises = re.findall(r"\{exercise(?:-start)?\}[^\n]*\n:label: (\S+)", text)
    solutions = re.findall(r"\{solution(?:-start)?\} (\S+)", text)
    assert sorted(exercises) == sorted(solutions)
    assert path.stem == "index" or 3 <= len(exercises) <= 5
