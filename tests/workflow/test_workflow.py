"""The workflow as a user runs it: real Snakemake, real fits, on a small grid."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from running import ROOT, planned, snakemake, with_file

from onlinefa import estimators
from onlinefa.config import EXPERIMENTS
from onlinefa.figures import FIGURES, OF_COMPARISONS

SMALL = {
    **dict.fromkeys(EXPERIMENTS),
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
JOBS = 3 * 2  # algorithms x seeds
CELLS = JOBS * 2  # x spectra, which share a job
AFTER_FITS = {
    "summarise": 1, "compare": 1, "figure_5_1": 1, "figure_5_2": 1, "time": 1,
    "tables_synthetic": 1, "compared_synthetic": 1, "table_of_coverage": 1, "report": 1,
    "verify": 1, "all": 1,
}  # fmt: skip


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
    """A finished run of one's own."""
    return Path(shutil.copytree(finished_run, tmp_path / "run"))


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [((), 25), (("--configfile", str(ROOT / "config" / "thesis.yaml")), 117)],
    ids=["default", "thesis"],
)
def test_a_dry_run_plans_every_job(tmp_path, arguments, fits):
    # synthetic: 7 algorithms x 2 D; linear: 6 algorithms; times the jobs that the seeds take: one,
    # or 5 of 2 seeds each. plane: one job. gp: 2 datasets; or 5, of 3 seeds in 2 jobs each, and 3
    # widths for NUTS, likewise. network and digits: a job each, and none in the thesis's.
    jobs, _ = planned(snakemake(tmp_path, "-n", *arguments))
    compared = [] if arguments else ["network", "digits"]
    configured = ["synthetic", "linear", "plane", "gp", *compared]
    figures = [
        figure
        for figure, experiment in FIGURES.items()
        if experiment in (compared if figure in OF_COMPARISONS else configured)
    ]
    expected = {
        "fetch": 4, "fit": fits, "summarise": len(configured), "table_of_datasets": 1,
        "table_of_coverage": 1, "report": 1, "verify": 1, "all": 1,
        **dict.fromkeys([f"tables_{name}" for name in configured], 1),
        **dict.fromkeys([f"compared_{name}" for name in compared], 1),
        **dict.fromkeys(figures, 1),
    }  # fmt: skip
    assert jobs == expected | ({"compare": len(compared)} if compared else {})
    assert not (tmp_path / "results").exists()


def test_tables_are_fetched_first_and_then_the_longest_fits_start(tmp_path):
    run = snakemake(tmp_path, "-n")
    jobs = re.findall(r"^    wildcards: (\w+)=(\S+)\n    priority: (\d+)$", run.stdout, re.M)
    fits = {name: int(priority) for kind, name, priority in jobs if kind == "bundle"}
    fetched = [int(priority) for kind, _, priority in jobs if kind == "dataset"]
    small, large = ([fits[name] for name in fits if f"/D~{D}/" in name] for D in (100, 1000))
    assert max(fits, key=fits.get) == "digits/seeds~0-1"
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
    # Angles of factors cannot be had from the control.
    assert len(comparison) == 3 * 2 * 9 - 2
    tested = comparison[comparison["algorithm"] != "diagonal"]
    assert (tested["pairs"] + tested["lost"] == 2).sum() == 2 * 2 * 8
    table = (results / "tables" / "synthetic" / "compared_relative_frobenius.md").read_text()
    assert "2 pairs cannot show any difference at 5 %" in table
    coverage = (results / "tables" / "coverage.md").read_text()
    assert "| synthetic | online EM | 4 | 4 | 0 | 0 | 0 |" in coverage
    assert "Failed:" not in coverage
    assert planned(snakemake(finished, "-n", *with_config(finished))) == ({}, set())


def test_a_path_says_what_its_cells_share(finished):
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
def test_what_is_added_plans_only_its_own_cells(finished, changes, part, fits):
    jobs, cells = planned(snakemake(finished, "-n", *with_config(finished, **changes)))
    assert jobs == {"fit": fits, **AFTER_FITS}
    assert len(cells) == fits
    assert all(part in cell for cell in cells)


