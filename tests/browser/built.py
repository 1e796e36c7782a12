"""Where the built site is, and its pages."""

from __future__ import annotations

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
#: The first part of the addresses on the page for lost readers: the repository's name.
PREFIX = "/" + CONFIG["repository"]["url"].rsplit("/", 1)[-1]


def toc_files() -> list[str]:
    """Every file of _toc.yml in reading order, without its suffix."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *chapters]


#: Where a slider will be.
SLIDER_VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]'
