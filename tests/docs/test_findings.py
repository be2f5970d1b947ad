"""Tests of the claims in docs/findings.md against the committed results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from onlinefa_benchmark.analysis.summary import read_summary

FOLDER = Path(__file__).parents[2] / "docs" / "findings"
PAGE = FOLDER.parent / "findings.md"
ERROR = "relative_frobenius"


def means(experiment, index, metric=ERROR, column="mean"):
    """Return a metric's means over seeds: rows are combinations of `index`, columns algorithms."""
    summary = read_summary(FOLDER / "summary" / f"{experiment}.parquet")
    rows = summary[summary["metric"] == metric]
    assert (rows["seeds"] == 10).all()
    return rows.pivot(index=index, columns="algorithm", values=column)


@pytest.fixture(scope="module")
def figure_5_1():
    return means("synthetic", ["D", "spectrum", "step"])


def test_recursive_em_is_within_ten_percent_of_maximum_likelihood(figure_5_1):
    many = figure_5_1[figure_5_1.index.get_level_values("step") >= 1000]
    assert (many["recursive_em"] < 1.1 * many["batch_ml"]).all()


def test_recursive_em_is_at_most_a_standard_error_worse_than_batch_svd(figure_5_1):
    errors = means("synthetic", ["D", "spectrum", "step"], column="standard_error")
    behind = (figure_5_1["recursive_em"] - figure_5_1["batch_svd"]) / errors["batch_svd"]
    assert (behind[behind.index.get_level_values("step") >= 1000] < 1).all()


def test_shrunk_em_is_within_five_percent_of_the_better_of_two_algorithms(figure_5_1):
    better = figure_5_1[["diagonal", "batch_ml"]].min(axis=1)
    assert len(better) == 2 * 3 * 10
    assert (figure_5_1["shrunk_em"] < 1.05 * better).all()


def test_errors_are_constant_only_for_algorithms_that_are_equivariant_to_units():
    errors = means("scale", ["scale"])
    assert list(errors.index) == [1e-3, 1e-2, 0.1, 1, 10, 100, 1000]
    spread = errors.max() / errors.min()
    depends = {"online_em", "online_sga", "batch_svd"}
    assert set(spread[spread > 1 + 1e-6].index) == depends
    assert (spread[["online_em", "online_sga"]] > 2).all()


def table(first):
    """Return the cells, line by line, of the page's table whose header begins with this text."""
    text = PAGE.read_text()
    lines = text[text.index(f"| {first} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_of_units_equals_the_results():
    errors = means("scale", ["scale"])
    algorithms = ["online_em", "online_sga", "batch_ml", "recursive_em", "shrunk_em", "diagonal"]
    lines = table("data times")
    assert len(lines) == len(errors)
    for scale, *cells in lines:
        expected = errors.loc[float(scale.replace(",", "")), algorithms]
        found = [float(cell.replace("diverged", "nan")) for cell in cells]
        assert found == pytest.approx(list(expected), rel=0.03, nan_ok=True)


def test_the_table_of_ratios_to_maximum_likelihood_equals_the_results(figure_5_1):
    lines = table("D, range")
    assert len(lines) == 6
    for name, *cells in lines:
        D, high = re.fullmatch(r"(\d+), \[1, (\d+)\]", name).groups()
        panel = figure_5_1.loc[int(D), f"1-{high}"]
        ratios = panel["recursive_em"] / panel["batch_ml"]
        few = panel["shrunk_em"] / panel[["diagonal", "batch_ml"]].min(axis=1)
        expected = [ratios[1000], ratios[10_000], ratios[100_000], few.max(), few.min()]
        assert [float(cell) for cell in cells] == pytest.approx(expected, abs=6e-4)


def test_the_documented_frequencies_of_the_right_number_of_factors():
    index = ["D", "K", "step"]
    right = means("components", index, "components_right")["recursive_em_auto"]
    off = means("components", index, "components_off")["recursive_em_auto"]
    lines = table("D, true K")
    assert len(lines) == 8
    for name, *cells in lines:
        D, K = map(int, name.split(", "))
        expected = [
            f"{10 * right[D, K, T]:.0f}, {off[D, K, T]:.1f}" for T in (500, 1000, 2000, 5000)
        ]
        assert cells == expected


def test_the_documented_errors_after_a_change_of_the_model():
    errors = means("change", ["step"])
    for name, *cells in table("follows"):
        steps = [10_000, 11_000, 12_000, 14_000, 16_000, 20_000, 30_000]
        expected = errors.loc[steps, name.strip("`")]
        assert [float(cell) for cell in cells] == pytest.approx(list(expected), rel=6e-3)


def test_the_documented_errors_with_given_eigenvalues():
    errors = means("eigenvalues", ["spectrum", "step"])
    last = errors.xs(20_000, level="step")
    assert np.isfinite(last.drop(columns="online_sga")).all(axis=None)
    for spectrum, *cells in table("eigenvalues"):
        low, high = re.fullmatch(r"\[(\d+), (\d+)\]", spectrum).groups()
        algorithms = ["online_em", "batch_svd", "batch_ml", "recursive_em", "shrunk_em", "diagonal"]
        expected = last.loc[f"{low}-{high}", algorithms]
        assert [float(cell) for cell in cells] == pytest.approx(list(expected), rel=6e-3)


def test_values_with_standard_errors_are_those_of_the_tables():
    values = re.findall(r"\d\.\d+ ± \d\.\d+", PAGE.read_text().replace("\n", " "))
    assert len(values) >= 10
    tables = " ".join(path.read_text() for path in FOLDER.glob("tables/*/relative_frobenius.md"))
    assert [value for value in values if value not in tables] == []
