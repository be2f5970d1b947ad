"""Start the workflow as a user does, on the cluster and without it, and read the results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import yaml

ROOT = Path(__file__).parents[2]
GRID = {"D": [12], "K": [2], "spectrum": [[1, 10], [1, 100]], "T": [20, 150], "seeds": 2}
ELSEWHERE = dict.fromkeys(("linear", "plane", "gp", "network", "digits"))
TARGET = ("--", "results/summary/synthetic.parquet")  # not the figures, which are not Slurm's
# A job with a GPU, numpy's threads, compiled loops: what could differ from one machine to the next.
EVERY_KIND = {
    "device": "auto",
    "synthetic": GRID | {"algorithms": ["online_em", "batch_ml", "shrunk_em"]},
}
SOON = ("--slurm-init-seconds-before-status-checks", "3")  # the profile's 20 are for long jobs
STARTED = []
IMPATIENT = (sys.executable, str(Path(__file__).parent / "impatient.py"))


def start(
    directory,
    config,
    *arguments,
    source=ROOT / "src",
    profile="slurm",
    program=("snakemake",),
    path=(),
):
    """Snakemake from the root of the checkout, as a user starts it; it writes into a file."""
    directory.mkdir(exist_ok=True)
    (directory / "config.yaml").write_text(yaml.safe_dump(config | ELSEWHERE))
    folders = [*path, Path(sys.executable).parent, os.environ["PATH"]]
    environment = os.environ | {
        "PATH": os.pathsep.join(map(str, folders)),
        "PYTHONPATH": str(source),
    }
    with (directory / "output").open("w") as output:
        run = subprocess.Popen(
            [*program, "--profile", profile, "--directory", str(directory),
             "--configfile", str(directory / "config.yaml"), *arguments, *TARGET],
            cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    run.output = directory / "output"
    STARTED.append(run)
    return run


def on_slurm(directory, config, *arguments, **options):
    """The same, but for how often it looks at its jobs."""
    return start(directory, config, *arguments, program=IMPATIENT, **options)


def finish(run, code=0):
    """What a run has printed, once it has ended as it should."""
    run.wait(timeout=500)
    output = run.output.read_text()
    assert run.returncode == code, output[-5000:]
    return output


def stop(run):
    """Nothing of a run goes on, but for its jobs."""
    if run.poll() is None:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def locally(directory, config, **options):
    """The rows without a cluster."""
    finish(start(directory, config, profile="profiles/local", **options))
    return rows(directory)


def rows(directory):
    """All results of a run, but for where and how fast they were computed."""
    tables = [pq.ParquetFile(path).read() for path in directory.glob("results/cells/**/*.parquet")]
    frame = pd.concat([table.to_pandas() for table in tables])
    return in_order(frame.drop(columns=["host", "seconds", "peak_memory_mb", "commit"]))


def in_order(frame):
    return frame.sort_values(["digest", "step", "metric"]).reset_index(drop=True)


def check_to_the_end(tmp_path, expected, start):
    finish(start(tmp_path / "slurm", EVERY_KIND, *SOON))
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)
    logs = tmp_path / "slurm" / "results" / "logs" / "fit" / "synthetic"
    for log in logs.glob("**/*.log"):
        on_gpu = "device~auto" in log.relative_to(logs).parts
        assert ("CUDA_VISIBLE_DEVICES=0" in log.read_text()) == on_gpu, log
    assert set(expected["device"]) == {"cpu"}  # the GPU is none
    assert "Nothing to be done" in finish(start(tmp_path / "slurm", EVERY_KIND))
