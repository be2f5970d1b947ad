"""Tests of `onlinefa plan`: its table, changes, mistakes, and use outside of a checkout."""

from __future__ import annotations

import shutil

import pytest
import yaml
from support.configurations import without_experiments
from support.fitting import fit_all, replace_computation
from support.interpreter import SOURCE, run_python

from onlinefa_benchmark.cli import main
from onlinefa_benchmark.config import files
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.grid import bundles
from onlinefa_benchmark.measurement import Measurement

GRID = {
    "algorithms": ["diagonal", "online_sga"],
    "D": [4],
    "K": [2],
    "spectrum": [[1, 10], [1, 100]],
    "T": [5],
    "seeds": 4,
}


@pytest.fixture(autouse=True)
def quick_fits(monkeypatch):
    """Replace fits; that of seed s reports 10 + s seconds."""

    def run(cell):
        yield Measurement(5, "relative_frobenius", 0.5, "ok", "", 10.0 + cell.seed)

    replace_computation(monkeypatch, run)


def write_file(tmp_path, **values):
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(without_experiments() | values))
    return str(file)


def plan(capsys, *arguments):
    """Return the lines that the command prints."""
    assert main(["plan", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_table_has_a_line_for_each_algorithm(tmp_path, capsys):
    file = write_file(tmp_path, synthetic=GRID)
    arguments = ["--configfile", file, "--results", tmp_path]
    fit_all(files.read([file], ["seeds_per_job=2"]), tmp_path)
    lines = plan(capsys, *arguments, "--config", "seeds_per_job=2", "root_seed=7")
    header = "experiment  algorithm   cells  up to date  in store  to fit  parameters changed"
    assert lines[0] == header
    assert [line.split() for line in lines[1:4]] == [
        ["synthetic", "diagonal", "8", "0", "0", "8", "8"],
        ["synthetic", "online_sga", "8", "0", "0", "8", "8"],
        ["all", "16", "0", "0", "16", "16"],
    ]
    assert lines[1].index(" 8") == lines[2].index(" 8") == lines[3].index("16")
    assert "root_seed: 2021 -> 7 (16 cells: synthetic diagonal, online_sga)" in lines
    # Medians of 10, 11, 12 and 13 s: 16 x 11.5 s are 0.0511 hours.
    assert (
        "16 cells to fit, about 0.051 core-hours of fitting: "
        "16 by earlier fits of the same group of seeds."
    ) in lines
    assert lines[-1].endswith(
        f": snakemake -n --quiet rules --configfile {file} --config seeds_per_job=2 root_seed=7"
    )
    lines = plan(capsys, *arguments, "--config", "seeds_per_job=2")
    assert "Nothing to fit." in lines
    lines = plan(capsys, *arguments)
    assert "in store: fitted before; only the file of the job is put together again" in lines


BAD = {
    "missing file": (None, "absent.yaml", 1),
    "not YAML": ("a: [", "bad.yaml", 1),
    "empty": ("", "bad.yaml", 1),
    "two mistakes": ("seeds_per_job: 0\nsynthetic: {sed: 3}\n", "bad.yaml", 2),
}


@pytest.mark.parametrize(("text", "name", "mistakes"), BAD.values(), ids=BAD)
def test_mistakes_are_one_line_each(tmp_path, capsys, text, name, mistakes):
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    assert main(["plan", "--configfile", str(file), "--results", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    lines = told.err.splitlines()
    assert len(lines) == mistakes
    assert all(str(file) in line for line in lines)


OUTSIDE = {"root_seed": 1, "seeds_per_job": 4, "synthetic": GRID}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a copy of the packages outside of a checkout."""
    folder = tmp_path_factory.mktemp("site-packages")
    for name in ("onlinefa", "onlinefa_benchmark"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(f"{SOURCE}/{name}", folder / name, ignore=ignored)
    return str(folder)


def run_outside(installed, folder, *arguments):
    command = ["-m", "onlinefa_benchmark", *arguments]
    return run_python(*command, folder=folder, PYTHONPATH=installed)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["config/config.yaml", "mine.yaml"])
def test_plan_and_show_work_outside_of_a_checkout(tmp_path, installed, file):
    (tmp_path / "config").mkdir()
    # The default of the package has other experiments, which a file of changes leaves out.
    changes = without_experiments() | OUTSIDE
    is_default = file.startswith("config/")
    (tmp_path / file).write_text(yaml.safe_dump(OUTSIDE if is_default else changes))
    options = [] if is_default else ["--configfile", file]
    answer = run_outside(installed, tmp_path, "plan", *options)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "16 cells to fit" in answer.stdout
    fit_all(validate(OUTSIDE), tmp_path / "results")
    answer = run_outside(installed, tmp_path, "plan", *options)
    assert "Nothing to fit." in answer.stdout
    cell = bundles(validate(OUTSIDE))[0].cells()[0]
    answer = run_outside(installed, tmp_path, "show", cell.digest())
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "relative_frobenius" in answer.stdout
    assert cell.code in answer.stdout


@pytest.mark.slow
def test_the_default_configuration_is_part_of_the_package(tmp_path, installed):
    answer = run_outside(installed, tmp_path, "plan")
    assert (answer.returncode, answer.stderr) == (0, "")
    planned = {line.split()[0] for line in answer.stdout.splitlines() if line}
    assert {"synthetic", "linear", "gp", "network"} <= planned


def test_added_seeds_are_part_of_the_plan(tmp_path, capsys):
    more = {"metric": "relative_frobenius", "error": 0.5, "most": 9}
    file = write_file(tmp_path, synthetic=GRID | {"more_seeds": more})
    (tmp_path / "seeds.json").write_text('{"synthetic": {"D~4/K~2/spectrum~1-10": 6}}')
    lines = plan(capsys, "--configfile", file, "--results", tmp_path)
    # Two algorithms, with six seeds in one spectrum and four in the other.
    assert [line.split()[2] for line in lines[1:3]] == ["10", "10"]
