"""The tools of the Makefile."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from sources import NOTEBOOKS, ROOT, tool

CELLS = [
    "import matplotlib.pyplot as plt\nimport sys",
    "for i in range(3):\n    print(i)\n    sys.stdout.flush()",
    "plt.plot([0, 1])\nplt.show()",
    "1 + 1",
]


def notebook(path: Path) -> Path:
    """Write a small notebook with things that must go."""
    cells = [nbformat.v4.new_code_cell(code) for code in CELLS]
    cells[1].metadata = {"tags": ["hide-input"], "collapsed": True}
    cells.insert(0, nbformat.v4.new_markdown_cell("# Title"))
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"widgets": {}}), path)
    return path


def test_notebooks_have_stable_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")  # must not keep figures from being shown
    path = notebook(tmp_path / "small.ipynb")
    command = [sys.executable, ROOT / "tools" / "normalize_notebooks.py", "--execute", path]
    found = []
    for _ in range(2):
        subprocess.run(command, check=True)
        found.append(path.read_bytes())
    assert found[0] == found[1]
    assert found[0].endswith(b"}\n") and b"image/png" not in found[0]
    read = nbformat.read(path, as_version=4)
    assert "widgets" not in read.metadata and read.cells[2].metadata == {"tags": ["hide-input"]}
    assert [cell.execution_count for cell in read.cells[1:]] == [1, 2, 3, 4]
    assert [o.text for o in read.cells[2].outputs] == ["0\n1\n2\n"]
    assert read.cells[3].outputs[0].data["text/plain"].startswith("<Figure size")
    assert read.cells[4].outputs[0].execution_count == 4


def test_notebooks_with_an_error_stay_as_they_are(tmp_path):
    path = tmp_path / "broken.ipynb"
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("raise SystemError")]), path
    )
    before = path.read_bytes()
    command = [sys.executable, ROOT / "tools" / "normalize_notebooks.py", "--execute", path]
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0
    assert path.read_bytes() == before


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def find_python(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(folder)}
    command = ["/bin/bash", ROOT / "tools" / "find-python"]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_find_python_passes_over_programs_that_fail(tmp_path):
    program(tmp_path, "python3.13", "echo no such version >&2; exit 127")
    program(tmp_path, "python3.12", f'exec "{sys.executable}" "$@"')
    program(tmp_path, "python3.11", "exit 1")
    found = find_python(tmp_path)
    assert (found.returncode, found.stdout) == (0, "python3.12\n")


def test_find_python_says_what_is_missing(tmp_path):
    program(tmp_path, "python3", "exit 1")
    found = find_python(tmp_path)
    assert found.returncode == 1 and "No Python 3.11, 3.12 or 3.13" in found.stderr


@pytest.fixture
def without_packages(tmp_path, monkeypatch, request):
    """tools/fetch_packages.py with an empty _build, and the npm of the parameter."""
    module = tool("fetch_packages")
    (tmp_path / "bin").mkdir()
    if request.param is not None:
        program(tmp_path / "bin", "npm", request.param)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(module, "BUILD", tmp_path / "_build")
    return module


broken_npm = pytest.mark.parametrize(
    "without_packages", [None, "exit 1", "echo nonsense > some.tgz"], indirect=True
)


@broken_npm
def test_without_packages_the_build_goes_on(without_packages, capfd):
    assert without_packages.main([]) == 0
    message = capfd.readouterr().err
    assert "The pages will load MathJax from its CDN and show no sliders" in message
    assert message.startswith("mathjax")
    assert not list(without_packages.BUILD.rglob("VERSION"))


@broken_npm
def test_a_named_package_is_needed(without_packages, capfd):
    assert without_packages.main(["axe-core"]) == 1
    assert "axe-core" in capfd.readouterr().err
    assert without_packages.main(["axe"]) == 2
    assert "unknown: axe; known: mathjax" in capfd.readouterr().err


def test_serve_asks_for_the_site(tmp_path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    command = ["make", "-f", ROOT / "Makefile", "serve"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and "run 'make book' first" in done.stderr


def test_edition_without_solutions():
    cells = [
        ("markdown", "Text\n```{exercise-start}\n:label: ex1\n```\nProve.\n```{exercise-end}\n```\n"
         "```{solution-start} ex1\n:class: dropdown\n```\nProof."),
        ("code", "secret = 1"),
        ("markdown", "```{solution-end}\n```\n\n## Notes"),
        ("markdown", "Whole ````{solution-start} ex2\n````\nx\n````{solution-end}\n```` end"),
        ("code", "kept = 2"),
    ]  # fmt: skip
    student = tool("student")
    made = [{"cell_type": kind, "source": [text]} for kind, text in cells]
    text = "".join("".join(cell["source"]) for cell in student.without_solutions(made))
    for word in ("Text", "exercise-start", "Prove.", "exercise-end", "## Notes", "end", "kept"):
        assert word in text
    for word in ("solution", "Proof", "secret", "x\n"):
        assert word not in text
    with pytest.raises(ValueError, match="does not end"):
        student.without_solutions(made[:2])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_chapters_without_solutions_are_whole(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    made = tool("student").without_solutions(cells)
    before, after = ("\n".join("".join(c["source"]) for c in some) for some in (cells, made))
    assert "solution-" not in after
    for word in ("{exercise-start}", "{exercise-end}", "\n## ", "::{prf:", "{figure}"):
        assert before.count(word) == after.count(word), word


def test_pdf_prints_each_line_once():
    """The site's build leaves the lines of a cell in its first stream, and the rest behind it."""
    pdf = tool("build_pdf")
    text, picture = nbformat.v4.new_output, nbformat.v4.new_output("display_data")
    outputs = [text("stream", text="a\nb\n"), picture, text("stream", text="b\n")]
    outputs.append(text("stream", name="stderr", text="c\n"))
    (cell,) = pdf.printable([nbformat.v4.new_code_cell("f()", outputs=outputs)])
    assert [output.get("text") for output in cell.outputs] == ["a\nb\n", None, "c\n"]


def test_pdf_leaves_sliders_out_and_narrows_the_ledger():
    pdf = tool("build_pdf")
    cells = [
        nbformat.v4.new_code_cell("draw()", metadata={"tags": ["hide-input"]}),
        nbformat.v4.new_markdown_cell("Move $r$:\n"),
        nbformat.v4.new_code_cell("slider()", metadata={"tags": ["hide-input", "widget"]}),
        nbformat.v4.new_markdown_cell('# What is "generic"?'),
    ]
    kept = pdf.quoted_title(pdf.printable(cells))
    sentence = "Move $r$. *(The slider is on the site.)*"
    assert [cell.source for cell in kept] == ["draw()", sentence, "# What is “generic”?"]

    ledger = (ROOT / "book" / "ledger.md").read_text(encoding="utf-8")
    narrow = pdf.narrow(ledger)
    rows = [line for line in narrow.splitlines() if line.startswith("|")]
    assert len(rows) == sum(line.startswith("|") for line in ledger.splitlines()) > 30
    assert all(len(re.split(r"(?<!\\)\|", row)) == 6 for row in rows)
    assert "py:obj" not in narrow and "tabularcolumns" in narrow
