"""A slider over figures drawn beforehand. This is the only module that imports ipywidgets."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Iterable
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image


def slider(
    draw: Callable[[Any], Figure],
    values: Iterable[Any],
    *,
    label: str,
    alt: Callable[[Any], str],
    text: Callable[[Any], str] = str,
    start: int = 0,
) -> Any:
    """Show one figure for each value of a slider, all drawn before it moves.

    The slider needs no kernel: the pages of the book move it too.

    Parameters
    ----------
    draw : callable
        From a value to a new matplotlib figure, which is closed here.
    values : iterable
        At least two.
    label : str
        What stands before the slider.
    alt : callable
        From a value to what the figure shows, for those who do not see it.
    text : callable
        From a value to what stands after the slider; each must give another text.
    start : int
        Index of the value shown first.

    Returns
    -------
    ipywidgets.VBox
        The slider above the figure.

    Raises
    ------
    ValueError
        If there are fewer than two values, two have the same text, an alternative text is empty,
        ``start`` is no index, or ``draw`` returns no figure.

    Examples
    --------
    >>> def draw(n):
    ...     fig, ax = plt.subplots()
    ...     _ = ax.plot(range(n))
    ...     return fig
    >>> box = slider(draw, [2, 3], label="n", alt=lambda n: f"a line through {n} points")
    >>> box.children[0].options, len(box.children[1].children)
    (('2', '3'), 2)
    """
    import ipywidgets

    values = list(values)
    names = [text(value) for value in values]
    if len(values) < 2 or len(set(names)) < len(names):
        raise ValueError(f"values must be at least two with different texts, got {names}")
    if start not in range(len(values)):
        raise ValueError(f"start must be an index below {len(values)}, got {start!r}")
    pictures = [ipywidgets.HTML(_picture(draw(value), alt(value))) for value in values]
    control = ipywidgets.SelectionSlider(
        options=names,
        index=start,
        description=label,
        style={"description_width": "initial"},
        layout={"width": "min(100%, 32em)"},
    )
    stack = ipywidgets.Stack(pictures, selected_index=start)
    ipywidgets.jslink((control, "index"), (stack, "selected_index"))
    return ipywidgets.VBox([control, stack])


def _picture(figure: Any, alt: Any) -> str:
    """A figure as an ``img`` element that holds its own bytes."""
    if not isinstance(figure, Figure):
        raise ValueError(f"draw must return a matplotlib Figure, got {type(figure).__name__}")
    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=110)
    plt.close(figure)
    if not isinstance(alt, str) or not alt:
        raise ValueError(f"alt must return a text that is not empty, got {alt!r}")
    # few colours: lines on white paper need no more, and the page stays light
    Image.open(drawn).convert("RGB").quantize(48).save(small, format="PNG", optimize=True)
    data = base64.b64encode(small.getvalue()).decode("ascii")
    return f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{data}">'
