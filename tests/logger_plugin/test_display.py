"""Tests of the display of progress in lines."""

from __future__ import annotations

import sys

from support.snakemake_messages import Clock

from snakemake_logger_plugin_onlinefa.display import Lines
from snakemake_logger_plugin_onlinefa.run_state import Row


def test_at_most_two_lines_are_printed_per_minute(capsys):
    clock = Clock()
    lines = Lines(sys.stderr, clock)
    lines.show([])
    for second in range(120):
        lines.show([Row("fits", second // 20, 6, f"{second // 20}/6 cells", f"{second} s left")])
        clock.now += 1
    lines.close([Row("fits", 6, 6, "6/6 cells")])
    assert capsys.readouterr().err.splitlines() == [
        "fits 0/6 cells, 0 s left",
        "fits 1/6 cells, 30 s left",
        "fits 3/6 cells, 60 s left",
        "fits 4/6 cells, 90 s left",
        "fits 6/6 cells",
    ]
