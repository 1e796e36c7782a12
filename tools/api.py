"""Sphinx extension: links between the package's reference and the statements of the book.

In a docstring a label such as S4 or E6 becomes a link to its statement, and the name of a class
in a type becomes a link to the class. A label in parentheses before the first section says that
the function computes this statement; tools/ledger.py inverts this.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

BOOK = Path(__file__).resolve().parent.parent / "book"
PACKAGE = "attention_landscape"
PARTS = ("sphere", "bounds", "figures", "lab", "ensembles", "summation")
MODULES = (PACKAGE, *(f"{PACKAGE}.{part}" for part in PARTS))

#: What a label of a statement or an erratum looks like, known or not.
LABEL = re.compile(r"\b[A-Z]\d{1,2}[a-z]?\b")
LITERAL = re.compile(r"(``.+?``)")


def label_links() -> dict[str, str]:
    """The address of each statement and erratum, seen from a page of the book."""
    statements = tomllib.loads((BOOK / "assets" / "statements.toml").read_text(encoding="utf-8"))
    links = {label: f"{entry['chapter']}.html#{label}" for label, entry in statements.items()}
    errata = re.findall(r"^\((E\d+)\)=$", (BOOK / "errata.md").read_text(encoding="utf-8"), re.M)
    return links | {label: f"errata.html#{label.lower()}" for label in errata}


def exported(module: str) -> dict[str, Any]:
    """The public functions and classes of a module, by name."""
    loaded = import_module(module)
    own = [n for n, o in vars(loaded).items() if getattr(o, "__module__", None) == module]
    names = getattr(loaded, "__all__", None) or [n for n in own if not n.startswith("_")]
    found = {name: getattr(loaded, name) for name in names}
    return {name: o for name, o in found.items() if not inspect.ismodule(o)}


def public() -> Iterator[tuple[str, Any]]:
    """Every public object with its full name; methods and properties too."""
    for module in MODULES:
        for name, item in exported(module).items():
            yield f"{module}.{name}", item
            if inspect.isclass(item):
                for part, value in vars(item).items():
                    method = callable(value) or isinstance(value, (classmethod, property))
                    if method and not part.startswith("_"):
                        yield f"{module}.{name}.{part}", value


def labels(text: str) -> list[str]:
    """The labels in a docstring, known or not, outside of code."""
    prose = re.sub(r"(?m)^ *(>>>|\.\.\.) .*$", "", LITERAL.sub("", text))
    return LABEL.findall(prose)


def computes(item: Any) -> list[str]:
    """The labels of the statements that a public object computes."""
    head = re.split(r"\n\w+\n---+\n", inspect.getdoc(item) or "")[0]
    groups = re.findall(r"\(([^()]*)\)", LITERAL.sub("", head))
    return [label for group in groups for label in labels(group)]


def computed_by() -> dict[str, list[str]]:
    """The full names of the functions that compute a statement, by its label."""
    found: dict[str, list[str]] = {}
    for name, item in public():
        for label in dict.fromkeys(computes(item)):
            found.setdefault(label, []).append(name)
    return found


def link_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list) -> None:
    """Before napoleon: link labels and classes; give a module the table of what is in it."""
    if what == "module":  # the links are made below
        lines += ["", ".. list-table::", "   :class: contents", ""]
        for part, item in exported(name).items():
            summary = (inspect.getdoc(item) or "").split("\n\n")[0]
            lines += [f"   * - `{part}`", "     - " + " ".join(summary.splitlines())]
        lines.append("")
    links = label_links()
    classes = "|".join(n for n, o in exported(PACKAGE).items() if inspect.isclass(o))

    def link(match: re.Match[str]) -> str:
        label = match.group()
        return f"`{label} <{links[label]}>`__" if label in links else label

    doctest = False
    for i, line in enumerate(lines):
        doctest = line.lstrip().startswith(">>>") or (doctest and bool(line.strip()))
        if doctest:
            continue
        if typed := re.fullmatch(rf"([\w, ]+ : )(.+)|()((?:{classes}))", line):
            before, kind = typed.group(1) or "", typed.group(2) or typed.group(4)
            kind = re.sub(rf"\b({classes})\b", r"`\1`", kind)
            line = before + re.sub(r"\{.*?\}", r"``\g<0>``", kind)
        parts = LITERAL.split(line)
        lines[i] = "".join(p if p.startswith("``") else LABEL.sub(link, p) for p in parts)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    for extension in ("autodoc", "napoleon"):
        app.setup_extension(f"sphinx.ext.{extension}")
    app.connect("autodoc-process-docstring", link_docstring, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
