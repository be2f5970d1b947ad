"""Tests that an algorithm, experiment, metric or dataset is one new file and one config entry.

They follow the sections of CONTRIBUTING.md literally: the Python block of each section is written
to the file that its first line names, and the workflow runs once with the YAML blocks of all.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from support.running import NO_EXPERIMENTS, ROOT, run_onlinefa, snakemake, with_file

TITLES = ("Adding an algorithm", "Adding an experiment", "Adding a metric", "Adding a dataset")
SMALL = {
    "synthetic": {
        "algorithms": ["diagonal", "recursive_em"],
        "D": [12],
        "K": [2],
        "spectrum": [[1, 10]],
        "T": [100, 300],
        "seeds": 2,
    },
    "linear": {
        "datasets": ["yacht"],
        "algorithms": ["swag", "diagonal"],
        "K": [2],
        "walks": ["reshuffled"],
        "learning_rate": 0.01,
        "batch": 20,
        "warm_up": 10,
        "every": 10,
        "epochs": 30,
        "seeds": 2,
    },
}


def read_section(title):
    """Return the path and content of a section's file, and its configuration entry."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (section,) = re.findall(rf"^## {title}\n(.*?)^## ", text, re.M | re.S)
    path, content = re.findall(r"^```python\n# (src/\S+)\n(.*?)^```", section, re.M | re.S)[0]
    (entry,) = re.findall(r"^```yaml\n(.*?)^```", section, re.M | re.S)
    return Path(path), content, yaml.safe_load(entry)


def merge(entries):
    """Return the configuration of a small run with entries merged into it."""
    config = {**NO_EXPERIMENTS, "seeds_per_job": 2}
    for entry in entries:
        for name, values in entry.items():
            config[name] = SMALL.get(name, {}) | (config.get(name) or {}) | values
    return config


def add_file(source, path, content):
    """Add a file to a copy of the sources, where no file has its name."""
    file = source / path.relative_to("src")
    assert not file.exists()
    file.write_text(content)
    return file


def write_table(folder):
    """Write the table that the section on datasets describes."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3)).round(3)
    y = (X @ [1, 2, 3] + random.normal(size=60)).round(3)
    folder.mkdir()
    frame = pd.DataFrame(np.column_stack([X, y]), columns=["length", "width", "height", "weight"])
    frame.to_csv(folder / "my_table.csv", index=False)


def fill_in_digest(directory, source, file):
    """Insert the digest of the table that the error message of ``onlinefa fetch`` contains."""
    options = ("my_table", "--output", "my_table.npy")
    failed = run_onlinefa(directory, "fetch", *options, source=source, ONLINEFA_DATA_DIR="data")
    assert failed.returncode == 1
    (digest,) = re.findall(r"digest ([0-9a-f]{64})", failed.stderr)
    file.write_text(file.read_text().replace('digest=""', f'digest="{digest}"'))


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """Run the workflow with all four additions; return the folder of results and the plan."""
    directory = tmp_path_factory.mktemp("extended")
    source = Path(shutil.copytree(ROOT / "src", directory / "src"))
    shutil.copytree(ROOT / "config", directory / "config")  # `plan` reads the default from there
    entries = []
    for title in TITLES:
        path, content, entry = read_section(title)
        file = add_file(source, path, content)
        entries.append(entry)
        if title == "Adding a dataset":
            write_table(directory / "data")
            fill_in_digest(directory, source, file)
    arguments = with_file(directory, merge(entries))
    planned = run_onlinefa(directory, "plan", *arguments, source=source)
    assert planned.returncode == 0, planned.stderr
    run = snakemake(directory, *arguments, source=source)
    assert run.returncode == 0, run.stdout + run.stderr
    return directory / "results", planned.stdout


def read_cells(results, experiment):
    files = (results / "cells" / experiment).rglob("*.parquet")
    return pd.concat([pd.read_parquet(file) for file in files])


def test_the_documented_algorithm_can_be_added(extended):
    results, plan = extended
    assert "shared_variance" in plan
    assert "shared_variance" in set(read_cells(results, "synthetic")["algorithm"])
    summary = pd.read_parquet(results / "summary" / "synthetic.parquet")
    rows = summary[(summary["algorithm"] == "shared_variance") & (summary["step"] == 300)]
    assert (rows[rows["metric"] == "wasserstein2"]["ok"] == 2).all()
    table = (results / "tables" / "synthetic" / "wasserstein2.md").read_text()
    assert "| shared variance |" in table
    assert "shared variance" in (results / "figures" / "figure_5_2.svg").read_text()
    assert "shared variance" in (results / "report.html").read_text()


def test_the_documented_experiment_can_be_added(extended):
    results, plan = extended
    assert re.search(r"^outliers +recursive_em +6 ", plan, re.M)
    cells = read_cells(results, "outliers")
    assert set(cells["share"]) == {0.0, 0.01, 0.1}
    assert set(cells["metric"]) == {"trace_error"}
    summary = pd.read_parquet(results / "summary" / "outliers.parquet")
    assert len(summary) == 2 * 3  # algorithms x shares
    # A tenth of the rows multiplied by 10 makes the total variance ten times as large.
    errors = summary.set_index(["algorithm", "share"])["mean"]
    assert errors["diagonal", 0.1] > 5 > 0.5 > errors["diagonal", 0.0]
    table = (results / "tables" / "outliers" / "trace_error.md").read_text()
    assert "| 12 | 2 | 0.01 |" in table
    assert "share of outliers" in (results / "figures" / "outliers.svg").read_text()
    report = (results / "report.html").read_text()
    assert "Outliers" in report
    assert "share of outliers" in report


def test_the_documented_metric_can_be_added(extended):
    results, _ = extended
    cells = read_cells(results, "synthetic")
    values = cells[(cells["metric"] == "total_variance") & (cells["step"] == 300)]["value"]
    np.testing.assert_allclose(values, 1, atol=0.3)
    summary = pd.read_parquet(results / "summary" / "synthetic.parquet")
    rows = summary[summary["metric"] == "total_variance"]
    assert rows["behind"].notna().all()
    table = (results / "tables" / "synthetic" / "total_variance.md").read_text()
    assert table.startswith("Total variance over the true one at T = 300")
    figure = (results / "figures" / "synthetic_total_variance.svg").read_text()
    assert "total variance over the true one" in figure
    assert "total variance over the true one" in (results / "report.html").read_text()


def test_the_documented_dataset_can_be_added(extended):
    results, plan = extended
    assert "linear" in plan
    assert set(read_cells(results, "linear")["dataset"]) == {"my_table"}
    summary = pd.read_parquet(results / "summary" / "linear.parquet")
    assert set(summary["dataset"]) == {"my_table"}
    assert "| My Table | 60 | 3 |" in (results / "tables" / "table_6_1.md").read_text()
    assert "| my table |" in (results / "tables" / "linear" / "wasserstein2.md").read_text()
    assert (results / "figures" / "figure_6_4_my_table.png").exists()
    assert "my table" in (results / "report.html").read_text()


@pytest.mark.parametrize("title", TITLES)
def test_the_code_of_a_section_is_formatted_and_checked(title, tmp_path):
    _, content, _ = read_section(title)
    file = tmp_path / "section.py"
    file.write_text(content)
    for arguments in (["format", "--check"], ["check", "--ignore", "F821"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--config", ROOT / "pyproject.toml"]
        run = subprocess.run([*command, file], capture_output=True, text=True)
        assert run.returncode == 0, run.stdout
