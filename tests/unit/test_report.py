"""The report says what the summary says, leaves nothing out in silence, and runs nothing."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_failures import failed, rows
from tiny_run import configured, fitted

from onlinefa import results
from onlinefa.failures import spread
from onlinefa.provenance import Provenance
from onlinefa.report import charts, facts
from onlinefa.report.material import Material, _material, finished, partial
from onlinefa.report.page import write_report
from onlinefa.report.verdicts import headline, verdicts
from onlinefa.results import Store, bundle_path
from onlinefa.summary import summarise

METRIC = "relative_frobenius"


def summary_of(*frames):
    return summarise(spread(pd.concat(frames, ignore_index=True)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder, config = tmp_path_factory.mktemp("run"), configured()
    return config, folder, fitted(config, folder)


@pytest.fixture(scope="module")
def material(run):
    config, folder, jobs = run
    return partial(jobs, config, folder / "cells", Store(folder / "store"))


def page_of(material, config, folder):
    write_report(material, config, [], folder / "report.html")
    return (folder / "report.html").read_text()


def test_the_best_is_told_from_the_runner_up_by_a_paired_t_test():
    # Differences 1, 2, 3: mean 2 and standard error 1 / sqrt(3), so that t is 2 sqrt(3) with two
    # degrees of freedom, of which P(|T| > t) = 1 - t / sqrt(2 + t^2).
    found = verdicts(summary_of(rows("online_em", [1, 1, 1]), rows("diagonal", [2, 3, 4])), METRIC)
    (verdict,) = found
    assert (verdict.best, verdict.runner_up) == ("online EM", "diagonal control")
    assert verdict.behind == "2.00 ± 0.58"
    t = 2 * np.sqrt(3)
    assert verdict.p == pytest.approx(1 - t / np.sqrt(2 + t**2))
    assert not verdict.is_clear
    assert verdict.how_sure == "not told apart (p = 0.074)"


def test_who_is_ahead_must_be_ahead_of_all():
    # The third is further behind than the runner-up, but as likely as not by chance: differences
    # 9, 0 and 0 have mean 3 and standard error 3, so that t is 1.
    summary = summary_of(
        rows("online_em", [1, 1, 1]), rows("diagonal", [2, 2, 2.01]), rows("online_sga", [10, 1, 1])
    )
    (verdict,) = verdicts(summary, METRIC)
    assert (verdict.best, verdict.runner_up) == ("online EM", "diagonal control")
    assert verdict.p == pytest.approx(1 - 1 / np.sqrt(3))


def test_settings_share_the_risk():
    one = [rows("online_em", [1, 1, 1]), rows("diagonal", [2, 3, 4])]
    two = [
        rows("online_em", [9, 8, 9], spectrum="1-100"),
        rows("diagonal", [1, 1, 1.1], spectrum="1-100"),
    ]
    summary = summary_of(*one, *two)
    first, second = verdicts(summary, METRIC)
    t = 2 * np.sqrt(3)
    assert first.p == pytest.approx(1 - t / np.sqrt(2 + t**2))  # the larger of two is not doubled
    differences = np.array([8, 7, 7.9])
    t = differences.mean() / (differences.std(ddof=1) / np.sqrt(3))
    assert second.p == pytest.approx(2 * (1 - t / np.sqrt(2 + t**2)))
    assert second.is_clear
    assert headline(summary, METRIC, [first, second]) == (
        "By relative Frobenius distance of covariances at T = 100: online EM is best in 1 of 2 "
        "settings (not clear of chance); diagonal control is best in 1 of 2 settings (clear of "
        "chance)."
    )  # fmt: skip


def test_who_failed_once_is_not_the_best():
    summary = summary_of(
        rows("online_em", [1, 1]), failed("online_em", 2), rows("diagonal", [2, 3, 4])
    )
    (verdict,) = verdicts(summary, METRIC)
    assert (verdict.best, verdict.runner_up, verdict.how_sure) == (
        "diagonal control", "–", "cannot be tested",
    )  # fmt: skip


@pytest.mark.parametrize(
    "frames",
    [
        [rows("online_em", [1]), failed("online_em", 1)],
        [
            rows("online_em", [1]),
            failed("online_em", 1),
            rows("swag", [1], seed=1),
            failed("swag", 0),
        ],
    ],
)
def test_where_all_failed_once_nobody_is_the_best(frames):
    summary = summary_of(*frames)
    assert verdicts(summary, METRIC) == []
    assert headline(summary, METRIC, []).endswith(
        "nobody can be called the best of any setting: seeds are missing."
    )


def test_who_has_fewer_seeds_and_is_better_leaves_it_undecided():
    summary = summary_of(rows("online_em", [3, 3, 3]), rows("diagonal", [1], seed=1))
    assert verdicts(summary, METRIC) == []
    assert charts.chart(summary, "synthetic")["rows"]["best"] == [0, 0]
    # But not if it is worse.
    summary = summary_of(rows("online_em", [3, 3, 3]), rows("diagonal", [4], seed=1))
    assert [verdict.best for verdict in verdicts(summary, METRIC)] == ["online EM"]
    assert charts.chart(summary, "synthetic")["rows"]["best"] == [1, 0]


def test_one_algorithm_alone_is_not_tested():
    summary = summary_of(rows("online_em", [1, 2]))
    (verdict,) = found = verdicts(summary, METRIC)
    assert verdict.how_sure == "cannot be tested"
    assert headline(summary, METRIC, found).endswith(
        "online EM is best in the only setting (not tested)."
    )


def test_equal_values_are_not_told_apart():
    same = [rows(name, [1, 2, 3]) for name in ("online_em", "diagonal")]
    (verdict,) = verdicts(summary_of(*same), METRIC)
    assert verdict.p == 1


def test_a_chart_has_all_means_of_the_summary(material):
    (each,) = material
    found = charts.chart(each.summary, "synthetic")
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


def test_long_lines_are_thinned_and_keep_their_ends():
    summary = summary_of(*(rows("diagonal", [1, 2], step=step) for step in range(1, 102)))
    steps = charts.chart(summary, "synthetic")["rows"]["step"]
    assert len(steps) == 40
    assert (steps[0], steps[-1]) == (1, 101)


def test_what_would_squeeze_all_others_is_marked():
    summary = summary_of(
        rows("diagonal", [1, 1]), rows("online_em", [2, 2]), rows("online_sga", [21, 21]),
        rows("diagonal", [1, 1], step=200), rows("online_em", [2, 2], step=200),
        rows("online_sga", [20, 20], step=200),
    )  # fmt: skip
    columns = charts.chart(summary, "synthetic")["rows"]
    off = {
        (columns["algorithm"]["levels"][code], step)
        for code, step, mark in zip(
            columns["algorithm"]["codes"], columns["step"], columns["off"], strict=True
        )
        if mark
    }
    assert off == {("online_sga", 100)}  # the median is 2


def test_above_nothing_everything_is_on_the_scale():
    names = ["batch_svd", "online_em", "online_sga"]
    values = [[0, 0], [0, 0], [1, 0]]
    summary = summary_of(*(rows(name, each) for name, each in zip(names, values, strict=True)))
    assert charts.chart(summary, "synthetic")["rows"]["off"] == [0, 0, 0]


def test_what_has_no_value_is_no_number():
    summary = summary_of(rows("diagonal", [1.0]), rows("online_em", [np.nan], status="diverged"))
    columns = charts.chart(summary, "synthetic")["rows"]
    assert columns["mean"] == [None, 1]
    assert columns["error"] == [None, None]
    assert [columns["statuses"]["levels"][code] for code in columns["statuses"]["codes"]] == [
        "1 diverged", "",
    ]  # fmt: skip


def test_markers_are_those_of_the_figures():
    circle, square, cross = (
        look["shape"] for look in charts.looks(["batch_svd", "online_em", "mean_field"])
    )
    assert square == "M-0.8,0.8L0.8,0.8L0.8,-0.8L-0.8,-0.8Z"
    assert cross == "M-0.8,0.8L0.8,-0.8M-0.8,-0.8L0.8,0.8"
    assert circle.startswith("M0,0.8C") and circle.endswith("Z")


def test_cells_that_are_missing_are_counted_and_named(run, material, tmp_path):
    config, folder, jobs = run
    all_there = facts.coverage(material)
    assert list(all_there["algorithm"]) == ["online_em", "online_sga", "diagonal"]
    assert list(all_there["cells"]) == list(all_there["ok"]) == [6, 6, 6]
    # One job is not there, of which two cells are finished.
    (job,) = (job for job in jobs if "diagonal" in job.name)
    cells = tmp_path / "cells"
    shutil.copytree(folder / "cells", cells)
    bundle_path(job, cells).unlink()
    store, whole = Store(tmp_path / "store"), Store(folder / "store")
    for cell in job.cells()[:2]:
        store.put(cell, cell.digest(), whole.get(cell.digest()))
    some = partial(jobs, config, cells, store)
    assert list(facts.coverage(some)["missing"]) == [0, 0, 4]
    assert facts.missing(some) == ["synthetic: 4 cells (diagonal control 4)"]
    page = page_of(some, config, tmp_path)
    assert "4 of 18 cells are missing" in page
    assert "<li>synthetic: 4 cells (diagonal control 4)</li>" in page
    (each,) = some
    assert set(each.summary.loc[each.summary["algorithm"] == "diagonal", "seeds"]) == {1}


def test_without_any_cell_the_page_says_so(run, tmp_path):
    config, _, jobs = run
    page = page_of(partial(jobs, config, tmp_path, Store(tmp_path)), config, tmp_path)
    assert "18 of 18 cells are missing" in page
    assert "<li>synthetic: all 18 cells</li>" in page
    assert "There is not a single value." in page


def test_failures_of_a_run_that_has_deleted_their_files_are_told(run, tmp_path):
    config, folder, jobs = run
    store, whole = Store(tmp_path / "store"), Store(folder / "store")
    bad, good = jobs[0].cells()[:2]
    table = results.table_of_failure(bad, bad.digest(), "no such luck", Provenance())
    store.put_failure(bad, bad.digest(), table)
    store.put(good, good.digest(), whole.get(good.digest()))
    material = partial(jobs, config, tmp_path, store)
    assert list(facts.coverage(material)["failed"]) == [1, 0, 0]
    (trouble,) = facts.troubles(material)
    assert (trouble["reason"], trouble["message"]) == ("no such luck", "no such luck")
    assert len(trouble["cells"]) == 1
    assert "no such luck" in page_of(material, config, tmp_path)


def test_where_all_diverged_the_page_says_so(run, material, tmp_path):
    config, _, _ = run
    (each,) = material
    diverged = each.rows.assign(value=np.nan, status="diverged")
    summary = summarise(spread(diverged))
    page = page_of([replace(each, rows=diverged, summary=summary)], config, tmp_path)
    assert "There is not a single value." in page


def test_references_alone_are_compared_with_nobody(run, material):
    config, _, _ = run
    (each,) = material
    alone = each.rows[each.rows["algorithm"] == "diagonal"].assign(algorithm="nuts")
    assert _material("synthetic", alone, [], config).comparison is None


def test_a_finished_run_is_read_from_its_summaries(run, material, tmp_path):
    _, folder, jobs = run
    (each,) = material
    for kind, table in {"summary": each.summary, "comparison": each.comparison}.items():
        (tmp_path / kind).mkdir()
        table.to_parquet(tmp_path / kind / "synthetic.parquet")
    files = [[tmp_path / kind / "synthetic.parquet"] for kind in ("summary", "comparison")]
    (read,) = finished(jobs, folder / "cells", *files)
    pd.testing.assert_frame_equal(read.summary, each.summary)
    pd.testing.assert_frame_equal(read.comparison, each.comparison)
    pd.testing.assert_frame_equal(read.rows, each.rows)
    assert not read.missing


def test_costs_are_sums_over_cells():
    frame = pd.concat(
        [
            rows("diagonal", [1, 1]).assign(seconds=[1800, 5400], digest=["a", "b"]),
            rows("diagonal", [1, 1], step=50).assign(seconds=[900, 900], digest=["a", "b"]),
        ]
    ).assign(peak_memory_mb=[100, 300, 100, 300])
    (line,) = facts.costs([Material("synthetic", frame, None, None)]).to_dict("records")
    assert (line["cells"], line["core_hours"], line["median_seconds"]) == (2, 2, 3600)
    assert (line["longest_seconds"], line["peak_memory_mb"]) == (5400, 300)


def test_a_page_is_one_file_that_asks_for_nothing(run, material, tmp_path):
    config, _, _ = run
    page = page_of(material, config, tmp_path)
    assert "partial" not in re.search("<title>(.*?)</title>", page).group(1)
    outside = re.sub("<script.*?</script>", "", page, flags=re.S)  # the browser tells what they do
    assert not re.search(r'(?:src|href)="(?!data:|#)', outside)
    assert "@import" not in outside
    assert "url(" not in outside
    assert re.search("numpy [0-9]", page)
    assert "spectrum:" in page  # of the configuration


def test_no_text_can_become_part_of_the_page(run, material, tmp_path):
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
