"""Snakemake that looks at its jobs every second or two.

The plugin looks less often the longer nothing has finished, and a failed job does not count: a test
that makes jobs fail would spend most of its time on waiting for the next look.
"""

from __future__ import annotations

import asyncio

import snakemake_executor_plugin_slurm as plugin
from snakemake.cli import main


async def a_moment(executor: plugin.Executor) -> None:
    await asyncio.sleep(1.5)


if __name__ == "__main__":
    plugin.Executor.sleep = a_moment
    main()
