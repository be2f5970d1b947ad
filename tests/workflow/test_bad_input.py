"""Tests of names with shell commands or relative paths."""

from __future__ import annotations

import pytest
from support.running import NO_EXPERIMENTS, snakemake, with_file

COMMANDS = "x; touch pwned; $(touch pwned) `touch pwned` {config} 'a\" ü"
ONE_TABLE = {
    **NO_EXPERIMENTS,
    "linear": {"datasets": ["yacht"], "algorithms": ["swag"], "seeds": 1},
}


def config_in(directory, **changes):
    return with_file(directory, ONE_TABLE | changes)


def variant(name):
    linear = ONE_TABLE["linear"] | {"algorithms": [name]}
    return {"variants": {name: {"algorithm": "swag"}}, "linear": linear}


def pwned(directory):
    return list(directory.rglob("pwned*"))


@pytest.mark.parametrize("name", [COMMANDS, "../../x"])
def test_a_variant_whose_name_is_not_a_plain_word_is_refused(tmp_path, name):
    run = snakemake(tmp_path, *config_in(tmp_path, **variant(name)))
    assert run.returncode == 1
    (line,) = [line for line in run.stderr.splitlines() if "small.yaml" in line]
    assert "must have lower-case letters, digits and _ only" in line
    assert sorted(path.name for path in tmp_path.iterdir()) in (
        ["small.yaml"],
        [".snakemake", "small.yaml"],
    )


def test_a_target_that_is_not_in_the_grid_is_refused(tmp_path):
    target = "results/cells/linear/algorithm~swag/$(touch pwned); touch pwned.parquet"
    run = snakemake(tmp_path, *config_in(tmp_path), "--", target)
    assert run.returncode == 1
    assert "is not in the configured grid" in run.stdout + run.stderr
    assert not pwned(tmp_path)


def test_a_folder_of_tables_with_any_name_is_read_and_not_written_to(tmp_path):
    own = tmp_path / COMMANDS
    own.mkdir()
    (own / "yacht_hydrodynamics.data").write_text("nothing")
    where = ("--config", f"data_dir={own}")
    table = ("--", "results/data/yacht.npy")
    run = snakemake(tmp_path, "--show-failed-logs", *config_in(tmp_path), *where, *table)
    assert run.returncode == 1
    assert f"yacht: folder {own}: yacht_hydrodynamics.data " in run.stdout + run.stderr
    assert not pwned(tmp_path)
    assert [path.name for path in own.iterdir()] == ["yacht_hydrodynamics.data"]
