"""Ensembles: sweeps over frozen configurations, on one machine or a cluster, that can be resumed.

A sweep is a list of configurations and a pure function. Each result is one file, named by a hash
of the configuration, the function and the package version, and written atomically. Running the
sweep again does only what is missing. ``python -m attention_landscape.ensembles --help`` runs the
cluster-mass sweep of the book.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from ._checks import choice, integer, number
from ._sweep import Row, result_file, sweep, write_table
from .attention import Attention
from .critical import classify, polish
from .flows import gradient_flow
from .landscape import Landscape
from .measures import Measure
from .perceptrons import ACTIVATIONS, Perceptron

__all__ = ["ClusterMass", "cluster_mass", "sweep", "result_file", "write_table", "main"]

#: Tokens closer than this at the end of a descent are one atom; more atoms are not polished.
JOINED, MOST = 0.01, 60

#: Units of the weights: the paper's kernel, or the one of its simulations (E6).
UNITS = ("paper", "simulation")


@dataclass(frozen=True)
class ClusterMass:
    """One run of the cluster-mass sweep.

    Parameters
    ----------
    d : int
        Dimension, at least 2.
    beta : float
        Inverse temperature.
    n : int
        Number of tokens.
    activation : str
        Of ``d`` random neurons.
    units : {"simulation", "paper"}
        Kernel ``e^{beta(x.y - 1)}`` or ``e^{beta x.y}``.
    seed : int
        Of the neurons, and with 1 added of the tokens.

    Raises
    ------
    ValueError
        If a value is out of range.

    Examples
    --------
    >>> ClusterMass(d=2, beta=1.0).n
    1000
    """

    d: int
    beta: float
    n: int = 1000
    activation: str = "gelu"
    units: str = "simulation"
    seed: int = 777

    def __post_init__(self) -> None:
        choice("activation", self.activation, ACTIVATIONS)
        choice("units", self.units, UNITS)
        # plain types, so that beta=1 and beta=1.0 are one file
        object.__setattr__(self, "beta", number("beta", self.beta, positive=True))
        for name, minimum in (("d", 2), ("n", 1), ("seed", 0)):
            object.__setattr__(self, name, integer(name, getattr(self, name), minimum=minimum))


def cluster_mass(configuration: ClusterMass) -> Row:
    """Descend from uniform tokens, polish, and measure the heaviest atom and cluster (T4, E6).

    Parameters
    ----------
    configuration : ClusterMass

    Returns
    -------
    dict
        ``atom``, the largest mass of one atom; ``cluster``, the largest mass of two or more
        atoms within ``1/(2 sqrt(beta))`` (0 if there are none; for ``d >= 3`` linked by steps
        of this length, so that a chain counts as one); ``atoms``, their number;
        ``kind``, ``residual``, ``success``, ``energy`` and ``time`` of the end.

    Examples
    --------
    >>> row = cluster_mass(ClusterMass(d=2, beta=1.0, n=60))
    >>> row["success"], row["atoms"], row["cluster"]
    (True, 3, 0.0)
    """
    c = configuration
    perceptron = Perceptron.random(c.d, activation=c.activation, rng=c.seed)
    shift = -c.beta if c.units == "simulation" else 0.0
    landscape = Landscape(Attention(c.beta, log_scale=shift), perceptron)
    start = Measure.uniform(c.n, c.d, rng=c.seed + 1)
    tol = 1e-4 * landscape.scale
    path = gradient_flow(
        landscape, start, rtol=1e-4, atol=1e-6, stationary_tol=tol, t_max=2000 / landscape.scale
    )
    if path.status == -2:  # the flow keeps what it has on Ctrl-C; that is no result of a sweep
        raise KeyboardInterrupt
    # tokens that have not met yet are on their way to the same atom: join them for the polish
    ends = path.final.merged(JOINED)
    point = (polish if ends.n <= MOST else classify)(landscape, ends)
    masses = point.measure.masses
    groups = [g for g in point.measure.clusters(0.5 / np.sqrt(c.beta)) if len(g) > 1]
    return {
        "atom": float(masses.max()),
        "cluster": float(max((masses[g].sum() for g in groups), default=0.0)),
        "atoms": point.n_atoms,
        "kind": point.kind,
        "residual": float(point.residual / point.scale),
        "success": bool(point.success),
        "energy": float(landscape.energy(point.measure)),
        "time": float(path.t[-1]),
    }


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


_EPILOG = """examples:
  the sweep of the book, on all cores, about ten minutes on two:
    python -m attention_landscape.ensembles results --table masses.csv
  a quick look:
    python -m attention_landscape.ensembles results --d 2 --beta 1 5 --n 100
  again, after a crash or Ctrl-C: the same command does only what is missing.
  on a cluster (pip install 'attention-landscape[cluster]'):
    dask scheduler                        prints its address, tcp://HOST:8786
    dask worker tcp://HOST:8786           on each machine
    python -m attention_landscape.ensembles results --scheduler tcp://HOST:8786
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cluster-mass sweep from the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process when left out.

    Returns
    -------
    int
        0, or 1 when a configuration failed, or 130 after Ctrl-C. Bad arguments exit with 2.

    Examples
    --------
    >>> main(["results", "--n", "0"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    parser = _Parser(
        prog="python -m attention_landscape.ensembles",
        description="Masses of atoms and clusters at the end of the descent, over d and beta.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", help="where results are kept, one file each")
    parser.add_argument("--d", type=int, nargs="+", default=[2, 4, 5, 7, 10], help="dimensions")
    parser.add_argument("--beta", type=float, nargs="+", default=[1, 2, 5, 10, 20, 50])
    parser.add_argument("--n", type=int, default=1000, help="tokens (1000)")
    parser.add_argument("--seed", type=int, nargs="+", default=[0, 1, 2], help="seeds (0 1 2)")
    parser.add_argument("--activation", default="gelu", help=", ".join(ACTIVATIONS))
    parser.add_argument("--units", default="simulation", help=" or ".join(UNITS))
    parser.add_argument("--jobs", type=int, default=-1, help="processes (-1: all cores)")
    parser.add_argument("--scheduler", help="address of a Dask scheduler")
    parser.add_argument("--table", help="write all rows to this CSV file")
    a = parser.parse_args(arguments)
    try:
        runs = [
            ClusterMass(d, beta, a.n, a.activation, a.units, seed)
            for d, beta, seed in itertools.product(a.d, a.beta, a.seed)
        ]
        rows = sweep(cluster_mass, runs, a.folder, jobs=a.jobs, scheduler=a.scheduler)
        if a.table:
            write_table(rows, a.table)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error).splitlines()[0] if str(error) else type(error).__name__)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    failed = [row for row in rows if "error" in row]
    for row in failed:
        print(f"failed: d={row['d']} beta={row['beta']}: {row['error']}", file=sys.stderr)
    print(f"{len(rows) - len(failed)} of {len(rows)} results in {a.folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    # run under the module's own name, so that workers and hashes know the functions by it
    from attention_landscape import ensembles

    sys.exit(ensembles.main())
