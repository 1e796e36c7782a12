"""Ensembles: sweeps over frozen configurations, on one machine or a cluster, that can be resumed.

A sweep is a list of configurations and a pure function. Each result is one file, named by a hash
of the configuration, the function and the package version, and written atomically. Running the
sweep again does only what is missing. ``python -m attention_landscape.ensembles --help`` runs the
cluster-mass sweep of the book.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import dataclasses
import hashlib
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ._checks import choice, integer, number
from .attention import Attention
from .critical import classify, polish
from .flows import gradient_flow
from .landscape import Landscape
from .measures import Measure
from .perceptrons import ACTIVATIONS, Perceptron

Row = dict[str, Any]

#: Seconds to wait for a scheduler.
CONNECT = 10

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
        atoms within ``1/(2 sqrt(beta))`` (0 if there are none); ``atoms``, their number;
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


def result_file(function: Callable[[Any], Row], configuration: Any, folder: Path) -> Path:
    """Return the file of one result: a hash of function, configuration and package version.

    Parameters
    ----------
    function : callable
        Pure, importable.
    configuration : frozen dataclass
    folder : Path

    Returns
    -------
    Path

    Examples
    --------
    >>> result_file(cluster_mass, ClusterMass(d=2, beta=1.0), Path("results")).suffix
    '.json'
    """
    text = json.dumps(
        [
            f"{function.__module__}.{function.__qualname__}",
            _release(),
            type(configuration).__qualname__,
            dataclasses.asdict(configuration),
        ],
        sort_keys=True,
    )
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def sweep(
    function: Callable[[Any], Row],
    configurations: Sequence[Any],
    folder: str | os.PathLike[str],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: bool = True,
) -> list[Row]:
    """Run what is missing and return all rows, in the order of the configurations.

    Parameters
    ----------
    function : callable
        Takes a configuration, returns a dict of numbers, strings and booleans. Importable.
    configurations : sequence of frozen dataclasses
    folder : path
        Made if it is not there; for one sweep at a time. A result that is there is not computed
        again. An error is kept in its file too, and tried again by the next run. When a process
        of this machine dies, what is left is run one by one, to tell who was the cause.
    jobs : int
        Processes on this machine; -1 for all cores. Not used with ``scheduler``.
    scheduler : str, optional
        Address of a Dask scheduler (``dask scheduler``, ``dask worker ADDRESS``).
        Runs of a worker that dies go to the others; but a run that kills four workers is waited
        for without end (joblib 1.6): press Ctrl-C, and run again with ``jobs``.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    list of dict
        The fields of the configuration, then the result, or ``error``.

    Raises
    ------
    ValueError
        If configurations are not frozen dataclasses, or ``jobs`` is 0.
    OSError
        If the scheduler cannot be reached, or the folder not written.

    Examples
    --------
    >>> import tempfile
    >>> runs = [ClusterMass(d=2, beta=b, n=40) for b in (1.0, 2.0)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = sweep(cluster_mass, runs, folder, progress=False)
    >>> [(row["beta"], row["success"]) for row in rows]
    [(1.0, True), (2.0, True)]
    """
    folder = Path(folder)
    for c in configurations:
        if not getattr(getattr(type(c), "__dataclass_params__", None), "frozen", False):
            raise ValueError(f"configurations must be frozen dataclasses, got {c!r}")
    if integer("jobs", jobs, minimum=-1) == 0:
        raise ValueError("jobs must be positive, or -1 for all cores, got 0")
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob(".*.part"):  # of a run that was killed while it wrote
        stale.unlink(missing_ok=True)
    files = [result_file(function, c, folder) for c in configurations]
    todo = [
        (c, file)
        for c, file in dict(zip(configurations, files, strict=True)).items()
        if "result" not in _read(file)
    ]
    with _bar(len(todo), progress) as advance:
        for file, content in _outcomes(function, todo, jobs, scheduler):
            _write(file, content)
            advance()
    rows = []
    for c, file in zip(configurations, files, strict=True):
        content = _read(file)
        error = {"error": content.get("error", "not computed")}
        rows.append(dataclasses.asdict(c) | content.get("result", error))
    return rows


def _outcomes(
    function: Callable[[Any], Row],
    todo: Sequence[tuple[Any, Path]],
    jobs: int,
    scheduler: str | None,
) -> Iterator[tuple[Path, Row]]:
    """Yield file and content as they are ready."""
    if not todo:
        return
    if scheduler is None and jobs == 1:
        for c, file in todo:
            yield file, _outcome(function, c)
        return
    from joblib import Parallel, delayed, parallel_config

    def calls(runs: Mapping[Path, Any]) -> list[Any]:
        return [delayed(_named)(function, c, file) for file, c in runs.items()]

    left = {file: c for c, file in todo}
    if scheduler is None:
        run = Parallel(n_jobs=jobs, return_as="generator_unordered")
        try:
            for file, content in run(calls(left)):
                del left[file]
                yield file, content
        except BrokenExecutor:
            for file, c in left.items():
                try:
                    yield from run(calls({file: c}))
                except BrokenExecutor:
                    yield file, _origin(c) | {"error": "the process that ran it died"}
        return
    from distributed import Client

    with (
        Client(scheduler, timeout=CONNECT, set_as_default=False) as client,  # type: ignore[no-untyped-call]
        parallel_config(backend="dask", client=client, wait_for_workers_timeout=30),
    ):
        yield from Parallel(return_as="generator_unordered", batch_size=1)(calls(left))


def _named(function: Callable[[Any], Row], c: Any, file: Path) -> tuple[Path, Row]:
    if result_file(function, c, file.parent) != file:
        return file, _origin(c) | {"error": f"a worker has another version, {_release()}"}
    return file, _outcome(function, c)


def _outcome(function: Callable[[Any], Row], c: Any) -> Row:
    """Result or error of one configuration, with what it was."""
    try:
        result = function(c)
        json.dumps(result)  # what cannot be written is an error of this configuration
        return _origin(c) | {"result": result}
    except Exception as error:
        return _origin(c) | {"error": f"{type(error).__name__}: {error}"}


def _origin(c: Any) -> Row:
    return {"version": _release(), "configuration": dataclasses.asdict(c)}


def _release() -> str:
    try:
        return version("attention-landscape")
    except PackageNotFoundError:
        return "unknown"


def _read(file: Path) -> Row:
    try:
        content: Row = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return content


def _write(file: Path, content: Row) -> None:
    """Write a hidden file beside and rename it: readers see all or nothing."""
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=file.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.replace(name, file)


@contextlib.contextmanager
def _bar(total: int, progress: bool) -> Iterator[Callable[[], Any]]:
    if not progress or total == 0:
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit="run", file=sys.stderr, delay=0.5) as bar:
        yield bar.update


def write_table(rows: Sequence[Mapping[str, Any]], file: str | os.PathLike[str]) -> None:
    """Write rows as CSV, with all columns that occur; numbers keep every digit.

    Parameters
    ----------
    rows : sequence of dict
    file : path

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table([{"d": 2, "atom": 0.5}], Path(folder) / "table.csv")
    ...     (Path(folder) / "table.csv").read_text().split()
    ['d,atom', '2,0.5']
    """
    columns = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    with open(file, "w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


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
