"""What portraits share: frame, text and the key of colours and marks. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ._style import GREY, INACTIVE_HATCH, INK, MEASURE, NEGATIVE_HATCH, NEGATIVE_INK, PAPER, SIGNED
from .landscape import Landscape
from .perceptrons import Perceptron


def frame(ax: Axes, title: str, note: str, edge: float) -> None:
    """Fix the box of a portrait, with a line of text below it."""
    ax.set(xlim=(-edge, edge), ylim=(-1.14 * edge, edge), aspect="equal", title=title)
    ax.set_axis_off()
    ax.text(0, -1.14 * edge, note, ha="center", va="bottom", fontsize=9.5, in_layout=False)


def has_inactive(perceptron: Perceptron) -> bool:
    """Say whether the perceptron can have places where no neuron acts."""
    return perceptron.activation.name == "relu"


def count_text(n: int) -> str:
    """Say how many atoms."""
    return f"{n} atom" if n == 1 else f"{n} atoms"


def mass_text(m: float) -> str:
    """Write a mass with two decimals."""
    return f"{m:.2f}" if m >= 0.01 else f"{m:.1g}"


def key(
    figure: Figure | SubFigure,
    axs: list[Axes],
    landscapes: Sequence[Landscape],
    limit: float,
    *ds: int,
) -> None:
    """Explain colours, hatches and marks below a figure."""
    perceptrons = [item.perceptron for item in landscapes if item.perceptron is not None]
    handles: list[Patch | Line2D] = []
    if perceptrons:
        scale = ScalarMappable(Normalize(-limit, limit), SIGNED)
        bar = figure.colorbar(scale, ax=axs, location="bottom", aspect=28, shrink=0.7, pad=0.02)
        bar.set_label("potential $v$ (hatched where negative)")
        bar.set_ticks([-limit, 0.0, limit], labels=[f"−{limit:.2g}", "0", f"+{limit:.2g}"])
        span = bar.ax.axvspan(-limit, 0, facecolor="none", edgecolor=NEGATIVE_INK, linewidth=0)
        span.set_hatch(NEGATIVE_HATCH)
        if any(has_inactive(p) for p in perceptrons):
            swatch = Patch(facecolor=PAPER, edgecolor=GREY, hatch=INACTIVE_HATCH)
            swatch.set_label("no neuron active")
            handles.append(swatch)
        if 2 in ds:
            handles.append(Line2D([], [], color=INK, linestyle="-", label="neuron, $w_j > 0$"))
            dashes = (0, (2.5, 1.5))
            handles.append(Line2D([], [], color=INK, linestyle=dashes, label="neuron, $w_j < 0$"))
        if 3 in ds:
            mark: dict[str, Any] = {
                "marker": "^",
                "linestyle": "none",
                "color": INK,
                "markersize": 7,
            }
            handles.append(Line2D([], [], label="neuron (hollow: behind)", **mark))
    drawn = {artist.get_gid() for ax in axs for artist in ax.get_children()}
    if "needles" in drawn:
        pin: dict[str, Any] = {"marker": "o", "markevery": [-1], "linestyle": "-", "linewidth": 2.2}
        handles.append(Line2D([], [], label="atom (length: mass)", color=MEASURE, **pin))
    if "uniform" in drawn:
        handles.append(Patch(facecolor=MEASURE, label="tokens (area: mass)"))
        handles.append(Line2D([], [], color=INK, linestyle=":", label="uniform law"))
    if 3 in ds:
        dot: dict[str, Any] = {
            "marker": "o",
            "linestyle": "none",
            "color": MEASURE,
            "markersize": 7,
        }
        handles.append(Line2D([], [], label="atom in front", **dot))
        handles.append(Line2D([], [], label="atom behind", markerfacecolor="none", **dot))
    if handles:
        columns = 3 if figure.bbox.width / figure.dpi > 6 else 2
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=2.2,
                      columnspacing=1.2)  # fmt: skip
