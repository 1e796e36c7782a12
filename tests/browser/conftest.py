"""A web server on loopback, and pages of the site opened in Chromium."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from urllib.parse import urlparse

import pytest
from built import HTML, PREFIX
from playwright.sync_api import Browser, Page

#: Two harmless errors of the theme: it declares a name twice, and some pages have no contents.
THEME_ERRORS = (
    "Identifier 'THEBE_JS_URL' has already been declared",
    "Cannot read properties of null (reading 'classList')",
)
#: Without npm at build time the pages ask this host for MathJax (tools/fetch_packages.py).
CDN = set() if (HTML / "_static" / "mathjax" / "VERSION").exists() else {"cdn.jsdelivr.net"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serve files, also below the path that GitHub Pages gives to the site, and write no log."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix(PREFIX))

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the built site."""
    assert (HTML / "index.html").exists(), "there is no site: run 'make book' first"
    handler = functools.partial(Quiet, directory=str(HTML))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class Visit:
    """An open page, and what went wrong on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.failed: list[str] = []
        self.outside: set[str] = set()
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._add(str(error)))
        page.on("requestfailed", lambda request: self._fail(request.url))
        page.on("response", lambda r: self._fail(r.url) if r.status >= 400 else None)
        page.route(lambda url: urlparse(url).hostname != "127.0.0.1", self._elsewhere)

    def _console(self, message) -> None:
        if message.type == "error":
            self._add(message.text)

    def _add(self, error: str) -> None:
        if not any(known in error for known in THEME_ERRORS):
            self.errors.append(error)

    def _fail(self, url: str) -> None:
        if urlparse(url).hostname not in CDN:
            self.failed.append(url)

    def _elsewhere(self, route) -> None:
        host = urlparse(route.request.url).hostname
        if host in CDN:
            route.continue_()
        else:
            self.outside.add(host)
            route.abort()

    def clean(self) -> None:
        """Fail when anything was noted."""
        assert not self.outside, f"requests to other hosts: {self.outside}"
        assert not self.failed, f"failed requests: {self.failed}"
        assert not self.errors, f"errors in the console: {self.errors}"


@pytest.fixture
def visit(chromium: Browser, site: str) -> Iterator[Callable[..., Visit]]:
    """Open a page by its name, in a fresh context with the given options."""
    contexts = []

    def opener(name: str, **options) -> Visit:
        context = chromium.new_context(**options)
        contexts.append(context)
        visited = Visit(context.new_page())
        visited.page.goto(f"{site}/{name}.html", wait_until="load")
        if visited.page.locator("article .math").count():
            visited.page.wait_for_function("window.MathJax && MathJax.startup?.promise")
            visited.page.evaluate("MathJax.startup.promise")
        return visited

    yield opener
    for context in contexts:
        context.close()
