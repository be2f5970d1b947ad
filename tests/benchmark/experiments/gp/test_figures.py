"""Tests of chapter 7: figures and tables of small results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.gp_cells import cell, measurements

from onlinefa_benchmark import algorithms, experiments
from onlinefa_benchmark.analysis.summary import summarise
from onlinefa_benchmark.experiments.gp import figures
from onlinefa_benchmark.experiments.gp.computation import METRICS
from onlinefa_benchmark.reporting.tables import final
from onlinefa_benchmark.statistics.frames import entries
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.provenance import Provenance

pytestmark = pytest.mark.slow  # draws figures

GP = experiments.load("gp")
ALGORITHMS = ("map", "swag", "laplace", "gaussian_process", "nystrom", "random_features")


@pytest.fixture(scope="module")
def summary():
    tables = [
        result_file.measurement_table(
            cell(algorithm, width, seed),
            "digest",
            measurements(algorithm, width, seed),
            Provenance(),
        )
        for seed in (0, 1)
        for width in (4, 8)
        for algorithm in ALGORITHMS
    ]
    rows = pa.concat_tables(tables).to_pandas()
    references = [name for name in ALGORITHMS if algorithms.is_reference(name)]
    return summarise(rows, GP.all_metrics(), references)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", ["figure_7_1", "figure_7_2", "figure_7_3"])
def test_a_figure_without_results_names_the_missing_algorithms(name, summary):
    draw = getattr(figures, name)
    assert draw(GP, summary).axes
    nothing = draw(GP, summary[summary["algorithm"] == "gaussian_process"])
    assert nothing.texts[0].get_text().startswith("not configured")


def test_the_toy_is_drawn_with_the_band_of_every_posterior(summary):
    figure = figures.figure_7_1(GP, summary)
    titles = [axis.get_title() for axis in figure.axes if axis.get_visible()]
    assert titles == ["SWAG", "MAP", "Laplace, last layer"]
    laplace = summary[(summary["algorithm"] == "laplace") & (summary["width"] == 8)]
    line = figure.axes[2].lines[1].get_ydata()
    np.testing.assert_array_equal(line, entries(laplace, "function_mean"))


def test_a_reference_whose_chains_disagree_is_not_drawn(summary):
    doubtful = summary[summary["algorithm"] == "laplace"].assign(algorithm="nuts")
    distances = doubtful["metric"].isin(METRICS)
    doubtful.loc[distances, ["mean", "ok", "statuses"]] = [np.nan, 0, "2 undefined"]
    both = pd.concat([summary, doubtful])
    figure = figures.figure_7_1(GP, both)
    assert "NUTS" not in [axis.get_title() for axis in figure.axes]
    figure = figures.figure_7_2(GP, both)
    texts = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert any("NUTS: 2 undefined of 2 at width 8" in text for text in texts)


def test_tables_have_a_column_per_width_and_references_are_never_best(summary):
    rows, caption, header, lines = final.make_table(GP, summary, GP.all_metrics()["sd_ratio"])
    assert header == ["dataset", "algorithm", "width 4", "width 8"]
    assert "one is best" in caption
    assert set(rows[rows["best"]]["algorithm"]) == {"laplace"}
    assert [line[0] for line in lines] == ["toy"] * 6
