"""Tests of numbers of added seeds: their file, and the resulting cells."""

from __future__ import annotations

import pytest
from support.configurations import only
from support.seed_targets import NARROW, RULE, WIDE, small

from onlinefa_benchmark.cli import main
from onlinefa_benchmark.config import config_model, files, seed_counts
from onlinefa_benchmark.config.validation import ConfigError
from onlinefa_benchmark.experiments._config import continue_seeds, setting_name
from onlinefa_benchmark.grid import bundles


def seeds_by_group(config):
    """Return the seeds of every algorithm in every setting, from all cells."""
    found = {}
    for bundle in bundles(config):
        for cell in bundle.cells():
            found.setdefault(tuple(cell.axes.values()), []).append(cell.seed)
    return found


def test_added_seeds_follow_the_largest_one():
    assert continue_seeds([0, 1, 2], 5) == [0, 1, 2, 3, 4]
    assert continue_seeds([7, 3], 4) == [7, 3, 8, 9]
    assert continue_seeds([0, 1, 2], 1) == [0, 1, 2]


def of_one_algorithm(config):
    named = {bundle.name: bundle for bundle in bundles(config)}
    start = "synthetic/algorithm~online_em/D~12/K~2/"
    return {
        name.removeprefix(start): [group.axes["spectrum"] for group in bundle.groups]
        for name, bundle in named.items()
        if name.startswith(start)
    }


def test_added_seeds_have_separate_bundles():
    config = small()
    more = seed_counts.apply(config, {"synthetic": {WIDE: 9, NARROW: 5}})
    configured = {"seeds~0-2": ["1-10", "1-100"], "seed~3": ["1-10", "1-100"]}
    assert of_one_algorithm(config) == configured
    assert of_one_algorithm(more) == configured | {
        "seed~4": ["1-10", "1-100"],
        "seeds~5-7": ["1-100"],
        "seed~8": ["1-100"],
    }
    before, after = ({bundle.name: bundle for bundle in bundles(each)} for each in (config, more))
    assert len(before) == 3 * 2
    assert before.items() < after.items()
    digests = [
        {cell.digest() for bundle in bundles(each) for cell in bundle.cells()}
        for each in (config, more)
    ]
    assert (len(digests[0]), len(digests[1])) == (3 * 2 * 4, 3 * (9 + 5))
    assert digests[0] < digests[1]


def test_all_algorithms_of_a_setting_have_the_same_seeds():
    more = seed_counts.apply(small(seeds=[5, 2]), {"synthetic": {WIDE: 4}})
    found = seeds_by_group(more)
    assert len(found) == 3 * 2
    for (_, _, _, spectrum), seeds in found.items():
        assert seeds == ([5, 2, 6, 7] if spectrum == "1-100" else [5, 2])


def test_jobs_read_the_same_cells():
    more = seed_counts.apply(small(), {"synthetic": {WIDE: 9}})
    written = more.model_dump_json()
    assert bundles(config_model().model_validate_json(written)) == bundles(more)


def test_a_limit_of_an_algorithm_is_a_cap():
    rule = {"metric": "mean_error", "error": 0.5, "most": 40}
    config = only(
        "gp",
        datasets=["toy"],
        widths=[50, 200],
        algorithms=["map", "swag"],
        seeds=4,
        K=10,
        limits={"swag": {"seeds": 5}},
        more_seeds=rule,
    )
    setting = "dataset~toy/width~50/D~151/K~10"  # 50 units with an input, a bias and a weight; 1
    more = seed_counts.apply(config, {"gp": {setting: 8}})
    numbers = {
        (width, algorithm): len(seeds)
        for (_, width, _, _, algorithm), seeds in seeds_by_group(more).items()
    }
    assert numbers == {(50, "map"): 8, (50, "swag"): 5, (200, "map"): 4, (200, "swag"): 4}


