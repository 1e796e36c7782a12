"""Draw the figure of README.md: where 60 tokens settle. Usage: readme_figure.py FILE.png"""

from __future__ import annotations

import sys

import matplotlib

matplotlib.use("Agg")

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
    return 0


if __name__ == "__main__":
    sys.exit(main())
