"""Provenance of a result: commit, versions, host, device and peak memory."""

from __future__ import annotations

import json
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from onlinefa_benchmark.storage.peak_memory import peak_bytes, reset_peak

_PACKAGES = ("onlinefa", "numpy", "scipy", "scikit-learn", "numba", "torch", "jax", "numpyro")


class Provenance:
    """Facts about this process, and the peak of its memory since this object was made.

    Parameters
    ----------
    device : str, default="cpu"
        Description of the device that the fit runs on.
    """

    def __init__(self, device: str = "cpu") -> None:
        self.facts = {
            "commit": _commit(),
            "versions": _versions(),
            "device": device,
            "host": platform.node(),
        }
        reset_peak()

    def peak_memory_mb(self) -> float:
        """Return the peak memory in MB."""
        return peak_bytes() / 1024**2


@cache
def _commit() -> str:
    """Return the commit of the source, with + for changes; empty outside a repository."""
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
