"""The built site: pages, links, numbers, alt texts, launch buttons, weight."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

import pytest
import yaml
from sources import HTML, ROOT, letters, soup, source, title_of, toc_files, tool

PAGES = toc_files()
SITE_PAGES = sorted([*HTML.glob("*.html"), *HTML.glob("book/*.html")])
MEGABYTE = 1e6
#: Where the site will be, from the repository's address.
BASE = tool("pages").address(
    yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
)

each_page = pytest.mark.parametrize("name", PAGES)


def article(name: str) -> Any:
    """The text of a page, without the theme's bars."""
    found = soup(HTML / f"{name}.html").select_one("article")
    assert found is not None
    return found


def local(page: Path, address: str) -> tuple[Path, str]:
    """The file and the anchor that a link within the site points to."""
    parts = urlparse(address)
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return (path / "index.html" if path.is_dir() else path), unquote(parts.fragment)


def anchors(page: Path) -> set[str]:
    tags = soup(page).find_all(True)
    return {value for tag in tags for value in (tag.get("id"), tag.get("name")) if value}


@each_page
def test_page_has_its_title(name):
    assert letters(article(name).select_one("h1").text).startswith(title_of(source(name)))


def test_known_text():
    words = {
        "book/index": ["perceptron", "attention"],
        "book/from-layers-to-flow": ["Transformer", "sphere"],
        "book/pure-attention": ["Dirac", "uniform"],
        "book/the-perceptron": ["ReLU", "GELU"],
        "book/notation": ["measure"],
    }
    for name, expected in words.items():
        text = article(name).text
        assert all(word in text for word in expected), name


def test_start_page_leads_to_the_book():
    text = (HTML / "index.html").read_text(encoding="utf-8")
    assert 'content="0; url=book/index.html"' in text


def test_search_index():
    text = (HTML / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", text.strip(), re.S).group(1))
    assert set(PAGES) <= set(index["docnames"])
    assert {"perceptron", "gelu"} <= set(index["terms"]) | set(index["titleterms"])


@pytest.mark.parametrize("page", SITE_PAGES, ids=lambda page: page.stem)
def test_links_inside_the_site(page):
    for tag, attribute in (("a", "href"), ("img", "src"), ("link", "href"), ("script", "src")):
        for element in soup(page).find_all(tag, **{attribute: True}):
            address = element[attribute]
            if re.match(r"[a-z]+:|//", address):
                continue
            if page.name == "404.html":  # served at any depth, so its addresses are absolute
                address = address.replace(urlparse(BASE).path, "./", 1)
            path, anchor = local(page, address)
            assert path.is_relative_to(HTML) and path.exists(), address
            if anchor and path.suffix == ".html":
                assert anchor in anchors(path), address


@each_page
def test_links_outside_are_well_formed(name):
    for element in soup(HTML / f"{name}.html").find_all("a", href=re.compile(r"^[a-z]+:|^//")):
        parts = urlparse(element["href"])
        if parts.scheme == "mailto":
            continue
        assert parts.scheme in ("http", "https"), element
        assert re.fullmatch(r"([a-z0-9-]+\.)+[a-z]{2,}", parts.netloc), element
        assert not re.search(r"\s", element["href"]), element


@each_page
def test_images_have_alt_text(name):
    page = HTML / f"{name}.html"
    for image in soup(page).find_all("img"):
        assert image.get("alt", "").strip(), image
    for image in article(name).find_all("img"):
        assert len(image["alt"]) >= 20 and not image["alt"].startswith(("../", "_images")), image


@each_page
def test_figures_are_drawn_and_numbered(name):
    path = source(name)
    if path.suffix != ".ipynb":
        return
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        figure = cell["metadata"].get("mystnb", {}).get("figure")
        if figure is None:
            continue
        found = article(name).find("figure", id=figure["name"])
        assert found is not None, figure["name"]
        assert found.find("img")["src"].endswith((".png", ".svg"))
        assert re.match(r"Fig\. \d+", found.find(class_="caption-number").text)


def test_statements_are_numbered_once():
    """One counter: no two theorem-like blocks of the book have the same number."""
    numbers = []
    for name in PAGES:
        for block in article(name).select("div.proof"):
            if "proof" in [kind for kind in block["class"] if kind != "admonition"][1:]:
                continue
            title = block.select_one("p.admonition-title").text
            match = re.match(r"\s*[A-Z]\w+\s+(\d+(\.\d+)*)\b", title)
            assert match is not None, f"{name}: {title}"
            numbers.append(match.group(1))
    assert len(numbers) == len(set(numbers)) and numbers


@each_page
def test_equations_are_numbered(name):
    text = source(name).read_text(encoding="utf-8")
    labels = set(re.findall(r"\$\$ \((eq-[\w-]+)\)", text))
    labels |= set(re.findall(r":label: (eq-[\w-]+)", text))
    for label in labels:
        element = article(name).find(id=f"equation-{label}")
        assert element is not None, label
        assert re.search(r"\(\d+(\.\d+)*\)", element.select_one(".eqno").text), label


@each_page
def test_references_are_resolved(name):
    text = article(name)
    assert not text.select(".problematic, .system-message")
    for reference in text.select("a.reference.internal"):
        assert reference.text.strip() not in ("", "?", "??"), reference
    assert not re.search(r"\{(numref|eq|cite|ref|prf:ref|doc)\}`", text.text)


@each_page
def test_weight(name):
    page = HTML / f"{name}.html"
    images = {local(page, image["src"])[0] for image in soup(page).find_all("img", src=True)}
    weight = page.stat().st_size + sum(path.stat().st_size for path in images)
    assert weight <= 2 * MEGABYTE


@each_page
def test_launch_links(name):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]
    repository = urlparse(config["url"]).path.strip("/")
    links = [
        urlparse(a["href"])
        for a in soup(HTML / f"{name}.html").find_all("a", href=True)
        if urlparse(a["href"]).netloc == "mybinder.org"
        and a.find_parent(class_="article-header-buttons")
    ]
    path = source(name)
    assert bool(links) == (path.suffix == ".ipynb")
    for link in links:
        assert link.path == f"/v2/gh/{repository}/{config['branch']}"
        target = parse_qs(link.query)["urlpath"][0]
        assert target == f"lab/tree/book/{path.name}"
        assert (ROOT / target.removeprefix("lab/tree/")).exists()


