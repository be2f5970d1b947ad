"""Tests of the table of coverage."""

from __future__ import annotations

import pandas as pd
from support.failing_jobs import FIRST, SECOND, write_job
from support.result_rows import ANGLE, make_failure, make_rows

from onlinefa_benchmark.reporting.tables.coverage import count_statuses, write_table
from onlinefa_benchmark.storage.schema import FAILED


def test_a_cell_has_the_status_of_its_worst_value():
    frames = [
        make_rows("diagonal", [1, 2]),
        make_rows("diagonal", [None, None], ANGLE, status="undefined"),
        make_rows("online_em", [1, 2, 3, 4]),
        make_rows("online_em", [1, 2, 3], ANGLE),
        make_rows("online_em", [None], ANGLE, status="undefined", seed=3),
        make_rows("online_em", [None], step=200, status="diverged", seed=2),
        make_failure("online_em", 4),
        make_rows("swag", [None], status="undefined"),
    ]
    frame = pd.concat(frames, ignore_index=True)
    frame["digest"] = frame["algorithm"] + frame["seed"].astype(str)
    table = count_statuses(frame).set_index("algorithm")[
        ["cells", "ok", "undefined", "diverged", FAILED]
    ]
    assert table.loc["diagonal"].tolist() == [2, 2, 0, 0, 0]  # it has no angles
    assert table.loc["online_em"].tolist() == [5, 2, 1, 1, 1]
    assert table.loc["swag"].tolist() == [1, 0, 1, 0, 0]


def test_the_table_of_coverage_by_hand(tmp_path):
    write_job(FIRST, tmp_path, 1)
    write_job(SECOND, tmp_path)
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
