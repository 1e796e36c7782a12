"""Write the edition without solutions to _build/student: notebooks, pages, configuration."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "_build" / "student"
START, END = re.compile(r"`{3,}\{solution-start\}"), re.compile(r"`{3,}\{solution-end\}\s*\n`{3,}")


def without_solutions(cells: list[dict]) -> list[dict]:
    """The cells of a notebook without what lies between gated solution directives."""
    kept, inside = [], False
    for cell in cells:
        text = "".join(cell["source"])
        if inside:
            end = END.search(text) if cell["cell_type"] == "markdown" else None
            if end is None:
                continue
            text, inside = text[end.end() :].lstrip("\n"), False
        while cell["cell_type"] == "markdown" and (start := START.search(text)):
            end = END.search(text, start.end())
            inside = end is None
            text = text[: start.start()] + ("" if end is None else text[end.end() :])
        if text.strip():
            kept.append(cell | {"source": text.strip("\n").splitlines(keepends=True)})
    if inside:
        raise ValueError("a solution starts and does not end")
    return kept


def main() -> int:
    """Write the edition and say where it is."""
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    for name in ("_config.yml", "_toc.yml", "CITATION.cff", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, TARGET / name)
    for name in ("book", "tools"):
        shutil.copytree(ROOT / name, TARGET / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (TARGET / "book").glob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"] = without_solutions(notebook["cells"])
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")
    vendor = ROOT / "_build" / "vendor"
    if vendor.exists():
        shutil.copytree(vendor, TARGET / "_build" / "vendor")
    print(f"The edition without solutions is in {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
