"""The live lab as a widget: tokens that move in the browser, with a state that Python shares.

The simulation and the drawing are one JavaScript module, ``lab.js``; the page *Live lab* of the
book runs the same file without Python. This is the only module that imports ``anywidget``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from . import sphere
from ._checks import choice, integer, number
from ._layers import DIRECTIONS
from .attention import Attention
from .landscape import Landscape
from .measures import Measure
from .perceptrons import ACTIVATIONS, Perceptron

NORMALIZATIONS = ("unnormalized", "softmax")
#: Most tokens on the circle (Fourier sums) and on the sphere (all pairs).
MOST_TOKENS = {2: 2000, 3: 600}


class Lab(anywidget.AnyWidget):
    """Tokens on the circle or the sphere, live: a widget for notebooks (S4).

    The kernel is ``e^{beta (x.y - 1)}`` (``log_scale=-beta``), all masses are equal.

    Parameters
    ----------
    perceptron : Perceptron, optional
        Of dimension 2 or 3, with directions of length one, without biases, with a named
        activation. A pair of ReLU neurons when left out.
    beta : float
        Inverse temperature, between 0.01 and 1000.
    direction : {"descent", "ascent"}
        Against or along the field.
    normalization : {"unnormalized", "softmax"}
        Which field.
    n, seed : int
        Number of tokens, at most 2000 on the circle and 600 on the sphere, and the seed of the
        lab's own generator (not numpy's).
    playing : bool
        Whether it runs when shown.

    Attributes
    ----------
    t, energy, residual : float
        Of what is shown, as the browser last told them.

    Raises
    ------
    ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> lab = Lab(Perceptron([[1.0, 0.0]], [0.5], activation="gelu"), beta=2.0)
    >>> lab.landscape.attention.beta, lab.landscape.perceptron.activation.name
    (2.0, 'gelu')
    >>> lab.measure = Measure.from_angles([0.0, 1.0])
    >>> lab.measure.angles.round(6)
    array([0., 1.])
    """

    _esm = Path(__file__).with_name("lab.js")

    d = traitlets.Int(2).tag(sync=True)
    beta = traitlets.Float(4.0).tag(sync=True)
    direction = traitlets.Unicode("descent").tag(sync=True)
    normalization = traitlets.Unicode("unnormalized").tag(sync=True)
    activation = traitlets.Unicode("relu").tag(sync=True)
    directions = traitlets.List([[-0.99675, 0.08061, 0.0], [-0.61985, -0.78472, 0.0]]).tag(
        sync=True
    )
    weights = traitlets.List([0.63246, -0.46968]).tag(sync=True)
    n = traitlets.Int(300).tag(sync=True)
    seed = traitlets.Int(7).tag(sync=True)
    speed = traitlets.Float(0.1).tag(sync=True)
    playing = traitlets.Bool(False).tag(sync=True)
    t = traitlets.Float(0.0).tag(sync=True)
    energy = traitlets.Float(0.0).tag(sync=True)
    residual = traitlets.Float(0.0).tag(sync=True)
    start: Any = traitlets.Any(None).tag(sync=True)
    tokens: Any = traitlets.Any(None).tag(sync=True)

    def __init__(self, perceptron: Perceptron | None = None, **state: Any) -> None:
        unknown = sorted(set(state) - set(self.class_traits(sync=True)))
        if unknown:
            raise ValueError(f"Lab has no argument {unknown[0]!r}")
        if perceptron is not None:
            state = _neurons(perceptron) | state
        super().__init__(**state)

    @property
    def landscape(self) -> Landscape:
        """The `Landscape` that is shown."""
        rows = np.asarray(self.directions, dtype=float).reshape(len(self.weights), 3)[:, : self.d]
        attention = Attention(self.beta, log_scale=-self.beta)
        if not self.weights:
            return Landscape(attention)
        return Landscape(
            attention,
            Perceptron(sphere.project(rows), self.weights, activation=self.activation),
        )

    @property
    def measure(self) -> Measure:
        """Where the tokens are, a `Measure`; set it to start from there.

        Read while the lab plays, it is at most half a second old. ValueError before the lab is
        shown or a measure is set.
        """
        known = self.start if self.tokens is None else self.tokens
        if known is None:
            raise ValueError(
                "measure is not known before the lab is shown: set it, or show the lab first"
            )
        if self.d == 2:
            return Measure.from_angles(known)
        return Measure(sphere.project(np.reshape(known, (-1, 3))))

    @measure.setter
    def measure(self, mu: Measure) -> None:
        if not isinstance(mu, Measure):
            raise ValueError(f"measure must be a Measure, got {type(mu).__name__}")
        if mu.d not in MOST_TOKENS or mu.n > MOST_TOKENS[mu.d]:
            raise ValueError(
                "measure must live in dimension 2 with n <= 2000 or in dimension 3 with n <= 600, "
                f"got d = {mu.d}, n = {mu.n}"
            )
        if np.ptp(mu.masses) > 1e-12:
            raise ValueError("measure must have equal masses in the lab, got unequal ones")
        flat = (mu.angles if mu.d == 2 else mu.points.ravel()).tolist()
        with self.hold_sync():
            self.tokens = None
            self.d = mu.d
            self.start = flat

    @traitlets.validate("d", "n", "seed", "beta", "direction", "normalization", "activation")
    def _check(self, proposal: Any) -> Any:
        """Bad values are a ValueError here, not an empty picture there."""
        name, value = proposal["trait"].name, proposal["value"]
        if name in ("direction", "normalization", "activation"):
            known = {
                "direction": DIRECTIONS,
                "normalization": NORMALIZATIONS,
                "activation": ACTIVATIONS,
            }
            return choice(name, value, tuple(known[name]))
        if name == "beta":
            beta = number("beta", value, positive=True)
            if not 0.01 <= beta <= 1000:
                raise ValueError(f"beta must be between 0.01 and 1000 in the lab, got {beta}")
            return beta
        if name == "d" and value not in MOST_TOKENS:
            raise ValueError(f"d must be 2 or 3 in the lab, got {value}")
        if name == "n" and not 1 <= value <= 2000:
            raise ValueError(f"n must be between 1 and 2000 in the lab, got {value}")
        return integer(name, value, minimum=0)


def _neurons(perceptron: Perceptron) -> dict[str, Any]:
    """A perceptron as the lab's state."""
    if not isinstance(perceptron, Perceptron):
        raise ValueError(f"perceptron must be a Perceptron, got {type(perceptron).__name__}")
    if perceptron.d not in MOST_TOKENS:
        raise ValueError(f"perceptron must have dimension 2 or 3 in the lab, got {perceptron.d}")
    if np.any(perceptron.biases):
        raise ValueError("perceptron must have no biases in the lab, got some")
    if ACTIVATIONS.get(perceptron.activation.name) is not perceptron.activation:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)} in the lab")
    lengths = np.linalg.norm(perceptron.directions, axis=1)
    if np.abs(lengths - 1).max() > 1e-8:
        raise ValueError(f"directions must have length one in the lab, got {lengths}")
    rows = np.zeros((perceptron.k, 3))
    rows[:, : perceptron.d] = perceptron.directions
    return {
        "d": perceptron.d,
        "directions": rows.tolist(),
        "weights": perceptron.weights.tolist(),
        "activation": perceptron.activation.name,
    }
