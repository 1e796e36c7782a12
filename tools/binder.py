"""Do what Binder's repo2docker does, without docker: binder.py FOLDER [--serve]

Its printed Dockerfile has, for this repository, a Python of the version in runtime.txt, then
``pip install --no-cache-dir -r requirements.txt`` and ``pip install --no-cache-dir .``. We take a
clean copy of the last commit and a new environment, do the same, and check with ``pip check``.
Binder's base environment (JupyterHub's launcher) and its Ubuntu packages are not imitated.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def find_python() -> str:
    """The Python that runtime.txt names."""
    name = (ROOT / "runtime.txt").read_text(encoding="utf-8").strip().replace("-", "")
    for program in (name, sys.executable, "python3"):
        probe = "import sys, venv, ensurepip; print('python%d.%d' % sys.version_info[:2])"
        found = shutil.which(program)
        if found:
            answer = subprocess.run([found, "-c", probe], capture_output=True, text=True)
            if answer.stdout.strip() == name:
                return found
    raise SystemExit(f"Binder runs {name} (runtime.txt), which was not found here.")


def prepare(folder: Path) -> Path:
    """Fill a folder like Binder's image; return the environment's programs."""
    shutil.rmtree(folder, ignore_errors=True)
    repository, environment = folder / "repository", folder / "environment"
    repository.mkdir(parents=True)
    programs = environment / "bin"
    pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    python = find_python()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-x"], cwd=repository, input=archive.stdout, check=True)
    steps = {
        "new environment": [python, "-m", "venv", str(environment)],
        "pip install -r requirements.txt": [
            *pip,
            "install",
            "--quiet",
            "--no-cache-dir",
            "-r",
            "requirements.txt",
        ],
        "pip install .": [*pip, "install", "--quiet", "--no-cache-dir", "."],
        "pip check": [*pip, "check"],
    }
    for name, command in steps.items():
        start = time.monotonic()
        subprocess.run(command, cwd=repository, check=True, stdin=subprocess.DEVNULL)
        print(f"{time.monotonic() - start:6.1f} s  {name}", flush=True)
    return programs


def lab_command(folder: Path, port: int, token: str) -> list[str]:
    """JupyterLab on loopback, as Binder starts it."""
    return [
        str(folder / "environment" / "bin" / "jupyter"),
        "lab",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--no-browser",
        "--allow-root",
        f"--IdentityProvider.token={token}",
    ]


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to build; it is emptied first")
    parser.add_argument("--serve", action="store_true", help="then start JupyterLab")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    if folder.exists() and any(folder.iterdir()) and not (folder / "environment").exists():
        parser.error(f"folder must be new, empty or made by this command, got {folder}")
    try:
        prepare(folder)
        if options.serve:
            subprocess.run(lab_command(folder, 8888, "binder"), cwd=folder / "repository")
    except subprocess.CalledProcessError as error:
        print(f"failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
