"""Sweeps: one table by every way, resumed after a kill, failures kept, the command line."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sweeps
from sweeps import Point, square

from attention_landscape import _sweep, ensembles, gradient_flow
from attention_landscape.ensembles import ClusterMass, cluster_mass, sweep

HERE = Path(__file__).parent


def runs(count, **options):
    return [Point(0.1 * i, **options) for i in range(count)]


def calls(marks):
    return len(list(Path(marks).iterdir()))


def test_result_and_files(tmp_path):
    rows = sweep(square, runs(3), tmp_path, progress=False)
    assert [row["x"] for row in rows] == [0.0, 0.1, 0.2]
    assert rows[2]["square"] == pytest.approx(0.04)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3 and all(file.suffix == ".json" for file in files)
    content = json.loads(files[0].read_text())
    assert set(content) == {"version", "configuration", "result"}


def test_only_what_is_missing_is_run(tmp_path):
    marks, out = tmp_path / "marks", tmp_path / "out"
    marks.mkdir()
    sweep(square, runs(3, marks=str(marks)), out, progress=False)
    first = {file: file.stat().st_mtime_ns for file in out.iterdir()}
    sweep(square, runs(5, marks=str(marks)), out, progress=False)
    assert calls(marks) == 5
    assert all(file.stat().st_mtime_ns == stamp for file, stamp in first.items())


def test_another_version_or_configuration_is_another_file(tmp_path, monkeypatch):
    names = {ensembles.result_file(square, c, tmp_path) for c in runs(4)}
    monkeypatch.setattr(_sweep, "_release", lambda: "another")
    names |= {ensembles.result_file(square, c, tmp_path) for c in runs(4)}
    assert len(names) == 8


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_is_recorded_and_tried_again(tmp_path, jobs):
    marks = tmp_path / "marks"
    marks.mkdir()
    todo = [Point(-1.0, marks=str(marks)), Point(2.0, marks=str(marks))]
    for again in (1, 2):
        rows = sweep(square, todo, tmp_path / "out", jobs=jobs, progress=False)
        assert rows[0]["error"] == "ArithmeticError: no root of -1.0"
        assert rows[1]["square"] == pytest.approx(4.0)
        assert calls(marks) == 1 + again


def test_a_process_that_dies_is_recorded_and_does_not_stop_the_rest(tmp_path):
    todo = [Point(1.0), Point(sweeps.DEADLY, seconds=0.2), Point(2.0), Point(3.0)]
    rows = sweep(square, todo, tmp_path, jobs=2, progress=False)
    assert rows[1]["error"] == "the process that ran it died"
    assert [rows[i]["square"] for i in (0, 2, 3)] == pytest.approx([1.0, 4.0, 9.0])


def test_a_result_that_is_no_json_is_an_error(tmp_path):
    rows = sweep(square, [Point(sweeps.ODD), Point(2.0)], tmp_path, progress=False)
    assert "not JSON serializable" in rows[0]["error"] and "square" in rows[1]


def test_a_worker_of_another_version_is_an_error(tmp_path):
    file, content = _sweep._named(square, Point(1.0), tmp_path / "of-another.json")
    assert "another version" in content["error"] and file.name == "of-another.json"


def test_numbers_of_any_type_are_one_configuration(tmp_path):
    plain = ClusterMass(d=2, beta=1.0, n=20, seed=1)
    same = ClusterMass(d=np.int64(2), beta=1, n=np.int32(20), seed=np.int64(1))
    names = {ensembles.result_file(cluster_mass, c, tmp_path) for c in (plain, same)}
    assert same == plain and len(names) == 1
    rows = sweep(cluster_mass, [plain, same], tmp_path, progress=False)
    assert rows[0] == rows[1] and rows[0]["success"]


def test_an_interrupted_flow_is_no_result(tmp_path, monkeypatch):
    def interrupted(*args, **options):
        return replace(gradient_flow(*args, **options), status=-2)

    monkeypatch.setattr(ensembles, "gradient_flow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(cluster_mass, [ClusterMass(2, 1.0, n=20)], tmp_path, progress=False)
    assert not list(tmp_path.iterdir())
    arguments = [str(tmp_path), "--d", "2", "--beta", "1", "--n", "20", "--jobs", "1"]
    assert ensembles.main(arguments) == 130


def test_a_broken_file_is_computed_again(tmp_path):
    (c,) = runs(1)
    file = ensembles.result_file(square, c, tmp_path)
    file.write_text('{"result": {"squ')
    assert sweep(square, [c], tmp_path, progress=False)[0]["square"] == 0.0
    assert "result" in json.loads(file.read_text())


def test_killed_run_loses_nothing(tmp_path):
    code = (
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "from sweeps import square, Point\n"
        "from attention_landscape.ensembles import sweep\n"
        f"sweep(square, [Point(0.1 * i, seconds=0.2) for i in range(40)], {str(tmp_path)!r},"
        " progress=False)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = {file: file.read_bytes() for file in tmp_path.glob("*.json")}
    assert 3 <= len(done) < 40
    assert all("result" in json.loads(data) for data in done.values())  # no half file
    (tmp_path / ".half.part").write_text("{")
    rows = sweep(square, runs(40, seconds=0.0), tmp_path / "serial", progress=False)
    again = sweep(square, runs(40, seconds=0.2)[: len(done) + 2], tmp_path, progress=False)
    assert [row["square"] for row in again] == [row["square"] for row in rows[: len(again)]]
    assert all(file.read_bytes() == data for file, data in done.items())
    assert not list(tmp_path.glob(".*"))


def test_one_table_serial_parallel_and_on_a_cluster_that_loses_a_worker(tmp_path):
    from distributed import LocalCluster

    small = [
        ClusterMass(d, beta, n=30, seed=seed)
        for d, beta, seed in itertools.product((2, 3), (1.0, 4.0), (1, 2))
    ]
    serial = sweep(cluster_mass, small, tmp_path / "serial", progress=False)
    two = sweep(cluster_mass, small, tmp_path / "two", jobs=2, progress=False)
    assert json.dumps(two) == json.dumps(serial)

    slow = runs(24, seconds=0.25)
    expected = sweep(square, runs(24), tmp_path / "plain", progress=False)
    os.environ["PYTHONPATH"] = str(HERE)  # for the workers
    try:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster:
            address = cluster.scheduler_address
            third = sweep(
                cluster_mass, small, tmp_path / "three", scheduler=address, progress=False
            )
            assert json.dumps(third) == json.dumps(serial)
            victim = next(iter(cluster.workers.values())).pid
            killer = threading.Timer(1.0, os.kill, (victim, signal.SIGKILL))
            killer.start()
            rows = sweep(square, slow, tmp_path / "slow", scheduler=address, progress=False)
            killer.join()
    finally:
        del os.environ["PYTHONPATH"]
    assert [row["square"] for row in rows] == [row["square"] for row in expected]


def test_bad_input(tmp_path):
    with pytest.raises(ValueError, match="frozen dataclasses, got 3"):
        sweep(square, [3], tmp_path)
    with pytest.raises(ValueError, match="jobs"):
        sweep(square, runs(1), tmp_path, jobs=0)
    for wrong in ({"d": 1}, {"beta": -1.0}, {"n": 0}, {"activation": "sine"}, {"units": "si"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ClusterMass(**({"d": 2, "beta": 1.0} | wrong))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--d", "1"], "d must"),
        (["--beta", "-1"], "beta must"),
        (["--beta", "many"], "--beta"),
        (["--activation", "sine"], "activation"),
        (["--jobs", "0"], "jobs"),
        (["--scheduler", "tcp://127.0.0.1:9"], "127.0.0.1:9"),
        (["--unknown"], "--unknown"),
    ],
)
def test_bad_arguments_get_one_line(tmp_path, capsys, monkeypatch, arguments, word):
    monkeypatch.setattr(_sweep, "CONNECT", 1)
    small = [str(tmp_path / "out"), "--d", "2", "--beta", "1", "--seed", "1", "--n", "10"]
    with pytest.raises(SystemExit) as stop:
        ensembles.main(small + arguments)
    assert stop.value.code == 2
    message = capsys.readouterr().err.strip()
    assert message.count("\n") == 0 and word in message


def test_command_line(tmp_path, capsys):
    table = tmp_path / "table.csv"
    arguments = [str(tmp_path / "out"), "--d", "2", "--beta", "1", "2", "--n", "20", "--seed", "1"]
    arguments += ["--jobs", "1", "--table", str(table)]
    assert ensembles.main(arguments) == 0
    assert "2 of 2 results" in capsys.readouterr().out
    lines = table.read_text().splitlines()
    assert lines[0].startswith("d,beta,n,activation") and len(lines) == 3
    before = table.read_text()
    assert ensembles.main(arguments) == 0 and table.read_text() == before


def test_help_and_module(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "attention_landscape.ensembles", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "dask scheduler" in run.stdout and "only what is missing" in run.stdout


def test_failing_configuration_gives_status_one(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ensembles, "cluster_mass", sweeps.square)
    arguments = [str(tmp_path), "--d", "2", "--beta", "1", "--seed", "1", "--jobs", "1"]
    assert ensembles.main(arguments) == 1
    assert "failed: d=2 beta=1" in capsys.readouterr().err
