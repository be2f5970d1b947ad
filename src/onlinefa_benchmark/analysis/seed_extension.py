"""Addition of seeds to settings whose standard errors are too large."""

from __future__ import annotations

import json
from pathlib import Path

from onlinefa_benchmark import experiments
from onlinefa_benchmark.analysis.seed_budget import decide_seeds
from onlinefa_benchmark.analysis.summary import read_summary
from onlinefa_benchmark.cells import Group
from onlinefa_benchmark.config import Config, seed_counts
from onlinefa_benchmark.experiments.base import ExperimentConfig
from onlinefa_benchmark.grid import bundles


def extend_seeds(config: Config, summaries: Path, path: Path) -> list[str]:
    """Decide by the summaries which settings get more seeds, and write the numbers to a file.

    Parameters
    ----------
    config : Config
        The configuration, with the numbers of seeds so far.
    summaries : Path
        Folder of the summaries.
    path : Path
        File of the numbers of seeds.

    Returns
    -------
    list of str
        A line for each experiment and setting.
    """
    counts, lines = seed_counts.read(path), list[str]()
    before = json.dumps(counts)
    for name, own in seed_counts.experiments_with_more_seeds(config):
        decisions = decide_seeds(
            own,
            _groups(config, name),
            read_summary(summaries / f"{name}.parquet"),
            config.references(name),
            experiments.load(name).overlap,
        )
        new = counts.setdefault(name, {})
        new |= {
            decision.setting: max(decision.wanted, new.get(decision.setting, 0))
            for decision in decisions
            if decision.wanted > len(own.seeds)
        }
        lines += [f"{name}, {_describe_target(own)}", *(f"  {decision}" for decision in decisions)]
    counts = {name: new for name, new in counts.items() if new}
    if json.dumps(counts) != before:
        seed_counts.write(counts, path)
    return lines


def _groups(config: Config, experiment: str) -> list[Group]:
    """Return each group of an experiment once, although its seeds may be in several jobs."""
    found = {
        tuple(group.axes.items()): group
        for bundle in bundles(config, [experiment])
        for group in bundle.groups
    }
    return list(found.values())


def _describe_target(own: ExperimentConfig) -> str:
    rule = own.more_seeds
    assert rule is not None
    unit = " of the mean" if rule.relative else ""
    return f"{rule.metric}: standard errors up to {rule.error:g}{unit}, up to {rule.most} seeds"
