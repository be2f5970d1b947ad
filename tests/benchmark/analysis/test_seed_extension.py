"""Tests that seeds are added only to settings whose standard errors are too large."""

from __future__ import annotations

import json

from support.configurations import only
from support.result_rows import make_rows, summary_of
from support.seed_targets import ALTERNATING, CONSTANT, WIDE, small, summary_with

from onlinefa_benchmark.analysis.seed_extension import extend_seeds
from onlinefa_benchmark.config import seed_counts


def test_numbers_of_seeds_are_kept_and_increased(tmp_path):
    file, config = tmp_path / "seeds.json", small()
    file.write_text('{"linear": {"K~1": 5}}')
    summary_with(ALTERNATING).to_parquet(tmp_path / "synthetic.parquet")
    lines = extend_seeds(config, tmp_path, file)
    assert lines[0].startswith("synthetic, relative_frobenius: standard errors up to 0.5, up to 40")
    decisions = [line.rsplit(": ", 1)[1].split(";")[0] for line in lines[1:]]
    assert decisions == ["met", "2 more"]
    assert json.loads(file.read_text()) == {"linear": {"K~1": 5}, "synthetic": {WIDE: 6}}
    # With two more of the same kind the standard error is sqrt(1.2 / 6), which is 0.45.
    summary_with([*ALTERNATING, 1, 3]).to_parquet(tmp_path / "synthetic.parquet")
    again, written = seed_counts.apply(config, seed_counts.read(file)), file.stat()
    lines = extend_seeds(again, tmp_path, file)
    assert "6 seeds, standard error 0.447" in lines[2] and ": met" in lines[2]
    assert file.stat() == written


def test_no_file_is_written_if_no_seeds_are_added(tmp_path):
    summary_with(CONSTANT).to_parquet(tmp_path / "synthetic.parquet")
    extend_seeds(small(), tmp_path, tmp_path / "seeds.json")
    assert not (tmp_path / "seeds.json").exists()
    assert seed_counts.read(tmp_path / "seeds.json") == {}


def test_a_limit_of_an_algorithm_is_a_cap(tmp_path):
    config = only(
        "gp",
        datasets=["toy"],
        widths=[50],
        algorithms=["map", "swag"],
        seeds=4,
        K=10,
        limits={"swag": {"seeds": 5}},
        more_seeds={"metric": "mean_error", "error": 0.5, "most": 40},
    )
    # 50 units with an input, a bias and a weight each, and a bias.
    axes = {"experiment": "gp", "dataset": "toy", "width": 50, "K": 10, "D": 151, "spectrum": None}
    rows = [
        make_rows(algorithm, values, "mean_error", **axes)
        for algorithm, values in (("map", CONSTANT), ("swag", ALTERNATING))
    ]
    summary_of(*rows).to_parquet(tmp_path / "gp.parquet")
    extend_seeds(config, tmp_path, tmp_path / "seeds.json")
    # 4 (1/3) / (1/4) = 5.3 are needed, and 5 allowed.
    assert json.loads((tmp_path / "seeds.json").read_text()) == {
        "gp": {"dataset~toy/width~50/D~151/K~10": 5}
    }
