"""Time of a dry run, for grids of thousands of cells."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from onlinefa_benchmark import experiments

ROOT = Path(__file__).parents[1]
_GRID = """
seeds_per_job: {per_job}
synthetic:
  algorithms: [batch_svd, online_em, online_sga, batch_ml, diagonal]
  D: [100, 1000]
  K: [10]
  spectrum: [[1, 10], [1, 100]]
  T: [100]
  seeds: {seeds}
"""


def measure(full: bool) -> list[dict[str, Any]]:
    """Measure dry runs of the workflow."""
    found = []
    others = "".join(f"{name}: null\n" for name in experiments.names() if name != "synthetic")
    grids = [(1000, 1), (10_000, 1), (10_000, 5), *([(100_000, 5), (100_000, 50)] if full else [])]
    for cells, per_job in grids:
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder, "grid.yaml")
            config.write_text(_GRID.format(per_job=per_job, seeds=cells // 20) + others)
            command: list[str | Path] = [sys.executable, "-m", "snakemake", "--dry-run"]
            command += ["--quiet", "rules", "--snakefile", ROOT / "Snakefile"]
            command += ["--configfile", config, "--directory", folder]
            start = perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds = perf_counter() - start
        found.append({"cells": cells, "per_job": per_job, "seconds": seconds})
        print(f"{cells} cells, {per_job} per job: {seconds:.1f} s", flush=True)
    return found
