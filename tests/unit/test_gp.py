"""Chapter 7: what a cell measures, what it refuses, which jobs it is in, and how it is drawn."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml

from onlinefa import results
from onlinefa.cell import Cell
from onlinefa.config import EXPERIMENTS, GP
from onlinefa.cost import seconds_of
from onlinefa.experiments import fits_together, gp
from onlinefa.experiments.tracking import Measurement
from onlinefa.figures.chapter6 import entries
from onlinefa.grid import bundles, datasets_of
from onlinefa.models.gaussian_process import NotPositiveDefinite
from onlinefa.models.sgd_walk import WalkDiverged
from onlinefa.posteriors.base import GaussianFunctions
from onlinefa.provenance import Provenance
from onlinefa.summary import summarise
from onlinefa.tables.final import final_rows, to_markdown
from onlinefa.validation import ConfigError, validate

TRAINING = {
    "iterations": 100, "learning_rate": 0.3, "batch": 10, "warm_up": 1, "epochs": 40, "every": 1,
}  # fmt: skip
PARAMETERS = {
    "root_seed": 1, "settings": {}, "training": TRAINING, "samples": 20,
}  # fmt: skip


def cell(algorithm, width=6, seed=0, dataset="toy", **changes):
    axes = {
        "dataset": dataset, "width": width, "D": GP.weights("toy", width), "K": 2,
        "algorithm": algorithm,
    }  # fmt: skip
    return Cell("gp", axes, seed, PARAMETERS | changes)


def measured(*arguments, **changes):
    return list(gp.run(cell(*arguments, **changes), Path()))


def values(*arguments, **changes):
    return {m.metric: m.value for m in measured(*arguments, **changes)}


def test_the_process_is_no_way_from_itself():
    found = values("gaussian_process")
    for metric in ("function_wasserstein2", "mean_error"):
        assert found[metric] == pytest.approx(0, abs=1e-9)
    assert found["sd_ratio"] == pytest.approx(1)


def test_distances_and_errors_are_what_their_names_say():
    problem, task = gp.task_of(cell("map"), Path())
    mean, variance = task.process.predict(problem.inputs)
    sd = np.sqrt(variance)
    shifted = GaussianFunctions(mean + 0.3 * sd, 0.6 * sd)
    found = gp.measure(problem, task.process, shifted)
    assert found["mean_error"] == pytest.approx(0.3)
    assert found["sd_ratio"] == pytest.approx(0.6)
    assert found["function_wasserstein2"] == pytest.approx(0.5)  # 3, 4, 5
    targets, unit = problem.unit * problem.targets, problem.unit
    total = unit**2 * (0.36 * variance + task.process.noise)
    residuals = targets - unit * (mean + 0.3 * sd)
    density = -(residuals**2 / total + np.log(2 * np.pi * total)) / 2
    assert found["test_log_likelihood"] == pytest.approx(density.mean())
    assert found["test_rmse"] == pytest.approx(np.sqrt(np.mean(residuals**2)))


def test_functions_that_are_not_to_be_trusted_have_no_distance_but_a_reason():
    problem, task = gp.task_of(cell("map"), Path())
    mean, variance = task.process.predict(problem.inputs)
    doubtful = GaussianFunctions(mean, np.sqrt(variance), {"r_hat": 1.4}, "R-hat is 1.4")
    found = gp.measure(problem, task.process, doubtful)
    assert {found[metric] for metric in gp.METRICS} == {"R-hat is 1.4"}
    assert found["r_hat"] == 1.4


def test_an_estimator_is_sampled_around_the_mode_it_walked_from():
    """The walk stays near the mode, and so do the functions of who learns its law."""
    swag, mode = values("swag"), values("map")
    assert mode["sd_ratio"] == 0
    assert 0 < swag["sd_ratio"] < 1
    assert swag["mean_error"] == pytest.approx(mode["mean_error"], abs=0.1)


def test_the_same_cell_has_the_same_values_whatever_was_run_before():
    first = values("online_em")
    values("ensemble", seed=1)
    assert values("online_em") == first


def test_seeds_are_other_networks_on_the_same_toy_and_all_algorithms_share_them():
    one, two, other = values("map"), values("laplace"), values("map", seed=1)
    assert one["mean_error"] == two["mean_error"]
    assert one["mean_error"] != other["mean_error"]
    assert one["true_mean[7]"] == other["true_mean[7]"]


def test_a_table_is_split_anew_for_every_seed(monkeypatch):
    inputs = np.random.default_rng(0).normal(size=(50, 1))
    table = (inputs, inputs[:, 0])
    monkeypatch.setattr(gp.data, "read", lambda name, folder: table)
    parts = [gp._parts("yacht", seed, 1, Path()) for seed in (0, 0, 1)]
    assert [len(part[1]) for part in parts] == [45] * 3
    assert [len(part[3]) for part in parts] == [5] * 3
    np.testing.assert_array_equal(parts[0][3], parts[1][3])
    assert set(parts[0][3]) != set(parts[2][3])
    assert sorted([*parts[0][1], *parts[0][3]]) == sorted(table[1])


def test_a_column_that_does_not_vary_is_refused(monkeypatch):
    monkeypatch.setattr(gp.data, "read", lambda name, folder: (np.ones((20, 2)), np.arange(20.0)))
    with pytest.raises(ValueError, match="yacht, seed 3: column 0 does not vary"):
        gp._table("yacht", 3, 1, Path())


def test_a_kernel_matrix_that_cannot_be_decomposed_is_a_reason(monkeypatch):
    def refuse(*arguments, **options):
        raise NotPositiveDefinite("a kernel matrix of 40 points is not positive definite")

    monkeypatch.setattr(gp, "most_likely", refuse)
    gp._process.cache_clear()
    gp._problem.cache_clear()
    gp._network.cache_clear()
    gp._task.cache_clear()
    found = measured("map")
    assert [m.metric for m in found] == list(gp.METRICS)
    assert {(m.value, m.status) for m in found} == {(None, "undefined")}
    assert "is not positive definite" in found[0].message


def test_a_value_that_is_no_number_is_a_reason():
    assert Measurement.of(1, "r_hat", float("nan"), 0.0).message == "the value is nan"


def test_a_walk_that_diverges_is_a_status(monkeypatch):
    def diverge(self, run):
        raise WalkDiverged("SGD diverges")

    monkeypatch.setattr(gp.GPTask, "walk", diverge)
    found = measured("swag")
    assert {m.metric for m in found} == set(gp.METRICS)
    assert {(m.status, m.message) for m in found} == {("diverged", "SGD diverges")}


def test_fourier_features_are_held_against_a_process_of_their_own():
    few, many = (values("fourier_features", width) for width in (20, 2000))
    assert many["function_wasserstein2"] < few["function_wasserstein2"] / 2
    assert many["function_wasserstein2"] < 0.2


# -- configuration and grid ------------------------------------------------------------------------


@pytest.fixture
def configured():
    folder = Path(__file__).parents[2] / "config"
    default = yaml.safe_load((folder / "config.yaml").read_text())
    rest = dict.fromkeys(EXPERIMENTS)
    return lambda **changes: default | rest | {"gp": default["gp"] | changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": ["tay"]}, "gp.datasets: unknown name 'tay'; did you mean 'toy'?"),
        ({"datasets": ["casp"]}, "gp.datasets: casp has 41157 rows to learn from; a Gaussian"),
        ({"batch": 41}, "gp.datasets: toy has 40 rows to learn from, fewer than a batch (41)"),
        ({"epochs": 20}, "gp.epochs: 20 must be above warm_up, which is 20"),
        (
            {"every": 20},
            "gp.every: 20 leaves 10 observations of the walk over toy, and more than K",
        ),
        ({"widths": [2]}, "gp.K: 10 must be below every D, and toy, 2 has 7 weights"),
        ({"K": 1}, "gp.K: Input should be greater than or equal to 2"),
        ({"learning_rate": 1.5}, "gp.learning_rate: Input should be less than 1"),
        ({"algorithms": ["mop"]}, "gp.algorithms: unknown algorithm 'mop'; did you mean 'map'?"),
        ({"limits": {"nots": {}}}, "gp.limits: unknown name 'nots'"),
        ({"limits": {"map": {"width": [2]}}}, "gp.limits.map.width: unknown key"),
        ({"limits": {"map": {"widths": [2]}}}, "gp.limits: unknown name '2' (allowed: 200, 50)"),
        (
            {"limits": {"map": {"datasets": []}}},
            "gp.limits.map.datasets: List should have at least",
        ),
    ],
)
def test_mistakes_are_named(configured, changes, message):
    with pytest.raises(ConfigError) as refused:
        validate(configured(**changes))
    assert message in str(refused.value)


def test_a_posterior_of_networks_is_none_of_observations(configured):
    values = configured() | {
        "linear": {
            "datasets": ["yacht"], "algorithms": ["map"], "K": [1], "seeds": 1,
            "walks": ["reshuffled"], "learning_rate": 0.1, "batch": 8, "warm_up": 1, "every": 1,
            "epochs": 2,
        }
    }  # fmt: skip
    with pytest.raises(ConfigError, match=r"linear.algorithms: unknown algorithm 'map'"):
        validate(values)
    values["linear"]["algorithms"] = ["large_ensemble"]
    values["variants"] = {"large_ensemble": {"algorithm": "ensemble", "members": 20}}
    with pytest.raises(ConfigError, match=r"linear.algorithms: unknown algorithm 'large_ensemble'"):
        validate(values)


def test_a_package_that_is_not_installed_is_said(configured, monkeypatch):
    monkeypatch.setattr("onlinefa.algorithms.find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match=r"'nuts' needs numpyro, which is not installed: pip inst"
    ):
        validate(configured(algorithms=["map", "nuts"]))


def test_jobs_hold_a_table_and_slow_algorithms_have_their_own(configured):
    values = configured(
        algorithms=["map", "swag", "nuts"],
        limits={
            "nuts": {"datasets": ["toy"], "widths": [50], "seeds": 2},
            "swag": {"widths": [200]},
        },
    )
    jobs = {bundle.name: bundle for bundle in bundles(validate(values))}
    assert list(jobs) == [
        "gp/dataset~toy/seeds~0-2",
        "gp/dataset~toy/algorithm~nuts/width~50/seeds~0-1",
        "gp/dataset~yacht/seeds~0-2",
    ]
    shared = jobs["gp/dataset~toy/seeds~0-2"]
    assert [(group.axes["algorithm"], group.axes["width"]) for group in shared.groups] == [
        ("map", 50), ("map", 200), ("swag", 200),
    ]  # fmt: skip
    assert [datasets_of(bundle) for bundle in jobs.values()] == [[], [], ["yacht"]]
    # A seed's cells follow each other, because they share a table, and a network's share its mode.
    assert [c.seed for c in shared.cells()] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    slow = jobs["gp/dataset~toy/algorithm~nuts/width~50/seeds~0-1"].groups[0]
    assert seconds_of("gp", slow) > seconds_of("gp", shared.groups[0])


def test_networks_go_to_a_gpu_where_one_is_asked_for_and_nuts_does_not(configured):
    jobs = bundles(validate(configured(algorithms=["map", "nuts"]) | {"device": "auto"}))
    names = [job.name for job in jobs if job.axes["dataset"] == "toy"]
    slow = configured(algorithms=["map", "slow"]) | {
        "device": "auto", "variants": {"slow": {"algorithm": "nuts", "draws": 5000}},
    }  # fmt: skip
    assert [job.name.replace("slow", "nuts") for job in bundles(validate(slow))][:3] == names
    assert names == [
        "gp/device~auto/dataset~toy/seeds~0-2",
        "gp/dataset~toy/algorithm~nuts/width~50/seeds~0-2",
        "gp/dataset~toy/algorithm~nuts/width~200/seeds~0-2",
    ]
    assert not fits_together("gp")


def test_cells_are_told_what_decides_them_and_no_more(configured):
    def digests(**changes):
        algorithms = ["map", "swag", "nuts", "nystrom"]
        return {
            (c.algorithm, c.axes["width"], c.seed, c.axes["dataset"]): c.digest()
            for job in bundles(validate(configured(algorithms=algorithms, **changes)))
            for c in job.cells()
        }

    before = digests()
    for changes, concerned in [
        ({"learning_rate": 0.4}, {"swag"}),
        ({"samples": 7}, {"swag"}),
        ({"iterations": 7}, {"swag", "map"}),
    ]:
        after = digests(**changes)
        assert {key[0] for key in before if before[key] != after[key]} == concerned


def test_a_network_has_as_many_weights_as_its_cells_say():
    for width in (3, 50):
        _, task = gp.task_of(cell("map", width), Path())
        assert task.network.dimension == GP.weights("toy", width)


# -- figures and tables ----------------------------------------------------------------------------

ALGORITHMS = ("map", "swag", "laplace", "gaussian_process", "nystrom", "random_features")


@pytest.fixture(scope="module")
def summary():
    def rows(one):
        return results.table_of(one, "digest", list(gp.run(one, Path())), Provenance())

    tables = [
        rows(cell(algorithm, width, seed))
        for seed in (0, 1)
        for width in (4, 8)
        for algorithm in ALGORITHMS
    ]
    return summarise(pa.concat_tables(tables).to_pandas())


@pytest.mark.parametrize("name", ["figure_7_1", "figure_7_2", "figure_7_3"])
def test_figures_say_when_there_is_nothing_to_draw(name, summary):
    draw = import_module(f"onlinefa.figures.{name}").draw
    drawn = draw(summary)
    assert drawn.axes
    nothing = draw(summary[summary["algorithm"] == "gaussian_process"])
    assert nothing.texts[0].get_text().startswith("not configured")
    plt.close("all")


def test_the_toy_is_drawn_with_the_band_of_every_posterior(summary):
    figure = import_module("onlinefa.figures.figure_7_1").draw(summary)
    titles = [axis.get_title() for axis in figure.axes if axis.get_visible()]
    assert titles == ["SWAG", "MAP", "Laplace, last layer"]
    laplace = summary[(summary["algorithm"] == "laplace") & (summary["width"] == 8)]
    line = figure.axes[2].lines[1].get_ydata()
    np.testing.assert_array_equal(line, entries(laplace, "function_mean"))
    plt.close("all")


def test_a_reference_whose_chains_disagree_is_not_drawn(summary):
    doubtful = summary[summary["algorithm"] == "laplace"].assign(algorithm="nuts")
    distances = doubtful["metric"].isin(gp.METRICS)
    doubtful.loc[distances, ["mean", "ok", "statuses"]] = [np.nan, 0, "2 undefined"]
    both = pd.concat([summary, doubtful])
    figure = import_module("onlinefa.figures.figure_7_1").draw(both)
    assert "NUTS" not in [axis.get_title() for axis in figure.axes]
    figure = import_module("onlinefa.figures.figure_7_2").draw(both)
    texts = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert any("NUTS: 2 undefined of 2 at width 8" in text for text in texts)
    plt.close("all")


def test_tables_have_a_column_for_each_width_and_no_reference_is_the_best(summary):
    rows = final_rows(summary, "sd_ratio")
    table = to_markdown(rows, "sd_ratio")
    assert "| dataset | algorithm | width 4 | width 8 |" in table
    assert "one is best" in table
    best = rows[rows["best"]]
    assert set(best["algorithm"]) == {"laplace"}
    assert len([line for line in table.splitlines() if line.startswith("| toy |")]) == 6
