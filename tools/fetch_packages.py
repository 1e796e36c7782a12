"""Fetch pinned npm packages into _build: fetch_packages.py [NAME ...], else those of the site.

Without npm (or without a network) the build of the site goes on: the pages then load MathJax
from its CDN and show no sliders. What is named is needed, and its failure is an error.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

BUILD = Path(__file__).resolve().parent.parent / "_build"


@dataclass(frozen=True)
class Package:
    """A package on npm, its hash, and which of its files are wanted (by their beginnings)."""

    npm: str
    version: str
    sha512: str
    prefix: str
    parts: tuple[str, ...]
    folder: str  # "vendor": part of the site; "npm": for other commands

    def target(self, name: str) -> Path:
        """Where its files go."""
        return BUILD / self.folder / name


PACKAGES = {
    "mathjax": Package(
        "mathjax",
        "3.2.2",
        "Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/O9NliPc+x77k1/FEsPsjKPZGJvtRZM1vO+geW0OhGw==",
        "package/es5/",
        # what a page may ask for: the program, its fonts, its TeX extensions, its speech rules
        ("tex-mml-chtml.js", "output/chtml/", "input/tex/extensions/", "a11y/", "sre/"),
        "vendor",
    ),
    "widgets": Package(
        "@jupyter-widgets/html-manager",
        "1.0.15",
        "5thBIV6ymNgmPVOHvzx+gGy8ZSKmSazhtGw4/c4xJDVzRhG9PTeQsRjF3FUTopvFi//SABeNz1yp47bCrJ3CQA==",
        "package/dist/",
        ("embed.js", "1551f4f60c37af51121f.woff2", "be9ee23c0c6390141475.ttf"),
        "vendor",
    ),
    "reveal": Package(
        "reveal.js",
        "6.0.2",
        "JYIg5D9aoxoaLeb84O+OvAwsKWdIavVgEDScxtYEXFCT6t6TQrhNtSgogcjdCpdLsWglhJn3zyE3fUOwiH5KEg==",
        "package/dist/",
        ("reveal.js", "reveal.css", "theme/white.css"),
        "npm",
    ),
    "axe-core": Package(
        "axe-core",
        "4.14.1",
        "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
        "package/",
        ("axe.min.js",),
        "npm",
    ),
}


def fetch(package: Package, folder: Path) -> Path:
    """Download a package with npm and check it against its known hash."""
    name = f"{package.npm}@{package.version}"
    command = ["npm", "pack", name, "--silent", "--pack-destination", str(folder)]
    subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, timeout=300)
    (archive,) = folder.glob("*.tgz")
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != package.sha512:
        raise ValueError(f"{archive.name} has the hash {digest}, expected {package.sha512}")
    return archive


def unpack(archive: Path, target: Path, package: Package) -> None:
    """Write the wanted files; the folder appears only when it is whole."""
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.removeprefix(package.prefix)
            wanted = member.name.startswith(package.prefix) and name.startswith(package.parts)
            if member.isfile() and wanted and not name.endswith(".map"):
                path = partial / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(tar.extractfile(member).read())
    (partial / "VERSION").write_text(package.version + "\n", encoding="utf-8")
    partial.rename(target)


def provide(name: str) -> str:
    """Fetch a package unless it is there; return what went wrong, or nothing."""
    package = PACKAGES[name]
    version = package.target(name) / "VERSION"
    if version.exists() and version.read_text(encoding="utf-8").strip() == package.version:
        return ""
    if shutil.which("npm") is None:
        return f"{name}: npm was not found."
    try:
        with tempfile.TemporaryDirectory() as folder:
            unpack(fetch(package, Path(folder)), package.target(name), package)
    except (OSError, ValueError, subprocess.SubprocessError, tarfile.TarError) as error:
        return f"{name} could not be fetched with npm: {error}"
    return ""


def main(names: list[str]) -> int:
    """Fetch what is named, or what the site needs."""
    unknown = sorted(set(names) - set(PACKAGES))
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(PACKAGES)}", file=sys.stderr)
        return 2
    site = [name for name, package in PACKAGES.items() if package.folder == "vendor"]
    problems = [problem for name in names or site if (problem := provide(name))]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems and not names:
        print("The pages will load MathJax from its CDN and show no sliders.", file=sys.stderr)
    return 1 if problems and names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
