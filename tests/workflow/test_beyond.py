"""The experiments beyond the thesis, as a user runs them, on a small grid."""

from __future__ import annotations

import numpy as np
import pytest
from running import planned, snakemake, with_file

from onlinefa.config import EXPERIMENTS as DEFAULT
from onlinefa.summary import read_summary

GRID = {"D": [12], "K": [2], "spectrum": [[1, 10]], "T": [150, 400], "seeds": 2}
VARIANTS = {
    "recursive_em_auto": {"algorithm": "recursive_em", "n_components": "auto", "max_components": 4},
    "recursive_em_forgetting": {"algorithm": "recursive_em", "forgetting": 150},
}
SMALL = {
    **dict.fromkeys(DEFAULT),
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


def test_units_matter_to_online_em_alone(finished):
    at = errors(finished, "scale", ["step", "scale"]).xs(400, level="step")
    np.testing.assert_allclose(at["recursive_em"], at["recursive_em"].iloc[0], rtol=1e-6)
    assert at["online_em"].max() > 1.1 * at["online_em"].min()


def test_only_who_is_not_told_chooses(finished):
    found = errors(finished, "components", ["step"], "components")
    assert (found["recursive_em"] == 2).all()
    assert found["recursive_em_auto"].between(0, 4).all()
    right = errors(finished, "components", ["step"], "components_right")
    assert (right["recursive_em"] == 1).all()


def test_who_forgets_follows(finished):
    at = errors(finished, "change", ["step"])
    assert at.loc[600, "recursive_em_forgetting"] < at.loc[600, "recursive_em"]
    assert list(errors(finished, "change", ["step"], "changed").iloc[:, 0]) == [0, 1]


def test_a_changed_variant_plans_only_its_own_cells(finished):
    changed = SMALL | {"variants": VARIANTS | {"recursive_em_forgetting": {
        "algorithm": "recursive_em", "forgetting": 140
    }}}  # fmt: skip
    jobs, cells = planned(snakemake(finished, "-n", *with_file(finished, changed)))
    assert cells == {"change/algorithm~recursive_em_forgetting/D~12/K~2/seeds~0-1"}
    assert jobs["fit"] == 1
    with_file(finished, SMALL)
