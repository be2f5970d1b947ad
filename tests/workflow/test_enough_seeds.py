"""Seeds are added to a setting until its standard errors are small enough, and to no other."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import yaml
from running import ROOT, planned, snakemake

from onlinefa.config import EXPERIMENTS

ERROR = 0.3  # between what four seeds have of the one spectrum and of the other
SMALL = {
    **dict.fromkeys(EXPERIMENTS),
    "seeds_per_job": 4,
    "eigenvalues": {
        "algorithms": ["swag", "diagonal"],
        "D": [12],
        "K": [2],
        "spectrum": [[1, 10], [1, 100]],
        "T": [20, 150],
        "seeds": 4,
        "more_seeds": {"metric": "relative_frobenius", "error": ERROR, "most": 30},
    },
}


def run_until_enough(directory, file):
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
    }
    return subprocess.run(
        [sys.executable, "-m", "onlinefa", "enough_seeds", "--", "--snakefile", ROOT / "Snakefile",
         "--cores", "2", "--configfile", file],
        cwd=directory, capture_output=True, text=True, env=environment,
    )  # fmt: skip


def values_at_the_end(directory):
    """By spectrum and algorithm, the value of each seed."""
    found = {}
    for path in Path(directory, "results", "store").glob("??/*.parquet"):
        for row in pq.ParquetFile(path).read().to_pylist():
            if row["step"] == 150 and row["metric"] == "relative_frobenius":
                of_group = found.setdefault((row["spectrum"], row["algorithm"]), {})
                of_group[row["seed"]] = row["value"]
    return found


def error_of(values, seeds):
    first = [values[seed] for seed in range(seeds)]
    return np.std(first, ddof=1) / math.sqrt(seeds)


def test_seeds_are_added_until_there_are_enough(tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(SMALL))
    run = run_until_enough(tmp_path, file)
    assert run.returncode == 0, run.stdout + run.stderr
    found = values_at_the_end(tmp_path)
    worst = {spectrum: found[spectrum, "swag"] for spectrum in ("1-10", "1-100")}
    # The control varies less.
    assert all(
        error_of(found[name, "diagonal"], 4) < error_of(worst[name], 4)
        for name in ("1-10", "1-100")
    )
    assert error_of(worst["1-100"], 4) <= ERROR < error_of(worst["1-10"], 4)
    expected, number = [4], 4
    while error_of(worst["1-10"], number) > ERROR:
        needed = math.ceil(number * (error_of(worst["1-10"], number) / ERROR) ** 2)
        number = min(needed, 2 * number, 30)
        expected.append(number)
    assert len(expected) >= 2
    assert {key: sorted(values) for key, values in found.items()} == {
        (spectrum, algorithm): list(range(seeds))
        for spectrum, seeds in [("1-10", number), ("1-100", 4)]
        for algorithm in ("swag", "diagonal")
    }
    said = [line for line in run.stdout.splitlines() if "spectrum 1-10:" in line]
    assert len(said) == len(expected)
    assert all(f" {seeds} seeds, " in line for seeds, line in zip(expected, said, strict=True))
    assert said[-1].endswith(": met")

    with_config = ("--configfile", str(file))
    # Both at once, because a plan takes seconds: neither has anything to make, but the question is
    # asked again.
    again = planned(snakemake(tmp_path, "-n", *with_config, "--", "all", "more_seeds"))
    assert again == ({"more_seeds": 1}, set())

    (tmp_path / "results" / "seeds.json").write_text("{")
    damaged = snakemake(tmp_path, "-n", *with_config)
    assert damaged.returncode == 1
    (line,) = [line for line in damaged.stderr.splitlines() if "seeds.json" in line]
    assert "is not what `snakemake more_seeds` writes" in line
    assert "Traceback" not in damaged.stderr
