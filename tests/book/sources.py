"""What the tests of notebooks, repository and site share: paths, the table of contents, pages."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))


def toc_files() -> list[str]:
    """Every file of _toc.yml in reading order, without its suffix."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *chapters]


def source(name: str) -> Path:
    """The file behind a name of _toc.yml."""
    found = [ROOT / f"{name}{suffix}" for suffix in (".ipynb", ".md")]
    found = [path for path in found if path.exists()]
    assert len(found) == 1, f"{name} should be one file, .ipynb or .md: {found}"
    return found[0]


def tracked_files() -> list[Path]:
    """The files of the repository, or of the unpacked archive when there is no git."""
    command = ["git", "ls-files", "-z"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        made = {"_build", "__pycache__", ".venv"}
        return [p for p in ROOT.rglob("*") if p.is_file() and not made & set(p.parts)]
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).exists()]


def tool(name: str) -> ModuleType:
    """Import tools/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


@functools.cache
def soup(path: Path) -> BeautifulSoup:
    """A parsed page; do not change it."""
    assert path.exists(), f"{path.relative_to(ROOT)} is not there: run 'make book' first"
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def title_of(path: Path) -> str:
    """The first heading of a source, as letters and digits."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    match = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert match is not None, f"{path.name} has no title"
    return letters(match.group(1))


def letters(text: str) -> str:
    """Keep letters and digits, so that markup does not matter."""
    return re.sub(r"[\W_]+", "", text).lower()
