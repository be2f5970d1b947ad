"""Tests of the workflow with networks on tables and images, up to figures."""

from __future__ import annotations

import pyarrow.parquet as pq
from support.running import NO_EXPERIMENTS, planned, snakemake, with_file

TRAINED = {
    "algorithms": ["map", "swag", "multiswag", "laplace_all", "vifa"],
    "compared_with": "multiswag",
    "width": 3,
    "K": 2,
    "samples": 10,
    "noises": ["evidence", "validation"],
    "rounds": 2,
    "iterations": 5,
    "candidates": 2,
    "runs": 5,
    "batch": 32,
    "walk": 30,
    "every": 1,
    "seeds": 3,
}
IMAGES = {
    "datasets": ["digits"],
    "architectures": ["small"],
    "algorithms": ["map", "swag", "multiswag", "laplace_fa", "mc_dropout"],
    "compared_with": "multiswag",
    "K": [2],
    "epochs": 1,
    "walk_epochs": 1,
    "batch": 32,
    "learning_rate": 0.05,
    "walk_rate": 0.05,
    "weight_decay": 0.001,
    "every": 1,
    "samples": 5,
    "shifted_images": 20,
    "unknown_images": 20,
    "seeds": 3,
}
NETWORKS = {
    **NO_EXPERIMENTS,
    "settings": {"vifa": {"steps": 20}},
    "network": {"datasets": ["yacht", "energy"], **TRAINED},
    "images": IMAGES,
}


def test_experiments_with_networks_run_to_comparisons(tmp_path):
    arguments = with_file(tmp_path, NETWORKS)
    run = snakemake(tmp_path, *arguments)
    assert run.returncode == 0, run.stdout + run.stderr
    results = tmp_path / "results"
    assert sorted(path.stem for path in results.glob("figures/*.pdf")) == [
        "calibration",
        "images_front",
        "images_gallery_digits",
        "images_reliability_digits",
        "images_selective",
        "images_shift_digits",
        "network",
        "network_detectable",
        "network_ranks",
    ]
    for experiment, metric, settings in (("network", "test_nll", 4), ("images", "class_nll", 1)):
        summary = pq.read_table(results / "summary" / f"{experiment}.parquet").to_pandas()
        of_metric = summary[summary["metric"] == metric]
        assert len(of_metric) == 5 * settings
        assert (of_metric["ok"] == 3).all()
    tables = {path.stem for path in results.glob("tables/network/*.md")}
    assert {"test_nll", "test_rmse", "test_crps", "coverage_90", "compared_test_nll"} <= tables
    assert (results / "tables/images/compared_accuracy.md").exists()
    assert "MultiSWAG" in (results / "tables/network/compared_test_crps.md").read_text()
    assert planned(snakemake(tmp_path, "-n", *arguments)) == ({}, set())
