"""Sphinx extension: use the MathJax in _build/vendor when it is there, else the CDN's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

VENDOR = Path(__file__).resolve().parent.parent / "_build" / "vendor"


def use_vendored(app: Any, config: Any) -> None:
    """Serve _build/vendor under _static, and point the pages at it."""
    if (VENDOR / "mathjax" / "VERSION").exists():
        config.html_static_path.append(str(VENDOR))
        config.mathjax_path = "mathjax/tex-mml-chtml.js"


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("config-inited", use_vendored)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
