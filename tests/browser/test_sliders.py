"""Sliders without a kernel: fetched when near, named, moved by keyboard, pictures in words."""

from __future__ import annotations

import pytest
from built import HTML, SLIDER_VIEW

PAGES = [
    f"book/{path.stem}"
    for path in sorted((HTML / "book").glob("*.html"))
    if "vnd.jupyter.widget-view+json" in path.read_text(encoding="utf-8")
]
MANAGER = "widgets/embed.js"


def cell(page):
    return page.locator(".cell_output", has=page.locator(SLIDER_VIEW)).first


def shown(page):
    """The alternative text of the picture that is seen, after checking that there is one."""
    pictures = cell(page).locator("img")
    seen = [i for i in range(pictures.count()) if pictures.nth(i).is_visible()]
    assert len(seen) == 1
    assert pictures.nth(seen[0]).evaluate("e => e.complete && e.naturalWidth > 300")
    return pictures.nth(seen[0]).get_attribute("alt")


def test_there_are_sliders():
    assert len(PAGES) >= 4


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1280, 375])
def test_slider_moves(visit, name, width):
    visited = visit(name, viewport={"width": width, "height": 800})
    page = visited.page
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    page.wait_for_timeout(300)
    assert not any(MANAGER in url for url in requested), "the manager is fetched too early"
    cell(page).scroll_into_view_if_needed()
    handle = cell(page).locator(".noUi-handle")
    handle.wait_for()
    page.wait_for_function("document.querySelector('.noUi-handle').hasAttribute('aria-label')")
    assert len(handle.get_attribute("aria-label")) > 4

    texts, words = [], []
    handle.press("Home")
    for _ in range(1 + int(float(handle.get_attribute("aria-valuemax")))):
        page.wait_for_timeout(60)
        words.append(shown(page))
        texts.append(handle.get_attribute("aria-valuetext"))
        assert texts[-1] == cell(page).locator(".widget-readout").inner_text()
        handle.press("ArrowRight")
    assert len(texts) >= 5 and len(set(texts)) == len(texts)
    assert len(set(words)) == len(words) and all(len(w) > 40 for w in words)
    box = cell(page).bounding_box()
    assert cell(page).locator(".noUi-base").bounding_box()["width"] > min(220, 0.6 * box["width"])
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    visited.clean()


def test_slider_that_cannot_be_loaded_says_so(visit):
    page = visit(PAGES[0], viewport={"width": 1280, "height": 800}).page
    page.route(f"**/{MANAGER}", lambda route: route.abort())
    cell(page).scroll_into_view_if_needed()
    page.wait_for_selector("p.slider-note:has-text('could not be loaded')")


def test_slider_is_not_printed(visit):
    page = visit(PAGES[0]).page
    page.emulate_media(media="print")
    assert not cell(page).is_visible()
