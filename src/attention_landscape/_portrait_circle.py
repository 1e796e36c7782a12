"""The portrait of a measure in its landscape on the circle. Needs matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import Normalize
from matplotlib.patches import Circle, FancyArrowPatch, Wedge
from numpy.typing import NDArray

from . import sphere
from ._checks import Array
from ._portrait_key import count_text, frame, has_inactive, key, mass_text
from ._style import (
    GREY,
    INACTIVE_HATCH,
    INK,
    MEASURE,
    NEGATIVE_HATCH,
    NEGATIVE_INK,
    PAPER,
    SIGNED,
    axes,
    check_pair,
    check_title,
    color_limit,
    halo,
)
from .landscape import Landscape
from .measures import Measure
from .perceptrons import Perceptron

#: With more atoms than this the measure is drawn as a histogram.
MOST_NEEDLES = 40

_GRID, _BINS = 1440, 60
_NEEDLE, _RING = 0.45, 0.55  # the longest needle; squared height of the uniform law's ring


def circle_portrait(
    landscape: Landscape,
    measure: Measure,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    limit: float | None = None,
) -> Axes:
    """Draw the potential inside the circle and the measure outside it.

    The disc is filled by ``v``, constant along rays: vermilion and "+" where positive, blue,
    hatched and "-" where negative, dotted where no neuron of a ReLU perceptron is active. Arrows
    are the neurons ``a_j``, dashed when ``w_j < 0``. Up to 40 atoms are needles whose length is
    proportional to their mass; more atoms are a histogram whose area is, and a dotted ring of
    the same area shows the uniform law. Of more than 40 atoms, those within 0.005 are first
    joined, if this makes groups of at most 0.02 radians.

    Parameters
    ----------
    landscape : Landscape
        On the circle; without perceptron the disc is plain.
    measure : Measure
        On the circle.
    ax : Axes, optional
        A new figure, with a key, when left out.
    title : str, optional
        Above the portrait.
    limit : float, optional
        ``|v|`` at which the colours saturate, to share between portraits; ``max |v|`` when
        left out.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If an argument is of the wrong kind or lives in another dimension.

    Examples
    --------
    >>> from attention_landscape import Attention
    >>> landscape = Landscape(Attention(beta=1.0), Perceptron([[1.0, 0.0]], [0.5]))
    >>> ax = circle_portrait(landscape, Measure.from_angles([0.5, 3.0]), title="Two atoms")
    >>> ax.get_title()
    'Two atoms'
    """
    check_pair(landscape, measure, 2)
    title = check_title(title)
    perceptron = landscape.perceptron
    angles = np.linspace(0.0, 2 * np.pi, _GRID + 1)
    values = np.zeros_like(angles)
    if perceptron is not None:
        values = perceptron.potential(sphere.from_angles(angles))
    limit = color_limit(limit, values)
    own = ax is None
    ax = axes(ax, (4.6, 5.4))
    if perceptron is not None:
        _fill_disc(ax, perceptron, angles, values, limit)
    ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=INK, linewidth=1.3, zorder=3))
    if perceptron is not None:
        _draw_signs(ax, perceptron, angles, values, limit)
        _draw_neurons(ax, perceptron)
    drawn = _draw_measure(ax, measure)
    frame(ax, title, count_text(drawn), edge=1.8)
    if own:
        key(ax.figure, [ax], [landscape], limit, 2)
    return ax


def _runs(mask: NDArray[np.bool_], angles: Array) -> list[tuple[float, float]]:
    """Arcs ``(start, stop)`` where a mask on a closed grid of angles is true."""
    if mask.all():
        return [(float(angles[0]), float(angles[-1]))]
    inside = mask[:-1].astype(int)
    starts = np.flatnonzero(np.diff(inside, prepend=inside[-1]) == 1)
    stops = np.flatnonzero(np.diff(inside, append=inside[0]) == -1) + 1
    if starts.size and stops[0] <= starts[0]:
        stops = np.roll(stops, -1)
    turn = 2 * np.pi
    return [
        (float(angles[i]), float(angles[j]) + (turn if j <= i else 0.0))
        for i, j in zip(starts, stops, strict=True)
    ]


def _fill_disc(
    ax: Axes, perceptron: Perceptron, angles: Array, values: Array, limit: float
) -> None:
    side = np.linspace(-1.0, 1.0, 501)
    theta = np.mod(np.arctan2(side[:, None], side[None, :]), 2 * np.pi)
    image = ax.imshow(
        np.interp(theta, angles, values), cmap=SIGNED, norm=Normalize(-limit, limit),
        extent=(-1.0, 1.0, -1.0, 1.0), origin="lower", interpolation="bilinear", zorder=1,
    )  # fmt: skip
    image.set(clip_path=Circle((0, 0), 1.0, transform=ax.transData), gid="potential")
    sectors = [("negative", NEGATIVE_INK, NEGATIVE_HATCH, values < -1e-9 * limit)]
    if has_inactive(perceptron):
        idle = perceptron.inactive(sphere.from_angles(angles))
        sectors.append(("inactive", GREY, INACTIVE_HATCH, idle))
    for name, color, hatch, mask in sectors:
        for start, stop in _runs(mask, angles):
            wedge = Wedge((0, 0), 1.0, np.degrees(start), np.degrees(stop), linewidth=0, zorder=2)
            wedge.set(facecolor="none", edgecolor=color, hatch=hatch, gid=name)
            ax.add_patch(wedge)


def _draw_signs(
    ax: Axes, perceptron: Perceptron, angles: Array, values: Array, limit: float
) -> None:
    """Write + or - in each sector, away from the arrows and where the potential is large."""
    neurons = np.arctan2(perceptron.directions[:, 1], perceptron.directions[:, 0])
    for sign, text in ((1, "+"), (-1, "−")):
        signed = sign * values
        for start, stop in _runs(signed > 0.02 * limit, angles):
            t = np.linspace(start, stop, 181)
            size = np.interp(t, angles, signed, period=2 * np.pi)
            apart = np.abs(np.angle(np.exp(1j * (t[:, None] - neurons)))).min(axis=1)
            score = np.minimum(apart, 0.6) * np.where(size >= 0.4 * size.max(), 1.0, 0.1)
            score *= np.sin(np.linspace(0, np.pi, t.size)) ** 0.5
            best = t[np.argmax(score)]
            ax.text(
                0.8 * np.cos(best), 0.8 * np.sin(best), text, ha="center", va="center",
                fontsize=13, fontweight="bold", path_effects=halo(3), zorder=4,
            )  # fmt: skip


def _draw_neurons(ax: Axes, perceptron: Perceptron) -> None:
    lengths = np.linalg.norm(perceptron.directions, axis=1)
    for j, (a, w) in enumerate(zip(perceptron.directions, perceptron.weights, strict=True)):
        if lengths[j] == 0:
            continue
        tip = 0.58 * a / lengths.max()
        arrow = FancyArrowPatch((0, 0), tuple(tip), arrowstyle="-|>", shrinkA=0, shrinkB=0)
        arrow.set(color=INK, linewidth=1.5, zorder=4, mutation_scale=11, gid=f"neuron {j + 1}")
        arrow.set(linestyle="-" if w >= 0 else (0, (2.5, 1.5)), path_effects=halo(3.5))
        ax.add_patch(arrow)
        if perceptron.k <= 12:
            place = tip + 0.15 * a / lengths[j]
            ax.text(
                float(place[0]), float(place[1]), f"$a_{{{j + 1}}}$", ha="center", va="center",
                fontsize=10.5, path_effects=halo(), zorder=5,
            )  # fmt: skip


def _draw_measure(ax: Axes, measure: Measure) -> int:
    """Draw needles or a histogram, and return how many atoms they show."""
    atoms = _needles_of(measure)
    if atoms is None:
        _draw_histogram(ax, measure)
        return measure.n
    t, m = atoms.angles, atoms.masses
    ray = sphere.from_angles(t)
    tips = (1 + _NEEDLE * m / m.max())[:, None] * ray
    ax.add_collection(
        LineCollection(list(np.stack([ray, tips], axis=1)), colors=MEASURE, linewidths=2.2,
                       zorder=4, gid="needles")
    )  # fmt: skip
    ax.scatter(tips[:, 0], tips[:, 1], s=20, color=MEASURE, zorder=5, gid="tips")
    labelled: list[float] = []
    for i in np.argsort(-m, kind="stable")[:8]:
        if all(abs(np.angle(np.exp(1j * (t[i] - other)))) > 0.42 for other in labelled):
            labelled.append(float(t[i]))
            ax.annotate(
                mass_text(m[i]), tips[i], ray[i] * (17, 11), textcoords="offset points",
                ha="center", va="center", fontsize=9.5, path_effects=halo(2), zorder=5,
                in_layout=False,
            )  # fmt: skip
    return atoms.n


def _needles_of(measure: Measure) -> Measure | None:
    """Return the atoms to draw as needles, or None when there are too many."""
    atoms = measure.merged(1e-6)
    if atoms.n <= MOST_NEEDLES:
        return atoms
    order = np.sort(atoms.angles)
    gaps = np.diff(order, append=order[0] + 2 * np.pi)
    cuts = np.flatnonzero(gaps > 0.005)
    if not 0 < cuts.size <= MOST_NEEDLES:
        return None
    extents = np.diff(np.concatenate([cuts, [cuts[0] + order.size]]))  # atoms in each group
    turns = np.concatenate([order, order + 2 * np.pi])
    widths = turns[cuts + extents] - turns[cuts + 1]
    return atoms.merged(0.005) if widths.max() <= 0.02 else None


def _draw_histogram(ax: Axes, measure: Measure) -> None:
    edges = np.linspace(0.0, 2 * np.pi, _BINS + 1)
    mass = np.histogram(measure.angles, bins=edges, weights=measure.masses)[0]
    density = mass * _BINS  # one for the uniform law
    ring = min(_RING, ((1 + _NEEDLE) ** 2 - 1) / density.max())
    degrees = np.degrees(edges)
    bars = [
        Wedge((0, 0), r, degrees[i], degrees[i + 1], width=r - 1)
        for i, r in enumerate(np.sqrt(1 + ring * density))
        if density[i] > 0
    ]
    kind: dict[str, Any] = {
        "facecolor": MEASURE,
        "edgecolor": PAPER,
        "linewidth": 0.4,
        "zorder": 2.5,
    }
    ax.add_collection(PatchCollection(bars, gid="histogram", **kind))
    level = Circle((0, 0), np.sqrt(1 + ring), fill=False, edgecolor=INK, linestyle=":", zorder=4)
    level.set(linewidth=1.2, gid="uniform")
    ax.add_patch(level)
