"""Fetch MathJax with npm into _build/vendor, so that the site needs no other host.

Without npm (or without a network) the build goes on, and the pages load MathJax from its CDN.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "3.2.2"
SHA512 = "Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/O9NliPc+x77k1/FEsPsjKPZGJvtRZM1vO+geW0OhGw=="
#: What a page may ask for: the program, its fonts, its TeX extensions, its speech rules.
PARTS = ("tex-mml-chtml.js", "output/chtml/", "input/tex/extensions/", "a11y/", "sre/")
TARGET = Path(__file__).resolve().parent.parent / "_build" / "vendor" / "mathjax"


def fetch(folder: Path) -> Path:
    """Download the package with npm and check it against its known hash."""
    command = ["npm", "pack", f"mathjax@{VERSION}", "--silent", "--pack-destination", str(folder)]
    subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, timeout=300)
    archive = folder / f"mathjax-{VERSION}.tgz"
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != SHA512:
        raise ValueError(f"{archive.name} has the hash {digest}, expected {SHA512}")
    return archive


def unpack(archive: Path, target: Path) -> None:
    """Write the parts that a page may ask for; the folder appears only when it is whole."""
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    prefix = "package/es5/"
    with tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.removeprefix(prefix)
            if member.isfile() and member.name.startswith(prefix) and name.startswith(PARTS):
                path = partial / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(tar.extractfile(member).read())
    (partial / "VERSION").write_text(VERSION + "\n", encoding="utf-8")
    partial.rename(target)


def main() -> int:
    """Fetch MathJax unless it is there; a failure is told, not fatal."""
    version = TARGET / "VERSION"
    if version.exists() and version.read_text(encoding="utf-8").strip() == VERSION:
        return 0
    fallback = "The pages will load MathJax from its CDN."
    if shutil.which("npm") is None:
        print(f"npm was not found. {fallback}", file=sys.stderr)
        return 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            unpack(fetch(Path(folder)), TARGET)
    except (OSError, ValueError, subprocess.SubprocessError, tarfile.TarError) as error:
        print(f"MathJax could not be fetched with npm: {error}. {fallback}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
