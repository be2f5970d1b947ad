"""Look at a cluster before the first job: `python -m onlinefa doctor`.

Each check says what it found, and what there is instead of what the profile asks for.
"""

from __future__ import annotations

import getpass
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

# A node imports what a job imports, and says which Python and which versions it has.
_ENVIRONMENT = (
    "import sys, numpy, scipy, sklearn, numba, pyarrow, onlinefa; "
    "print(sys.executable, sys.version.split()[0], numpy.__version__, scipy.__version__, "
    "sklearn.__version__, numba.__version__, pyarrow.__version__)"
)


# Seconds between two looks at the states of jobs, at most, and some more.
_LONGEST_SILENCE = 240


@dataclass(frozen=True)
class Finding:
    fine: bool
    text: str

    def __str__(self) -> str:
        return f"{'ok   ' if self.fine else 'WRONG'} {self.text}"


def examine(profile: Path, results: Path) -> Iterator[Finding]:
    """All checks of a profile and of the folder that jobs write to."""
    settings = yaml.safe_load((profile / "config.yaml").read_text())
    if shutil.which("sbatch") is None:
        yield Finding(False, "no sbatch here: run this on a login node, or load Slurm's module")
        return
    answer = _run("sinfo", "--version")
    nodes = _run("sinfo", "-h", "-o", "%P %D %G %l")
    if nodes.returncode:
        yield Finding(False, f"Slurm's controller does not answer: {_last_line(nodes.stderr)}")
        return
    yield Finding(True, f"{answer.stdout.strip()} answers")
    partitions = _partitions(nodes.stdout)
    yield from _check_partitions(settings, partitions)
    yield _check_accounting(settings)
    yield _check_memory_of_jobs(settings)
    yield from _check_nodes(settings, results)


def _partitions(text: str) -> dict[str, set[str]]:
    """Each partition, and the generic resources of its nodes."""
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
        return Finding(account is None, "no accounting" + (
            f", but the profile asks for account {account}" if account else ", and none is needed"
        ))  # fmt: skip
    accounts = sorted(set(known.stdout.split()))
    if account and account not in accounts:
        return Finding(False, f"no account {account}; yours: {', '.join(accounts) or 'none'}")
    return Finding(True, f"accounting, {f'account {account}' if account else 'no account given'}")


def _check_memory_of_jobs(settings: dict[str, Any]) -> Finding:
    """Finished jobs must be remembered until they are asked for."""
    needed = max(3 * settings["slurm-init-seconds-before-status-checks"], _LONGEST_SILENCE)
    lines = _run("scontrol", "show", "config").stdout.splitlines()
    ages = [line.split("=")[1].split()[0] for line in lines if line.startswith("MinJobAge")]
    seconds = int(ages[0]) if ages and ages[0].isdigit() else 0
    return Finding(
        seconds >= needed,
        f"finished jobs are remembered for {seconds} s (MinJobAge), {needed} s are needed",
    )


def _check_nodes(settings: dict[str, Any], results: Path) -> Iterator[Finding]:
    """A job of each partition writes into the folder, and has the same environment as here."""
    here = _run(sys.executable, "-c", _ENVIRONMENT).stdout.strip()
    results.mkdir(parents=True, exist_ok=True)
    account = settings["default-resources"].get("slurm_account")
    for use, partition in _wanted_partitions(settings).items():
        wanted = [*(["-A", account] if account else []), *(["--gpus=1"] if "GPU" in use else [])]
        with tempfile.TemporaryDirectory(dir=results) as folder:
            file = Path(folder, "written")
            program = f"{_ENVIRONMENT}; open({str(file)!r}, 'w').close()"
            answer = _run(
                "srun", "--quiet", "--immediate=60", "-p", partition, "-t", "5", "--mem=1000",
                *wanted, sys.executable, "-c", program,
            )  # fmt: skip
            if "immediate" in answer.stderr.lower():
                yield Finding(True, f"{partition} is busy: no job on it was tried")
                continue
            if answer.returncode:
                yield Finding(False, f"a job on {partition} failed: {_last_line(answer.stderr)}")
                continue
            yield Finding(file.exists(), f"a job on {partition} writes into {results}, seen here")
        there = answer.stdout.strip()
        yield Finding(there == here, f"Python and libraries on {partition}: {there}" + (
            "" if there == here else f"; here: {here}"
        ))  # fmt: skip


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))
