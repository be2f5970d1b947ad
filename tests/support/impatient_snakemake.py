"""Run Snakemake with a Slurm plugin that queries its jobs every second or two.

The plugin increases the interval as long as no job succeeds. Tests with failing jobs would spend
most of their time on waiting for the next query.
"""

from __future__ import annotations

import asyncio

import snakemake_executor_plugin_slurm as plugin
from snakemake.cli import main


async def short_interval(executor: plugin.Executor) -> None:
    await asyncio.sleep(1.5)


if __name__ == "__main__":
    plugin.Executor.sleep = short_interval
    main()
