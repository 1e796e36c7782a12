"""Write the problem set's student version, in a folder where nbgrader can grade.

problems.py [FOLDER]; the folder is _build/problems when left out. Submissions in it stay.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MASTER = ROOT / "teaching" / "problem-set.ipynb"
NAME = MASTER.stem

CONFIG = """c = get_config()
c.CourseDirectory.course_id = "attention-landscape"
c.CourseDirectory.db_assignments = [dict(name="problem-set")]
c.ClearSolutions.code_stub = {"python": 'raise NotImplementedError("write your answer here")'}
c.Execute.timeout = 60
"""


def nbgrader(folder: Path, *arguments: str) -> None:
    """Run nbgrader in a folder; its own helper programs stand beside it."""
    programs = Path(sys.executable).parent
    path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    command = [str(programs / "nbgrader"), *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"nbgrader {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")


def assign(folder: Path) -> Path:
    """Write the folder and return the student's notebook."""
    source = folder / "source" / NAME
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    shutil.copy(MASTER, source)
    (folder / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
    nbgrader(folder, "generate_assignment", NAME, "--create", "--force")
    return folder / "release" / NAME / MASTER.name


def main(folder: Path = ROOT / "_build" / "problems") -> int:
    """Write the student's version and say where it is."""
    try:
        print(f"The student's notebook is {assign(folder)}")
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    print("How to collect and grade: teaching/README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(*[Path(a).resolve() for a in sys.argv[1:2]]))
