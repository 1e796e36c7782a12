"""Draw the README's figure, where 60 tokens settle, and the card for link previews.

Usage: readme_figure.py FIGURE.png CARD.png
"""

from __future__ import annotations

import io
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

import attention_landscape as al

BETA, SEED = 1.0, 777


def main() -> int:
    """Follow ascent and descent from one start, without a perceptron and with two."""
    directions = [[-0.99675, 0.08061], [-0.61985, -0.78472]]
    weights = [0.63246, -0.46968]
    perceptrons = {
        "pure attention": None,
        "with ReLU": al.Perceptron(directions, weights, activation="relu"),
        "with GELU": al.Perceptron(directions, weights, activation="gelu"),
    }
    tokens = al.Measure.uniform(60, 2, rng=SEED)
    rows = []
    for direction in ("ascent", "descent"):
        row = []
        for name, perceptron in perceptrons.items():
            landscape = al.Landscape(al.Attention(BETA, log_scale=-BETA), perceptron)
            path = al.gradient_flow(
                landscape, tokens, direction=direction, t_max=5000.0, stationary_tol=1e-5
            )
            flat = perceptron is None and direction == "descent"  # nothing to polish
            end = path.final if flat else al.polish(landscape, path.final).measure
            row.append((landscape, end, f"{name}, {direction}"))
        rows.append(row)
    figure = al.figures.portrait_grid(rows)
    figure.savefig(sys.argv[1], dpi=110, bbox_inches="tight", metadata={"Software": None})
    descent = io.BytesIO()
    al.figures.portrait_grid(rows[1:]).savefig(descent, dpi=150, bbox_inches="tight")
    descent.seek(0)
    draw_card(descent, sys.argv[2])
    return 0


def draw_card(picture: io.BytesIO, card: str) -> None:
    """A picture under the title, 1200 by 630, the size that link previews want."""
    figure = plt.figure(figsize=(12, 6.3), layout="none")
    figure.text(0.5, 0.92, "Attention's mean-field landscape", size=34, ha="center", va="center")
    figure.text(0.5, 0.84, "a computational companion", size=22, ha="center", va="center")
    axes = figure.add_axes((0.02, 0.01, 0.96, 0.79))
    axes.imshow(plt.imread(picture))
    axes.set_axis_off()
    figure.savefig(card, dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    sys.exit(main())
