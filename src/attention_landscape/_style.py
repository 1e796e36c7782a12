"""The look of every figure: colours, sizes, and the checks of what is drawn. Needs matplotlib."""

from __future__ import annotations

from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patheffects import AbstractPathEffect, withStroke

from ._checks import Array, number
from .landscape import Landscape
from .measures import Measure

#: Okabe and Ito's colours, which people with any colour vision can tell apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#1A1A1A")
INK, PAPER, GREY = "#1A1A1A", "#FFFFFF", "#767676"
POSITIVE, NEGATIVE, MEASURE = "#D55E00", "#0072B2", "#00664B"
NEGATIVE_INK = "#00446B"
NEGATIVE_HATCH, INACTIVE_HATCH = "////", "...."

#: The potential: blue where negative, white at zero, vermilion where positive.
SIGNED = LinearSegmentedColormap.from_list("signed", [NEGATIVE, PAPER, POSITIVE])

_DASHES: list[Any] = ["-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (3, 1)), (0, (1, 1))]

#: Opaque white with dark text reads on light and on dark pages.
RC: dict[str, Any] = {
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "figure.figsize": (7.0, 3.8),
    "figure.dpi": 144,
    "figure.constrained_layout.use": True,
    "font.size": 10.5,
    "axes.labelsize": 10.5,
    "axes.titlesize": 11,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 10,
    "legend.framealpha": 0.85,
    "legend.edgecolor": PAPER,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "hatch.linewidth": 0.7,
    "axes.prop_cycle": cycler(color=list(PALETTE)) + cycler(linestyle=_DASHES),
}


def style() -> None:
    """Set matplotlib's defaults to the look of the book; importing the figures does it once.

    White opaque faces, dark text of 10 points and more on figures 7 inches wide, Okabe and
    Ito's colours, and a line style that changes with the colour.

    Examples
    --------
    >>> style()
    >>> plt.rcParams["figure.facecolor"]
    '#FFFFFF'
    """
    plt.rcParams.update(cast(Any, RC))


def axes(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
    """Return ``ax``, or the axes of a new figure."""
    if ax is None:
        layout = "constrained" if figsize is None else "compressed"
        return plt.subplots(figsize=figsize, layout=layout)[1]
    if not isinstance(ax, Axes):
        raise ValueError(f"ax must be a matplotlib Axes or None, got {type(ax).__name__}")
    return ax


def check_pair(landscape: Landscape, measure: Measure, d: int) -> None:
    """Refuse what is not a landscape with a measure on the sphere of ``R^d``."""
    if not isinstance(landscape, Landscape):
        raise ValueError(f"landscape must be a Landscape, got {type(landscape).__name__}")
    if not isinstance(measure, Measure):
        raise ValueError(f"measure must be a Measure, got {type(measure).__name__}")
    if measure.d != d:
        raise ValueError(f"measure must live in dimension d = {d}, got d = {measure.d}")
    if landscape.perceptron is not None and landscape.perceptron.d != d:
        raise ValueError(
            f"landscape must have a perceptron in dimension d = {d}, "
            f"got d = {landscape.perceptron.d}"
        )


def check_title(title: str | None) -> str:
    """Return the title, empty for None."""
    if title is not None and not isinstance(title, str):
        raise ValueError(f"title must be a string or None, got {type(title).__name__}")
    return title or ""


def color_limit(limit: float | None, values: Array) -> float:
    """Return where the colours saturate: ``limit``, or the largest absolute value, or one."""
    if limit is not None:
        return number("limit", limit, positive=True)
    return float(np.abs(values).max(initial=0.0)) or 1.0


def dot_areas(masses: Array) -> Array:
    """Return areas of dots in square points, proportional to mass, the largest at least 6."""
    return np.asarray(masses * max(500.0, 6.0 / masses.max()))


def halo(width: float = 2.5) -> list[AbstractPathEffect]:
    """Return a white outline, which keeps text and lines readable on any fill."""
    return [withStroke(linewidth=width, foreground=PAPER)]
