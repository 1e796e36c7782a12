"""Readers who use a screen reader, a keyboard or paper: axe-core, focus, print."""

from __future__ import annotations

import pytest
from built import HTML, ROOT, SLIDER_VIEW, toc_files

AXE = ROOT / "_build" / "npm" / "axe-core" / "axe.min.js"
PAGES = [*toc_files(), "search", "genindex", "404"]

STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
#: What depends on colours, and so on the theme.
COLOURS = ["color-contrast", "link-in-text-block"]

#: The violations of some rules, a line each.
VIOLATIONS = """async rules => {
  const found = await axe.run(document, {runOnly: rules});
  const line = (rule, node) => `${rule.id}: ${node.target} ${node.html.slice(0, 120)}`;
  return found.violations.flatMap(rule => rule.nodes.map(node => line(rule, node)));
}"""


#: Colours that fade in are judged where they end.
SETTLED = """new Promise(done => requestAnimationFrame(() => setTimeout(async () => {
  await Promise.all(document.getAnimations().map(animation => animation.finished));
  done();
}, 50)))"""


def settle(page) -> None:
    """Wait until the page has taken note and nothing fades any more."""
    page.evaluate(SETTLED)


def open_everything(page) -> None:
    """Open all dropdowns, fetch the sliders, and wait until the page has taken note."""
    if page.locator(SLIDER_VIEW).count():
        page.locator(
            ".cell_output", has=page.locator(SLIDER_VIEW)
        ).first.scroll_into_view_if_needed()
        page.wait_for_selector(".noUi-handle[aria-label]")
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    buttons = page.locator("article .toggle-hidden > button.toggle-button")
    for _ in range(buttons.count()):
        buttons.first.click()
    settle(page)


@pytest.mark.parametrize("name", PAGES)
def test_axe(visit, name):
    """axe-core finds nothing, with everything opened, in light and dark."""
    page = visit(name, viewport={"width": 1280, "height": 900}, color_scheme="light").page
    open_everything(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.evaluate(VIOLATIONS, STANDARDS) == []
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    settle(page)
    assert page.evaluate(VIOLATIONS, COLOURS) == []


def test_axe_would_see_it(visit):
    """The check can fail, in both themes."""
    page = visit("book/references").page
    bad = "<img src=x><p style='color: #777; background: #999'>grey</p>"
    page.evaluate(
        "bad => document.querySelector('article').insertAdjacentHTML('beforeend', bad)", bad
    )
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(VIOLATIONS, STANDARDS)
    assert {line.split(":")[0] for line in found} >= {"image-alt", "color-contrast"}
    assert page.evaluate(VIOLATIONS, COLOURS)


def test_first_tab_skips_to_the_text(visit):
    """The keyboard reaches the text, and a dropdown, without the mouse."""
    page = visit("book/concavity-window", viewport={"width": 1280, "height": 900}).page
    page.keyboard.press("Tab")
    assert "Skip to main content" in page.evaluate("document.activeElement.textContent")
    summary = page.locator("article details > summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert summary.evaluate("e => e.parentElement.open")


def test_print(visit):
    """On paper: no bars, no buttons, every dropdown's content, black on white also in the dark."""
    visited = visit("book/concavity-window", color_scheme="dark")
    page = visited.page
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for gone in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer"):
        assert not page.locator(gone).first.is_visible(), gone
    assert page.evaluate("[...document.querySelectorAll('article details')].every(e => e.open)")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    hidden = page.locator("article .toggle-hidden > *:not(button)")
    assert all(hidden.nth(i).is_visible() for i in range(hidden.count()))
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("article details:not([open])").count()
    assert len(page.pdf()) < 3_000_000


def test_lost_readers_find_the_way(visit, site):
    """The page for wrong addresses works below any path."""
    page = visit("404").page
    page.locator("article a", has_text="first page").click()
    page.wait_for_url("**/book/index.html")
    assert (HTML / "404.html").exists()
