"""The slides, opened as files: complete, offline, nothing over the edge, moved by keys."""

from __future__ import annotations

import json
import re

import pytest
from bs4 import BeautifulSoup
from built import HTML, ROOT, toc_files

SLIDES = ROOT / "_build" / "slides"
CHAPTERS = [name.split("/")[-1] for name in toc_files()[1:] if (ROOT / f"{name}.ipynb").exists()]
#: Height, width and size of the type of every slide.
SIZES = """[...document.querySelectorAll(".slides > section")].map((slide) => {
  const before = slide.style.display;
  slide.style.display = "block";
  const size = [slide.scrollHeight, slide.scrollWidth - slide.clientWidth, slide.style.fontSize];
  slide.style.display = before;
  return size;
})"""


def letters(text):
    return re.sub(r"\W+", "", text)


def notebook_text(name):
    cells = json.loads((ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells), cells


@pytest.mark.parametrize("name", CHAPTERS)
def test_story_is_complete(name):
    """Every figure, every exercise and the statements of the chapter, and no solution."""
    soup = BeautifulSoup((SLIDES / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
    slides = soup.select(".slides > section")
    text, cells = notebook_text(name)
    figures = [c["metadata"]["mystnb"] for c in cells if "mystnb" in c["metadata"]]
    assert [image["alt"] for image in soup.select("img")] == [f["image"]["alt"] for f in figures]
    assert all((SLIDES / image["src"]).exists() for image in soup.select("img"))
    titles = [slide.find(["h1", "h2"]).get_text() for slide in slides]
    assert sum(t.startswith("Exercise") for t in titles) == text.count("{exercise-start}")
    assert "Whose is it?" in titles and "What this does not show" in titles
    page = BeautifulSoup((HTML / "book" / f"{name}.html").read_text("utf-8"), "html.parser")
    blocks = page.select("#the-statement div.proof .admonition-title")
    assert blocks and {letters(b.get_text()) for b in blocks} <= {letters(t) for t in titles}
    assert not any("Solution" in t for t in titles)
    assert not soup.select("section section, a, button")


@pytest.mark.parametrize("name", CHAPTERS)
def test_slides_run_offline_and_fit(chromium, name):
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    trouble = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("requestfailed", lambda request: trouble.append(request.url))
    page.on("console", lambda m: trouble.append(m.text) if m.type == "error" else None)
    page.route(lambda url: not url.startswith(("file:", "data:")), lambda route: route.abort())
    page.goto((SLIDES / f"{name}.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    sizes = page.evaluate(SIZES)
    assert all(height <= 700 and wide <= 1 for height, wide, _ in sizes)
    assert all(int((size or "100%")[:-1]) >= 60 for *_, size in sizes), "too small to be read"
    assert page.locator("mjx-container").count() and not page.locator("mjx-merror").count()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("Reveal.getIndices().h") == len(sizes) - 2
    assert not trouble
    context.close()


def test_contents_lead_to_every_chapter():
    soup = BeautifulSoup((SLIDES / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert [a["href"] for a in soup.select("a")] == [f"{name}.html" for name in CHAPTERS]
