"""Measure everything and draw it: `make bench`, or `make bench FULL=1` for sizes that take hours.

Times are the best of several repetitions, and only their ratios within one run mean anything.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from benchmarks import batch, large, planning, updates, workflow
from benchmarks.drawing import draw

FOLDER = Path(__file__).parent / "results"
SECTIONS = {
    "updates": updates.measure,
    "start": updates.measure_start,
    "large": large.measure,
    "batch": batch.measure,
    "planning": planning.measure,
    "workflow": workflow.measure_default,
    "thesis": workflow.measure_thesis,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--full", action="store_true", help="D up to 10^7, T up to 100,000, runs of the workflow"
    )
    parser.add_argument("--only", choices=list(SECTIONS))
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / "bench.parquet"
    known = pd.read_parquet(file) if options.only and file.exists() else pd.DataFrame()
    for name, section in SECTIONS.items():
        if options.only in (None, name):
            print(f"\n== {name}", flush=True)
            rows = pd.DataFrame(section(options.full)).assign(section=name)
            if not known.empty:
                known = known[known["section"] != name]
            known = pd.concat([known, rows], ignore_index=True)
    known.to_parquet(file)
    draw(known, FOLDER / "bench.png")
    print(f"\n{file}, {FOLDER / 'bench.png'}")


if __name__ == "__main__":
    if len(sys.argv) == 1 or sys.argv[1] != "child":
        main()
    else:  # a measurement that needs a process of its own
        {"large": large, "batch": batch}[sys.argv[2]].child(*sys.argv[3:])
