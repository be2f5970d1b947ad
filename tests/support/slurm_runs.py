"""Run the workflow with and without a cluster, and read the results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import yaml
from support.running import NO_EXPERIMENTS

ROOT = Path(__file__).parents[2]
GRID = {"D": [12], "K": [2], "spectrum": [[1, 10], [1, 100]], "T": [20, 150], "seeds": 2}
TARGET = "results/summary/synthetic.parquet"  # figures are not drawn on the cluster
# A job with a GPU, threads of NumPy, compiled loops: their results could differ by machine.
EVERY_KIND = {
    "device": "auto",
    "synthetic": GRID | {"algorithms": ["online_em", "batch_ml", "shrunk_em"]},
}
SOON = (
    "--slurm-init-seconds-before-status-checks",
    "3",
)  # the profile's 20 s are meant for long jobs
STARTED = []
IMPATIENT = (sys.executable, str(Path(__file__).parent / "impatient_snakemake.py"))


def start(
    directory,
    config,
    *arguments,
    source=ROOT / "src",
    profile="slurm",
    program=("snakemake",),
    path=(),
    target=TARGET,
):
    """Start Snakemake from the root of the checkout; its output goes to a file."""
    directory.mkdir(exist_ok=True)
    (directory / "config.yaml").write_text(yaml.safe_dump(NO_EXPERIMENTS | config))
    folders = [*path, Path(sys.executable).parent, os.environ["PATH"]]
    environment = os.environ | {
        "PATH": os.pathsep.join(map(str, folders)),
        "PYTHONPATH": str(source),
    }
    with (directory / "output").open("w") as output:
        run = subprocess.Popen(
            [
                *(*program, "--profile", profile, "--directory", str(directory)),
                *("--configfile", str(directory / "config.yaml"), *arguments, "--", target),
            ],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    run.output = directory / "output"
    STARTED.append(run)
    return run


def on_slurm(directory, config, *arguments, **options):
    """Start Snakemake with short pauses between queries of its jobs."""
    return start(directory, config, *arguments, program=IMPATIENT, **options)


def finish(run, code=0):
    """Wait for the end of a run with an exit code; return its output."""
    run.wait(timeout=500)
    output = run.output.read_text()
    assert run.returncode == code, output[-5000:]
    return output


def stop(run):
    """Kill Snakemake, but not its jobs."""
    if run.poll() is None:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def locally(directory, config, **options):
    """Return the rows of a run without a cluster."""
    finish(start(directory, config, profile="profiles/local", **options))
    return rows(directory)


def rows(directory):
    """Return all results of a run, without columns about the machine and the speed."""
    tables = [pq.ParquetFile(path).read() for path in directory.glob("results/cells/**/*.parquet")]
    frame = pd.concat([table.to_pandas() for table in tables])
    return in_order(frame.drop(columns=["host", "seconds", "peak_memory_mb", "commit"]))


def in_order(frame):
    return frame.sort_values(["digest", "step", "metric", "i", "j"]).reset_index(drop=True)


def check_to_the_end(tmp_path, expected, start):
    finish(start(tmp_path / "slurm", EVERY_KIND, *SOON))
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)
    logs = tmp_path / "slurm" / "results" / "logs" / "fit" / "synthetic"
    for log in logs.glob("**/*.log"):
        on_gpu = "device~auto" in log.relative_to(logs).parts
        assert ("CUDA_VISIBLE_DEVICES=0" in log.read_text()) == on_gpu, log
    assert set(expected["device"]) == {"cpu"}  # the GPU is simulated
    assert "Nothing to be done" in finish(start(tmp_path / "slurm", EVERY_KIND))
