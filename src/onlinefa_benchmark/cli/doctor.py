"""``onlinefa doctor``: check a cluster before the first job.

Each check reports what it found. If the profile names something that does not exist, the check
lists what does.
"""

from __future__ import annotations

import argparse
import getpass
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onlinefa_benchmark.cli.common import UserError

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands

# A node imports what a job imports, and prints its Python and its versions.
_ENVIRONMENT = (
    "import sys, numpy, scipy, sklearn, numba, pyarrow, onlinefa_benchmark; "
    "print(sys.executable, sys.version.split()[0], numpy.__version__, scipy.__version__, "
    "sklearn.__version__, numba.__version__, pyarrow.__version__)"
)

# Longest time between two queries of the states of jobs in seconds, with a margin.
_LONGEST_QUERY_INTERVAL = 240


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    is_fine: bool
    text: str

    def __str__(self) -> str:
        return f"{'ok   ' if self.is_fine else 'WRONG'} {self.text}"


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("doctor", help="check a cluster before the first job")
    parser.add_argument("--profile", type=Path, default=Path("profiles/slurm"))
    parser.add_argument("--results", type=Path, default=Path("results"), help="shared folder")
    parser.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    is_fine = True
    for finding in examine(options.profile, options.results.absolute()):
        print(finding, flush=True)
        is_fine &= finding.is_fine
    return 0 if is_fine else 1


def examine(profile: Path, results: Path) -> Iterator[Finding]:
    """Check a profile, and the folder that jobs write to."""
    import yaml

    path = profile / "config.yaml"
    if not path.exists():
        raise UserError(f"no profile {path}: give its folder with --profile")
    settings = yaml.safe_load(path.read_text())
    if shutil.which("sbatch") is None:
        yield Finding(False, "no sbatch here: run this on a login node, or load Slurm's module")
        return
    answer = _run("sinfo", "--version")
    nodes = _run("sinfo", "-h", "-o", "%P %D %G %l")
    if nodes.returncode:
        yield Finding(False, f"Slurm's controller does not answer: {_last_line(nodes.stderr)}")
        return
    yield Finding(True, f"{answer.stdout.strip()} answers")
    partitions = _parse_partitions(nodes.stdout)
    yield from _check_partitions(settings, partitions)
    yield _check_accounting(settings)
    yield _check_job_age(settings)
    yield from _check_nodes(settings, results)


def _parse_partitions(text: str) -> dict[str, set[str]]:
    """Return each partition, and the generic resources of its nodes."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        name, _, resources, _ = line.split()
        found.setdefault(name.rstrip("*"), set()).add(resources)
    return found


def _check_partitions(
    settings: dict[str, Any], partitions: dict[str, set[str]]
) -> Iterator[Finding]:
    known = ", ".join(sorted(partitions))
    for use, wanted in _wanted_partitions(settings).items():
        if wanted not in partitions:
            yield Finding(False, f"no partition {wanted} for {use}; there are {known}")
            continue
        yield Finding(True, f"partition {wanted} for {use}")
        if use == "GPU cells":
            gpus = sorted(found for found in partitions[wanted] if "gpu" in found)
            text = f"GPUs of partition {wanted}: {', '.join(gpus) or 'none'}"
            yield Finding(bool(gpus), text)


def _wanted_partitions(settings: dict[str, Any]) -> dict[str, str]:
    cpu = settings["default-resources"]["slurm_partition"]
    gpu = settings.get("set-resources", {}).get("fit_on_gpu", {}).get("slurm_partition", cpu)
    return {"cells": cpu, "GPU cells": gpu}


def _check_accounting(settings: dict[str, Any]) -> Finding:
    account = settings["default-resources"].get("slurm_account")
    user = f"user={getpass.getuser()}"
    known = _run("sacctmgr", "-n", "-P", "show", "assoc", user, "format=account")
    if known.returncode:
        needed = f"but the profile sets account {account}" if account else "and none is needed"
        return Finding(account is None, f"no accounting, {needed}")
    accounts = sorted(set(known.stdout.split()))
    if account and account not in accounts:
        return Finding(False, f"no account {account}; yours: {', '.join(accounts) or 'none'}")
    return Finding(True, f"accounting, {f'account {account}' if account else 'no account given'}")


def _check_job_age(settings: dict[str, Any]) -> Finding:
    """Check that Slurm keeps records of finished jobs until their states are queried."""
    needed = max(3 * settings["slurm-init-seconds-before-status-checks"], _LONGEST_QUERY_INTERVAL)
    lines = _run("scontrol", "show", "config").stdout.splitlines()
    ages = [line.split("=")[1].split()[0] for line in lines if line.startswith("MinJobAge")]
    seconds = int(ages[0]) if ages and ages[0].isdigit() else 0
    return Finding(
        seconds >= needed,
        f"Slurm keeps finished jobs for {seconds} s (MinJobAge), {needed} s are needed",
    )


def _check_nodes(settings: dict[str, Any], results: Path) -> Iterator[Finding]:
    """Run a job on each partition: it writes into the folder and reports its environment."""
    here = _run(sys.executable, "-c", _ENVIRONMENT).stdout.strip()
    results.mkdir(parents=True, exist_ok=True)
    account = settings["default-resources"].get("slurm_account")
    for use, partition in _wanted_partitions(settings).items():
        options = ["--quiet", "--immediate=60", "-p", partition, "-t", "5", "--mem=1000"]
        options += ["-A", account] if account else []
        options += ["--gpus=1"] if "GPU" in use else []
        with tempfile.TemporaryDirectory(dir=results) as folder:
            file = Path(folder, "written")
            program = f"{_ENVIRONMENT}; open({str(file)!r}, 'w').close()"
            answer = _run("srun", *options, sys.executable, "-c", program)
            if "immediate" in answer.stderr.lower():
                yield Finding(True, f"{partition} is busy: no job was tried")
                continue
            if answer.returncode:
                yield Finding(False, f"a job on {partition} failed: {_last_line(answer.stderr)}")
                continue
            yield Finding(file.exists(), f"files of jobs on {partition} in {results} are visible")
        there = answer.stdout.strip()
        different = "" if there == here else f"; here: {here}"
        yield Finding(there == here, f"Python and libraries on {partition}: {there}{different}")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))
