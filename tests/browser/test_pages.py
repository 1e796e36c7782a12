"""Every page in a browser: no errors, mathematics set, dropdowns, phone, dark."""

from __future__ import annotations

import pytest
from built import toc_files

PAGES = toc_files()
PHONE = {"width": 375, "height": 812}
#: Formulas that MathJax could not read: errors, and macros that it shows in red.
BAD_MATH = """() => {
  const bad = [];
  for (const item of MathJax.startup.document.math) {
    item.root.walkTree(node => {
      const red = node.isKind('mtext') && node.attributes.get('mathcolor') === 'red';
      if (red || node.isKind('merror')) bad.push(item.math);
    });
  }
  return bad;
}"""

#: Elements that stick out of the page to the right, unless something around them scrolls.
TOO_WIDE = """() => {
  const limit = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= limit) return [];
  const scrolls = e => e && ['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX);
  const inside = e => { while ((e = e.parentElement)) if (scrolls(e)) return true; return false; };
  return [...document.querySelectorAll('article *')]
    .filter(e => e.getBoundingClientRect().right > limit + 1 && !inside(e))
    .map(e => e.outerHTML.slice(0, 120)).slice(0, 5).concat(['the page scrolls']);
}"""


@pytest.mark.parametrize("name", PAGES)
def test_page(visit, name):
    """No error, no failed request, all formulas set, every dropdown opens and closes."""
    visited = visit(name, viewport={"width": 1280, "height": 900})
    page = visited.page
    formulas = page.locator("article .math").count()
    if formulas:
        assert page.locator("article .math mjx-container").count() >= formulas
        assert page.evaluate(BAD_MATH) == []
    text = page.locator("article").inner_text()
    assert "\\(" not in text and "\\[" not in text and "$$" not in text

    summaries = page.locator("article details > summary")
    for i in range(summaries.count()):
        details = summaries.nth(i).locator("xpath=..")
        before = details.evaluate("e => e.open")
        summaries.nth(i).click()
        assert details.evaluate("e => e.open") is not before
    buttons = page.locator("article button.toggle-button")
    for i in range(buttons.count()):
        box = buttons.nth(i).locator("xpath=ancestor::*[contains(@class, 'toggle')][1]")
        assert "toggle-hidden" in box.get_attribute("class")
        buttons.nth(i).click()
        assert "toggle-hidden" not in box.get_attribute("class")
        assert box.locator("> *:not(.admonition-title)").first.is_visible()
    page.wait_for_load_state("networkidle")
    visited.clean()


@pytest.mark.parametrize("name", PAGES)
def test_phone(visit, name):
    """No sideways scrolling on a phone, also with every dropdown open."""
    visited = visit(name, viewport=PHONE, is_mobile=True, has_touch=True)
    page = visited.page
    assert page.evaluate(TOO_WIDE) == []
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    page.evaluate(
        "document.querySelectorAll('.toggle-hidden').forEach("
        "e => e.classList.remove('toggle-hidden'))"
    )
    assert page.evaluate(TOO_WIDE) == []
    visited.clean()


def test_dark_mode(visit):
    """The switch of the theme leads to a dark page and back."""
    visited = visit(PAGES[0], viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = visited.page
    brightness = "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    seen = {}
    for _ in range(3):
        mode = page.evaluate("document.documentElement.dataset.theme")
        seen[mode] = sum(page.evaluate(brightness)) / 3
        page.locator("button.theme-switch-button:visible").first.click()
    assert seen["dark"] < 80 < 200 < seen["light"]
    visited.clean()


def test_search(visit):
    """The search finds the pages about a word."""
    visited = visit("search", viewport={"width": 1280, "height": 900})
    page = visited.page
    page.goto(page.url + "?q=perceptron")
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li a").count() >= 2
    visited.clean()


def test_a_wrong_macro_would_be_seen(visit):
    """The check of the formulas can fail."""
    page = visit("book/pure-attention").page
    page.evaluate(
        "() => { const p = document.createElement('p'); p.className = 'math'; "
        "p.textContent = '\\\\(\\\\nosuchmacro x\\\\)'; "
        "document.querySelector('article').append(p); return MathJax.typesetPromise([p]); }"
    )
    assert len(page.evaluate(BAD_MATH)) == 1


def test_a_wide_element_would_be_seen(visit):
    """The check of the phone's width can fail."""
    page = visit("book/pure-attention", viewport=PHONE, is_mobile=True).page
    page.evaluate(
        "document.querySelector('article').insertAdjacentHTML("
        "'beforeend', '<div style=\"width: 900px\">wide</div>')"
    )
    assert page.evaluate(TOO_WIDE)
