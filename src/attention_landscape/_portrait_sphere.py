"""The portrait of a measure on the sphere of R^3, and grids of portraits. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Patch, PathPatch

from . import sphere
from ._checks import Array, number
from ._portrait_circle import MOST_NEEDLES, circle_portrait
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
    dot_areas,
    halo,
)
from .landscape import Landscape
from .measures import Measure
from .perceptrons import Perceptron


def sphere_portrait(
    landscape: Landscape,
    measure: Measure,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    limit: float | None = None,
    elevation: float = 25.0,
    azimuth: float = 30.0,
) -> Axes:
    """Draw the sphere of ``R^3`` seen from afar, filled by the potential, with the atoms as dots.

    The fill is as in `circle_portrait`. The area of a dot is proportional to the mass; atoms
    behind the sphere are hollow. Neurons are triangles at ``a_j/|a_j|``, hollow when behind.
    Atoms within 0.001 are joined.

    Parameters
    ----------
    landscape : Landscape
        On the sphere of ``R^3``.
    measure : Measure
        On the sphere of ``R^3``.
    ax, title, limit
        As for `circle_portrait`.
    elevation, azimuth : float
        Direction of the viewer, in degrees.

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
    >>> landscape = Landscape(Attention(beta=1.0), Perceptron.random(3, rng=777))
    >>> ax = sphere_portrait(landscape, Measure.uniform(100, 3, rng=0), title="Tokens")
    >>> ax.get_title()
    'Tokens'
    """
    check_pair(landscape, measure, 3)
    title = check_title(title)
    view = _view(number("elevation", elevation), number("azimuth", azimuth))
    perceptron = landscape.perceptron
    side = np.linspace(-1.0, 1.0, 241)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    plane /= np.maximum(np.linalg.norm(plane, axis=1, keepdims=True), 1.0)
    depth = np.sqrt(np.maximum(1 - np.sum(plane**2, axis=1), 0.0))
    seen = sphere.project(np.column_stack([plane, depth]) @ view)
    values = np.zeros(len(seen)) if perceptron is None else perceptron.potential(seen)
    limit = color_limit(limit, values)
    own = ax is None
    ax = axes(ax, (4.6, 5.2))
    rim = ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=INK, linewidth=1.3, zorder=3))
    if perceptron is not None:
        image = values.reshape(side.size, side.size)
        norm = Normalize(-limit, limit)
        box = (-1.0, 1.0, -1.0, 1.0)
        shown = ax.imshow(image, cmap=SIGNED, norm=norm, extent=box, origin="lower", zorder=1)
        shown.set(interpolation="bilinear", clip_path=rim, gid="potential")
        _hatch_plane(ax, side, -image, 1e-9 * limit, rim, NEGATIVE_INK, NEGATIVE_HATCH, "negative")
        if has_inactive(perceptron):
            top = perceptron._preactivations(seen).max(axis=1).reshape(image.shape)
            _hatch_plane(ax, side, -top, 0.0, rim, GREY, INACTIVE_HATCH, "inactive")
    _graticule(ax, view)
    if perceptron is not None:
        _mark_neurons(ax, perceptron, view)
    atoms = measure.merged(1e-3)
    places = atoms.points @ view.T
    areas = dot_areas(atoms.masses)
    for front in (False, True):
        pick = (places[:, 2] >= 0) == front
        dots = ax.scatter(places[pick, 0], places[pick, 1], s=areas[pick], zorder=5 + front)
        dots.set(facecolor=MEASURE if front else "none", edgecolor=PAPER if front else MEASURE)
        dots.set(linewidth=0.07 * np.sqrt(areas.max()) if front else 0.9)
        dots.set_gid("front" if front else "back")
        if not front and atoms.n > MOST_NEEDLES:
            dots.set_alpha(0.6)
        elif not front:
            dots.set(linewidth=1.3, path_effects=halo(3))
    note = f"{count_text(atoms.n)}, heaviest {mass_text(atoms.masses.max())}"
    frame(ax, title, note, edge=1.12)
    if own:
        key(ax.figure, [ax], [landscape], limit, 3)
    return ax


def portrait_grid(
    rows: Sequence[Sequence[tuple[Landscape, Measure, str]]], *, limit: float | None = None
) -> Figure:
    """Draw portraits side by side, with one scale of colours and one key.

    Parameters
    ----------
    rows : sequence of rows
        A row is a sequence of ``(landscape, measure, title)``, on the circle or on the sphere of
        ``R^3``; rows may differ in length.
    limit : float, optional
        ``|v|`` at which the colours saturate; the largest over all portraits when left out.

    Returns
    -------
    Figure
        Seven inches wide, narrower with one or two columns (larger text on a phone).

    Raises
    ------
    ValueError
        If ``rows`` is empty or holds something else.

    Examples
    --------
    >>> from attention_landscape import Attention
    >>> landscape = Landscape(Attention(beta=1.0))
    >>> figure = portrait_grid([[(landscape, Measure.from_angles([0.0]), "One Dirac")]])
    >>> figure.axes[0].get_title()
    'One Dirac'
    """
    table = _table(rows)
    columns = max(len(row) for row in table)
    cells = [cell for row in table for cell in row]
    if limit is None:
        probes = {d: sphere.uniform(4000, d, rng=0) for d in (2, 3)}
        potentials = [
            landscape.perceptron.potential(probes[landscape.perceptron.d])
            for landscape, _, _ in cells
            if landscape.perceptron is not None
        ]
        limit = color_limit(None, np.concatenate([[0.0], *potentials]))
    limit = number("limit", limit, positive=True)
    width = {1: 3.8, 2: 5.0}.get(columns, 7.0)
    height = len(table) * (1.07 * width / columns + 0.35) + 1.25
    figure, grid = plt.subplots(
        len(table), columns, figsize=(width, height), squeeze=False, layout="compressed"
    )
    engine: Any = figure.get_layout_engine()
    engine.set(h_pad=0.12)
    for row, line in zip(table, grid, strict=True):
        for ax in line[len(row) :]:
            ax.set_axis_off()
        for (landscape, measure, title), ax in zip(row, line, strict=False):
            draw = circle_portrait if measure.d == 2 else sphere_portrait
            draw(landscape, measure, ax=ax, title=title, limit=limit)
    dimensions = {measure.d for _, measure, _ in cells}
    key(figure, list(grid.ravel()), [cell[0] for cell in cells], limit, *dimensions)
    return figure


def _table(
    rows: Sequence[Sequence[tuple[Landscape, Measure, str]]],
) -> list[list[tuple[Landscape, Measure, str]]]:
    """Check the rows of a grid."""
    try:
        table = [[(landscape, measure, title) for landscape, measure, title in r] for r in rows]
    except (TypeError, ValueError):
        raise ValueError("rows must hold rows of (landscape, measure, title)") from None
    if not table or not all(table):
        raise ValueError("rows must have at least one row, and each row one portrait")
    for row in table:
        for landscape, measure, title in row:
            d = 3 if isinstance(measure, Measure) and measure.d == 3 else 2
            check_pair(landscape, measure, d)
            check_title(title)
    return table


def _view(elevation: float, azimuth: float) -> Array:
    """Rows: right, up and towards the viewer."""
    e, a = np.radians(elevation), np.radians(azimuth)
    right = [-np.sin(a), np.cos(a), 0.0]
    up = [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]
    return np.array([right, up, [np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)]])


def _hatch_plane(
    ax: Axes, side: Array, height: Array, level: float, rim: Patch, color: str, hatch: str,
    name: str,
) -> None:  # fmt: skip
    """Hatch where ``height > level``."""
    if height.max() <= level:
        return
    region = ax.contourf(side, side, height, levels=[level, float(height.max()) + 1.0])
    paths = region.get_paths()
    region.remove()
    for path in paths:
        patch = PathPatch(path, facecolor="none", edgecolor=color, hatch=hatch, linewidth=0)
        patch.set(zorder=2, gid=name)
        ax.add_patch(patch)
        patch.set_clip_path(rim)


def _graticule(ax: Axes, view: Array) -> None:
    t = np.linspace(0, 2 * np.pi, 241)
    curves = [
        np.column_stack([np.cos(b) * np.cos(t), np.cos(b) * np.sin(t), np.full_like(t, np.sin(b))])
        for b in np.radians([-60, -30, 0, 30, 60])
    ]
    curves += [
        np.column_stack([np.cos(t) * np.cos(b), np.cos(t) * np.sin(b), np.sin(t)])
        for b in np.radians([0, 30, 60, 90, 120, 150])
    ]
    for curve in curves:
        x, y, depth = view @ curve.T
        x[depth < 0] = np.nan
        ax.plot(x, y, color=GREY, linewidth=0.5, alpha=0.6, linestyle="-", zorder=2.2)


def _mark_neurons(ax: Axes, perceptron: Perceptron, view: Array) -> None:
    lengths = np.linalg.norm(perceptron.directions, axis=1)
    for j in np.flatnonzero(lengths > 0):
        x, y, depth = view @ (perceptron.directions[j] / lengths[j])
        fill = INK if depth >= 0 else "none"
        ax.scatter(x, y, marker="^", s=42, facecolor=fill, edgecolor=INK, zorder=6.5)
        ax.annotate(
            f"$a_{{{j + 1}}}$", (x, y), (5, 5), textcoords="offset points", fontsize=10.5,
            path_effects=halo(), zorder=7,
        )  # fmt: skip
