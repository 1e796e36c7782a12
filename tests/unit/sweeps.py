"""Configurations and functions that workers can import, for the tests of ensembles."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: Numbers whose process dies, or whose result is no JSON.
DEADLY, ODD = 666.0, 667.0


@dataclass(frozen=True)
class Point:
    """A number, and what to do besides."""

    x: float
    seconds: float = 0.0
    marks: str = ""


def square(c: Point) -> dict:
    """Square, with a mark for each call; negative numbers fail."""
    if c.marks:
        handle = Path(c.marks) / f"{c.x}-{os.getpid()}-{time.monotonic_ns()}"
        handle.touch()
    time.sleep(c.seconds)
    if c.x == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    if c.x == ODD:
        return {"square": c}
    if c.x < 0:
        raise ArithmeticError(f"no root of {c.x}")
    return {"square": float(np.exp(2 * np.log(c.x))) if c.x else 0.0}
