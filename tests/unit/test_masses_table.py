"""The committed tables of the cluster-mass sweep: complete, small, and a random sample again."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest

from attention_landscape.ensembles import ClusterMass, cluster_mass

ASSETS = Path(__file__).parents[2] / "book" / "assets"


def rows(name):
    with open(ASSETS / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("name", "units"), [("masses.csv", "simulation"), ("masses-paper.csv", "paper")]
)
def test_tables_are_complete_and_small(name, units):
    table = rows(name)
    grid = itertools.product((2, 4, 5, 7, 10), (1.0, 2.0, 5.0, 10.0, 20.0, 50.0), (0, 1, 2))
    assert [(int(r["d"]), float(r["beta"]), int(r["seed"])) for r in table] == list(grid)
    assert {(r["n"], r["units"], r["activation"]) for r in table} == {("1000", units, "gelu")}
    assert (ASSETS / name).stat().st_size < 100_000


@pytest.mark.parametrize("name", ["masses.csv", "masses-paper.csv"])
def test_a_random_sample_is_computed_again(name):
    # polished rows on the circle take seconds; which two is drawn anew in each run
    chosen = [r for r in rows(name) if r["success"] == "True" and r["d"] == "2"]
    for i in np.random.default_rng().choice(len(chosen), 2, replace=False):
        row = chosen[i]
        again = cluster_mass(
            ClusterMass(
                int(row["d"]), float(row["beta"]), int(row["n"]), row["activation"], row["units"],
                int(row["seed"]),
            )
        )  # fmt: skip
        assert again["success"] and again["atoms"] == int(row["atoms"]), row
        # another processor may round a token into another basin
        assert again["atom"] == pytest.approx(float(row["atom"]), abs=2.5 / int(row["n"])), row
        assert again["energy"] == pytest.approx(float(row["energy"]), rel=1e-3), row
