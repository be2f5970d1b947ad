"""Where a result comes from: commit, versions, host, device, peak memory."""

from __future__ import annotations

import json
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from onlinefa.memory import peak_bytes, reset_peak

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
        reset_peak()

    def peak_memory_mb(self) -> float:
        return peak_bytes() / 1024**2


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
