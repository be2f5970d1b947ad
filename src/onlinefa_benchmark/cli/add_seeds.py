"""``onlinefa add_seeds``: run the workflow until its standard errors are small enough.

Snakemake plans all jobs when it starts, but the number of seeds that are needed follows from their
results. Snakemake is therefore started again until no setting gets more seeds. The loop ends,
because every round but the last adds seeds to some setting, and the configuration limits their
number.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import errors_in_one_line

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands

Run = Callable[[Sequence[str]], int]
"""Run Snakemake with some arguments; return its exit code."""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "add_seeds", help="run Snakemake until standard errors are small enough"
    )
    parser.add_argument("options", nargs="*", help="options of Snakemake, after --")
    parser.add_argument("--seeds", type=Path, default=Path("results/seeds.json"))
    parser.set_defaults(command=_add_seeds)


def _add_seeds(options: argparse.Namespace) -> int:
    with errors_in_one_line():
        return run_rounds(options.options, options.seeds)


def run_rounds(options: Sequence[str], seeds: Path, run: Run | None = None) -> int:
    """Run the target `more_seeds` until no seeds are added, then the default target."""
    from onlinefa_benchmark.config import seed_counts

    run = run or _run_snakemake
    while True:
        before = seed_counts.read(seeds)
        status = run([*options, "--", "more_seeds"])
        if status:
            return status
        if seed_counts.read(seeds) == before:
            return run(options)


def _run_snakemake(arguments: Sequence[str]) -> int:
    process = subprocess.Popen([sys.executable, "-m", "snakemake", *arguments])
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # Snakemake gets the same signal, and ends its jobs before it exits
