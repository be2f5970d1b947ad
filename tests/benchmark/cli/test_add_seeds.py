"""Tests of `onlinefa add_seeds`: rounds of Snakemake until no seeds are added."""

from __future__ import annotations

import json

from onlinefa_benchmark.cli.add_seeds import run_rounds

WIDE = "D~12/K~2/spectrum~1-100"


def test_rounds_end_when_no_seeds_are_added(tmp_path):
    file, rounds = tmp_path / "seeds.json", iter([6, 9, 9])
    calls = []

    def run(arguments):
        calls.append(list(arguments))
        if "more_seeds" in arguments:
            file.write_text(json.dumps({"synthetic": {WIDE: next(rounds)}}))
        return 0

    assert run_rounds(["--cores", "2"], file, run) == 0
    one_round = ["--cores", "2", "--", "more_seeds"]
    assert calls == [one_round, one_round, one_round, ["--cores", "2"]]


def test_a_round_that_fails_is_the_last(tmp_path):
    calls = []

    def run(arguments):
        calls.append(arguments)
        return 3

    assert run_rounds([], tmp_path / "seeds.json", run) == 3
    assert len(calls) == 1
