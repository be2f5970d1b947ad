"""Tests of the report: its values, its list of missing cells, and that it loads no resources."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.result_rows import METRIC, REFERENCES, make_failure, make_rows, summary_of
from support.tiny_run import fit_all, make_config

from onlinefa_benchmark import experiments
from onlinefa_benchmark.analysis.failures import fill_in_failures
from onlinefa_benchmark.analysis.summary import summarise
from onlinefa_benchmark.reporting.html import charts, facts, verdicts
from onlinefa_benchmark.reporting.html.material import (
    Material,
    read_finished,
    read_partial,
    summarise_rows,
)
from onlinefa_benchmark.reporting.html.page import write_report
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.provenance import Provenance
from onlinefa_benchmark.storage.result_file import bundle_path
from onlinefa_benchmark.storage.store import Store

pytestmark = pytest.mark.slow  # each test writes a page

SYNTHETIC = experiments.load("synthetic")
METRICS = SYNTHETIC.all_metrics()


def verdicts_of(summary):
    return verdicts.find_verdicts(SYNTHETIC, summary, METRICS[METRIC])


def headline(summary, found):
    return verdicts.format_headline(SYNTHETIC, summary, METRICS[METRIC], found)


def chart(summary):
    return charts.make_chart(SYNTHETIC, summary, METRICS)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder, config = tmp_path_factory.mktemp("run"), make_config()
    return config, folder, fit_all(config, folder)


@pytest.fixture(scope="module")
def material(run):
    config, folder, jobs = run
    return read_partial(jobs, config, folder / "cells", Store(folder / "store"))


def page_of(material, config, folder):
    write_report(material, config, None, folder / "report.html")
    return (folder / "report.html").read_text()


def test_the_best_and_the_runner_up_are_compared_by_a_paired_t_test():
    # Differences 1, 2, 3: mean 2 and standard error 1 / sqrt(3), so that t is 2 sqrt(3) with two
    # degrees of freedom, of which P(|T| > t) = 1 - t / sqrt(2 + t^2).
    found = verdicts_of(
        summary_of(make_rows("online_em", [1, 1, 1]), make_rows("diagonal", [2, 3, 4]))
    )
    (verdict,) = found
    assert (verdict.best, verdict.runner_up) == ("online EM", "diagonal control")
    assert verdict.behind == "2.00 ± 0.58"
    t = 2 * np.sqrt(3)
    assert verdict.p == pytest.approx(1 - t / np.sqrt(2 + t**2))
    assert not verdict.is_clear
    assert verdict.confidence == "not significant (p = 0.074)"


def test_a_clear_winner_must_differ_from_all_other_algorithms():
    # The third is further behind than the runner-up, but not significantly: differences 9, 0 and 0
    # have mean 3 and standard error 3, so that t is 1.
    summary = summary_of(
        make_rows("online_em", [1, 1, 1]),
        make_rows("diagonal", [2, 2, 2.01]),
        make_rows("online_sga", [10, 1, 1]),
    )
    (verdict,) = verdicts_of(summary)
    assert (verdict.best, verdict.runner_up) == ("online EM", "diagonal control")
    assert verdict.p == pytest.approx(1 - 1 / np.sqrt(3))


def test_p_values_are_adjusted_for_the_number_of_settings():
    one = [make_rows("online_em", [1, 1, 1]), make_rows("diagonal", [2, 3, 4])]
    two = [
        make_rows("online_em", [9, 8, 9], spectrum="1-100"),
        make_rows("diagonal", [1, 1, 1.1], spectrum="1-100"),
    ]
    summary = summary_of(*one, *two)
    first, second = verdicts_of(summary)
    t = 2 * np.sqrt(3)
    assert first.p == pytest.approx(1 - t / np.sqrt(2 + t**2))  # the larger of two is not doubled
    differences = np.array([8, 7, 7.9])
    t = differences.mean() / (differences.std(ddof=1) / np.sqrt(3))
    assert second.p == pytest.approx(2 * (1 - t / np.sqrt(2 + t**2)))
    assert second.is_clear
    assert headline(summary, [first, second]) == (
        "By relative Frobenius distance of covariances at T = 100: online EM is best in 1 of 2 "
        "settings (not significant); diagonal control is best in 1 of 2 settings (significant)."
    )


def test_an_algorithm_that_failed_once_is_not_the_best():
    summary = summary_of(
        make_rows("online_em", [1, 1]),
        make_failure("online_em", 2),
        make_rows("diagonal", [2, 3, 4]),
    )
    (verdict,) = verdicts_of(summary)
    assert (verdict.best, verdict.runner_up, verdict.confidence) == (
        "diagonal control",
        "–",
        "cannot be tested",
    )


@pytest.mark.parametrize(
    "frames",
    [
        [make_rows("online_em", [1]), make_failure("online_em", 1)],
        [
            make_rows("online_em", [1]),
            make_failure("online_em", 1),
            make_rows("swag", [1], seed=1),
            make_failure("swag", 0),
        ],
    ],
)
def test_no_algorithm_is_best_if_all_failed_once(frames):
    summary = summary_of(*frames)
    assert verdicts_of(summary) == []
    assert headline(summary, []).endswith(
        "no algorithm can be called best in any setting, because seeds are missing."
    )


def test_a_better_algorithm_with_fewer_seeds_leaves_a_setting_undecided():
    summary = summary_of(make_rows("online_em", [3, 3, 3]), make_rows("diagonal", [1], seed=1))
    assert verdicts_of(summary) == []
    assert chart(summary)["rows"]["best"] == [0, 0]
    # The setting is decided if the algorithm with fewer seeds is worse.
    summary = summary_of(make_rows("online_em", [3, 3, 3]), make_rows("diagonal", [4], seed=1))
    assert [verdict.best for verdict in verdicts_of(summary)] == ["online EM"]
    assert chart(summary)["rows"]["best"] == [1, 0]


def test_a_single_algorithm_is_not_tested():
    summary = summary_of(make_rows("online_em", [1, 2]))
    (verdict,) = found = verdicts_of(summary)
    assert verdict.confidence == "cannot be tested"
    assert headline(summary, found).endswith("online EM is best in the only setting (not tested).")


def test_equal_values_have_a_p_value_of_one():
    same = [make_rows(name, [1, 2, 3]) for name in ("online_em", "diagonal")]
    (verdict,) = verdicts_of(summary_of(*same))
    assert verdict.p == 1


def test_a_chart_has_all_means_of_the_summary(material):
    (each,) = material
    found = chart(each.summary)
    assert (found["x"], found["panels"]) == ("step", ["D", "K", "spectrum"])
    columns = found["rows"]
    decoded = pd.DataFrame(
        {
            key: [columns[key]["levels"][code] for code in columns[key]["codes"]]
            for key in ("algorithm", "metric", "spectrum", "D")
        }
        | {"step": columns["step"], "mean": columns["mean"], "n": columns["ok"]}
    )
    assert set(decoded["spectrum"]) == {"[1, 10]", "[1, 100]"}
    assert set(decoded["D"]) == {"12"}
    mine = decoded[(decoded["metric"] == METRIC) & (decoded["spectrum"] == "[1, 100]")]
    mine = mine.set_index(["algorithm", "step"])["mean"]
    theirs = each.summary[
        (each.summary["metric"] == METRIC) & (each.summary["spectrum"] == "1-100")
    ]
    theirs = theirs.set_index(["algorithm", "step"])["mean"]
    assert len(mine) == 3 * 2
    np.testing.assert_allclose(mine.sort_index(), theirs.sort_index(), rtol=1e-5)


def test_long_lines_are_thinned_and_keep_both_ends():
    summary = summary_of(*(make_rows("diagonal", [1, 2], step=step) for step in range(1, 102)))
    steps = chart(summary)["rows"]["step"]
    assert len(steps) == 40
    assert (steps[0], steps[-1]) == (1, 101)


def test_values_above_ten_times_the_median_are_marked_as_off_the_scale():
    summary = summary_of(
        make_rows("diagonal", [1, 1]),
        make_rows("online_em", [2, 2]),
        make_rows("online_sga", [21, 21]),
        make_rows("diagonal", [1, 1], step=200),
        make_rows("online_em", [2, 2], step=200),
        make_rows("online_sga", [20, 20], step=200),
    )
    columns = chart(summary)["rows"]
    off = {
        (columns["algorithm"]["levels"][code], step)
        for code, step, mark in zip(
            columns["algorithm"]["codes"], columns["step"], columns["off"], strict=True
        )
        if mark
    }
    assert off == {("online_sga", 100)}  # the median is 2


def test_all_values_are_on_the_scale_if_the_median_is_zero():
    names = ["batch_svd", "online_em", "online_sga"]
    values = [[0, 0], [0, 0], [1, 0]]
    summary = summary_of(*(make_rows(name, each) for name, each in zip(names, values, strict=True)))
    assert chart(summary)["rows"]["off"] == [0, 0, 0]


def test_missing_values_are_null():
    summary = summary_of(
        make_rows("diagonal", [1.0]), make_rows("online_em", [np.nan], status="diverged")
    )
    columns = chart(summary)["rows"]
    assert columns["mean"] == [None, 1]
    assert columns["error"] == [None, None]
    assert [columns["statuses"]["levels"][code] for code in columns["statuses"]["codes"]] == [
        "1 diverged",
        "",
    ]


def test_markers_equal_those_of_the_figures():
    circle, square, cross = (
        look["shape"] for look in charts.describe_looks(["batch_svd", "online_em", "mean_field"])
    )
    assert square == "M-0.8,0.8L0.8,0.8L0.8,-0.8L-0.8,-0.8Z"
    assert cross == "M-0.8,0.8L0.8,-0.8M-0.8,-0.8L0.8,0.8"
    assert circle.startswith("M0,0.8C") and circle.endswith("Z")


@pytest.mark.slow
def test_missing_cells_are_counted_and_listed(run, material, tmp_path):
    config, folder, jobs = run
    all_there = facts.count_cells(material)
    assert list(all_there["algorithm"]) == ["online_em", "online_sga", "diagonal"]
    assert list(all_there["cells"]) == list(all_there["ok"]) == [6, 6, 6]
    # The file of one job is missing; two of its cells are in the store.
    (job,) = (job for job in jobs if "diagonal" in job.name)
    cells = tmp_path / "cells"
    shutil.copytree(folder / "cells", cells)
    bundle_path(job, cells).unlink()
    store, whole = Store(tmp_path / "store"), Store(folder / "store")
    for cell in job.cells()[:2]:
        store.put(cell, cell.digest(), whole.get(cell.digest()))
    some = read_partial(jobs, config, cells, store)
    assert list(facts.count_cells(some)["missing"]) == [0, 0, 4]
    assert facts.list_missing(some) == ["synthetic: 4 cells (diagonal control 4)"]
    page = page_of(some, config, tmp_path)
    assert "4 of 18 cells are missing" in page
    assert "<li>synthetic: 4 cells (diagonal control 4)</li>" in page
    (each,) = some
    assert set(each.summary.loc[each.summary["algorithm"] == "diagonal", "seeds"]) == {1}


def test_a_page_without_cells_reports_that_there_are_no_values(run, tmp_path):
    config, _, jobs = run
    page = page_of(read_partial(jobs, config, tmp_path, Store(tmp_path)), config, tmp_path)
    assert "18 of 18 cells are missing" in page
    assert "<li>synthetic: all 18 cells</li>" in page
    assert "There are no values." in page


@pytest.mark.slow
def test_failures_are_reported_after_their_files_were_deleted(run, tmp_path):
    config, folder, jobs = run
    store, whole = Store(tmp_path / "store"), Store(folder / "store")
    bad, good = jobs[0].cells()[:2]
    table = result_file.failure_table(bad, bad.digest(), "no such luck", Provenance())
    store.put_failure(bad, bad.digest(), table)
    store.put(good, good.digest(), whole.get(good.digest()))
    material = read_partial(jobs, config, tmp_path, store)
    assert list(facts.count_cells(material)["failed"]) == [1, 0, 0]
    (trouble,) = facts.group_failures(material)
    assert (trouble["reason"], trouble["message"]) == ("no such luck", "no such luck")
    assert len(trouble["cells"]) == 1
    assert "no such luck" in page_of(material, config, tmp_path)


def test_a_page_of_diverged_cells_reports_that_there_are_no_values(run, material, tmp_path):
    config, _, _ = run
    (each,) = material
    diverged = each.rows.assign(value=np.nan, status="diverged")
    summary = summarise(fill_in_failures(diverged), METRICS, REFERENCES)
    page = page_of([replace(each, rows=diverged, summary=summary)], config, tmp_path)
    assert "There are no values." in page


def test_references_are_not_compared_with_one_another(material, monkeypatch):
    config = make_config(compared_with="online_em")
    (each,) = material
    alone = each.rows[each.rows["algorithm"] == "diagonal"]
    assert summarise_rows("synthetic", config, alone, []).comparison is not None
    monkeypatch.setattr(type(config), "references", lambda self, name: {"diagonal"})
    assert summarise_rows("synthetic", config, alone, []).comparison is None


def test_a_finished_run_is_read_from_its_summaries(run, material, tmp_path):
    config, folder, jobs = run
    (each,) = material
    for kind, table in {"summary": each.summary, "comparison": each.comparison}.items():
        (tmp_path / kind).mkdir()
        table.to_parquet(tmp_path / kind / "synthetic.parquet")
    (read,) = read_finished(
        jobs, config, folder / "cells", tmp_path / "summary", tmp_path / "comparison"
    )
    pd.testing.assert_frame_equal(read.summary, each.summary)
    pd.testing.assert_frame_equal(read.comparison, each.comparison)
    pd.testing.assert_frame_equal(read.rows, each.rows)
    assert not read.missing


def test_costs_are_sums_over_cells():
    frame = pd.concat(
        [
            make_rows("diagonal", [1, 1]).assign(seconds=[1800, 5400], digest=["a", "b"]),
            make_rows("diagonal", [1, 1], step=50).assign(seconds=[900, 900], digest=["a", "b"]),
        ]
    ).assign(peak_memory_mb=[100, 300, 100, 300])
    (line,) = facts.sum_costs([Material(SYNTHETIC, METRICS, frame, None, None)]).to_dict("records")
    assert (line["cells"], line["core_hours"], line["median_seconds"]) == (2, 2, 3600)
    assert (line["longest_seconds"], line["peak_memory_mb"]) == (5400, 300)


def test_a_page_is_one_file_without_external_resources(run, material, tmp_path):
    config, _, _ = run
    page = page_of(material, config, tmp_path)
    assert "partial" not in re.search("<title>(.*?)</title>", page).group(1)
    outside = re.sub("<script.*?</script>", "", page, flags=re.S)  # scripts are tested in a browser
    assert not re.search(r'(?:src|href)="(?!data:|#)', outside)
    assert "@import" not in outside
    assert "url(" not in outside
    assert re.search("numpy [0-9]", page)
    assert "spectrum:" in page  # from the configuration


def test_all_text_is_escaped(run, material, tmp_path):
    config, _, _ = run
    (each,) = material
    evil = "</script><script>alert(1)</script><b>"
    bad = each.rows.head(1).assign(metric="failed", status="failed", message=evil, digest="z")
    rows_with = pd.concat([each.rows, bad]).assign(host=evil)
    summary = each.summary.assign(statuses=evil)
    page = page_of([replace(each, rows=rows_with, summary=summary)], config, tmp_path)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    text = re.search('<script type="application/json" id="data">(.*?)</script>', page, re.S).group(
        1
    )
    assert json.loads(text)["experiments"]["synthetic"]["rows"]["statuses"]["levels"] == [evil]


def test_a_numeric_column_axis_is_the_horizontal_axis_of_a_chart():
    gp = experiments.load("gp")
    summary = summary_of(
        *(
            make_rows(
                "map", [1, 2], "mean_error", experiment="gp", dataset="toy", width=width, step=1
            )
            for width in (200, 50)
        )
    )
    found = charts.make_chart(gp, summary, gp.all_metrics())
    assert (found["x"], found["xLabel"], found["panels"]) == ("width", "hidden units", ["dataset"])
    assert found["titles"] == {"dataset": "dataset", "width": "hidden units"}
    assert found["rows"]["width"] == {
        "levels": ["50", "200"],
        "codes": [0, 1],
        "numbers": [50, 200],
    }
    network = summary.assign(experiment="network", noise="evidence", metric="test_nll")
    metrics = experiments.load("network").all_metrics()
    assert charts.make_chart(experiments.load("network"), network, metrics)["x"] is None
