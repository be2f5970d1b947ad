"""Run the workflow until its standard errors are small enough.

Snakemake knows all jobs when it starts, and how many seeds are needed is known when they are done:
it is started again until no setting gets more. That ends, because every start but the last adds
seeds to some setting, and none may have more than the configuration allows.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from onlinefa import seeds_file

Run = Callable[[Sequence[str]], int]
"""What runs Snakemake with some arguments, and returns its exit status."""


def _snakemake(arguments: Sequence[str]) -> int:
    process = subprocess.Popen([sys.executable, "-m", "snakemake", *arguments])
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # it was told as well, and ends its jobs before itself


def fit_until_enough(options: Sequence[str], seeds: Path, run: Run = _snakemake) -> int:
    """With these options of Snakemake's; in the end, make all figures and tables."""
    while True:
        before = seeds_file.read(seeds)
        status = run([*options, "--", "more_seeds"])
        if status:
            return status
        if seeds_file.read(seeds) == before:
            return run(options)
