"""Tests of the table of published results beside ours."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from onlinefa_benchmark import algorithms, datasets
from onlinefa_benchmark.experiments.network.published import (
    METHODS,
    RESULTS,
    network_published,
)

CONFIG = SimpleNamespace(
    datasets=["airfoil", "boston", "ccpp"], splits="standard", width=50, activation="relu"
)


def summary_of(*rows):
    """Return a summary of (dataset, algorithm, noise, negative log-likelihood, error)."""
    return pd.DataFrame(
        [
            {
                "dataset": dataset,
                "algorithm": algorithm,
                "noise": noise,
                "metric": metric,
                "mean": value,
                "standard_error": 0.125,
                "ok": 20,
            }
            for dataset, algorithm, noise, nll, rmse in rows
            for metric, value in (("test_nll", nll), ("test_rmse", rmse))
        ]
    )


@pytest.fixture
def table():
    summary = summary_of(
        ("boston", "swag", "heteroscedastic", 2.5, 3.0),
        ("boston", "swag", "evidence", 2.25, 3.5),
        ("boston", "ensemble", "heteroscedastic", np.nan, np.nan),
        ("airfoil", "swag", "evidence", 1.0, 1.0),
    )
    return network_published(CONFIG, summary)


def test_the_first_line_of_a_dataset_is_the_best_of_ours(table):
    _, _, header, lines = table
    assert lines[0] == [
        "boston",
        "**best here**",
        "",
        "-2.25 ± 0.12",
        "",
        "3.50 ± 0.12",
        "SWAG, evidence",
    ]
    assert all(len(line) == len(header) for line in lines)


def test_a_published_method_has_our_result_with_the_same_noise(table):
    rows, _, _, lines = table
    assert lines[3] == [
        "boston",
        "SWAG",
        "-2.76",
        "-2.50 ± 0.12",
        "3.52",
        "3.00 ± 0.12",
        "SWAG, heteroscedastic",
    ]
    swag = rows[(rows["dataset"] == "boston") & (rows["method"] == "swag")].iloc[0]
    assert (swag["log_likelihood"], swag["published_log_likelihood"]) == (-2.5, -2.761)


def test_results_that_are_missing_are_left_blank(table):
    _, _, _, lines = table
    of_ccpp = [line for line in lines if line[0] == "ccpp"]
    assert [line[1] for line in of_ccpp] == ["PBP", "deep ensemble", "SLANG"]
    assert {(line[3], line[5], line[6]) for line in of_ccpp} == {("", "", "")}
    ensemble = next(line for line in lines if line[:2] == ["boston", "deep ensemble"])
    assert ensemble[3] == ""  # all splits diverged


def test_datasets_without_published_results_are_left_out(table):
    rows, _, _, _ = table
    assert set(rows["dataset"]) == {"boston", "ccpp"}


def test_the_caption_has_the_sources_of_what_is_shown_and_the_splits(table):
    _, caption, _, _ = table
    assert "20 standard splits" in caption
    for method in METHODS.values():
        assert method.source in caption
    _, of_ccpp, _, _ = network_published(
        SimpleNamespace(**{**vars(CONFIG), "datasets": ["ccpp"]}),
        summary_of(("airfoil", "swag", "evidence", 1.0, 1.0)),
    )
    assert "Maddox" not in of_ccpp


def test_published_names_are_known():
    assert set(RESULTS) <= set(datasets.names())
    known = {*algorithms.estimator_names(), *algorithms.posterior_names(), ""}
    assert {method.algorithm for method in METHODS.values()} <= known
    assert {name for results in RESULTS.values() for name in results} == set(METHODS)
