"""Run the real Snakemake, as a user does, and read what it plans."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from onlinefa_benchmark import experiments

ROOT = Path(__file__).parents[2]
NO_EXPERIMENTS = dict.fromkeys(experiments.names())
"""A configuration that leaves out every experiment of the default one."""


def command(directory, *arguments):
    """Return the command that runs Snakemake in a directory."""
    return [
        *(sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile"),
        *("--directory", directory, "--cores", "2", *arguments),
    ]


def environment(source=ROOT / "src", **variables):
    """Return an environment with the virtual environment's programs first on the path."""
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(source),
        "OMP_NUM_THREADS": "1",
        **variables,
    }


def snakemake(directory, *arguments, **variables):
    """Run Snakemake in a directory to its end."""
    return subprocess.run(
        command(directory, *arguments), capture_output=True, text=True, env=environment(**variables)
    )


def run_onlinefa(directory, *arguments, **variables):
    """Run the command ``onlinefa`` in a directory to its end."""
    return subprocess.run(
        [sys.executable, "-m", "onlinefa_benchmark", *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        env=environment(**variables),
    )


def with_file(directory, config):
    """Write a configuration; return the arguments with which Snakemake reads it."""
    file = Path(directory, "small.yaml")
    file.write_text(yaml.safe_dump(config))
    return ("--configfile", str(file))


def planned(run):
    """Return the jobs per rule, and the cell files, that a dry run would make."""
    assert run.returncode == 0, run.stdout + run.stderr
    text = run.stdout + run.stderr
    if "Nothing to be done" in text:
        return {}, set()
    stats = text[text.index("Job stats:") :]
    jobs = {rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", stats, re.M)}
    jobs.pop("total")
    cells = set(re.findall(r"^    output: results/cells/(\S+)\.parquet", text, re.M))
    return jobs, cells