def test_a_partial_report_fits_nothing_and_says_what_is_missing(finished):
    (job,) = finished.glob("results/cells/synthetic/algorithm~diagonal/D~12/K~2/seed~1.parquet")
    lost = set(pq.ParquetFile(job).read()["digest"].to_pylist())
    job.unlink()
    for path in fitted(finished):
        if path.stem in lost:
            path.unlink()
    before = fitted(finished)
    assert len(before) == CELLS - 2
    for _ in range(2):  # whenever it is asked for
        run = snakemake(finished, *with_config(finished), "--", "partial_report")
        assert run.returncode == 0, run.stdout + run.stderr
        assert "results/partial_report.html: 2 cells are missing" in run.stdout
    assert "2 of 12 cells are missing" in (finished / "results" / "partial_report.html").read_text()
    assert fitted(finished) == before
    assert not job.exists()


def test_what_is_taken_away_fits_nothing(finished):
    fewer = with_config(finished, algorithms=["online_sga", "diagonal"], seeds=[1])
    assert planned(snakemake(finished, "-n", *fewer)) == (AFTER_FITS, set())


def test_neither_dates_nor_formatting_nor_docstrings_plan_anything(finished, tmp_path):
    source = Path(shutil.copytree(ROOT / "src", tmp_path / "src"))  # with dates of its own
    for file in ("estimators/online_em.py", "kernels/latent.py", "figures/figure_5_1.py"):
        path = source / "onlinefa" / file
        tree = ast.parse(path.read_text())
        tree.body[0] = ast.Expr(ast.Constant("Another docstring."))
        path.write_text(ast.unparse(tree))  # without comments, and in lines of another length
        assert path.read_text() != (ROOT / "src" / "onlinefa" / file).read_text()
    for path in source.rglob("*.py"):
        path.touch()
    arguments = with_config(finished)
    for path in finished.rglob("results/cells/**/*.parquet"):
        path.touch()
    assert planned(snakemake(finished, "-n", *arguments, source=source)) == ({}, set())


def fitted(directory):
    """The finished cells, and when they were fitted."""
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


def test_other_bundles_refit_nothing(finished):
    before = fitted(finished)
    assert len(before) == CELLS
    run = snakemake(finished, *with_config(finished, seeds_per_job=2), "--", SUMMARY)
    assert run.returncode == 0, run.stderr
    assert fitted(finished) == before
    name = "algorithm~diagonal/D~12/K~2/seeds~0-1.parquet"
    rows = pq.ParquetFile(finished / "results" / "cells" / "synthetic" / name).read()
    assert set(rows["seed"].to_pylist()) == {0, 1}


LAST = {"report": 1, "verify": 1, "all": 1}
EDITS = {
    "a comment": ("estimators/online_em.py", "# what a name\n", {}),
    "an algorithm": ("estimators/online_em.py", "SOMETHING = 1\n", {"fit": 2, **AFTER_FITS}),
    "a kernel": ("kernels/online_sga.py", "SOMETHING = 1\n", {"fit": 2, **AFTER_FITS}),
    "a figure": ("figures/figure_5_1.py", "SOMETHING = 1\n", {"figure_5_1": 1, **LAST}),
    "the tables": ("tables/final.py", "SOMETHING = 1\n", {"tables_synthetic": 1, **LAST}),
    "a style": ("report/style.css", "b { color: red; }\n", LAST),
    "another algorithm": ("estimators/batch_ml.py", "SOMETHING = 1\n", {}),
}


@pytest.mark.parametrize(("file", "line", "expected"), EDITS.values(), ids=EDITS)
def test_an_edit_plans_what_depends_on_it(finished, tmp_path, file, line, expected):
    source = Path(shutil.copytree(ROOT / "src", tmp_path / "src"))
    edited = source / "onlinefa" / file
    edited.write_text(edited.read_text() + line)
    jobs, _ = planned(snakemake(finished, "-n", *with_config(finished), source=source))
    assert jobs == expected


