"""The largest memory that this process has had."""

from __future__ import annotations

import platform
import resource
from pathlib import Path


def peak_bytes() -> int:
    """Since the process started, or since the last `reset_peak`."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):  # not Linux, where this has the peak of who started us in it
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if platform.system() == "Darwin" else peak * 1024


def reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass  # then the peak covers what was before as well
