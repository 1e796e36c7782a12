"""Sphinx extension: the site's address, the lab's program, descriptions, small repairs of HTML."""

from __future__ import annotations

import html
import importlib.util
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

DESCRIPTIONS = "book/assets/descriptions.toml"

#: What screen readers get wrong in the HTML of other extensions, and what they get right.
REPAIRS = {
    '<summary aria-label="Toggle hidden content">': "<summary>",  # named by the words on it
    ' role="doc-biblioentry"': ' role="listitem"',
}

NOT_FOUND = """<h1>This page is not here</h1>
<p>The address may be old or mistyped; chapters never change their names.
Start at <a href="{prefix}book/index.html">the first page</a>,
or <a href="{prefix}search.html">search</a> the book.</p>"""


def address(repository: str) -> str:
    """Where GitHub Pages serves a repository; another host is set as ``html: baseurl``."""
    owner, name = urlparse(repository).path.strip("/").split("/")
    return f"https://{owner}.github.io/{name}/"


def set_address(app: Any, config: Any) -> None:
    """Give the address to the sitemap, the preview cards and the page for lost readers."""
    base = config.html_baseurl or address(config.html_theme_options["repository_url"])
    prefix = urlparse(base).path
    config.html_baseurl = config.ogp_site_url = base
    config.notfound_urls_prefix = prefix
    # the page of the live lab runs the package's own file
    package = Path(importlib.util.find_spec("attention_landscape").origin).parent
    config.html_static_path.append(str(package / "lab.js"))
    config.notfound_context = {"title": "Not found", "body": NOT_FOUND.format(prefix=prefix)}


def complete(app: Any, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Describe the page, and repair its HTML."""
    descriptions = tomllib.loads((Path(app.srcdir) / DESCRIPTIONS).read_text(encoding="utf-8"))
    description = descriptions.get(pagename.removeprefix("book/"))
    if description:
        context["metatags"] += f'<meta name="description" content="{html.escape(description)}" />\n'
        context["meta"] = (context.get("meta") or {}) | {"og:description": description}
    for wrong, right in REPAIRS.items():
        context["body"] = context.get("body", "").replace(wrong, right)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx, before the extensions that use the address."""
    app.connect("config-inited", set_address, priority=400)
    app.connect("html-page-context", complete, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
