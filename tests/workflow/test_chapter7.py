"""Tests of the workflow with chapter 7, up to figures and tables."""

from __future__ import annotations

import pyarrow.parquet as pq
from support.running import NO_EXPERIMENTS, planned, snakemake, with_file

NETWORKS = {
    **NO_EXPERIMENTS,
    "gp": {
        "datasets": ["toy"],
        "widths": [4, 8],
        "K": 2,
        "epochs": 40,
        "samples": 20,
        "seeds": 2,
        "algorithms": ["map", "recursive_em", "gaussian_process", "nystrom"],
    },
}


def test_chapter_7_runs_to_figures_and_a_further_width_plans_only_its_own_cells(tmp_path):
    arguments = with_file(tmp_path, NETWORKS)
    run = snakemake(tmp_path, *arguments)
    assert run.returncode == 0, run.stdout + run.stderr
    results = tmp_path / "results"
    assert [path.relative_to(results / "cells") for path in results.glob("cells/**/*.parquet")] == [
        (results / "cells/gp/dataset~toy/seeds~0-1.parquet").relative_to(results / "cells")
    ]
    assert sorted(path.name for path in results.glob("figures/*.pdf")) == [
        "figure_7_1.pdf",
        "figure_7_2.pdf",
        "figure_7_3.pdf",
    ]
    table = (results / "tables/gp/sd_ratio.md").read_text()
    assert "| toy | recursive EM |" in table
    summary = pq.read_table(results / "summary" / "gp.parquet").to_pandas()
    distances = summary[summary["metric"] == "function_wasserstein2"]
    assert len(distances) == 4 * 2  # algorithms x widths
    assert (distances["ok"] == 2).all()
    assert planned(snakemake(tmp_path, "-n", *arguments)) == ({}, set())

    stored = len(list(results.glob("store/**/*.parquet")))
    NETWORKS["gp"]["widths"].append(5)
    with_file(tmp_path, NETWORKS)
    run = snakemake(tmp_path, *arguments, "--", "results/summary/gp.parquet")
    assert run.returncode == 0, run.stdout + run.stderr
    log = (results / "logs/fit/gp/dataset~toy/seeds~0-1.log").read_text()
    assert f"{stored} of {stored + 8} cells are in the store" in log
