"""Fit jobs without Snakemake, with the computation of an experiment or a replacement."""

from __future__ import annotations

from onlinefa_benchmark.execution import fit
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.grid import bundles
from onlinefa_benchmark.storage.result_file import bundle_path
from onlinefa_benchmark.storage.store import Store


def replace_computation(monkeypatch, run):
    """Replace the computation of all cells by run(cell); no kernel is compiled."""
    monkeypatch.setattr(Experiment, "run", lambda self, cell, context: run(cell))
    monkeypatch.setattr(fit, "_compile", lambda cell: None)


def fit_job(bundle, folder):
    """Fit a job, and write its results to the folders of the workflow."""
    job = fit.Job(Store(folder / "store"), folder / "data")
    fit.fit_bundle(bundle, job, bundle_path(bundle, folder / "cells"))


def fit_all(config, folder):
    """Fit all jobs of a configuration."""
    for bundle in bundles(config):
        fit_job(bundle, folder)
