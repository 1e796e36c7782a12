"""Derivatives of the attention kernel for all pairs of atoms, in tangent frames."""

from __future__ import annotations

import numpy as np

from ._checks import Array
from .attention import Attention


def pair_blocks(attention: Attention, x: Array, frames: Array) -> tuple[Array, Array, Array]:
    """Kernel ``p e^{x_i . z_j}`` of all pairs, its slope in the target, its mixed derivative.

    Parameters
    ----------
    attention : Attention
        With prefactor ``p``.
    x : (n, d) array
        Unit rows.
    frames : (n, q, d) array
        Tangent frames, ``q = d - 1``.

    Returns
    -------
    kernel : (n, n) array
    slope : (n, q, n) array
        Derivative along the frame vectors of the target.
    mixed : (n, q, n, q) array
        ``p e^{x . z}( xi . B eta + (xi . B y)(x . B eta) )`` for frame vectors ``xi`` at the
        target ``x`` and ``eta`` at the source ``y``.
    """
    n, q, d = frames.shape
    flat = frames.reshape(n * q, d)
    moved = attention.exponents(flat)
    z = attention.exponents(x)
    kernel = attention.prefactor * np.exp(x @ z.T + attention.log_scale)
    along = (flat @ z.T).reshape(n, q, n)
    across = (x @ moved.T).reshape(n, n, q)
    mixed = (flat @ moved.T).reshape(n, q, n, q) + along[:, :, :, None] * across[:, None, :, :]
    mixed *= kernel[:, None, :, None]
    return kernel, along * kernel[:, None, :], mixed