@each_page
def test_no_path_of_the_machine(name):
    assert str(ROOT) not in (HTML / f"{name}.html").read_text(encoding="utf-8")


def metadata(page: Path) -> dict[str, str]:
    """The meta tags of a page, by name or property."""
    tags = soup(page).find_all("meta", content=True)
    return {tag.get("name") or tag.get("property"): tag["content"] for tag in tags}


@each_page
def test_previews(name):
    """A description of its own, and what a link preview shows."""
    found = metadata(HTML / f"{name}.html")
    assert 60 <= len(found["description"]) <= 170
    assert found["og:description"] == found["description"]
    assert found["og:title"] == soup(HTML / f"{name}.html").select_one("h1").contents[0].text
    assert found["og:url"] == f"{BASE}{name}.html" and found["og:site_name"].startswith("Attention")
    card = HTML / found["og:image"].removeprefix(BASE)
    width, height = (int.from_bytes(card.read_bytes()[i : i + 4]) for i in (16, 20))
    assert (width, height) == (1200, 630) and card.stat().st_size < 300_000
    assert found["og:image:alt"] and found["twitter:card"] == "summary_large_image"


def test_descriptions_differ():
    seen = [metadata(HTML / f"{name}.html")["description"] for name in PAGES]
    assert len(set(seen)) == len(seen)


def test_sitemap():
    """All pages of the book and no other, with their public address."""
    text = (HTML / "sitemap.xml").read_text(encoding="utf-8")
    assert sorted(re.findall("<loc>(.*?)</loc>", text)) == sorted(f"{BASE}{p}.html" for p in PAGES)
    assert soup(HTML / "book/index.html").find("link", rel="canonical")["href"].startswith(BASE)


def test_page_for_lost_readers():
    page = soup(HTML / "404.html")
    assert "This page is not here" in page.select_one("article h1").text
    links = {a["href"] for a in page.select("article a[href]")}
    prefix = urlparse(BASE).path
    assert {f"{prefix}book/index.html", f"{prefix}search.html"} <= links


@each_page
def test_both_licences_in_the_footer(name):
    footer = soup(HTML / f"{name}.html").select_one("footer.bd-footer-content").text
    assert "BSD 3-Clause" in footer and "CC BY 4.0" in footer
