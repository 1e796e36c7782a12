"""Every picture of the book, in one visual language: portraits, energy, spectra, rates.

Importing this module sets matplotlib's defaults (`style`); nothing else in the package imports
matplotlib. Each function draws into ``ax``, or into a new figure, and returns the axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from . import sphere
from ._checks import Array, array, number
from ._portrait_circle import circle_portrait
from ._portrait_sphere import portrait_grid, sphere_portrait
from ._slider import slider
from ._style import GREY, INK, MEASURE, PALETTE, axes, check_pair, dot_areas, style
from .flows import Trajectory
from .landscape import Landscape
from .measures import Measure
from .perceptrons import Perceptron

__all__ = [
    "circle_portrait",
    "sphere_portrait",
    "portrait_grid",
    "potential_plot",
    "first_variation_plot",
    "energy_trace",
    "hessian_spectrum",
    "convergence_plot",
    "fitted_slope",
    "slider",
    "style",
]

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def potential_plot(
    perceptrons: Perceptron | Mapping[str, Perceptron], *, ax: Axes | None = None
) -> Axes:
    """Plot the potential ``v`` of S4 on the circle against the angle.

    Parameters
    ----------
    perceptrons : Perceptron or dict of Perceptron
        One curve each, labelled by the key (by the activation when there is no dict).
    ax : Axes, optional
        A new figure when left out.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is no perceptron, or one is not on the circle.

    Examples
    --------
    >>> ax = potential_plot(Perceptron([[1.0, 0.0]], [0.5]))
    >>> ax.get_legend_handles_labels()[1]
    ['relu']
    """
    if isinstance(perceptrons, Perceptron):
        perceptrons = {perceptrons.activation.name: perceptrons}
    if not isinstance(perceptrons, Mapping) or not perceptrons:
        raise ValueError("perceptrons must be a Perceptron or a dict of them, not empty")
    for item in perceptrons.values():
        if not isinstance(item, Perceptron) or item.d != 2:
            raise ValueError(f"perceptrons must live on the circle (d = 2), got {item!r}")
    ax = axes(ax)
    angles = np.linspace(0.0, 2 * np.pi, 1441)
    ax.axhline(0.0, color=GREY, linewidth=1, linestyle="-")
    for label, item in perceptrons.items():
        ax.plot(angles, item.potential(sphere.from_angles(angles)), label=label)
    _angle_axis(ax)
    ax.set_ylabel(r"potential $v$")
    ax.legend()
    return ax


def first_variation_plot(landscape: Landscape, measure: Measure, *, ax: Axes | None = None) -> Axes:
    r"""Plot the first variation on the circle against the angle, with the atoms marked.

    The dashed line is the mean of the first variation over the measure. At a global minimiser
    the curve lies on or above it and the atoms lie on it, as X4 says.

    Parameters
    ----------
    landscape : Landscape
        On the circle.
    measure : Measure
        On the circle; areas of dots are proportional to masses.
    ax : Axes, optional
        A new figure when left out.

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
    >>> landscape = Landscape(Attention(beta=1.0))
    >>> ax = first_variation_plot(landscape, Measure.from_angles([0.0, np.pi]))
    >>> ax.get_xlabel()
    'angle (radians)'
    """
    check_pair(landscape, measure, 2)
    ax = axes(ax)
    angles = np.linspace(0.0, 2 * np.pi, 1441)
    curve = landscape.first_variation(measure, sphere.from_angles(angles))
    ax.plot(angles, curve, color=PALETTE[0], linestyle="-", label=r"first variation $\delta E$")
    at_atoms = landscape.first_variation(measure, measure.points)
    mean = float(measure.masses @ at_atoms)
    ax.axhline(mean, color=GREY, linestyle="--", linewidth=1.2, label=r"its mean over $\mu$")
    dots = ax.scatter(measure.angles, at_atoms, s=dot_areas(measure.masses), color=MEASURE)
    dots.set(label=r"atoms of $\mu$ (area: mass)", zorder=3, gid="atoms", edgecolor="white")
    dots.set_linewidth(0.5)
    _angle_axis(ax)
    ax.set_ylabel(r"first variation $\delta E$")
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.4 * (high - low))  # room for the legend
    for handle in ax.legend(loc="upper right").legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes([40.0])
    return ax


def energy_trace(
    trajectory: Trajectory | tuple[ArrayLike, ArrayLike],
    *,
    ax: Axes | None = None,
    label: str | None = None,
) -> Axes:
    """Plot the energy of S4 against time; call it again with the same ``ax`` for another curve.

    Parameters
    ----------
    trajectory : Trajectory or (t, energies)
        What to plot.
    ax : Axes, optional
        A new figure when left out.
    label : str, optional
        For the legend.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If times and energies are not two finite arrays of equal length.

    Examples
    --------
    >>> ax = energy_trace(([0.0, 1.0], [3.0, 2.0]), label="descent")
    >>> ax.get_xlabel()
    'time $t$ (dimensionless)'
    """
    if isinstance(trajectory, Trajectory):
        trajectory = trajectory.t, trajectory.energies
    if not isinstance(trajectory, (tuple, list)) or len(trajectory) != 2:
        raise ValueError("trajectory must be a Trajectory or a pair (t, energies)")
    t, energies = _pair("trajectory", *trajectory)
    ax = axes(ax)
    ax.plot(t, energies, label=label)
    ax.set(xlabel="time $t$ (dimensionless)", ylabel="energy $E$ (dimensionless)")
    if label is not None:
        ax.legend()
    return ax


def hessian_spectrum(
    values: ArrayLike, *, ax: Axes | None = None, tol: float | None = None
) -> Axes:
    """Plot the spectrum of the Wasserstein Hessian of S5 as stems.

    The sign is in the mark: triangle up when positive, triangle down when negative, hollow
    circle when zero up to ``tol``.

    Parameters
    ----------
    values : (n,) array
        Eigenvalues, as from `Landscape.spectrum`; drawn in ascending order.
    ax : Axes, optional
        A new figure when left out.
    tol : float, optional
        Absolute values up to this count as zero; ``1e-9 max |values|`` when left out.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If the values are not a finite, nonempty array.

    Examples
    --------
    >>> ax = hessian_spectrum([-0.1, 0.0, 0.4, 0.7])
    >>> ax.get_legend_handles_labels()[1]
    ['positive: 2', 'zero: 1', 'negative: 1']
    """
    spectrum = np.sort(array("values", values, ndim=1))
    if spectrum.size == 0:
        raise ValueError("values must hold at least one eigenvalue, got none")
    tol = 1e-9 * float(np.abs(spectrum).max()) if tol is None else number("tol", tol)
    if tol < 0:
        raise ValueError(f"tol must be >= 0, got {tol}")
    ax = axes(ax)
    rank = np.arange(1, spectrum.size + 1)
    kinds = (
        ("positive", spectrum > tol, "^", PALETTE[0], PALETTE[0]),
        ("zero", np.abs(spectrum) <= tol, "o", INK, "white"),
        ("negative", spectrum < -tol, "v", PALETTE[1], PALETTE[1]),
    )
    ax.axhline(0.0, color=INK, linewidth=1.2, linestyle="-")
    for name, pick, marker, color, face in kinds:
        if pick.any():
            ax.vlines(rank[pick], 0.0, spectrum[pick], color=color, linewidth=1.4)
            dots = ax.scatter(rank[pick], spectrum[pick], marker=marker, s=46, facecolor=face)
            dots.set(edgecolor=color, zorder=3, label=f"{name}: {pick.sum()}", gid=name)
    ax.set(xlabel="rank", ylabel="eigenvalue of the Hessian")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.margins(x=0.06, y=0.12)
    ax.legend(title=f"smallest: {_minus(spectrum[0], '.3g')}", loc="best")
    return ax


def convergence_plot(
    sizes: ArrayLike,
    errors: ArrayLike | Mapping[str, ArrayLike],
    *,
    ax: Axes | None = None,
    xlabel: str = "step $dt$",
    ylabel: str = "error",
    fit_range: tuple[float, float] | None = None,
) -> Axes:
    """Plot errors against step or number on log axes, with fitted slopes in the legend.

    Parameters
    ----------
    sizes : (s,) array
        Steps, numbers of particles, degrees: positive.
    errors : (s,) array, or dict of them
        Positive; one curve each, labelled by the key.
    ax : Axes, optional
        A new figure when left out.
    xlabel, ylabel : str
        Labels of the axes, with units.
    fit_range : (low, high), optional
        Sizes used in the fit; all when left out. The fitted line is drawn there.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If a value is not positive, the lengths differ, or fewer than two sizes are fitted.

    Examples
    --------
    >>> ax = convergence_plot([0.1, 0.01], {"Euler": [0.2, 0.02]})
    >>> ax.get_legend_handles_labels()[1]
    ['Euler: slope 1.00']
    """
    curves = errors if isinstance(errors, Mapping) else {"": errors}
    if not curves:
        raise ValueError("errors must have at least one curve, got none")
    slopes = {name: fitted_slope(sizes, e, fit_range=fit_range) for name, e in curves.items()}
    x = array("sizes", sizes, ndim=1)
    ax = axes(ax)
    for i, (name, e) in enumerate(curves.items()):
        y = array("errors", e, ndim=1)
        color, marker = PALETTE[i % len(PALETTE)], _MARKERS[i % len(_MARKERS)]
        label = (f"{name}: " if name else "") + f"slope {_minus(slopes[name], '.2f')}"
        ax.loglog(x, y, color=color, marker=marker, linestyle="none", label=label)
        pick = _in_range(x, fit_range)
        shift = np.mean(np.log(y[pick])) - slopes[name] * np.mean(np.log(x[pick]))
        ends = np.array([x[pick].min(), x[pick].max()])
        dash = ("-", "--", "-.", ":")[i % 4]
        ax.plot(ends, np.exp(shift) * ends ** slopes[name], color=color, linestyle=dash)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend()
    return ax


def fitted_slope(
    sizes: ArrayLike, errors: ArrayLike, *, fit_range: tuple[float, float] | None = None
) -> float:
    """Return the least-squares slope of ``log errors`` against ``log sizes``.

    Parameters
    ----------
    sizes, errors : (s,) arrays
        Positive.
    fit_range : (low, high), optional
        Sizes used, ends included; all when left out.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As for `convergence_plot`.

    Examples
    --------
    >>> round(fitted_slope([1.0, 2.0, 4.0], [3.0, 12.0, 48.0]), 12)
    2.0
    """
    x, y = _pair("errors", sizes, errors, first="sizes")
    for name, values in (("sizes", x), ("errors", y)):
        if not (values > 0).all():
            raise ValueError(f"{name} must be positive on log axes, got {values.min():.6g}")
    pick = _in_range(x, fit_range)
    if np.unique(x[pick]).size < 2:
        raise ValueError(f"sizes must hold two different values to fit, in {fit_range or 'all'}")
    return float(np.polyfit(np.log(x[pick]), np.log(y[pick]), 1)[0])


def _in_range(x: Array, fit_range: tuple[float, float] | None) -> Any:
    if fit_range is None:
        return np.ones(x.size, dtype=bool)
    ends = array("fit_range", fit_range, ndim=1)
    if ends.size != 2 or ends[0] >= ends[1]:
        raise ValueError(f"fit_range must be (low, high) with low < high, got {fit_range}")
    return (x >= ends[0]) & (x <= ends[1])


def _pair(name: str, x: ArrayLike, y: ArrayLike, first: str | None = None) -> tuple[Array, Array]:
    """Check two arrays of equal, positive length."""
    a, b = array(first or name, x, ndim=1), array(name, y, ndim=1)
    if a.shape != b.shape or a.size == 0:
        raise ValueError(
            f"{name} must hold as many values as there are abscissae, at least one, "
            f"got {b.size} and {a.size}"
        )
    return a, b


def _minus(value: float, form: str) -> str:
    """Write a number with a true minus sign, as on the axes."""
    return format(value, form).replace("-", "−")


def _angle_axis(ax: Axes) -> None:
    ax.set(xlim=(0.0, 2 * np.pi), xlabel="angle (radians)")
    ax.set_xticks(np.arange(5) * np.pi / 2, ["0", r"$\pi/2$", r"$\pi$", r"$3\pi/2$", r"$2\pi$"])


style()
