"""Make reveal.js slides of each chapter from the built site: statements, figures, questions.

The slides are files without a server or a network; `make slides` builds the site first.
"""

from __future__ import annotations

import copy
import html
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from bs4 import BeautifulSoup, Tag

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
BOOK, TARGET = BUILD / "html" / "book", BUILD / "slides"
ASSETS = {
    "reveal": BUILD / "npm" / "reveal",
    "mathjax": BUILD / "vendor" / "mathjax",
}

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="assets/reveal/reveal.css">
<link rel="stylesheet" href="assets/reveal/theme/white.css">
<link rel="stylesheet" href="assets/slides.css">
<script src="assets/mathjax/tex-mml-chtml.js" defer></script>
</head>
<body>
<main class="reveal"><div class="slides">
{slides}
</div></main>
<script src="assets/reveal/reveal.js"></script>
<script src="assets/slides.js"></script>
</body>
</html>
"""

STYLE = """.reveal { font-family: system-ui, sans-serif; font-size: 36px; color: #1b1b1b; }
.reveal .slides { text-align: left; }
.reveal :is(h1, h2) { font-family: inherit; text-transform: none; letter-spacing: 0; }
.reveal :is(h1, h2) { color: #0a3d66; }
.reveal h1 { font-size: 1.7em; } .reveal h2 { font-size: 1.1em; margin-bottom: 0.6em; }
.reveal p { margin: 0.45em 0; } .reveal :is(ul, ol) { display: block; margin-left: 1.2em; }
.reveal figure { margin: 0; text-align: center; }
.reveal section img { max-height: 520px; max-width: 100%; width: auto; margin: 0 auto; }
.reveal figcaption { font-size: 0.55em; color: #333; text-align: left; }
.reveal .source { font-size: 0.6em; color: #444; }
.reveal code { font-size: 0.9em; } .reveal table { font-size: 0.8em; }
.reveal mjx-container[display="true"] { margin: 0.4em 0 !important; }
.reveal .eqno { float: right; font-size: 0.7em; color: #444; }
"""

#: A slide is set smaller until it fits, after its formulas are set.
SCRIPT = """const tooLarge = (slide) =>
  slide.scrollHeight > 700 || slide.scrollWidth > slide.clientWidth + 1;
const fit = () => document.querySelectorAll(".slides section").forEach((slide) => {
  const hidden = slide.style.display;
  slide.style.display = "block";
  for (let size = 100; size >= 40 && tooLarge(slide); size -= 4) {
    slide.style.fontSize = `${size}%`;
  }
  slide.style.display = hidden;
});
const ready = Reveal.initialize({
  width: 1280, height: 720, margin: 0.03, center: false, hash: true, slideNumber: "c/t",
  transition: matchMedia("(prefers-reduced-motion: reduce)").matches ? "none" : "slide",
});
window.addEventListener("load", async () => {
  await ready;
  await window.MathJax?.startup?.promise;
  fit();
  Reveal.layout();
  document.documentElement.dataset.ready = "true";
});
"""


def chapters() -> list[str]:
    """The chapters in reading order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [Path(f).name for f in files if (ROOT / f"{f}.ipynb").exists()]


def section(article: Tag, title: str) -> Tag | None:
    """The section of a page below a heading."""
    for heading in article.find_all("h2"):
        if heading.get_text().removesuffix("#").strip() == title:
            return heading.parent
    return None


def plain(element: Tag) -> Tag:
    """A copy without what works on the page only: links, buttons, code, dropdowns."""
    element = copy.copy(element)
    for gone in element.select("a.headerlink, button, script, .cell, details, .admonition .proof"):
        gone.decompose()
    for link in element.select("a"):
        link.unwrap()
    for tag in element.find_all(True):
        if tag.name == "section":
            tag.name = "div"  # a section is a slide
        if tag.get("class") != ["eqno"]:
            tag.attrs.pop("class", None)
        tag.attrs.pop("id", None)
    return element


def inner(element: Tag, skip: str = "") -> str:
    """The HTML inside a block, without its title."""
    element = copy.copy(element)
    for gone in element.select(f".admonition-title{', ' + skip if skip else ''}"):
        gone.decompose()
    return "".join(str(child) for child in plain(element).children).strip()


def block_title(block: Tag) -> str:
    """The title of a framed block."""
    return " ".join(block.select_one(".admonition-title").get_text().split())


def slides_of(article: Tag) -> Iterator[tuple[str, str]]:
    """Titles and contents of the slides of a page."""
    heading = article.find("h1")
    title = heading.get_text().removesuffix("#").strip()
    opening = []
    for sibling in heading.find_next_siblings():
        if sibling.name != "p":
            break
        opening.append(str(plain(sibling)))
    yield title, "".join(opening)
    statement = section(article, "The statement")
    for block in statement.select("div.proof"):
        if block.select_one(".caption-number"):
            yield block_title(block), inner(block)
    for block in statement.select("div.admonition:not(.proof)"):
        yield block_title(block), inner(block)
    for figure in article.select("figure[id^=fig-]"):
        figure = copy.copy(figure)
        for image in figure.select("img"):
            image["src"] = f"assets/images/{Path(image['src']).name}"
            image.attrs.pop("style", None)
        number = figure.select_one(".caption-number").get_text().strip()
        above = f"Figure {number.removeprefix('Fig. ')}"
        yield above, f"<figure>{inner(figure, skip='.caption-number')}</figure>"
    caveats = section(article, "What this does not show")
    yield "What this does not show", re.sub(r"<h2>.*?</h2>", "", inner(caveats), flags=re.S)
    for exercise in article.select("div.exercise"):
        yield block_title(exercise), inner(exercise)


def page(name: str) -> tuple[str, str]:
    """Title and HTML of a chapter's slides."""
    text = (BOOK / f"{name}.html").read_text(encoding="utf-8")
    article = BeautifulSoup(text, "html.parser").select_one("article")
    made, title = [], ""
    for above, content in slides_of(article):
        level = "h2" if title else "h1"
        title = title or above
        made.append(
            f"<section><{level}>{html.escape(above, quote=False)}</{level}>{content}</section>"
        )
    made[0] = made[0].replace(
        "</section>",
        '<p class="source">A companion to arXiv:2601.21366; statements are restated in our own '
        "words. Text and figures: CC BY 4.0. Keys: arrows, o for all slides.</p></section>",
    )
    return title, PAGE.format(title=html.escape(title), slides="\n".join(made))


def contents(titles: dict[str, str]) -> str:
    """The page that lists the chapters."""
    links = "".join(f'<li><a href="{n}.html">{html.escape(t)}</a></li>' for n, t in titles.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Slides</title>'
        "<style>body { font: 18px/1.6 system-ui, sans-serif; max-width: 45em; margin: 2em auto; "
        "padding: 0 1em; } a { color: #0a58c2; }</style></head><body><main><h1>Slides</h1>"
        f"<ol>{links}</ol></main></body></html>\n"
    )


def main() -> int:
    """Write the slides and say where they are."""
    if not (BOOK / "index.html").exists():
        print("There is no site: run 'make book' first.", file=sys.stderr)
        return 1
    for name, folder in ASSETS.items():
        if not folder.exists():
            print(f"{name} is missing: the slides need npm at build time.", file=sys.stderr)
            return 1
    shutil.rmtree(TARGET, ignore_errors=True)
    for name, folder in ASSETS.items():
        shutil.copytree(folder, TARGET / "assets" / name)
    (TARGET / "assets" / "images").mkdir()
    (TARGET / "assets" / "slides.css").write_text(STYLE, encoding="utf-8")
    (TARGET / "assets" / "slides.js").write_text(SCRIPT, encoding="utf-8")
    titles = {}
    for name in chapters():
        titles[name], text = page(name)
        (TARGET / f"{name}.html").write_text(text, encoding="utf-8")
        for image in re.findall(r'src="assets/images/([^"]+)"', text):
            shutil.copy(BUILD / "html" / "_images" / image, TARGET / "assets" / "images")
    (TARGET / "index.html").write_text(contents(titles), encoding="utf-8")
    print(f"The slides are at {TARGET / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
