"""Runs of the workflow: how much of their wall time do cells take?"""

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


def measure_default(full: bool) -> list[dict[str, Any]]:
    return [_measure("config.yaml")] if full else _not_now("minutes")


def measure_thesis(full: bool) -> list[dict[str, Any]]:
    return [_measure("thesis.yaml")] if full else _not_now("hours")


def _not_now(how_long: str) -> list[dict[str, Any]]:
    print(f"takes {how_long}: FULL=1")
    return []


def _measure(configuration: str) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        command = [
            "snakemake", "--snakefile", ROOT / "Snakefile", "--profile", ROOT / "profiles/local",
            "--configfile", ROOT / "config" / configuration, "--directory", folder,
        ]  # fmt: skip
        wall = best_of(1, lambda: subprocess.run(command, check=True))
        return {"configuration": configuration, **shares(Path(folder, "results"), wall)}


def shares(results: Path, wall: float) -> dict[str, float]:
    """What a run's wall time went into: the cells' own seconds, from drawing data to the last
    metric, those of the jobs that they are in, and those of figures."""
    seconds = {
        "cells": sum(_seconds_of_cells(results / "logs/fit")),
        "fits": sum(_seconds_of_jobs(results / "benchmarks/fit")),
        "figures": sum(_seconds_of_jobs(results / "benchmarks/figures")),
    }
    ratio = (wall * CORES - seconds["figures"]) / seconds["cells"]
    of_each = ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items())
    print(f"{wall:.0f} s on {CORES} cores; {of_each}; without figures {ratio:.2f} times the cells")
    own = {f"seconds_of_{name}": value for name, value in seconds.items()}
    return {"seconds": wall, **own, "times_cells": ratio}


def _seconds_of_cells(logs: Path) -> Iterator[float]:
    for log in logs.rglob("*.log"):
        yield from map(float, re.findall(r"done in ([\d.]+) s", log.read_text()))


def _seconds_of_jobs(benchmarks: Path) -> Iterator[float]:
    for file in benchmarks.rglob("*.tsv"):
        with file.open() as lines:
            yield from (float(job["s"]) for job in csv.DictReader(lines, delimiter="\t"))
