"""Binder's environment in JupyterLab: notebooks opened as the launch buttons do, and run.

`make binder` first builds the environment in _build/binder (tools/binder.py).
"""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "_build" / "binder"
REPOSITORY = FOLDER / "repository"
TOKEN = "for-the-test"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))


def tool():
    """tools/binder.py as a module."""
    spec = importlib.util.spec_from_file_location("binder_tool", ROOT / "tools" / "binder.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def address():
    """JupyterLab of Binder's environment."""
    assert FOLDER.exists(), "there is no environment: run 'make binder'"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        tool().lab_command(FOLDER, port, TOKEN),
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            time.sleep(0.5)
            try:
                urllib.request.urlopen(f"{url}/api/status?token={TOKEN}", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, "JupyterLab stopped"
        yield url
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture
def lab(chromium, address):
    """Open a file of the repository in JupyterLab, with no other host in reach."""
    contexts = []

    def opener(urlpath):
        context = chromium.new_context(viewport={"width": 1400, "height": 1000})
        contexts.append(context)
        page = context.new_page()
        page.route(lambda url: not url.startswith((address, "data:", "blob:")), lambda r: r.abort())
        page.goto(f"{address}/{urlpath}?reset&token={TOKEN}")  # no tabs of an earlier visit
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
        return page

    yield opener
    for context in contexts:
        context.close()


def get(address, path):
    with urllib.request.urlopen(f"{address}/{path}?token={TOKEN}", timeout=10) as answer:
        return json.load(answer)


def state(address, path):
    """What the kernel of a notebook does."""
    kernels = [s["kernel"] for s in get(address, "api/sessions") if s["path"] == path]
    return kernels[0]["execution_state"] if kernels else "none"


def run_all(page, address, path):
    """Run All Cells by the menu, wait for the kernel, save, and return the notebook."""
    for _ in range(60):
        page.wait_for_timeout(1000)
        if state(address, path) == "idle":
            break
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        page.wait_for_timeout(2000)
        page.keyboard.press("Control+s")
        page.wait_for_timeout(500)
        notebook = nbformat.read(REPOSITORY / path, as_version=4)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        failed = any(o.output_type == "error" for cell in cells for o in cell.outputs)
        ran = failed or all(cell.execution_count for cell in cells)
        if ran and state(address, path) == "idle":
            return notebook
    raise AssertionError(f"{path} did not finish")


def clear(path):
    """Take the stored outputs away, so that only what runs here is seen."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, path)


def launch_path(name):
    """The urlpath of a page's launch button."""
    folder = CONFIG["repository"]["path_to_book"]
    interface = CONFIG["launch_buttons"]["notebook_interface"]
    assert interface == "jupyterlab"
    return "/".join(part for part in ("lab/tree", folder, f"book/{name}.ipynb") if part)


@pytest.mark.parametrize("name", ["the-perceptron", "second-order"])
def test_a_chapter_runs_and_is_readable(lab, address, name):
    clear(REPOSITORY / "book" / f"{name}.ipynb")
    page = lab(launch_path(name))
    notebook = run_all(page, address, f"book/{name}.ipynb")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert not any(o.output_type == "error" for o in cell.outputs), cell.source
        assert not any(o.get("name") == "stderr" for o in cell.outputs), cell.source
    assert any("image/png" in o.get("data", {}) for cell in cells for o in cell.outputs)

    source = "\n".join(cell.source for cell in notebook.cells)
    kinds = {"proposition": "Proposition", "theorem": "Theorem", "definition": "Definition"}
    wanted = next(word for kind, word in kinds.items() if f"{{prf:{kind}}}" in source)
    block = page.locator(".jp-Notebook aside", has_text=wanted)
    for _ in range(60):  # JupyterLab renders what is near the screen
        if block.count():
            break
        page.locator(".jp-Notebook").first.hover()
        page.mouse.wheel(0, 500)
        page.wait_for_timeout(150)
    assert block.first.is_visible(), "theorem blocks are not rendered"
    assert "{prf:" not in page.locator(".jp-Notebook").first.inner_text().replace("{prf:ref}", "")


def test_the_live_lab_and_a_slider_draw(lab, address):
    """The package is the installed one, and its widgets show themselves."""
    code = (
        "import attention_landscape as al\nprint(al.__file__)",
        'live = al.lab.Lab(beta=9.0, activation="gelu", direction="descent", n=50)\nlive',
        "import matplotlib.pyplot as plt\n\n"
        "def draw(n):\n    figure, ax = plt.subplots()\n"
        "    ax.plot(range(n))\n    return figure\n\n"
        "al.figures.slider(draw, [2, 3], label='n', alt=str)",
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in code])
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "name": "python3"}}
    nbformat.write(notebook, REPOSITORY / "live.ipynb")
    page = lab("lab/tree/live.ipynb")
    done = run_all(page, address, "live.ipynb")
    file = Path(done.cells[0].outputs[0].text.strip())
    assert "site-packages" in file.parts and file.is_relative_to(FOLDER)
    canvas = page.locator(".jp-OutputArea .al-lab canvas").first
    canvas.wait_for(timeout=30_000)
    drawn = """e => {
      const pixels = e.getContext("2d").getImageData(0, 0, e.width, e.height).data;
      return new Set(new Uint32Array(pixels.buffer)).size;
    }"""
    page.locator(".jp-OutputArea .noUi-handle").wait_for(timeout=30_000)
    page.wait_for_timeout(500)
    assert canvas.evaluate(drawn) > 20
