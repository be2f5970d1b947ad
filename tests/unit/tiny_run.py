"""A small run without Snakemake: what the report and others are tried on."""

from __future__ import annotations

from onlinefa.config import EXPERIMENTS
from onlinefa.fitting import fit_bundle
from onlinefa.grid import bundles
from onlinefa.results import Store, bundle_path
from onlinefa.validation import validate

GRID = {
    "algorithms": ["online_em", "online_sga", "diagonal"], "D": [12], "K": [2],
    "spectrum": [[1, 10], [1, 100]], "T": [20, 150], "seeds": 3, "compared_with": "diagonal",
}  # fmt: skip


def configured(**grid):
    values = {"root_seed": 1, "seeds_per_job": 3, "synthetic": GRID | grid}
    return validate(dict.fromkeys(EXPERIMENTS) | values)


def fitted(config, folder):
    """All jobs of a configuration, as the workflow leaves them."""
    jobs = bundles(config)
    for job in jobs:
        fit_bundle(
            job, Store(folder / "store"), folder / "data", bundle_path(job, folder / "cells")
        )
    return jobs