NEW_ALGORITHM = """
import numpy as np

from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import LowRankGaussian
from onlinefa.moments import RunningMoments


class OneVariance(FactorEstimator):
    def _start(self, D):
        return _State(D)


class _State(RunningMoments):
    def estimate(self):
        D = len(self.mean)
        return LowRankGaussian(self.mean, np.empty((D, 0)), np.full(D, self.second.mean()))
"""


def test_a_new_algorithm_is_one_file_and_one_word(tmp_path):
    source = Path(shutil.copytree(ROOT / "src", tmp_path / "src"))
    (source / "onlinefa" / "estimators" / "one_variance.py").write_text(NEW_ALGORITHM)
    arguments = with_config(
        tmp_path, algorithms=["one_variance", "diagonal"], spectrum=[[1, 10]], seeds_per_job=2
    )
    table, figure = "tables/synthetic/relative_frobenius.md", "figures/figure_5_1.svg"
    targets = (f"results/{table}", f"results/{figure}")
    run = snakemake(tmp_path, *arguments, "--", *targets, source=source)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "| one variance |" in (tmp_path / "results" / table).read_text()
    assert "one variance" in (tmp_path / "results" / figure).read_text()


def test_a_bad_config_stops_before_any_job(tmp_path):
    arguments = with_config(tmp_path, algorithms=["online_emm"], T=[50, 20])
    run = snakemake(tmp_path, *arguments)
    assert run.returncode == 1
    complaints = [line for line in run.stderr.splitlines() if "synthetic." in line]
    assert len(complaints) == 2
    assert complaints[0].endswith(
        "small.yaml: synthetic.algorithms: unknown algorithm 'online_emm'; did you mean"
        f" 'online_em'? (allowed: {', '.join(estimators.names())})"
    )
    assert "Traceback" not in run.stdout + run.stderr
    assert not (tmp_path / "results").exists()


def test_a_diverging_cell_is_a_status_and_not_a_crash(tmp_path):
    arguments = with_config(
        tmp_path, algorithms=["online_sga", "diagonal"], spectrum=[[1, 10000]],
        settings={"online_sga": {"learning_rate": 1e9}}, seeds_per_job=2,
    )  # fmt: skip
    tables = tmp_path / "results" / "tables" / "synthetic"
    final, compared = tables / "relative_frobenius.md", tables / "compared_relative_frobenius.md"
    targets = [str(path.relative_to(tmp_path)) for path in (final, compared)]
    run = snakemake(tmp_path, *arguments, "--", *targets, "results/figures/figure_5_1.png")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "| – |" in final.read_text()
    summary = pq.read_table(tmp_path / "results" / "summary" / "synthetic.parquet").to_pandas()
    diverged = summary[(summary["algorithm"] == "online_sga") & (summary["step"] == 150)]
    assert (diverged["statuses"] == "2 diverged").all()
    assert "who failed has lost the pair (2 pairs)" in compared.read_text()


MISBEHAVING = """
import os
from pathlib import Path

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.diagonal import _State as Control


class Misbehaving(FactorEstimator):
    def __init__(self, *, marks: str = "") -> None:
        self.marks = marks

    def _start(self, D):
        return _State(D, Path(self.marks))


class _State(Control):
    def __init__(self, D, marks):
        super().__init__(D)
        self.fits, self.began = marks / "fits", False

    def absorb(self, X):
        super().absorb(X)
        if X.shape[1] > 3 and not self.began:  # three columns are the fit that is thrown away
            self.began = True
            with self.fits.open("a") as fits:
                fits.write("one more\\n")
            number = len(self.fits.read_text().splitlines())
            MISBEHAVE
"""


def misbehaving(folder, misbehave):
    """Sources with an algorithm that counts its fits, and a grid with a job of two of them."""
    source = Path(shutil.copytree(ROOT / "src", folder / "src"))
    file = source / "onlinefa" / "estimators" / "misbehaving.py"
    file.write_text(MISBEHAVING.replace("MISBEHAVE", misbehave))
    arguments = with_config(
        folder, algorithms=["misbehaving", "diagonal"], spectrum=[[1, 10]], seeds_per_job=2,
        settings={"misbehaving": {"marks": str(folder)}},
    )  # fmt: skip
    return source, arguments, "synthetic/algorithm~misbehaving/D~12/K~2/seeds~0-1"


