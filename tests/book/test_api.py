"""The reference of the package: whole, and linked with the statements both ways."""

from __future__ import annotations

import inspect
import json
import re

import pytest
from sources import HTML, soup, tool

API, LEDGER = tool("api"), tool("ledger")
PUBLIC = dict(API.public())
COMPUTED = API.computed_by()
LINKS = API.label_links()
PAGE = HTML / "book" / "api.html"


def entry(name):
    """The description of a public object on the built page."""
    term = soup(PAGE).find("dt", id=name)
    assert term is not None, f"{name} is not on the page"
    return term.find_next_sibling("dd")


def own_links(name):
    """Where an entry leads, without the entries inside it."""
    found = entry(name)
    links = found.find_all("a", href=True)
    return {a["href"] for a in links if a.find_parent("dl", class_="py") is found.parent}


def test_public_is_what_the_package_exports():
    import attention_landscape as al

    modules = {name for name in al.__all__ if inspect.ismodule(getattr(al, name))}
    assert modules <= set(API.PARTS)
    assert {f"{API.PACKAGE}.{name}" for name in set(al.__all__) - modules} <= set(PUBLIC)
    assert f"{API.PACKAGE}.bounds.concavity_angle" in PUBLIC
    assert f"{API.PACKAGE}.Landscape.hessian" in PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_labels_exist_and_are_linked(name):
    labels = API.labels(inspect.getdoc(PUBLIC[name]))
    assert set(labels) <= set(LINKS), "a label that no statement and no erratum has"
    assert {LINKS[label] for label in labels} <= own_links(name)


def test_every_module_lists_what_it_has():
    for module in API.MODULES:
        table = soup(PAGE).find(id=f"module-{module}").find_next("table", class_="contents")
        listed = [a["href"] for a in table.select("td:first-child a")]
        assert listed == [f"#{module}.{name}" for name in API.exported(module)]


@pytest.mark.parametrize("label", LEDGER.load())
def test_ledger_leads_to_what_computes_a_statement(label):
    page = soup(HTML / "book" / "ledger.html")
    rows = page.select(".ledger tbody tr")
    row = next(r for r in rows if r.select_one("td strong").text == label)
    cell = row.find_all("td")[4]
    links = [a["href"] for a in cell.find_all("a")]
    assert links == [f"api.html#{name}" for name in COMPUTED.get(label, [])]
    assert links or cell.text == "none"
    for name in COMPUTED.get(label, []):  # and back
        assert LINKS[label] in own_links(name)


def test_what_counts_as_computed():
    def example():
        """Return ``f(S1)``, a number (S4; see E5). Not T1, which ends here.

        More (X1).

        Parameters
        ----------
        x : float
            A number (L1).
        """

    assert API.computes(example) == ["S4", "E5", "X1"]
    assert API.labels(example.__doc__) == ["S4", "E5", "T1", "X1", "L1"]


def test_nothing_is_left_of_the_markup():
    text = soup(PAGE).select_one("article").text
    assert not re.search(r":\w+:`|`__|``|<S4>", text)
    assert re.search(r"direction \(\{\"descent\", \"ascent\"\}\)", text), "straight quotes"


def test_search_knows_the_functions():
    text = (HTML / "searchindex.js").read_text(encoding="utf-8").strip()
    objects = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", text, re.S).group(1))["objects"]
    known = {f"{place}.{item[4]}" for place, items in objects.items() for item in items}
    assert set(PUBLIC) <= known
