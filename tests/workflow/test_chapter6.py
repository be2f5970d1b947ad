"""Tests of the workflow with chapter 6: fetched tables, diverging walks, reruns."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.running import NO_EXPERIMENTS, ROOT, planned, snakemake, with_file

WALKS = {
    "seeds_per_job": 2,
    **NO_EXPERIMENTS,
    "linear": {
        "datasets": ["yacht"],
        "algorithms": ["online_em", "batch_ml"],
        "K": [1, 2],
        "walks": ["reshuffled", "replacement_averaged", "langevin_fa"],
        "epochs": 30,
        "seeds": 2,
    },
    "plane": {"algorithms": ["online_em", "swag_diagonal"], "epochs": 20},
}


def with_walks(directory, **changes):
    """Write the small grid of chapter 6, with some of its linear section changed."""
    return with_file(directory, WALKS | {"linear": WALKS["linear"] | changes})


@pytest.fixture(scope="module")
def finished_walks(tmp_path_factory):
    directory = tmp_path_factory.mktemp("walks")
    run = snakemake(directory, *with_walks(directory))
    assert run.returncode == 0, run.stdout + run.stderr
    return directory


def test_chapter_6_runs_from_a_fetched_table_to_figures(finished_walks):
    results = finished_walks / "results"
    assert sorted(path.stem for path in results.glob("figures/*.png")) == [
        "figure_6_1",
        "figure_6_10_yacht",
        "figure_6_11",
        "figure_6_2",
        "figure_6_3",
        "figure_6_4_yacht",
        "figure_6_5_yacht",
        "figure_6_6",
        "figure_6_7",
        "figure_6_8",
        "figure_6_9_yacht",
    ]
    assert "| Yacht Hydrodynamics | 308 | 6 |" in (results / "tables/table_6_1.md").read_text()
    table = (results / "tables/linear/wasserstein2.md").read_text()
    assert "| SGD, with replacement, averaged | yacht | 2 |" in table
    summary = pq.read_table(results / "summary" / "linear.parquet").to_pandas()
    at_the_end = summary[(summary["step"] == 30) & (summary["metric"] == "wasserstein2")]
    assert len(at_the_end) == 2 * 2 * 3  # algorithms x K x walks
    assert (at_the_end["ok"] == 2).all()
    assert planned(snakemake(finished_walks, "-n", *with_walks(finished_walks))) == ({}, set())


def test_snakemakes_own_report_has_all_figures_and_tables(finished_walks, tmp_path):
    page = tmp_path / "report.html"
    offline = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    run = snakemake(finished_walks, *with_walks(finished_walks), "--report", page, **offline)
    assert run.returncode == 0, run.stdout + run.stderr
    (line,) = re.findall(r'var results = (\{"results/.*\});$', page.read_text(), re.M)
    found = json.loads(line)
    pictures = finished_walks.glob("results/figures/*.png")
    pages = finished_walks.glob("results/tables/**/*.html")
    files = [str(path.relative_to(finished_walks)) for path in [*pictures, *pages]]
    assert (
        len(files) == 11 + 2 * 6 + 2
    )  # figures, metrics of two experiments, datasets and coverage
    assert sorted(found) == sorted(files)
    heat_map = found["results/figures/figure_6_4_yacht.png"]
    assert heat_map["labels"] == {"figure": "Figure 6.4 yacht"}
    assert "Heat maps of the posterior covariance" in heat_map["caption"]
    table = found["results/tables/linear/wasserstein2.html"]
    assert table["labels"] == {"table": "2-Wasserstein distance"}
    assert "From <tt" in table["caption"]
    assert all(each["caption"] and each["data_uri"] for each in found.values())


def test_another_source_of_a_table_refits_nothing(finished_walks, tmp_path):
    directory = Path(shutil.copytree(finished_walks, tmp_path / "run"))
    (directory / "results" / "data" / "yacht.npy").touch()
    elsewhere = ("--config", "data_dir=elsewhere")
    assert planned(snakemake(directory, "-n", *with_walks(directory), *elsewhere)) == ({}, set())
    # Other changes are still planned.
    jobs, cells = planned(snakemake(directory, "-n", *with_walks(directory, epochs=40), *elsewhere))
    assert jobs["fit"] == len(cells) == 2
    assert jobs["aggregate_linear"] == 1
    assert not {"fetch", "figures_plane", "tables_plane"} & set(jobs)


def test_other_values_of_a_table_refit_the_cells_that_read_it(finished_walks, tmp_path):
    source = Path(shutil.copytree(ROOT / "src", tmp_path / "src"))
    edited = source / "onlinefa_benchmark" / "datasets" / "yacht.py"
    edited.write_text(re.sub('digest="ec08', 'digest="0000', edited.read_text()))
    jobs, _ = planned(snakemake(finished_walks, "-n", *with_walks(finished_walks), source=source))
    assert (jobs["fit"], jobs["tables_linear"]) == (2, 1)


def test_a_diverging_walk_is_recorded_as_diverged(finished_walks, tmp_path):
    shutil.copytree(finished_walks / "results" / "data", tmp_path / "results" / "data")
    table = "results/tables/linear/wasserstein2.md"
    figures = [f"results/figures/figure_6_{name}.png" for name in ("3", "4_yacht", "5_yacht", "6")]
    run = snakemake(tmp_path, *with_walks(tmp_path, learning_rate=1e9), "--", table, *figures)
    assert run.returncode == 0, run.stdout + run.stderr
    summary = pq.read_table(tmp_path / "results" / "summary" / "linear.parquet").to_pandas()
    is_true = summary["metric"].str.startswith("true_")
    is_langevin = summary["walk"] == "langevin_fa"  # it chooses its step itself
    assert (summary["statuses"][~is_true & ~is_langevin] == "2 diverged").all()
    assert (summary["statuses"][is_langevin] == "").all()
    assert "| – |" in (tmp_path / table).read_text()


def test_an_unavailable_table_is_an_error_with_instructions(tmp_path):
    nowhere = {
        "https_proxy": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "no_proxy": "",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
    }
    target = ("--", "results/summary/linear.parquet")
    run = snakemake(tmp_path, "--show-failed-logs", *with_walks(tmp_path), *target, **nowhere)
    assert run.returncode == 1
    text = run.stdout + run.stderr
    assert "no source has the table 'yacht'. Tried, in this order:" in text
    assert "put yacht_hydrodynamics.data into data" in text
    assert not list(tmp_path.glob("results/cells/linear/**/*.parquet"))
