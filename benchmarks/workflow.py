"""Runs of the workflow: the share of the wall time that cells take."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.clock import CORES, best_of

ROOT = Path(__file__).parents[1]


def measure_default(full: bool) -> list[dict[str, Any]]:
    """Measure the default run."""
    return [_measure("config.yaml")] if full else _skip("minutes")


def measure_thesis(full: bool) -> list[dict[str, Any]]:
    """Measure the run of the thesis."""
    return [_measure("thesis.yaml")] if full else _skip("hours")


def _skip(duration: str) -> list[dict[str, Any]]:
    print(f"takes {duration}; measured with FULL=1 only")
    return []


def _measure(configuration: str) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        command: list[str | Path] = ["snakemake", "--snakefile", ROOT / "Snakefile"]
        command += ["--profile", ROOT / "profiles/local"]
        command += ["--configfile", ROOT / "config" / configuration, "--directory", folder]
        wall = best_of(1, lambda: subprocess.run(command, check=True))
        return {"configuration": configuration, **shares(Path(folder, "results"), wall)}


def shares(results: Path, wall: float) -> dict[str, float]:
    """Return the shares of a run's wall time.

    Parameters
    ----------
    results : Path
        Folder of the run's results.
    wall : float
        Seconds that the run took.

    Returns
    -------
    dict of str to float
        The wall time; the seconds of cells, from drawing data to the last metric; the seconds of
        the jobs that fit them and of figures; and all core seconds, without those of figures,
        divided by the seconds of cells.
    """
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
    for log in logs.rglob("*.jsonl"):
        events = map(json.loads, log.read_text().splitlines())
        yield from (event["seconds"] for event in events if event["name"] == "finished")


def _seconds_of_jobs(benchmarks: Path) -> Iterator[float]:
    for file in benchmarks.rglob("*.tsv"):
        with file.open() as lines:
            yield from (float(job["s"]) for job in csv.DictReader(lines, delimiter="\t"))
