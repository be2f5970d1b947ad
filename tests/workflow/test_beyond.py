"""Tests of the workflow with the experiments beyond the thesis, on a small grid."""

from __future__ import annotations

import numpy as np
import pytest
from support.running import NO_EXPERIMENTS, planned, snakemake, with_file

from onlinefa_benchmark.analysis.summary import read_summary

GRID = {"D": [12], "K": [2], "spectrum": [[1, 10]], "T": [150, 400], "seeds": 2}
VARIANTS = {
    "recursive_em_auto": {"algorithm": "recursive_em", "n_components": "auto", "max_components": 4},
    "recursive_em_forgetting": {"algorithm": "recursive_em", "forgetting": 150},
}
SMALL = {
    **NO_EXPERIMENTS,
    "seeds_per_job": 2,
    "variants": VARIANTS,
    "eigenvalues": GRID | {"algorithms": ["online_em", "recursive_em"]},
    "components": GRID | {"algorithms": ["recursive_em", "recursive_em_auto"]},
    "scale": GRID | {"algorithms": ["online_em", "recursive_em"], "scales": [0.01, 1, 100]},
    "change": GRID
    | {
        "algorithms": ["recursive_em", "recursive_em_forgetting"],
        "T": [200, 600],
        "change_at": 250,
    },
}
EXPERIMENTS = ("change", "components", "eigenvalues", "scale")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("beyond")
    run = snakemake(directory, *with_file(directory, SMALL))
    assert run.returncode == 0, run.stdout + run.stderr
    return directory


def errors(directory, experiment, index, metric="relative_frobenius"):
    summary = read_summary(directory / "results" / "summary" / f"{experiment}.parquet")
    rows = summary[summary["metric"] == metric]
    return rows.pivot(index=index, columns="algorithm", values="mean")


def test_every_experiment_has_its_figure_and_its_tables(finished):
    results = finished / "results"
    assert sorted(path.stem for path in (results / "figures").glob("*.png")) == list(EXPERIMENTS)
    tables = {
        path.parent.name: path for path in (results / "tables").glob("*/relative_frobenius.md")
    }
    assert sorted(tables) == list(EXPERIMENTS)
    text = tables["scale"].read_text()
    assert all(f"| {scale} |" in text for scale in ("0.01", "1", "100"))


def test_only_online_em_depends_on_units(finished):
    at = errors(finished, "scale", ["step", "scale"]).xs(400, level="step")
    np.testing.assert_allclose(at["recursive_em"], at["recursive_em"].iloc[0], rtol=1e-6)
    assert at["online_em"].max() > 1.1 * at["online_em"].min()


def test_only_the_automatic_variant_selects_the_number_of_factors(finished):
    found = errors(finished, "components", ["step"], "components")
    assert (found["recursive_em"] == 2).all()
    assert found["recursive_em_auto"].between(0, 4).all()
    right = errors(finished, "components", ["step"], "components_right")
    assert (right["recursive_em"] == 1).all()


def test_forgetting_follows_a_change_of_the_model(finished):
    at = errors(finished, "change", ["step"])
    assert at.loc[600, "recursive_em_forgetting"] < at.loc[600, "recursive_em"]
    assert list(errors(finished, "change", ["step"], "changed").iloc[:, 0]) == [0, 1]


def test_a_changed_variant_plans_only_its_own_cells(finished):
    forgetting = {"algorithm": "recursive_em", "forgetting": 140}
    changed = SMALL | {"variants": VARIANTS | {"recursive_em_forgetting": forgetting}}
    jobs, cells = planned(snakemake(finished, "-n", *with_file(finished, changed)))
    assert cells == {"change/algorithm~recursive_em_forgetting/D~12/K~2/seeds~0-1"}
    assert jobs["fit"] == 1
    with_file(finished, SMALL)
