"""Where a result comes from: commit, versions, host, device, peak memory."""

from __future__ import annotations

import json
import platform
import resource
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("onlinefa", "numpy", "scipy", "scikit-learn", "numba", "torch", "jax", "numpyro")


class Provenance:
    """Facts about this process when this value was made, and the peak of its memory since then."""

    def __init__(self, device: str = "cpu") -> None:
        self.facts = {
            "commit": _commit(),
            "versions": _versions(),
            "device": device,
            "host": platform.node(),
        }
        _reset_peak_memory()

    def peak_memory_mb(self) -> float:
        try:
            status = Path("/proc/self/status").read_text()
            return int(status.split("VmHWM:")[1].split()[0]) / 1024
        except (OSError, IndexError):  # not Linux: the peak since the process started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return peak / 1024**2 if platform.system() == "Darwin" else peak / 1024


def _reset_peak_memory() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass  # then the peak covers the earlier cells of the process as well


@cache
def _commit() -> str:
    """The commit of the source, with + for uncommitted changes; empty outside a repository."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return described.stdout.strip()


@cache
def _versions() -> str:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            pass
    return json.dumps(found)
