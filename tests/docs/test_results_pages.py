"""Tests that numbers on the pages of results equal the committed results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onlinefa_benchmark import experiments
from onlinefa_benchmark.analysis.summary import read_summary
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.reporting.tables.final import make_table
from onlinefa_benchmark.reporting.tables.render import to_markdown
from onlinefa_benchmark.statistics.frames import entries

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_the_comparison_with_published_numbers_equals_the_results():
    table = pd.read_csv(RESULTS / "tables" / "synthetic" / "relative_frobenius.csv")
    text = (RESULTS / "chapter5.md").read_text()
    lines = re.findall(r"^\| (\d+) \| \[1, (\d+)\] \|(.*)\|$", text, re.M)
    assert len(lines) == 4
    for D, high, cells in lines:
        ours = [cell.strip() for cell in cells.split("|")[1::2]]
        for algorithm, cell in zip(["batch_svd", "online_em", "online_sga"], ours, strict=True):
            here = (table["D"] == int(D)) & (table["spectrum"] == f"1-{high}")
            (row,) = table[here & (table["algorithm"] == algorithm)].to_dict("records")
            mean, error = map(float, cell.split(" ± "))
            assert mean == pytest.approx(row["mean"], abs=6e-5)
            assert error == pytest.approx(row["standard_error"], rel=0.05)


@pytest.mark.parametrize(
    ("experiment", "metric"),
    [
        ("synthetic", "relative_frobenius"),
        ("linear", "wasserstein2"),
        ("gp", "function_wasserstein2"),
        ("network", "test_nll"),
    ],
)
def test_tables_equal_the_summary(experiment, metric):
    own = experiments.load(experiment)
    summary = read_summary(RESULTS / "summary" / f"{experiment}.parquet")
    _, caption, header, body = make_table(own, summary, own.all_metrics()[metric])
    table = (RESULTS / "tables" / experiment / f"{metric}.md").read_text()
    assert to_markdown(caption, header, body) == table


@pytest.fixture(scope="module")
def final():
    """Return the last measurements of chapter 6 with three factors."""
    summary = read_summary(RESULTS / "summary" / "linear.parquet")
    return summary[(summary["step"] == summary["step"].max()) & (summary["K"] == 3)]


DATASETS = ["boston", "concrete", "energy", "yacht"]


def lines_of_chapter_6(columns):
    text = (RESULTS / "chapter6.md").read_text()
    lines = re.findall(rf"^\| (\w+) \|((?:[^|]+\|){{{columns}}})$", text, re.M)
    lines = [(name, cells.strip(" |").split(" | ")) for name, cells in lines if name in DATASETS]
    assert [name for name, _ in lines] == DATASETS
    return lines


def test_the_steps_from_the_posterior_to_an_estimate(final):
    algorithms = ["online_em", "online_sga", "batch_svd", "swag", "swag_diagonal"]
    shared = ["loss_of_sgd", "loss_of_finite_walk", "loss_of_rank"]
    for dataset, cells in lines_of_chapter_6(9):
        here = final[(final["dataset"] == dataset) & (final["walk"] == "reshuffled")]
        means = here.set_index(["algorithm", "metric"])["mean"]
        expected = [means["batch_ml", metric] for metric in shared]
        expected += [means[algorithm, "loss_of_algorithm"] for algorithm in algorithms]
        expected += [means["batch_ml", "floor_of_rank"]]
        assert [float(cell) for cell in cells] == pytest.approx(expected, abs=6e-4)


def test_the_width_and_the_correlations_of_walks(final):
    walks = ["reshuffled", "replacement", "reshuffled_averaged", "replacement_averaged"]
    final = final[final["algorithm"] == "batch_ml"]
    for dataset, (width, *cells) in lines_of_chapter_6(5):
        for walk, cell in zip(walks, cells, strict=True):
            here = final[(final["dataset"] == dataset) & (final["walk"] == walk)]
            truth, estimate = entries(here, "true_covariance"), entries(here, "covariance")
            narrower, agreement = re.fullmatch(r"(\S+) \((\S+)\)", cell.replace("−", "-")).groups()
            assert float(width) == pytest.approx(np.sqrt(np.trace(truth)), abs=6e-3)
            ratio = np.sqrt(np.trace(truth) / np.trace(estimate))
            assert float(narrower) == pytest.approx(ratio, abs=0.06)
            above = np.triu_indices(len(truth), 1)
            correlations = [
                (C / np.sqrt(np.outer(np.diag(C), np.diag(C))))[above] for C in (truth, estimate)
            ]
            expected = np.corrcoef(*correlations)[0, 1]
            assert float(agreement) == pytest.approx(expected, abs=6e-3)


def test_the_distances_of_networks_from_the_process():
    """Check the first table of chapter 7: 2-Wasserstein distances at 200 hidden units."""
    summary = read_summary(RESULTS / "summary" / "gp.parquet")
    rows = summary[(summary["metric"] == "function_wasserstein2") & (summary["width"] == 200)]
    found = rows.set_index([rows["algorithm"].map(lambda name: look(name).label), "dataset"])
    text = (RESULTS / "chapter7.md").read_text()
    header, _, *lines = text[text.index("| posterior |") :].split("\n\n")[0].splitlines()
    datasets = header.strip("| ").split(" | ")[1:]
    assert (len(lines), len(datasets)) == (10, 5)
    for line in lines:
        label, *cells = line.strip("| ").split(" | ")
        for dataset, cell in zip(datasets, cells, strict=True):
            mean, error = map(float, cell.split(" ± "))
            expected = found.loc[(label, dataset)]
            assert mean == pytest.approx(expected["mean"], abs=6e-3)
            assert error == pytest.approx(expected["standard_error"], abs=6e-3)


def test_the_likelihoods_of_networks():
    """Check the first table of the page on MultiSWAG."""
    tables = read_summary(RESULTS / "summary" / "network.parquet")
    text = (RESULTS / "multiswag.md").read_text()
    lines = re.findall(r"^\| ([^|]+) \| ((?:[\d.]+ ± [\d.]+ \|[ ]?){8})$", text, re.M)
    lines = [(label, cells.strip("| ").split(" | ")) for label, cells in lines]
    assert len(lines) == 16
    found = tables[tables["metric"] == "test_nll"]
    found = found.set_index([found["algorithm"].map(lambda name: look(name).label), "dataset"])
    for label, cells in lines:
        expected = found.loc[label].sort_index()
        means, errors = zip(*(map(float, cell.split(" ± ")) for cell in cells), strict=True)
        assert means == pytest.approx(expected["mean"].tolist(), abs=6e-3)
        assert errors == pytest.approx(expected["standard_error"].tolist(), abs=6e-3)


def test_chains_of_networks_agree_with_the_process():
    summary = read_summary(RESULTS / "summary" / "gp.parquet")
    found = summary[summary["algorithm"] == "nuts"].set_index(["width", "metric"])["mean"]
    text = (RESULTS / "chapter7.md").read_text()
    lines = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|$", text, re.M)
    assert len(lines) == 3
    for width, *cells in lines:
        metrics = ["function_wasserstein2", "mean_error", "sd_ratio", "effective_sample_size"]
        expected = [found[int(width), metric] for metric in metrics]
        assert list(map(float, cells[:3])) == pytest.approx(expected[:3], abs=6e-4)
        assert float(cells[3]) == pytest.approx(expected[3], abs=0.6)
