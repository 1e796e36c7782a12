"""The ledger: every statement has its anchor, every named test exists, none is forgotten."""

from __future__ import annotations

import re

import pytest
from sources import HTML, NOTEBOOKS, ROOT, soup, source, tool

LEDGER = tool("ledger")
ENTRIES = LEDGER.load()
LABEL = re.compile(r":label: ([A-Z]\d+[a-z]?)\b")


def labels(path):
    return LABEL.findall(path.read_text(encoding="utf-8").replace("\\n", "\n"))


def test_page_is_the_data():
    assert LEDGER.PAGE.read_text(encoding="utf-8") == LEDGER.render(ENTRIES), "run tools/ledger.py"


@pytest.mark.parametrize("label", ENTRIES)
def test_statement(label):
    entry = ENTRIES[label]
    assert set(entry) == {"title", "whose", "chapter", "derivation", "tests", "caveat"}
    assert entry["whose"] in ("paper", "known", "ours") and entry["title"]
    assert entry["derivation"] in ("complete", "cited")
    path = source(f"book/{entry['chapter']}")
    assert label in labels(path)
    assert "## Try to break it" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("label", ENTRIES)
def test_named_tests_exist_and_run(label):
    code = {p: p.read_text(encoding="utf-8") for p in (ROOT / "tests" / "unit").glob("test_*.py")}
    assert ENTRIES[label]["tests"]
    for name in ENTRIES[label]["tests"]:
        found = [text for text in code.values() if re.search(rf"^def {name}\(", text, re.M)]
        assert len(found) == 1, name
        before = found[0].split(f"def {name}(")[0].rsplit("\n\n\n", 1)[-1]
        assert "mark.skip" not in before and "mark.xfail" not in before, name


def test_every_statement_of_the_chapters_is_in_the_ledger():
    stated = [(label, path.stem) for path in NOTEBOOKS for label in labels(path)]
    assert len({label for label, _ in stated}) == len(stated), "a label is stated twice"
    assert {label: entry["chapter"] for label, entry in ENTRIES.items()} == dict(stated)


def test_links_lead_to_experiments():
    page = soup(HTML / "book" / "ledger.html")
    targets = {a["href"] for a in page.select("article a[href$='#try-to-break-it']")}
    assert targets == {f"{e['chapter']}.html#try-to-break-it" for e in ENTRIES.values()}