def fits(folder):
    return len((folder / "fits").read_text().splitlines())


def onlinefa(directory, source, *arguments):
    """What a command of the package prints."""
    command = [sys.executable, "-m", "onlinefa", *arguments]
    environment = os.environ | {"PYTHONPATH": str(source)}
    run = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_cell_that_is_killed_is_tried_three_times_and_then_a_row(tmp_path):
    kill = "if number > 1: os.kill(os.getpid(), 9)"
    source, arguments, name = misbehaving(tmp_path, kill)
    file = f"results/cells/{name}.parquet"
    run = snakemake(tmp_path, *arguments, "--retries", "2", "--", file, source=source)
    assert run.returncode == 0, run.stdout + run.stderr
    rows = pq.ParquetFile(tmp_path / file).read().to_pylist()
    assert {(row["seed"], row["status"]) for row in rows} >= {(0, "ok"), (1, "failed")}
    assert rows[-1]["message"].startswith("killed by signal 9, SIGKILL: out of memory?")
    assert fits(tmp_path) == 1 + 3  # seed 0 once


def test_a_failing_cell_is_seen_everywhere_and_tried_again_alone(tmp_path):
    fail = 'if number == 2: raise ValueError("no such luck")'
    source, arguments, name = misbehaving(tmp_path, fail)
    run = snakemake(tmp_path, *arguments, source=source)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "Cells failed in 1 of 2 jobs" in run.stdout
    results = tmp_path / "results"
    told = "algorithm misbehaving, D 12, K 2, spectrum 1-10, seed 1: "
    assert (
        f"{told}ValueError: no such luck (results/logs/fit/{name}.log)"
        in (results / "logs" / "verify.log").read_text()
    )
    # All that there is has been made, and says what there is not.
    coverage = (results / "tables" / "coverage.md").read_text()
    assert "| synthetic | misbehaving | 2 | 1 | 0 | 0 | 1 |" in coverage
    assert "| synthetic | diagonal control | 2 | 2 | 0 | 0 | 0 |" in coverage
    assert f"- synthetic, {told}`ValueError: no such luck`" in coverage
    assert "(1/2)" in (results / "tables" / "synthetic" / "relative_frobenius.md").read_text()
    compared = (results / "tables" / "synthetic" / "compared_relative_frobenius.md").read_text()
    assert "who failed has lost the pair (1 pairs)" in compared
    assert len(list(results.glob("figures/figure_5_[12].*"))) == 6
    summary = pq.read_table(tmp_path / SUMMARY).to_pandas()
    assert set(summary[summary["algorithm"] == "misbehaving"]["statuses"]) >= {"1 failed"}
    assert "failed" not in set(summary["metric"])
    # Once more, and only that.
    before = fitted(tmp_path)
    assert len(before) == 3
    jobs, cells = planned(snakemake(tmp_path, "-n", *arguments, source=source))
    assert (jobs, cells) == ({"fit": 1, **AFTER_FITS}, {name})
    shutil.copytree(ROOT / "config", tmp_path / "config")  # beside the sources, as in a repository
    lines = onlinefa(tmp_path, source, "plan", *arguments).splitlines()
    assert lines[0].split()[-3:] == ["to", "fit", "failed"]
    assert lines[1].split() == ["synthetic", "misbehaving", "2", "0", "1", "1", "1"]
    assert lines[2].split() == ["synthetic", "diagonal", "2", "2", "0", "0", "0"]
    shown = onlinefa(tmp_path, source, "show", "synthetic/algorithm~misbehaving/seed~1")
    assert "failed: ValueError: no such luck\nTraceback" in shown
    targets = (f"results/cells/{name}.parquet", "results/tables/coverage.md")
    run = snakemake(tmp_path, *arguments, "--", *targets, source=source)
    assert run.returncode == 0, run.stdout + run.stderr
    assert before.items() < fitted(tmp_path).items()
    assert fits(tmp_path) == 3
    assert "Failed:" not in (results / "tables" / "coverage.md").read_text()
