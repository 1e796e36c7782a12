"""The repository: contents, locks, configuration; nothing private in a committed file."""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from sources import ROOT, source, toc_files, tracked_files

LOCKS = ["requirements.txt", "requirements-dev.txt"]


def test_jupyter_book_is_version_1():
    assert version("jupyter-book").startswith("1."), "version 2 ignores _config.yml and _toc.yml"


def test_toc_is_complete():
    names = toc_files()
    assert len(names) == len(set(names))
    for name in names:
        source(name)
    files = [path for path in (ROOT / "book").iterdir() if path.suffix in (".ipynb", ".md")]
    assert sorted(f"book/{path.stem}" for path in files) == sorted(names)


@pytest.mark.parametrize("name", LOCKS)
def test_locks_have_hashes_and_no_index(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    entries = re.split(r"\n(?=[a-z])", re.sub(r"(?m)^ *#.*\n", "", text).strip())
    assert len(entries) > 50
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+==\S+", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
        assert not re.sub(r"--hash=\S+", "", entry).count("--"), entry


def test_locks_agree():
    pins = [
        set(re.findall(r"^[a-z0-9._-]+==\S+", (ROOT / name).read_text(encoding="utf-8"), re.M))
        for name in LOCKS
    ]
    assert pins[0] <= pins[1]


def test_nothing_private_is_committed():
    # put together here, so that this file does not hold what it looks for
    unwanted = ["/" + "work/", "/" + "root/", "sha" + "red/", "file" + "://"]
    unwanted += ["pypi" + ".org", "python" + "hosted", "npm" + "js.", "deb" + ".debian.org"]
    unwanted += [str(ROOT), *([str(Path.home())] if len(str(Path.home())) > 5 else [])]
    for path in tracked_files():
        data = path.read_bytes()
        for text in unwanted:
            assert text.encode() not in data, f"{path.relative_to(ROOT)} holds {text}"


def test_committed_files_are_light():
    for path in tracked_files():
        assert path.stat().st_size < 600_000, path


def test_binder_reads_the_locks():
    assert re.fullmatch(r"python-3\.1[1-3]\n", (ROOT / "runtime.txt").read_text(encoding="utf-8"))
    assert not (ROOT / "binder").exists() and not (ROOT / "environment.yml").exists()


def test_set_repository(tmp_path):
    config = tmp_path / "config.yml"
    before = (ROOT / "_config.yml").read_text(encoding="utf-8")
    config.write_text(before, encoding="utf-8")
    url = "https://github.com/someone/fork"
    subprocess.run([ROOT / "tools" / "set-repository", url, config], check=True)
    after = config.read_text(encoding="utf-8")
    assert yaml.safe_load(after)["repository"]["url"] == url
    lines = zip(before.splitlines(), after.splitlines(), strict=True)
    assert sum(old != new for old, new in lines) == 1


def test_ci_runs_make_test():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    lines = [line for line in script.read_text(encoding="utf-8").splitlines() if line]
    assert lines[-1] == "make test" and "set -euo pipefail" in lines
