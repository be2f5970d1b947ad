"""More seeds where standard errors are too large: how many, for whom, in which cells."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest
import yaml

from onlinefa import seeds_file
from onlinefa.__main__ import main
from onlinefa.config import EXPERIMENTS, Config
from onlinefa.config.base import continued
from onlinefa.enough_seeds import fit_until_enough
from onlinefa.grid import bundles
from onlinefa.stopping import seeds_for, verdicts
from onlinefa.summary import summarise
from onlinefa.validation import ConfigError, validate

DEFAULT = yaml.safe_load(
    (Path(__file__).parents[2] / "config" / "config.yaml").read_text()
)  # networks, and what they are trained with
RULE = {"metric": "relative_frobenius", "error": 0.5, "most": 40}
SMALL = {
    "root_seed": 0,
    "seeds_per_job": 3,
    "synthetic": {
        "algorithms": ["online_em", "online_sga", "diagonal"],
        "D": [12],
        "K": [2],
        "spectrum": [[1, 10], [1, 100]],
        "T": [20, 150],
        "seeds": 4,
        "more_seeds": RULE,
    },
}
NARROW, WIDE = "D~12/K~2/spectrum~1-10", "D~12/K~2/spectrum~1-100"


def small(**changes):
    return validate(SMALL | {"synthetic": SMALL["synthetic"] | changes})


def only(name, **changes):
    """The default configuration of one experiment, with some changes."""
    others = dict.fromkeys(set(EXPERIMENTS) - {name})
    return validate(DEFAULT | others | {name: DEFAULT[name] | changes})


def seeds_by_group(config):
    """Which seeds every algorithm has in every setting, from the cells that there are."""
    found = {}
    for bundle in bundles(config):
        for cell in bundle.cells():
            found.setdefault(tuple(cell.axes.values()), []).append(cell.seed)
    return found


def summary_of(values, step=150):
    """Of one value per seed, by algorithm and spectrum; None is a fit that diverged."""
    frames = [
        pd.DataFrame(
            {
                "experiment": "synthetic", "dataset": "algorithm_3", "walk": None,
                "algorithm": algorithm, "D": 12, "K": 2, "width": None, "spectrum": spectrum,
                "scale": None, "seed": range(len(of_seeds)), "step": step,
                "metric": "relative_frobenius", "value": pd.Series(of_seeds, dtype=float),
                "status": ["diverged" if value is None else "ok" for value in of_seeds],
                "seconds": 1.0, "contract": "", "networks": None,
            }
        )
        for (algorithm, spectrum), of_seeds in values.items()
    ]  # fmt: skip
    return summarise(pd.concat(frames, ignore_index=True))


def judged(config, values, **step):
    groups = {str(group.axes): group for bundle in bundles(config) for group in bundle.groups}
    found = verdicts(config.synthetic, groups.values(), summary_of(values, **step))
    return {verdict.setting: verdict for verdict in found}


@pytest.mark.parametrize(
    ("target", "error", "seeds"),
    [
        (0.1, 0.1, 10),
        (0.1, 0.12, 15),  # 10 x 1.44
        (0.1, math.nextafter(0.1, 1), 11),
        (0.1, 0.15, 20),  # 22.5, and no more than twice as many
        (0.1, math.nan, 20),
        (0.0, 0.1, 20),
        (0.0, 0.0, 10),
        (1e-200, 1e200, 20),
    ],
)
def test_seeds_for_a_target(target, error, seeds):
    assert seeds_for(target, 10, error) == seeds


ALTERNATING = [1, 3, 1, 3]  # standard deviation 2 / sqrt(3), standard error 1 / sqrt(3)
CONSTANT = [2.0, 2.0, 2.0, 2.0]


def both(values, **others):
    """These values in one spectrum, and in the other ones of which all is known."""
    named = {"online_em": values, "online_sga": CONSTANT, "diagonal": CONSTANT} | others
    constant = {(name, "1-10"): CONSTANT for name in named}
    return constant | {(name, "1-100"): own for name, own in named.items()}


@pytest.mark.parametrize("rule", [{}, {"error": 0.25, "relative": True}], ids=["error", "share"])
def test_a_setting_has_as_many_seeds_as_its_worst_algorithm_wants(rule):
    found = judged(small(more_seeds=RULE | rule), both(ALTERNATING))
    # 4 (1/3) / (1/4) = 5.3, of a mean of 2
    assert (found[WIDE].seeds, found[WIDE].wanted) == (4, 6)
    assert str(found[WIDE]) == (
        "D 12, K 2, spectrum 1-100: 4 seeds, standard error 0.577 of online_em, target 0.5: 2 more"
    )
    assert (found[NARROW].seeds, found[NARROW].wanted) == (4, 4)
    assert str(found[NARROW]).endswith(": met")


def test_the_cap_is_never_exceeded_and_said_to_be_reached():
    found = judged(small(more_seeds=RULE | {"most": 5}), both(ALTERNATING))[WIDE]
    assert found.wanted == 5
    at_cap = judged(small(more_seeds=RULE | {"most": 4}), both(ALTERNATING))[WIDE]
    assert at_cap.wanted == 4
    assert str(at_cap).endswith("target 0.5: not met, and no more are allowed")


def test_who_always_fails_has_no_say():
    nothing = [None] * 4
    found = judged(small(), both(CONSTANT, online_sga=nothing))[WIDE]
    assert found.wanted == 4
    assert str(found).endswith(": met")
    nobody = judged(small(), both(nothing, online_sga=nothing, diagonal=nothing))[WIDE]
    assert str(nobody).endswith("4 seeds, and nobody has a value: none are added")
    # One value has no standard error: twice as many seeds may have two.
    assert judged(small(), both([1, None, None, None]))[WIDE].wanted == 8
    # 1 and 3 have the standard error 1; of four seeds, two have a value: 4 x 4, but for doubling.
    assert judged(small(), both([1, None, 3, None]))[WIDE].wanted == 8
    assert judged(small(), both([1e200, -1e200, 1e200, 1e200]))[WIDE].wanted == 4


def test_references_and_those_that_are_not_asked_have_no_say():
    rule = RULE | {"algorithms": ["diagonal"]}
    assert judged(small(more_seeds=rule), both(ALTERNATING))[WIDE].wanted == 4
    config = only(
        "gp", datasets=["toy"], widths=[50], algorithms=["map", "nystrom"], seeds=4,
        more_seeds={"metric": "mean_error", "error": 0.5, "most": 9},
    )  # fmt: skip
    groups = bundles(config)[0].groups
    summary = summary_of({("map", "x"): CONSTANT, ("nystrom", "x"): ALTERNATING})
    summary = summary.assign(dataset="toy", width=50, K=10, D=151, metric="mean_error")
    (found,) = verdicts(config.gp, groups, summary)
    assert [standing.algorithm for standing in found.standings] == ["map"]
    assert found.wanted == 4


def test_one_seed_is_not_enough():
    one = {key: values[:1] for key, values in both(ALTERNATING).items()}
    assert judged(small(seeds=1), one)[WIDE].wanted == 2


def test_the_last_step_counts():
    summary = pd.concat([summary_of(both(ALTERNATING), 20), summary_of(both(CONSTANT), 150)])
    groups = bundles(small())[0].groups
    assert [found.wanted for found in verdicts(small().synthetic, groups, summary)] == [4, 4]


def test_seeds_go_on_after_the_largest():
    assert continued([0, 1, 2], 5) == [0, 1, 2, 3, 4]
    assert continued([7, 3], 4) == [7, 3, 8, 9]
    assert continued([0, 1, 2], 1) == [0, 1, 2]


def of_one_algorithm(config):
    named = {bundle.name: bundle for bundle in bundles(config)}
    start = "synthetic/algorithm~online_em/D~12/K~2/"
    return {
        name.removeprefix(start): [group.axes["spectrum"] for group in bundle.groups]
        for name, bundle in named.items()
        if name.startswith(start)
    }


def test_added_seeds_have_bundles_of_their_own():
    config = small()
    more = seeds_file.with_numbers(config, {"synthetic": {WIDE: 9, NARROW: 5}})
    configured = {"seeds~0-2": ["1-10", "1-100"], "seed~3": ["1-10", "1-100"]}
    assert of_one_algorithm(config) == configured
    assert of_one_algorithm(more) == configured | {
        "seed~4": ["1-10", "1-100"], "seeds~5-7": ["1-100"], "seed~8": ["1-100"],
    }  # fmt: skip
    before, after = (
        {bundle.name: bundle.to_json() for bundle in bundles(each)} for each in (config, more)
    )
    assert len(before) == 3 * 2
    assert before.items() < after.items()
    digests = [
        {cell.digest() for bundle in bundles(each) for cell in bundle.cells()}
        for each in (config, more)
    ]
    assert (len(digests[0]), len(digests[1])) == (3 * 2 * 4, 3 * (9 + 5))
    assert digests[0] < digests[1]


def test_all_algorithms_of_a_setting_have_the_same_seeds():
    more = seeds_file.with_numbers(small(seeds=[5, 2]), {"synthetic": {WIDE: 4}})
    found = seeds_by_group(more)
    assert len(found) == 3 * 2
    for (_, _, _, spectrum), seeds in found.items():
        assert seeds == ([5, 2, 6, 7] if spectrum == "1-100" else [5, 2])


def test_readers_are_told_the_same_cells():
    more = seeds_file.with_numbers(small(), {"synthetic": {WIDE: 9}})
    told = more.model_dump_json(exclude={"synthetic": {"more_seeds"}, "linear": {"more_seeds"}})
    assert bundles(Config.model_validate_json(told)) == bundles(more)


def test_a_limit_of_an_algorithm_is_a_cap():
    rule = {"metric": "mean_error", "error": 0.5, "most": 40}
    config = only(
        "gp", datasets=["toy"], widths=[50, 200], algorithms=["map", "swag"], seeds=4, K=10,
        limits={"swag": {"seeds": 5}}, more_seeds=rule,
    )  # fmt: skip
    setting = "dataset~toy/width~50/D~151/K~10"  # 50 units with an input, a bias and a weight; 1
    more = seeds_file.with_numbers(config, {"gp": {setting: 8}})
    numbers = {
        (width, algorithm): len(seeds)
        for (_, width, _, _, algorithm), seeds in seeds_by_group(more).items()
    }
    assert numbers == {(50, "map"): 8, (50, "swag"): 5, (200, "map"): 4, (200, "swag"): 4}
    groups = [g for bundle in bundles(config) for g in bundle.groups if g.axes["width"] == 50]
    summary = summary_of({("map", "x"): CONSTANT, ("swag", "x"): ALTERNATING})
    summary = summary.assign(dataset="toy", width=50, K=10, D=151, metric="mean_error")
    # 5.3 are needed, and 5 allowed.
    (found,) = verdicts(config.gp, {str(group.axes): group for group in groups}.values(), summary)
    assert (found.setting, found.wanted) == (setting, 5)


def test_a_number_of_splits_is_a_cap():
    rule = {"metric": "test_nll", "error": 0.1, "most": 40}
    config = only("network", seeds=3, splits={"yacht": 2}, datasets=["yacht"], more_seeds=rule)
    (setting,) = {
        "/".join(f"{axis}~{value}" for axis, value in group.axes.items() if axis != "algorithm")
        for group in bundles(config)[0].groups
    }
    more = seeds_file.with_numbers(config, {"network": {setting: 7}})
    assert bundles(more) == bundles(config)
    assert {len(bundle.seeds) for bundle in bundles(more)} == {2}


def test_numbers_concern_who_asks_for_more_seeds_and_never_exceed_the_cap():
    numbers = {"synthetic": {WIDE: 30, "D~7/K~2/spectrum~1-10": 9}, "linear": {"K~1": 5}}
    assert seeds_file.with_numbers(small(more_seeds=None), numbers) == small(more_seeds=None)
    capped = seeds_file.with_numbers(small(more_seeds=RULE | {"most": 6}), numbers)
    assert sorted(map(len, seeds_by_group(capped).values())) == [4, 4, 4, 6, 6, 6]
    assert bundles(seeds_file.with_numbers(small(), {"synthetic": {WIDE: 3}})) == bundles(small())


def test_what_is_decided_is_kept_and_grows(tmp_path):
    file, config = tmp_path / "seeds.json", small()
    file.write_text('{"linear": {"K~1": 5}}')
    summary_of(both(ALTERNATING)).to_parquet(tmp_path / "synthetic.parquet")
    lines = seeds_file.extend(config, tmp_path, file)
    assert lines[0].startswith("synthetic, relative_frobenius: standard errors up to 0.5, up to 40")
    assert [line.rsplit(": ", 1)[1] for line in lines[1:]] == ["met", "2 more"]
    assert json.loads(file.read_text()) == {"linear": {"K~1": 5}, "synthetic": {WIDE: 6}}
    # With two more of the same kind the standard error is sqrt(1.2 / 6), which is 0.45.
    summary_of(both([*ALTERNATING, 1, 3])).to_parquet(tmp_path / "synthetic.parquet")
    again, written = seeds_file.with_numbers(config, seeds_file.read(file)), file.stat()
    lines = seeds_file.extend(again, tmp_path, file)
    assert "6 seeds, standard error 0.447" in lines[2] and lines[2].endswith(": met")
    assert file.stat() == written


def test_without_anything_to_add_there_is_no_file(tmp_path):
    summary_of(both(CONSTANT)).to_parquet(tmp_path / "synthetic.parquet")
    seeds_file.extend(small(), tmp_path, tmp_path / "seeds.json")
    assert not (tmp_path / "seeds.json").exists()
    assert seeds_file.read(tmp_path / "seeds.json") == {}


DAMAGED = ["", "{", "[]", '{"synthetic": 3}', '{"synthetic": {"D~1": 0}}', "\xff",
           '{"synthetic": {"D~1": "4"}}', '{"synthetic": {"D~1": 4.5}}',
           '{"synthetic": {"D~1": 1000000}}', '{"synthetic": {"D~1": true}}']  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_one_line(tmp_path, capsys, text):
    file = tmp_path / "seeds.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError) as error:
        seeds_file.read(file)
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"{file}: is not what `snakemake more_seeds` writes")
    told = ["--config", small().model_dump_json(), "--summaries", str(tmp_path)]
    assert main(["more_seeds", *told, "--seeds", str(file)]) == 1
    assert main(["enough_seeds", "--seeds", str(file)]) == 1
    assert capsys.readouterr().err == 2 * f"{line}\n"


def test_rounds_end_when_nothing_is_added(tmp_path):
    file, rounds = tmp_path / "seeds.json", iter([6, 9, 9])
    calls = []

    def run(arguments):
        calls.append(list(arguments))
        if "more_seeds" in arguments:
            file.write_text(json.dumps({"synthetic": {WIDE: next(rounds)}}))
        return 0

    assert fit_until_enough(["--cores", "2"], file, run) == 0
    one_round = ["--cores", "2", "--", "more_seeds"]
    assert calls == [one_round, one_round, one_round, ["--cores", "2"]]


def test_a_round_that_fails_is_the_last(tmp_path):
    calls = []

    def run(arguments):
        calls.append(arguments)
        return 3

    assert fit_until_enough([], tmp_path / "seeds.json", run) == 3
    assert len(calls) == 1


MISTAKES = {
    "unknown metric": (
        {"metric": "relative_frobenus"}, "synthetic.more_seeds.metric",
        "unknown metric 'relative_frobenus'; did you mean 'relative_frobenius'? (allowed: held_out",
    ),
    "unknown key": (
        {"errors": 1}, "synthetic.more_seeds.errors",
        "unknown key; did you mean 'error'? (allowed: algorithms, error, metric, most, relative)",
    ),
    "no error": ({"error": 0}, "synthetic.more_seeds.error", "greater than 0, got 0"),
    "low cap": (
        {"most": 3}, "synthetic.more_seeds", "most (3) is below the number of seeds, 4",
    ),
    "high cap": ({"most": 10**6}, "synthetic.more_seeds.most", "less than or equal to 10000"),
    "unknown algorithm": (
        {"algorithms": ["diagnal"]}, "synthetic.more_seeds",
        "unknown name 'diagnal'; did you mean 'diagonal'?",
    ),
    "nobody": ({"algorithms": []}, "synthetic.more_seeds.algorithms", "at least 1 item"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "key", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_with_its_key(change, key, message):
    with pytest.raises(ConfigError) as error:
        small(more_seeds=RULE | change)
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"--config: {key}: ")
    assert message in line


def test_a_metric_must_be_one_of_the_experiment():
    with pytest.raises(ConfigError, match=r"gp\.more_seeds\.metric: unknown metric 'test_nll'"):
        only("gp", more_seeds={"metric": "test_nll", "error": 0.1, "most": 9})


def test_numbers_of_seeds_cannot_be_configured_and_a_plane_has_one():
    with pytest.raises(ConfigError, match=r"synthetic\.seeds_by_setting: cannot be given"):
        small(seeds_by_setting={WIDE: 9})
    with pytest.raises(ConfigError, match=r"plane\.more_seeds: cannot be given: seeds must be one"):
        only("plane", more_seeds=RULE)
