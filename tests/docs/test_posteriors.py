"""Tests that numbers on docs/posteriors.md equal the committed results."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from onlinefa_benchmark.analysis.summary import read_summary
from onlinefa_benchmark.axes import WALK
from onlinefa_benchmark.looks import look

FOLDER = Path(__file__).parents[2] / "docs" / "posteriors"
PAGE = (FOLDER.parent / "posteriors.md").read_text()
TEXT = " ".join(PAGE.split())
DATASETS = ["boston", "concrete", "energy", "yacht"]


def read(experiment, metric, *index, folder=FOLDER):
    summary = read_summary(folder / "summary" / f"{experiment}.parquet")
    rows = summary[summary["metric"] == metric]
    assert (rows["seeds"] == 10).all()
    return rows.set_index(list(index)).sort_index()


def table(first):
    """Return the lines of the table whose header begins with this text, by their first cell."""
    lines = PAGE[PAGE.index(f"| {first} |") :].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: values for name, *values in cells}


def assert_cells(cells, rows):
    """Compare cells with means and standard errors, to the digits that are printed."""
    for cell, row in zip(cells, rows, strict=True):
        mean, error = cell.split(" ± ")
        digits = len(mean.partition(".")[2])
        assert mean == f"{row['mean']:.{digits}f}"
        assert error == f"{row['standard_error']:.{digits}f}"


@pytest.fixture(scope="module")
def walks():
    rows = read("linear", "wasserstein2", "algorithm", "step", "walk", "dataset")
    return rows.xs(1000, level="step")


def test_the_table_of_walks(walks):
    own, lines = walks.loc["recursive_em"], table("walk")
    names = set(own.index.get_level_values("walk"))
    floors = lines.pop("floor")
    assert lines.keys() == {WALK.format(name) for name in names}
    for name in names:
        rows = (own.loc[(name, dataset)] for dataset in DATASETS)
        assert_cells(lines[WALK.format(name)], rows)
    floor = read("linear", "floor_of_rank", "dataset")["mean"].groupby("dataset").mean()
    assert floors == [f"{floor[dataset]:.3f}" for dataset in DATASETS]


def test_the_factor_analysis_walk_is_the_closest_on_every_dataset(walks):
    for algorithm in ("recursive_em", "batch_ml"):
        means = walks.loc[algorithm]["mean"].unstack("dataset")
        others = means.drop("langevin_fa").min()
        ratios = others / means.loc["langevin_fa"]
        assert (ratios > 1.5).all()
        if algorithm == "recursive_em":
            assert round(ratios.min(), 1) == 1.6
            assert round(ratios.max()) == 12
    found = walks.loc[("batch_ml", "langevin_fa")]["mean"][DATASETS]
    listed = ", ".join(f"{value:.3f}" for value in found[:3]) + f" and {found.iloc[3]:.3f}"
    assert f"its distances are {listed}" in TEXT
    targets = dict(zip(DATASETS, [0.70, 0.30, 0.20, 0.45], strict=True))
    for dataset, most in targets.items():
        assert walks.loc[("recursive_em", "langevin_fa", dataset)]["mean"] <= most


def test_distances_with_a_tenth_of_the_gradients():
    index = ["algorithm", "step", "walk", "dataset"]
    rows = read("linear", "wasserstein2", *index, folder=FOLDER / "short")
    own = rows.loc[("recursive_em", 100)]
    cells = re.search(r"Langevin-FA is at ([^A-Za-z]*)\. SGD", TEXT)[1].split(", ")
    assert_cells(cells, (own.loc[("langevin_fa", dataset)] for dataset in DATASETS))
    listed = ", ".join(f"{own.loc[('reshuffled', dataset)]['mean']:.2f}" for dataset in DATASETS)
    assert f"SGD's walk is at {listed}." in TEXT
    for dataset in DATASETS:
        half = own.loc[("reshuffled", dataset)]["mean"] / 2
        assert own.loc[("langevin_fa", dataset)]["mean"] <= half


@pytest.mark.parametrize("width", [50, 200])
def test_the_tables_of_distances_from_the_process(width):
    rows = read("gp", "function_wasserstein2", "algorithm", "dataset", "width")
    lines = table(f"{width} units")
    names = set(rows.index.get_level_values("algorithm"))
    by_label = {look(name).label: name for name in names}
    assert lines.keys() <= by_label.keys()
    assert len(lines) == 18
    for label, cells in lines.items():
        datasets = ["toy", *DATASETS]
        assert_cells(cells, (rows.loc[(by_label[label], dataset, width)] for dataset in datasets))


@pytest.fixture(scope="module")
def differences():
    rows = pd.read_parquet(FOLDER / "comparison" / "gp.parquet")
    own = rows[(rows["metric"] == "function_wasserstein2") & (rows["algorithm"] != "laplace_all")]
    assert set(own["compared_with"]) == {"laplace_all"}
    assert (own["pairs"] == 10).all()
    return own.set_index(["algorithm", "dataset", "width"]).sort_index()


def test_low_rank_is_close_to_dense(differences):
    own = differences["difference"]
    assert own["laplace_fa"].max() < 0.105
    assert own["laplace_fa_30"].max() < 0.0405
    assert (own["multi_laplace_fa_30"] < 0).all()
    assert (own["multi_laplace_fa"] < 0).sum() == 7


@pytest.mark.parametrize(
    ("algorithm", "dataset", "width"),
    [
        ("laplace_fa", "boston", 200),
        ("laplace_fa_30", "concrete", 50),
        ("multi_laplace_fa_30", "concrete", 200),
        ("multi_laplace_fa_30", "energy", 200),
    ],
)
def test_paired_differences_are_those_of_the_comparison(algorithm, dataset, width, differences):
    row = differences.loc[(algorithm, dataset, width)]
    assert f"{abs(row['difference']):.3f} ± {row['standard_error']:.3f}" in TEXT


def test_statements_about_other_posteriors():
    rows = read("gp", "function_wasserstein2", "algorithm", "dataset", "width")["mean"]
    assert 7.5 < rows["laplace_draws"].min() < rows["laplace_draws"].max() < 118.6
    diagonal = rows["laplace_diagonal"].unstack("width")
    assert (diagonal[200] > diagonal[50]).all()
    assert (round(rows["laplace_diagonal"].min(), 2), round(rows["laplace_diagonal"].max(), 1)) == (
        0.69,
        3.4,
    )
    for dataset in ("boston", "energy", "yacht"):
        worse = rows["laplace_fa_recursive_30"][dataset] > rows["laplace_fa_recursive"][dataset]
        assert worse.all()
    observed, drawn = rows["laplace_fa_observed"], rows["laplace_fa"]
    assert (observed > drawn)[DATASETS].all()
    assert (round(observed.min(), 2), round(observed.max(), 1)) == (0.41, 3.1)
    assert rows["underdamped"]["toy"][200] == pytest.approx(0.49, abs=0.005)
    assert rows["underdamped_fa"]["toy"][200] == pytest.approx(2.06, abs=0.005)
    spread = read("gp", "sd_ratio", "algorithm", "dataset", "width")["mean"]
    dense = spread["laplace_all"][["energy", "yacht"]]
    assert (round(dense.min(), 2), round(dense.max(), 2)) == (0.57, 0.71)
    narrow = spread["laplace_fa_recursive_30"]
    assert (round(narrow.min(), 2), round(narrow.max(), 2)) == (0.35, 0.79)
    assert read("gp", "mode_gradient_norm", "algorithm")["mean"].max() <= 0.01


def test_the_table_of_predictions():
    tables = read("network", "test_nll", "algorithm", "dataset")
    names = set(tables.index.get_level_values("algorithm"))
    by_label = {look(name).label: name for name in names}
    lines = table("posterior")
    assert lines.keys() == by_label.keys()
    for label, cells in lines.items():
        name = by_label[label]
        datasets = ["boston", "concrete", "energy", "winequality_red", "yacht"]
        assert_cells(cells, (tables.loc[(name, dataset)] for dataset in datasets))


def test_paired_differences_of_predictions():
    rows = pd.read_parquet(FOLDER / "comparison" / "network.parquet")
    own = rows[(rows["metric"] == "test_nll") & (rows["algorithm"] == "multi_laplace_fa_30")]
    assert set(own["compared_with"]) == {"ensemble"}
    assert (own["p_holm"] > 0.05).all()
    own = own.set_index("dataset")
    for dataset in ("boston", "concrete", "winequality_red", "energy", "yacht"):
        row = own.loc[dataset]
        sign = "−" if row["difference"] < 0 else ""
        assert f"{sign}{abs(row['difference']):.3f} ± {row['standard_error']:.3f}" in TEXT


def test_nuts_as_a_reference():
    summary = read_summary(FOLDER / "nuts" / "summary" / "gp.parquet")
    found = summary.set_index(["dataset", "algorithm", "metric"])["mean"]
    lines = table("dataset | largest R-hat")
    assert lines.keys() == {"boston", "concrete"}
    for dataset, cells in lines.items():
        nuts, laplace = (found[dataset, name] for name in ("nuts", "laplace_all"))
        assert nuts["r_hat"] < 1.05
        assert cells == [
            f"{nuts['r_hat']:.3f}",
            f"{nuts['effective_sample_size']:.0f}",
            f"{nuts['function_wasserstein2']:.2f}",
            f"{laplace['function_wasserstein2']:.2f}",
            f"{nuts['sd_ratio']:.2f}",
        ]
    errors = found["concrete", :, "test_rmse"]
    stated = f"{errors['nuts']:.2f} instead of {errors['gaussian_process']:.2f}"
    assert f"a test error of {stated}" in TEXT
