"""A small run without Snakemake, for tests of the report and of other parts."""

from __future__ import annotations

from onlinefa_benchmark import experiments
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.execution.fit import Job, fit_bundle
from onlinefa_benchmark.grid import bundles
from onlinefa_benchmark.storage.result_file import bundle_path
from onlinefa_benchmark.storage.store import Store

SYNTHETIC = {
    "algorithms": ["online_em", "online_sga", "diagonal"],
    "D": [12],
    "K": [2],
    "spectrum": [[1, 10], [1, 100]],
    "T": [20, 150],
    "seeds": 3,
    "compared_with": "diagonal",
}


def make_config(**changes):
    """Return a checked configuration of a few small synthetic cells."""
    values = {"root_seed": 1, "seeds_per_job": 3, "synthetic": SYNTHETIC | changes}
    return validate(dict.fromkeys(experiments.names()) | values)


def fit_all(config, folder):
    """Fit all jobs of a configuration, as the workflow does, and return them."""
    jobs = bundles(config)
    for job in jobs:
        context = Job(Store(folder / "store"), folder / "data")
        fit_bundle(job, context, bundle_path(job, folder / "cells"))
    return jobs
