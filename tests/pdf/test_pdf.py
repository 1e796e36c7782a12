"""The PDF edition against the site: the same numbers, nothing unresolved, nothing cut off.

`make pdf` builds both first.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]
HTML, PDF = ROOT / "_build" / "html" / "book", ROOT / "_build" / "pdf"
NAME = "attention-landscape"
PAGES = sorted(path.stem for path in (ROOT / "book").glob("*.ipynb"))
SLIDERS = sum('"widget"' in (ROOT / "book" / f"{page}.ipynb").read_text("utf-8") for page in PAGES)


def text(suffix: str) -> str:
    return (PDF / f"{NAME}.{suffix}").read_text(encoding="utf-8", errors="replace")


def site(page: str) -> BeautifulSoup:
    return BeautifulSoup((HTML / f"{page}.html").read_text(encoding="utf-8"), "html.parser")


def aux_number(label: str) -> str | None:
    match = re.search(r"\\newlabel\{" + re.escape(label) + r"\}\{\{([^}]*)\}", text("aux"))
    return match.group(1) if match else None


def printed_title(label: str) -> str:
    """The heading of the framed block that follows a label."""
    pattern = r"\\label\{" + re.escape(label) + r"\}\s*\\begin\{sphinxadmonition\}\{note\}\{(.*)\}"
    match = re.search(pattern, text("tex"))
    assert match, label
    return match.group(1)


def plain(latex: str) -> str:
    """The characters that a block of output shows."""
    signs = {"hy": "-", "lt": "<", "gt": ">", "us": "_", "ob": "{", "cb": "}", "ca": "^"}
    signs |= {
        "sh": "#",
        "pc": "%",
        "dl": "$",
        "am": "&",
        "bs": "\\",
        "ti": "~",
        "dq": '"',
        "sq": "'",
    }
    return re.sub(r"\\PYGZ(\w\w)\{\}", lambda match: signs[match.group(1)], latex)


def number_of(element) -> str:
    return element.select_one(".caption-number").text.strip().removesuffix(".")


@pytest.mark.parametrize("page", PAGES)
def test_numbers_are_those_of_the_site(page):
    soup = site(page)
    counted = 0
    for block in soup.select("div.proof"):
        if block.select_one(".caption-number") and re.search(r"\d", number_of(block)):
            assert printed_title(f"book/{page}:{block['id']}").startswith(number_of(block))
            counted += 1
    for block in soup.select("div.exercise"):
        assert printed_title(f"exercise:{block['id']}") == number_of(block)
        counted += 1
    for block in soup.select("figure[id^=fig-]"):
        number = aux_number(f"book/{page}:{block['id']}")
        assert number_of(block) == f"Fig. {number}", block["id"]
        counted += 1
    for block in soup.select("div.math[id^=equation-]"):
        label = block["id"].removeprefix("equation-")
        shown = re.search(r"\((\d+)\)", block.select_one(".eqno").text).group(1)
        assert aux_number(f"equation:book/{page}:{label}") == shown, label
        counted += 1
    assert counted >= (1 if page == "index" else 8)


def chapter(page: str) -> str:
    """The LaTeX of one page of the site."""
    return text("tex").split(rf"\label{{\detokenize{{book/{page}::doc}}}}")[1].split("::doc}}\n")[0]


def lines_of(block: str) -> list[str]:
    return [line.rstrip() for line in block.strip("\n").splitlines()]


@pytest.mark.parametrize("page", PAGES)
def test_printed_lines_are_those_of_the_site(page):
    """Each line that a cell prints is there once, in its order."""
    shown = [
        lines_of(block.text)
        for cell in site(page).select("div.cell:not(.tag_widget)")
        for block in cell.select("div.output.stream pre")
    ]
    block = r"\{cell_output\}\s*\\begin\{sphinxVerbatim\}\[[^\n]*\]\n(.*?)\\end\{sphinxVerbatim\}"
    printed = [lines_of(plain(found)) for found in re.findall(block, chapter(page), re.S)]
    assert shown
    assert printed == shown


def test_nothing_is_unresolved_or_missing():
    log = text("log").replace("\n", "")
    assert not re.findall(r"Citation `[^']*' on page \S+ undefined", log)
    assert not re.findall(r"Reference `[^']*' on page \S+ undefined", log)
    assert "Missing character" not in log
    assert not re.search(r"^! ", text("log"), re.M)


def test_nothing_is_cut_off():
    """Boxes that are too large by more than what a reader could see (5 points)."""
    for size in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt", text("log")):
        assert float(size) < 5


def test_sliders_are_left_out_and_figures_are_there():
    tex = text("tex")
    assert "{gradient\\PYGZus{}flow}" in tex and "{slider}" not in tex
    assert "VBox(" not in tex and "The lab is on the site of the book" in tex
    assert tex.count(r"\begin{figure}") == sum(
        len(site(p).select("figure[id^=fig-]")) for p in PAGES
    )


def test_size_and_pages():
    file = PDF / f"{NAME}.pdf"
    assert 500_000 < file.stat().st_size < 5_000_000
    (pages,) = re.findall(r"Output written on .*?\((\d+)\s+pages", text("log").replace("\n", ""))
    assert int(pages) > 100


def test_readers_see_no_question_marks():
    """The text as a reader gets it: the title, every reference found, every sign known."""
    assert shutil.which("pdftotext"), "poppler-utils is missing: see tools/install-texlive"
    command = ["pdftotext", "-layout", str(PDF / f"{NAME}.pdf"), "-"]
    shown = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8")
    assert shown.lstrip().startswith("Attention’s mean-field landscape")
    assert "??" not in shown and "\ufffd" not in shown
    assert len(re.findall(r"\(The\s+slider\s+is\s+on\s+the\s+site\.\)", shown)) == SLIDERS
    about = subprocess.run(["pdfinfo", command[2]], capture_output=True, check=True).stdout
    assert "Attention’s mean-field landscape" in about.decode("utf-8")
