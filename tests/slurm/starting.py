"""Start the workflow as a user does, on the cluster and without it, and read the results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import yaml

ROOT = Path(__file__).parents[2]
GRID = {"D": [12], "K": [2], "spectrum": [[1, 10], [1, 100]], "T": [20, 150], "seeds": 2}
ELSEWHERE = dict.fromkeys(("linear", "plane"))
TARGET = ("--", "results/summary/synthetic.parquet")  # not the figures, which are not Slurm's


def start(directory, config, *arguments, source=ROOT / "src", profile="slurm"):
    """Snakemake as a user starts it, from the root of the checkout."""
    directory.mkdir(exist_ok=True)
    (directory / "config.yaml").write_text(yaml.safe_dump(config | ELSEWHERE))
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(source),
    }
    return subprocess.Popen(
        ["snakemake", "--profile", profile, "--directory", str(directory),
         "--configfile", str(directory / "config.yaml"), *arguments, *TARGET],
        cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip


QUICK = ("--slurm-init-seconds-before-status-checks", "3")


def on_slurm(directory, config, *arguments, **options):
    return start(directory, config, *QUICK, *arguments, **options)


def finish(run):
    output = run.communicate(timeout=500)[0]
    assert run.returncode == 0, output[-5000:]
    return output


def locally(directory, config, **options):
    """The same without a cluster."""
    finish(start(directory, config, profile="profiles/local", **options))
    return rows(directory)


def rows(directory):
    """All results of a run, but for where and how fast they were computed."""
    tables = [pq.ParquetFile(path).read() for path in directory.glob("results/cells/**/*.parquet")]
    frame = pd.concat([table.to_pandas() for table in tables])
    frame = frame.drop(columns=["host", "seconds", "peak_memory_mb", "commit"])
    return frame.sort_values(["digest", "step", "metric"]).reset_index(drop=True)


def faulty(marks, *faults):
    """A configuration with a job for each fault."""
    variants = {
        fault: {"algorithm": "faulty", "fault": fault, "marks": str(marks)} for fault in faults
    }
    return {"variants": variants, "synthetic": GRID | {"algorithms": [*faults, "diagonal"]}}


def undisturbed(tmp_path, source, *faults):
    """A configuration with faults, the folder of their marks, and the rows without any fault."""
    marks = tmp_path / "marks"
    marks.mkdir()
    config = faulty(marks, *faults)
    for fault in faults:
        (marks / fault).touch()
    expected = locally(tmp_path / "local", config, source=source)
    for mark in marks.iterdir():
        mark.unlink()
    return config, marks, expected


def check_same_rows_as_locally(tmp_path):
    algorithms = ["online_em", "online_sga", "batch_ml", "recursive_em"]
    config = {"synthetic": GRID | {"algorithms": algorithms}}
    expected = locally(tmp_path / "local", config)
    finish(on_slurm(tmp_path / "slurm", config))
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)
    again = finish(on_slurm(tmp_path / "slurm", config))
    assert "Nothing to be done" in again
