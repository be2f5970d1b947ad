"""Tests of the figure of the speed benchmark, with some or no sections measured."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from matplotlib.image import imread

from benchmarks.clock import CORES
from benchmarks.drawing import draw
from benchmarks.workflow import shares

BATCH = {"section": "batch", "implementation": "onlinefa, one pass", "D": 200, "seconds": 0.1}
LARGE = {"section": "large", "algorithm": "online EM", "D": 100, "seconds": 1e-6, "of_copy": 0.5}


@pytest.mark.parametrize(
    "rows",
    [
        [LARGE],
        [BATCH | {"T": T, "megabytes": 3.0} for T in (100, 200)],
        # A small fit may need no additional memory.
        [BATCH | {"T": T, "megabytes": 0.0} for T in (100, 200)],
        [{"section": "start", "seconds": 1.0}],
    ],
    ids=["large", "batch", "no memory", "nothing to draw"],
)
def test_a_panel_without_values_is_left_empty(rows, tmp_path):
    draw(pd.DataFrame(rows), tmp_path / "bench.png")
    assert imread(tmp_path / "bench.png").shape[:2] == (480, 1560)


def test_the_seconds_of_cells_are_taken_from_their_events(tmp_path):
    events = [
        {"name": "started", "cells": ["a"]},
        {"name": "finished", "cells": ["a"], "seconds": 3.0},
        {"name": "failed", "cells": ["b"]},
        {"name": "finished", "cells": ["c", "d"], "seconds": 5.0},
    ]
    log = tmp_path / "logs" / "fit" / "synthetic" / "seed~0.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    for folder, seconds in (("fit/synthetic", 9.5), ("figures", 2.0)):
        path = tmp_path / "benchmarks" / folder / "job.tsv"
        path.parent.mkdir(parents=True)
        path.write_text(f"s\tmax_rss\n{seconds}\t100\n")
    found = shares(tmp_path, wall=10.0)
    assert (found["seconds_of_cells"], found["seconds_of_fits"]) == (8.0, 9.5)
    assert found["times_cells"] == (10.0 * CORES - 2.0) / 8.0
