"""The default run: how much of its wall time do cells take?"""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.clock import CORES, best_of

ROOT = Path(__file__).parents[1]


def measure(full: bool) -> list[dict[str, Any]]:
    """Against the cells' own seconds, from drawing data to the last metric, and the figures'."""
    if not full:
        print("takes minutes: FULL=1")
        return []
    with TemporaryDirectory() as folder:
        command = [
            "snakemake", "--snakefile", ROOT / "Snakefile", "--profile", ROOT / "profiles/local",
            "--directory", folder,
        ]  # fmt: skip
        wall = best_of(1, lambda: subprocess.run(command, check=True, capture_output=True))
        results = Path(folder) / "results"
        seconds = {
            "cells": sum(_seconds_of_cells(results / "logs/fit")),
            "fits": sum(_seconds_of_jobs(results / "benchmarks/fit")),
            "figures": sum(_seconds_of_jobs(results / "benchmarks/figures")),
        }
    ratio = (wall * CORES - seconds["figures"]) / seconds["cells"]
    of_each = ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items())
    print(f"{wall:.0f} s on {CORES} cores; {of_each}; without figures {ratio:.2f} times the cells")
    own = {f"seconds_of_{name}": value for name, value in seconds.items()}
    return [{"seconds": wall, **own, "times_cells": ratio}]


def _seconds_of_cells(logs: Path) -> Iterator[float]:
    for log in logs.rglob("*.log"):
        yield from map(float, re.findall(r"done in ([\d.]+) s", log.read_text()))


def _seconds_of_jobs(benchmarks: Path) -> Iterator[float]:
    for file in benchmarks.rglob("*.tsv"):
        with file.open() as lines:
            yield from (float(job["s"]) for job in csv.DictReader(lines, delimiter="\t"))
