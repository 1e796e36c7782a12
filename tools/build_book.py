"""Build the site: run every notebook afresh, with warnings as errors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run jupyter-book on the root of the project and move the site to _build/html."""
    import jupyter_book

    if not jupyter_book.__version__.startswith("1."):
        print(f"Jupyter Book 1 is needed, found {jupyter_book.__version__}", file=sys.stderr)
        return 1
    shutil.rmtree(ROOT / "_build" / "html", ignore_errors=True)
    shutil.rmtree(ROOT / "_build" / ".doctrees", ignore_errors=True)
    shutil.rmtree(ROOT / "_build" / "jupyter_execute", ignore_errors=True)
    command = [sys.executable, "-m", "jupyter_book", "build", "-W", "-n", "--keep-going", str(ROOT)]
    environment = os.environ | {"PYTHONWARNINGS": "ignore::DeprecationWarning:jupyter_client"}
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if code:
        print("The build failed: the warnings above count as errors.", file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
