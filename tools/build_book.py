"""Build the site: run every notebook afresh, with warnings as errors. build_book.py [FOLDER]"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(folder: Path = ROOT) -> int:
    """Run Jupyter Book on a folder; the site is _build/html in it afterwards."""
    import jupyter_book

    if not jupyter_book.__version__.startswith("1."):
        print(f"Jupyter Book 1 is needed, found {jupyter_book.__version__}", file=sys.stderr)
        return 1
    for name in ("html", ".doctrees", "jupyter_execute"):
        shutil.rmtree(folder / "_build" / name, ignore_errors=True)
    program = Path(sys.executable).with_name("jupyter-book")
    command = [program, "build", "-W", "-n", "--keep-going", "."]
    environment = {"OPENBLAS_NUM_THREADS": "1"} | os.environ
    environment.pop("MPLBACKEND", None)  # the kernel's own choice shows figures, Agg does not
    code = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, check=False
    ).returncode
    if code:
        print("The build failed: every warning above counts as an error.", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(*[Path(a).resolve() for a in sys.argv[1:2]]))