def test_a_number_of_splits_is_a_cap():
    rule = {"metric": "test_nll", "error": 0.1, "most": 40}
    config = only("network", seeds=3, most_splits={"yacht": 2}, datasets=["yacht"], more_seeds=rule)
    (setting,) = {setting_name(group.axes) for group in bundles(config)[0].groups}
    more = seed_counts.apply(config, {"network": {setting: 7}})
    assert bundles(more) == bundles(config)
    assert {len(bundle.seeds) for bundle in bundles(more)} == {2}


def test_numbers_apply_to_experiments_with_more_seeds_up_to_the_cap():
    numbers = {"synthetic": {WIDE: 30, "D~7/K~2/spectrum~1-10": 9}, "linear": {"K~1": 5}}
    assert seed_counts.apply(small(more_seeds=None), numbers) == small(more_seeds=None)
    capped = seed_counts.apply(small(more_seeds=RULE | {"most": 6}), numbers)
    assert sorted(map(len, seeds_by_group(capped).values())) == [4, 4, 4, 6, 6, 6]
    assert bundles(seed_counts.apply(small(), {"synthetic": {WIDE: 3}})) == bundles(small())


def test_without_a_file_there_are_no_numbers(tmp_path):
    assert seed_counts.read(tmp_path / "seeds.json") == {}


def test_numbers_are_read_as_written(tmp_path):
    counts = {"synthetic": {WIDE: 9}, "linear": {"K~1": 5}}
    seed_counts.write(counts, tmp_path / "seeds.json")
    assert seed_counts.read(tmp_path / "seeds.json") == counts


DAMAGED = [
    "",
    "{",
    "[]",
    '{"synthetic": 3}',
    '{"synthetic": {"D~1": 0}}',
    "\xff",
    '{"synthetic": {"D~1": "4"}}',
    '{"synthetic": {"D~1": 4.5}}',
    '{"synthetic": {"D~1": 1000000}}',
    '{"synthetic": {"D~1": true}}',
]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_one_line(tmp_path, capsys, text):
    file = tmp_path / "seeds.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError) as error:
        seed_counts.read(file)
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"{file}: is not a file that `snakemake more_seeds` has written")
    files.write_checked(small(), tmp_path / "config.json")
    options = ["--config", str(tmp_path / "config.json"), "--summaries", str(tmp_path)]
    assert main(["more_seeds", *options, "--seeds", str(file)]) == 1
    assert main(["add_seeds", "--seeds", str(file)]) == 1
    assert capsys.readouterr().err == 2 * f"{line}\n"


MISTAKES = {
    "unknown metric": (
        {"metric": "relative_frobenus"},
        "synthetic.more_seeds.metric",
        "unknown metric 'relative_frobenus'; did you mean 'relative_frobenius'? (allowed: held_out",
    ),
    "unknown key": (
        {"errors": 1},
        "synthetic.more_seeds.errors",
        "unknown key; did you mean 'error'? (allowed: algorithms, error, metric, most, relative)",
    ),
    "no error": ({"error": 0}, "synthetic.more_seeds.error", "greater than 0, got 0"),
    "low cap": (
        {"most": 3},
        "synthetic.more_seeds",
        "most (3) is below the number of seeds, 4",
    ),
    "high cap": ({"most": 10**6}, "synthetic.more_seeds.most", "less than or equal to 10000"),
    "unknown algorithm": (
        {"algorithms": ["diagnal"]},
        "synthetic.more_seeds",
        "unknown name 'diagnal'; did you mean 'diagonal'?",
    ),
    "no algorithm": ({"algorithms": []}, "synthetic.more_seeds.algorithms", "at least 1 item"),
}


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


def test_numbers_of_seeds_by_setting_and_seeds_of_a_plane_cannot_be_configured():
    with pytest.raises(ConfigError, match=r"synthetic\.seeds_by_setting: cannot be given"):
        small(seeds_by_setting={WIDE: 9})
    with pytest.raises(ConfigError, match=r"plane\.more_seeds: cannot be given: seeds must be one"):
        only("plane", more_seeds=RULE)
