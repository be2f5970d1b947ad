"""A workaround for Snakemake's Slurm plugin, version 2.

Before it submits jobs, and each time it queries their states, the plugin queries Slurm's controller
for ``MinJobAge``, the time for which finished jobs are kept. While the controller is down, the
query returns None. The plugin then falls back to ``sacct``; without accounting, it loses all
jobs and never ends. With this workaround, the plugin uses the last known value.

`tests/benchmark/test_slurm_plugin.py` fails when the plugin no longer has the function, or handles
a missing answer itself; this module can be deleted then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PLUGIN = "snakemake_executor_plugin_slurm"
FUNCTION = "get_min_job_age"


def keep_last_answer(ask: Callable[[], T | None]) -> Callable[[], T | None]:
    """Wrap a function, so that it returns its last result in place of None."""
    last: T | None = None

    def answer() -> T | None:
        nonlocal last
        new = ask()
        last = last if new is None else new
        return last

    return answer


def keep_min_job_age() -> None:
    """Wrap the plugin's function, if Snakemake has loaded the plugin."""
    loaded = map(sys.modules.get, (PLUGIN, f"{PLUGIN}.validation"))
    modules = [module for module in loaded if hasattr(module, FUNCTION)]
    if modules:
        function = keep_last_answer(getattr(modules[0], FUNCTION))
        for module in modules:
            setattr(module, FUNCTION, function)
