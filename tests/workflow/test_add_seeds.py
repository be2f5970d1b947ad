"""Tests that seeds are added only to settings whose standard errors are too large."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import yaml
from support.running import NO_EXPERIMENTS, ROOT, planned, run_onlinefa, snakemake

ERROR = 0.3  # between the standard errors of the two spectra with four seeds
SMALL = {
    **NO_EXPERIMENTS,
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


def run_rounds(directory, file):
    options = ("--snakefile", ROOT / "Snakefile", "--cores", "2", "--configfile", file)
    return run_onlinefa(directory, "add_seeds", "--", *options)


def values_at_the_end(directory):
    """Return the value of each seed by spectrum and algorithm."""
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


def test_seeds_are_added_until_the_standard_error_is_small_enough(tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(SMALL))
    run = run_rounds(tmp_path, file)
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
    assert ": met; detectable difference " in said[-1]

    with_config = ("--configfile", str(file))
    # Both targets in one dry run, to save time: only the decision about seeds is repeated.
    again = planned(snakemake(tmp_path, "-n", *with_config, "--", "all", "more_seeds"))
    assert again == ({"more_seeds": 1}, set())

    (tmp_path / "results" / "seeds.json").write_text("{")
    damaged = snakemake(tmp_path, "-n", *with_config)
    assert damaged.returncode == 1
    (line,) = [line for line in damaged.stderr.splitlines() if "seeds.json" in line]
    assert "is not a file that `snakemake more_seeds` has written" in line
    assert "Traceback" not in damaged.stderr
