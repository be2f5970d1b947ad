"""The peak memory of this process."""

from __future__ import annotations

import platform
import resource
from pathlib import Path


def peak_bytes() -> int:
    """Return the peak since the process started, or since the last `reset_peak`."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):  # not Linux; there, ru_maxrss would include the parent's peak
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if platform.system() == "Darwin" else peak * 1024


def reset_peak() -> None:
    """Start a new peak, if the system allows it; otherwise the peak covers earlier work too."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass
