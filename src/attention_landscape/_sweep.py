"""Sweeps: a pure function over frozen configurations, one file for each result."""

from __future__ import annotations

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
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ._checks import integer

Row = dict[str, Any]

#: Seconds to wait for a scheduler.
CONNECT = 10


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
    >>> from attention_landscape.ensembles import ClusterMass, cluster_mass
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
    >>> from attention_landscape.ensembles import ClusterMass, cluster_mass
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
        Client(scheduler, timeout=CONNECT, set_as_default=False) as client,
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
