"""A failed cell counts wherever the others of its kind do, and is seen in a table of its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from onlinefa import results
from onlinefa.cell import Bundle, Group
from onlinefa.comparison import compare, write_comparison
from onlinefa.experiments.tracking import Measurement
from onlinefa.failures import failures, forget, spread
from onlinefa.provenance import Provenance
from onlinefa.results import FAILED, ResultError
from onlinefa.summary import summarise
from onlinefa.tables.coverage import counted, write_table

METRIC, ANGLE = "relative_frobenius", "largest_principal_angle"


def rows(algorithm, values, metric=METRIC, step=100, spectrum="1-10", status="ok", seed=0):
    """One row per seed, from `seed` on."""
    return pd.DataFrame(
        {
            "experiment": "synthetic", "dataset": "algorithm_3", "walk": None,
            "algorithm": algorithm, "D": 10, "K": 2, "width": np.nan, "spectrum": spectrum,
            "scale": np.nan, "seed": range(seed, seed + len(values)), "step": step,
            "metric": metric, "value": pd.Series(values, dtype=float), "status": status,
            "seconds": 1.0, "contract": f"of {metric}", "networks": np.nan,
        }
    )  # fmt: skip


def failed(algorithm, seed, spectrum="1-10"):
    one = rows(algorithm, [None], FAILED, 0, spectrum, FAILED, seed)
    return one.assign(seconds=np.nan, contract="")


def spread_of(*frames):
    return spread(pd.concat(frames, ignore_index=True))


def lacking(found):
    """What failed cells lack."""
    missing = found[found["status"] == FAILED]
    assert missing["value"].isna().all()
    keys = ["algorithm", "spectrum", "seed", "step", "metric", "contract"]
    return set(missing[keys].itertuples(index=False, name=None))


def test_without_failures_nothing_changes():
    frame = pd.concat([rows("diagonal", [1, 2]), rows("online_em", [3])], ignore_index=True)
    pd.testing.assert_frame_equal(spread(frame), frame)


def test_a_failed_cell_lacks_what_other_seeds_have():
    found = spread_of(
        rows("online_em", [1, 2]), rows("online_em", [1, 2], step=200), rows("diagonal", [5], "x"),
        failed("online_em", 2),
    )  # fmt: skip
    expected = {("online_em", "1-10", 2, step, METRIC, f"of {METRIC}") for step in (100, 200)}
    assert lacking(found) == expected
    assert len(found) == 2 + 2 + 1 + 2


def test_alone_it_lacks_what_other_algorithms_have_or_else_what_the_experiment_has():
    found = spread_of(
        rows("online_em", [1, 2]), rows("online_em", [1], "x", spectrum="1-100"),
        rows("online_sga", [1], "x", spectrum="1-100").assign(contract="in other words"),
        failed("diagonal", 0), failed("diagonal", 0, "1-1000"),
    )  # fmt: skip
    assert lacking(found) == {
        ("diagonal", "1-10", 0, 100, METRIC, f"of {METRIC}"),
        ("diagonal", "1-1000", 0, 100, METRIC, f"of {METRIC}"),
        ("diagonal", "1-1000", 0, 100, "x", "of x"),
    }


def test_a_summary_counts_it():
    frames = [rows("online_em", [1, 3]), failed("online_em", 2), rows("diagonal", [1, 1, 1])]
    summary = summarise(spread_of(*frames)).set_index("algorithm")
    assert set(summary["metric"]) == {METRIC}
    online = summary.loc["online_em"]
    assert (online["mean"], online["ok"], online["seeds"]) == (2, 2, 3)
    assert (online["statuses"], online["seconds"]) == ("1 failed", 1)
    assert summary.loc["diagonal", "statuses"] == ""


def test_an_algorithm_that_always_failed_is_in_the_summary():
    frames = [rows("diagonal", [1, 2]), failed("online_em", 0), failed("online_em", 1)]
    summary = summarise(spread_of(*frames)).set_index("algorithm")
    online = summary.loc["online_em"]
    assert (online["ok"], online["seeds"], online["statuses"]) == (0, 2, "2 failed")
    assert online["contract"] == f"of {METRIC}"


def test_in_a_comparison_it_has_lost_its_pair():
    table = compare(
        spread_of(
            rows("batch_svd", [1, 1, 1]), rows("online_em", [0.5, 0.5]), failed("online_em", 2),
            failed("online_sga", 0), failed("online_sga", 1), failed("online_sga", 2),
        ),
        "batch_svd",
    ).set_index("algorithm")  # fmt: skip
    assert table.loc["online_em", ["difference", "pairs", "lost"]].tolist() == [-0.5, 2, 1]
    # Ranks: 1, 1, and 2.5 with the other that failed.
    assert table.loc["online_em", "mean_rank"] == pytest.approx(4.5 / 3)
    assert table.loc["online_sga", ["pairs", "lost"]].tolist() == [0, 3]


def test_what_its_other_cells_cannot_be_measured_by_it_has_not_lost():
    nothing = rows("diagonal", [None, None], ANGLE, status="undefined")
    table = compare(
        spread_of(
            rows("batch_svd", [1, 1, 1]), rows("batch_svd", [1, 1, 1], ANGLE),
            rows("diagonal", [2, 2]), nothing, failed("diagonal", 2),
        ),
        "batch_svd",
    )  # fmt: skip
    assert set(table[table["metric"] == ANGLE]["algorithm"]) == {"batch_svd"}
    of_diagonal = table[(table["metric"] == METRIC) & (table["algorithm"] == "diagonal")]
    assert of_diagonal[["pairs", "lost"]].to_numpy().tolist() == [[2, 1]]


def test_a_cell_is_what_its_worst_value_is():
    frames = [
        rows("diagonal", [1, 2]), rows("diagonal", [None, None], ANGLE, status="undefined"),
        rows("online_em", [1, 2, 3, 4]), rows("online_em", [1, 2, 3], ANGLE),
        rows("online_em", [None], ANGLE, status="undefined", seed=3),
        rows("online_em", [None], step=200, status="diverged", seed=2), failed("online_em", 4),
        rows("swag", [None], status="undefined"),
    ]  # fmt: skip
    frame = pd.concat(frames, ignore_index=True)
    frame["digest"] = frame["algorithm"] + frame["seed"].astype(str)
    table = counted(frame).set_index("algorithm")[["cells", "ok", "undefined", "diverged", FAILED]]
    assert table.loc["diagonal"].tolist() == [2, 2, 0, 0, 0]  # angles it never has
    assert table.loc["online_em"].tolist() == [5, 2, 1, 1, 1]
    assert table.loc["swag"].tolist() == [1, 0, 1, 0, 0]


AXES = {"algorithm": "diagonal", "D": 4, "K": 2, "spectrum": "1-10"}
GROUP = Group(AXES, {"dataset": "algorithm_3"})
FIRST, SECOND = (Bundle("synthetic", AXES, (GROUP,), seeds) for seeds in [(0, 1), (2, 3)])


def write(bundle, folder, *broken):
    """The file of a bundle whose job has failed for some seeds."""
    tables = []
    for cell in bundle.cells():
        if cell.seed in broken:
            why = f"ValueError: `{cell.seed}`\nTraceback"
            tables.append(results.table_of_failure(cell, cell.digest(), why, Provenance()))
        else:
            ok = [Measurement(5, METRIC, 0.5, "ok", "", 0.1)]
            tables.append(results.table_of(cell, cell.digest(), ok, Provenance()))
    results.write(pa.concat_tables(tables), results.bundle_path(bundle, folder))


def test_the_table_of_coverage_by_hand(tmp_path):
    write(FIRST, tmp_path, 1)
    write(SECOND, tmp_path)
    paths = [tmp_path / f"coverage.{suffix}" for suffix in ("csv", "md", "tex")]
    write_table([FIRST, SECOND], tmp_path, paths)
    _, line = paths[0].read_text().splitlines()
    assert line == "synthetic,diagonal,4,3,0,0,1,ValueError: `1`"
    markdown = paths[1].read_text()
    assert "| experiment | algorithm | cells | ok | undefined | diverged | failed |" in markdown
    assert "| synthetic | diagonal control | 4 | 3 | 0 | 0 | 1 |" in markdown
    cell = "synthetic, algorithm diagonal, D 4, K 2, spectrum 1-10, seed 1"
    assert markdown.endswith(f"\nFailed:\n\n- {cell}: `ValueError: '1'`\n")
    assert r"synthetic & diagonal control & 4 & 3 & 0 & 0 & 1 \\" in paths[2].read_text()


def test_only_files_with_failed_cells_are_forgotten(tmp_path):
    write(FIRST, tmp_path, 0)
    write(SECOND, tmp_path)
    (told,) = failures([FIRST, SECOND], tmp_path)
    assert (told.bundle, told.cell.seed, told.reason) == (FIRST, 0, "ValueError: `0`")
    never_made = Bundle("synthetic", AXES, (GROUP,), (4,))
    paths = [results.bundle_path(bundle, tmp_path) for bundle in (FIRST, SECOND)]
    assert forget([FIRST, SECOND, never_made], tmp_path) == paths[:1]
    assert [path.exists() for path in paths] == [False, True]


def test_where_every_cell_failed_there_is_nothing_to_compare(tmp_path):
    write(FIRST, tmp_path, 0, 1)
    with pytest.raises(ResultError, match="every cell has failed"):
        write_comparison("diagonal", [FIRST], tmp_path, tmp_path / "comparison.parquet")
