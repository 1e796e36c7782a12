"""Write book/ledger.md from statements.toml and the docstrings; with --check only compare."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from api import PACKAGE, computed_by

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "book" / "assets" / "statements.toml"
PAGE = ROOT / "book" / "ledger.md"

HEAD = """# What is proved, by whom, and what checks it?

One row for each numbered statement of the book.

**Whose** says where the statement comes from: *paper* (restated here in our words),
*known* (with a citation in its chapter), or *ours* (not in the paper; proved here, not
peer-reviewed).
**Derivation** says whether the chapter derives it completely or cites a proof.
**Experiment** leads to the cells that could have refuted it.
**Computed by** leads to the functions of the [package](api.md) whose docstrings name the
statement; where it says none, the code is in the cells of the chapter only.
**Checked by** names tests of the package; each of them runs at every change, with `make test`.

This page is generated from one data file and the docstrings; tests compare it with the chapters.

"""


def load() -> dict[str, dict]:
    """The statements, by label."""
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


def row(label: str, entry: dict, functions: list[str]) -> str:
    """One statement as a row of the table."""
    chapter = entry["chapter"]
    tests = ", ".join(f"`{name.removeprefix('test_')}`" for name in entry["tests"])
    short = [name.removeprefix(f"{PACKAGE}.") for name in functions]
    links = [f"{{py:obj}}`{s} <{name}>`" for s, name in zip(short, functions, strict=True)]
    cells = [
        f"**{label}** {entry['title']} ({{prf:ref}}`{label}`)",
        entry["whose"],
        entry["derivation"],
        f"[{chapter}]({chapter}.ipynb#try-to-break-it)",
        ", ".join(links) or "none",
        tests,
        entry["caveat"] or "none",
    ]
    return "| " + " | ".join(cells) + " |"


def render(entries: dict[str, dict]) -> str:
    """The page."""
    lines = [":::{container} ledger", ""]
    lines.append(
        "| statement | whose | derivation | experiment | computed by | checked by | caveats |"
    )
    lines.append("|" + "---|" * 7)
    functions = computed_by()
    lines += [row(label, entry, functions.get(label, [])) for label, entry in entries.items()]
    count = {
        kind: sum(e["whose"] == kind for e in entries.values())
        for kind in ("paper", "known", "ours")
    }
    tail = (
        f"\n{len(entries)} statements: {count['paper']} of the paper, {count['known']} known, "
        f"{count['ours']} ours. Errata have their own [page](errata.md), each with its proof.\n"
    )
    lines.append(":::")
    return HEAD + "\n".join(lines) + "\n" + tail


def main() -> int:
    text = render(load())
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
