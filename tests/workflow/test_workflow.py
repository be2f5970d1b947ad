"""Tests of the workflow: real Snakemake, real fits, on a small grid."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.misbehaving import count_fits, make_misbehaving
from support.running import (
    NO_EXPERIMENTS,
    ROOT,
    planned,
    run_onlinefa,
    snakemake,
    with_file,
)

from onlinefa_benchmark import algorithms

SMALL = {
    **NO_EXPERIMENTS,
    "seeds_per_job": 1,
    "synthetic": {
        "algorithms": ["online_em", "online_sga", "diagonal"],
        "D": [12],
        "K": [2],
        "spectrum": [[1, 10], [1, 100]],
        "T": [20, 150],
        "seeds": 2,
        "compared_with": "diagonal",
    },
}
SUMMARY = "results/summary/synthetic.parquet"
STAGES = ("aggregate", "figures", "tables")
JOBS = 3 * 2  # algorithms x seeds
CELLS = JOBS * 2  # x spectra, which share a job
LAST = {"report": 1, "verify": 1, "all": 1}
AFTER_FITS = {
    "aggregate_synthetic": 1,
    "figures_synthetic": 1,
    "tables_synthetic": 1,
    "coverage": 1,
    **LAST,
}


def with_config(directory, **changes):
    """Write the small grid, with some of its synthetic section changed; return the arguments."""
    config = SMALL | {
        key: changes.pop(key) for key in ("seeds_per_job", "settings") if key in changes
    }
    config["synthetic"] = SMALL["synthetic"] | changes
    return with_file(directory, config)


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("finished")
    run = snakemake(directory, *with_config(directory))
    assert run.returncode == 0, run.stdout + run.stderr
    return directory


@pytest.fixture
def finished(finished_run, tmp_path):
    """Return a copy of a finished run."""
    return Path(shutil.copytree(finished_run, tmp_path / "run"))


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [((), 25), (("--configfile", str(ROOT / "config" / "thesis.yaml")), 117)],
    ids=["default", "thesis"],
)
def test_a_dry_run_plans_every_job(tmp_path, arguments, fits):
    # synthetic: 7 algorithms x 2 D; linear: 6 algorithms; times the jobs that the seeds take: one,
    # or 5 of 2 seeds each. plane: one job. gp: 2 datasets; or 5, of 3 seeds in 2 jobs each, and 3
    # widths for NUTS, likewise. network and images: a job each, and none in the thesis's.
    jobs, _ = planned(snakemake(tmp_path, "-n", *arguments))
    configured = ["synthetic", "linear", "plane", "gp"]
    configured += [] if arguments else ["network", "images"]
    assert jobs == {
        "fetch": 4,
        "fit": fits,
        "coverage": 1,
        **{f"{rule}_{name}": 1 for rule in STAGES for name in configured},
        **LAST,
    }
    assert not (tmp_path / "results").exists()


def test_tables_are_fetched_first_and_then_the_longest_fits_start(tmp_path):
    run = snakemake(tmp_path, "-n")
    jobs = re.findall(r"^    wildcards: (\w+)=(\S+)\n    priority: (\d+)$", run.stdout, re.M)
    fits = {name: int(priority) for kind, name, priority in jobs if kind == "bundle"}
    fetched = [int(priority) for kind, _, priority in jobs if kind == "dataset"]
    small, large = ([fits[name] for name in fits if f"/D~{D}/" in name] for D in (100, 1000))
    assert max(fits, key=fits.get) == "images/dataset~digits/architecture~small/seeds~0-1"
    assert min(large) > max(small) > 0
    assert len(fits) == 25
    assert len(fetched) == 4
    assert min(fetched) > max(fits.values())


def test_a_run_makes_everything_and_a_second_one_nothing(finished):
    results = finished / "results"
    assert len(list(results.glob("cells/**/*.parquet"))) == JOBS
    assert len(list(results.glob("store/**/*.parquet"))) == CELLS
    assert len(list(results.glob("figures/figure_5_[12].*"))) == 6
    assert len(list(results.glob("tables/synthetic/*"))) == 4 * (9 + 3)  # metrics, tests, ranks
    summary = pq.read_table(results / "summary" / "synthetic.parquet").to_pandas()
    assert len(summary) == 3 * 2 * 2 * 9  # algorithms x spectra x sample sizes x metrics
    assert (summary["seeds"] == 2).all()
    comparison = pq.read_table(results / "comparison" / "synthetic.parquet").to_pandas()
    assert set(comparison["step"]) == {150}
    # The control has no factors, and so no angles.
    assert len(comparison) == 3 * 2 * 9 - 2
    tested = comparison[comparison["algorithm"] != "diagonal"]
    assert (tested["pairs"] + tested["lost"] == 2).sum() == 2 * 2 * 8
    table = (results / "tables" / "synthetic" / "compared_relative_frobenius.md").read_text()
    assert "2 pairs cannot show any difference at 5 %" in table
    coverage = (results / "tables" / "coverage.md").read_text()
    assert "| synthetic | online EM | 4 | 4 | 0 | 0 | 0 |" in coverage
    assert "Failed:" not in coverage
    assert planned(snakemake(finished, "-n", *with_config(finished))) == ({}, set())


def test_the_path_of_a_job_has_the_axes_that_its_cells_share(finished):
    path = "results/cells/synthetic/algorithm~online_em/D~12/K~2/seed~1.parquet"
    rows = pq.ParquetFile(finished / path).read().to_pylist()
    assert {
        (row["algorithm"], row["D"], row["K"], row["spectrum"], row["seed"]) for row in rows
    } == {("online_em", 12, 2, spectrum, 1) for spectrum in ("1-10", "1-100")}
    assert {row["step"] for row in rows} == {20, 150}


def test_a_third_seed_plans_only_its_own_cells(finished):
    jobs, cells = planned(snakemake(finished, "-n", *with_config(finished, seeds=3)))
    assert jobs == {"fit": 3, **AFTER_FITS}
    assert all(cell.endswith("/seed~2") for cell in cells)
    assert len(cells) == 3


def test_a_changed_rate_plans_only_its_algorithm(finished):
    changed = with_config(finished, settings={"online_sga": {"learning_rate": 0.01}})
    jobs, cells = planned(snakemake(finished, "-n", *changed))
    assert jobs == {"fit": 2, **AFTER_FITS}
    assert len(cells) == 2
    assert all("algorithm~online_sga" in cell for cell in cells)


def test_a_deleted_cell_plans_only_itself(finished):
    name = "synthetic/algorithm~diagonal/D~12/K~2/seed~0"
    (finished / "results" / "cells" / f"{name}.parquet").unlink()
    jobs, cells = planned(snakemake(finished, "-n", *with_config(finished)))
    assert jobs == {"fit": 1, **AFTER_FITS}
    assert cells == {name}


GROWN = {
    "an algorithm": ({"algorithms": ["online_em", "swag", "online_sga", "diagonal"]}, "~swag/", 2),
    "a dimension": ({"D": [12, 14]}, "/D~14/", JOBS),
}


@pytest.mark.parametrize(("changes", "part", "fits"), GROWN.values(), ids=GROWN)
def test_an_addition_plans_only_its_own_cells(finished, changes, part, fits):
    jobs, cells = planned(snakemake(finished, "-n", *with_config(finished, **changes)))
    assert jobs == {"fit": fits, **AFTER_FITS}
    assert len(cells) == fits
    assert all(part in cell for cell in cells)


def test_a_partial_report_fits_nothing_and_counts_missing_cells(finished):
    (job,) = finished.glob("results/cells/synthetic/algorithm~diagonal/D~12/K~2/seed~1.parquet")
    lost = set(pq.ParquetFile(job).read()["digest"].to_pylist())
    job.unlink()
    for path in fitted(finished):
        if path.stem in lost:
            path.unlink()
    before = fitted(finished)
    assert len(before) == CELLS - 2
    for _ in range(2):  # it is written again every time
        run = snakemake(finished, *with_config(finished), "--", "partial_report")
        assert run.returncode == 0, run.stdout + run.stderr
        assert "results/partial_report.html: 2 cells are missing" in run.stdout
    assert "2 of 12 cells are missing" in (finished / "results" / "partial_report.html").read_text()
    assert fitted(finished) == before
    assert not job.exists()


def test_a_removal_fits_nothing(finished):
    fewer = with_config(finished, algorithms=["online_sga", "diagonal"], seeds=[1])
    assert planned(snakemake(finished, "-n", *fewer)) == (AFTER_FITS, set())


def test_neither_dates_nor_formatting_nor_docstrings_plan_anything(finished, tmp_path):
    source = Path(shutil.copytree(ROOT / "src", tmp_path / "src"))  # with new modification times
    for file in (
        f"{LIBRARY}/estimators/online_em.py",
        f"{LIBRARY}/kernels/latent.py",
        f"{BENCHMARK}/experiments/synthetic/figures.py",
    ):
        path = source / file
        tree = ast.parse(path.read_text())
        tree.body[0] = ast.Expr(ast.Constant("Another docstring."))
        path.write_text(ast.unparse(tree))  # without comments, and with other line breaks
        assert path.read_text() != (ROOT / "src" / file).read_text()
    for path in source.rglob("*.py"):
        path.touch()
    arguments = with_config(finished)
    for path in finished.rglob("results/cells/**/*.parquet"):
        path.touch()
    assert planned(snakemake(finished, "-n", *arguments, source=source)) == ({}, set())


def fitted(directory):
    """Return the finished cells, and when they were fitted."""
    store = Path(directory, "results", "store")
    return {path: path.stat().st_mtime_ns for path in store.glob("??/*.parquet")}


def test_a_third_spectrum_fits_only_its_own_cells(finished):
    before = fitted(finished)
    three = with_config(finished, spectrum=[[1, 10], [1, 50], [1, 100]])
    run = snakemake(finished, *three, "--", SUMMARY)
    assert run.returncode == 0, run.stderr
    after = fitted(finished)
    assert len(after) == CELLS + JOBS
    assert before.items() < after.items()


def test_another_number_of_seeds_per_job_refits_nothing(finished):
    before = fitted(finished)
    assert len(before) == CELLS
    run = snakemake(finished, *with_config(finished, seeds_per_job=2), "--", SUMMARY)
    assert run.returncode == 0, run.stderr
    assert fitted(finished) == before
    name = "algorithm~diagonal/D~12/K~2/seeds~0-1.parquet"
    rows = pq.ParquetFile(finished / "results" / "cells" / "synthetic" / name).read()
    assert set(rows["seed"].to_pylist()) == {0, 1}


LIBRARY, BENCHMARK = "onlinefa", "onlinefa_benchmark"
EDIT = "SOMETHING = 1\n"
NOT_COMPUTING = (
    f"{LIBRARY}/estimators/batch_ml.py",  # which no cell of the grid uses
    f"{BENCHMARK}/datasets/_sources.py",
    f"{BENCHMARK}/execution/checkpoint.py",
    f"{BENCHMARK}/execution/progress.py",
)
FIGURES = f"{BENCHMARK}/experiments/synthetic/figures.py"
EDITS = {
    "code that computes no cell": (NOT_COMPUTING, EDIT, {}),
    "an algorithm": ([f"{LIBRARY}/estimators/online_em.py"], EDIT, {"fit": 2, **AFTER_FITS}),
    "the threads": ([f"{BENCHMARK}/threads.py"], EDIT, {"fit": JOBS, **AFTER_FITS}),
    "figures": ([FIGURES], EDIT, {"figures_synthetic": 1, "tables_synthetic": 1, **LAST}),
    "the tables": (
        [f"{BENCHMARK}/reporting/tables/final.py"],
        EDIT,
        {"tables_synthetic": 1, **LAST},
    ),
    "a style": ([f"{BENCHMARK}/reporting/html/style.css"], "b { color: red; }\n", LAST),
}


# tests/benchmark/test_fingerprint.py has many more edits, without Snakemake.
@pytest.mark.parametrize(("files", "line", "expected"), EDITS.values(), ids=EDITS)
def test_an_edit_plans_what_depends_on_it(finished, tmp_path, files, line, expected):
    source = Path(shutil.copytree(ROOT / "src", tmp_path / "src"))
    for file in files:
        with (source / file).open("a") as edited:
            edited.write(line)
    jobs, _ = planned(snakemake(finished, "-n", *with_config(finished), source=source))
    assert jobs == expected


def test_a_bad_config_stops_before_any_job(tmp_path):
    arguments = with_config(tmp_path, algorithms=["online_emm"], T=[50, 20])
    run = snakemake(tmp_path, *arguments)
    assert run.returncode == 1
    complaints = [line for line in run.stderr.splitlines() if "synthetic." in line]
    assert len(complaints) == 2
    assert complaints[0].endswith(
        "small.yaml: synthetic.algorithms: unknown algorithm 'online_emm'; did you mean"
        f" 'online_em'? (allowed: {', '.join(algorithms.estimator_names())})"
    )
    assert "Traceback" not in run.stdout + run.stderr
    assert not (tmp_path / "results").exists()


def test_a_diverging_cell_is_recorded_as_diverged(tmp_path):
    arguments = with_config(
        tmp_path,
        algorithms=["online_sga", "diagonal"],
        spectrum=[[1, 10000]],
        settings={"online_sga": {"learning_rate": 1e9}},
        seeds_per_job=2,
    )
    tables = tmp_path / "results" / "tables" / "synthetic"
    final, compared = tables / "relative_frobenius.md", tables / "compared_relative_frobenius.md"
    targets = [str(path.relative_to(tmp_path)) for path in (final, compared)]
    run = snakemake(tmp_path, *arguments, "--", *targets, "results/figures/figure_5_1.png")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "| – |" in final.read_text()
    summary = pq.read_table(tmp_path / "results" / "summary" / "synthetic.parquet").to_pandas()
    diverged = summary[(summary["algorithm"] == "online_sga") & (summary["step"] == 150)]
    assert (diverged["statuses"] == "2 diverged").all()
    assert "a failed fit loses its pair (2 pairs)" in compared.read_text()


def test_a_killed_cell_is_retried_twice_and_then_recorded_as_failed(tmp_path):
    kill = "if number > 1: os.kill(os.getpid(), 9)"
    source, arguments, name = make_misbehaving(tmp_path, kill)
    file = f"results/cells/{name}.parquet"
    run = snakemake(tmp_path, *arguments, "--retries", "2", "--", file, source=source)
    assert run.returncode == 0, run.stdout + run.stderr
    rows = pq.ParquetFile(tmp_path / file).read().to_pylist()
    assert {(row["seed"], row["status"]) for row in rows} >= {(0, "ok"), (1, "failed")}
    assert rows[-1]["message"].startswith("killed by signal 9, SIGKILL: out of memory?")
    assert count_fits(tmp_path) == 1 + 3  # seed 0 once


def test_a_failed_cell_is_reported_in_all_results_and_refitted_alone(tmp_path):
    fail = 'if number == 2: raise ValueError("no such luck")'
    source, arguments, name = make_misbehaving(tmp_path, fail)
    run = snakemake(tmp_path, *arguments, source=source)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "Cells failed in 1 of 2 jobs" in run.stdout
    results = tmp_path / "results"
    told = "algorithm misbehaving, D 12, K 2, spectrum 1-10, seed 1: "
    assert (
        f"{told}ValueError: no such luck (results/logs/fit/{name}.log)"
        in (results / "logs" / "verify.log").read_text()
    )
    # All results are made from the other cells, and report the failed one.
    coverage = (results / "tables" / "coverage.md").read_text()
    assert "| synthetic | misbehaving | 2 | 1 | 0 | 0 | 1 |" in coverage
    assert "| synthetic | diagonal control | 2 | 2 | 0 | 0 | 0 |" in coverage
    assert f"- synthetic, {told}`ValueError: no such luck`" in coverage
    assert "(1/2)" in (results / "tables" / "synthetic" / "relative_frobenius.md").read_text()
    compared = (results / "tables" / "synthetic" / "compared_relative_frobenius.md").read_text()
    assert "a failed fit loses its pair (1 pairs)" in compared
    assert "(1/2)" in compared
    assert len(list(results.glob("figures/figure_5_[12].*"))) == 6
    summary = pq.read_table(tmp_path / SUMMARY).to_pandas()
    assert set(summary[summary["algorithm"] == "misbehaving"]["statuses"]) >= {"1 failed"}
    assert "failed" not in set(summary["metric"])
    # The next run refits the failed cell only.
    before = fitted(tmp_path)
    assert len(before) == 3
    jobs, cells = planned(snakemake(tmp_path, "-n", *arguments, source=source))
    assert (jobs, cells) == ({"fit": 1, **AFTER_FITS}, {name})
    shutil.copytree(ROOT / "config", tmp_path / "config")  # beside the sources, as in a repository
    lines = run_onlinefa(tmp_path, "plan", *arguments, source=source).stdout.splitlines()
    assert lines[0].split()[-3:] == ["to", "fit", "failed"]
    assert lines[1].split() == ["synthetic", "misbehaving", "2", "0", "1", "1", "1"]
    assert lines[2].split() == ["synthetic", "diagonal", "2", "2", "0", "0", "0"]
    cell = "synthetic/algorithm~misbehaving/seed~1"
    shown = run_onlinefa(tmp_path, "show", cell, source=source)
    # The first line, and as much of the end of the traceback as there is room for.
    assert "failed: ValueError: no such luck\n" in shown.stdout
    assert shown.stdout.rstrip().endswith("ValueError: no such luck")
    assert 'raise ValueError("no such luck")' in shown.stdout
    targets = (f"results/cells/{name}.parquet", "results/tables/coverage.md")
    run = snakemake(tmp_path, *arguments, "--", *targets, source=source)
    assert run.returncode == 0, run.stdout + run.stderr
    assert before.items() < fitted(tmp_path).items()
    assert count_fits(tmp_path) == 3
    assert "Failed:" not in (results / "tables" / "coverage.md").read_text()
