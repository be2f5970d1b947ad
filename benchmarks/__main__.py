"""Measure speed and memory and draw the results: `make bench`, or `make bench FULL=1`.

Times are the best of several repetitions. Compare ratios within one run, not times of two machines.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from benchmarks import batch, large, networks, planning, updates, workflow
from benchmarks.drawing import draw

FOLDER = Path(__file__).parent / "results"
SECTIONS = {
    "updates": updates.measure,
    "start": updates.measure_start,
    "large": large.measure,
    "batch": batch.measure,
    "networks": networks.measure,
    "planning": planning.measure,
    "workflow": workflow.measure_default,
    "thesis": workflow.measure_thesis,
}


def main() -> None:
    """Measure all sections, or one; write a table and a figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--full",
        action="store_true",
        help="D up to 10^7, T up to 100,000, and runs of the workflow; takes hours",
    )
    parser.add_argument("--only", choices=list(SECTIONS), help="measure one section")
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
    else:  # a measurement in a child process
        {"large": large, "batch": batch, "networks": networks}[sys.argv[2]].child(*sys.argv[3:])
