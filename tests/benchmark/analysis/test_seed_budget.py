"""Tests of decisions about numbers of seeds, from summaries made by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
import yaml
from support.result_rows import make_rows, summary_of
from support.seed_targets import ALTERNATING, CONSTANT, NARROW, RULE, WIDE, small

from onlinefa_benchmark import experiments
from onlinefa_benchmark.analysis.seed_budget import decide_seeds, seeds_for
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.grid import bundles

pytestmark = pytest.mark.slow  # summarises many seeds

DEFAULT = yaml.safe_load((Path(__file__).parents[3] / "config" / "config.yaml").read_text())


def only(name, **changes):
    """Return the default configuration of one experiment, with some changes."""
    others = dict.fromkeys(set(experiments.names()) - {name})
    return validate(DEFAULT | others | {name: DEFAULT[name] | changes})


def summary_of_values(values, step=150):
    """Summarise one value per seed, by algorithm and spectrum; None is a fit that diverged."""
    frames = [
        make_rows(algorithm, seeds, spectrum=spectrum, D=12, step=step)
        for (algorithm, spectrum), seeds in values.items()
    ]
    return summary_of(*frames)


def judged(config, values, **step):
    groups = {str(group.axes): group for bundle in bundles(config) for group in bundle.groups}
    found = decide_seeds(
        config.synthetic,
        groups.values(),
        summary_of_values(values, **step),
        config.references("synthetic"),
    )
    return {decision.setting: decision for decision in found}


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


def both(values, **others):
    """Return these values in one spectrum, and constant ones in the other."""
    named = {"online_em": values, "online_sga": CONSTANT, "diagonal": CONSTANT} | others
    constant = {(name, "1-10"): CONSTANT for name in named}
    return constant | {(name, "1-100"): own for name, own in named.items()}


@pytest.mark.parametrize("rule", [{}, {"error": 0.25, "relative": True}], ids=["error", "share"])
def test_the_worst_algorithm_decides_the_number_of_seeds(rule):
    found = judged(small(more_seeds=RULE | rule), both(ALTERNATING))
    # 4 (1/3) / (1/4) = 5.3, of a mean of 2
    assert (found[WIDE].seeds, found[WIDE].wanted) == (4, 6)
    assert str(found[WIDE]) == (
        "D 12, K 2, spectrum 1-100: 4 seeds, standard error 0.577 of online_em, target 0.5: 2 more"
        # Differences of 1.155 sqrt(1/4) 4.26 and 1.155 sqrt(1/6) 3.51, by the noncentral t.
        "; detectable difference 2.5, with them 1.7"
    )
    assert (found[NARROW].seeds, found[NARROW].wanted) == (4, 4)
    assert str(found[NARROW]).endswith(": met")


def test_the_cap_is_not_exceeded_and_reported_when_reached():
    found = judged(small(more_seeds=RULE | {"most": 5}), both(ALTERNATING))[WIDE]
    assert found.wanted == 5
    at_cap = judged(small(more_seeds=RULE | {"most": 4}), both(ALTERNATING))[WIDE]
    assert at_cap.wanted == 4
    assert "target 0.5: not met, and no more are allowed; detectable" in str(at_cap)


def test_an_algorithm_that_always_fails_is_ignored():
    nothing = [None] * 4
    found = judged(small(), both(CONSTANT, online_sga=nothing))[WIDE]
    assert found.wanted == 4
    assert str(found).endswith(": met")
    none = judged(small(), both(nothing, online_sga=nothing, diagonal=nothing))[WIDE]
    assert str(none).endswith("4 seeds, no algorithm has a value: none are added")
    # One value has no standard error; the number of seeds is doubled.
    assert judged(small(), both([1, None, None, None]))[WIDE].wanted == 8
    # 1 and 3 have the standard error 1; two of four seeds have a value: 4 x 4, limited to doubling.
    assert judged(small(), both([1, None, 3, None]))[WIDE].wanted == 8
    assert judged(small(), both([1e200, -1e200, 1e200, 1e200]))[WIDE].wanted == 4


def test_references_and_unlisted_algorithms_are_ignored():
    rule = RULE | {"algorithms": ["diagonal"]}
    assert judged(small(more_seeds=rule), both(ALTERNATING))[WIDE].wanted == 4
    config = only(
        "gp",
        datasets=["toy"],
        widths=[50],
        algorithms=["map", "nystrom"],
        seeds=4,
        more_seeds={"metric": "mean_error", "error": 0.5, "most": 9},
    )
    groups = bundles(config)[0].groups
    summary = summary_of_values({("map", "x"): CONSTANT, ("nystrom", "x"): ALTERNATING})
    summary = summary.assign(dataset="toy", width=50, K=10, D=151, metric="mean_error")
    (found,) = decide_seeds(config.gp, groups, summary, config.references("gp"))
    assert [standing.algorithm for standing in found.standings] == ["map"]
    assert found.wanted == 4


def test_one_seed_is_not_enough():
    one = {key: values[:1] for key, values in both(ALTERNATING).items()}
    assert judged(small(seeds=1), one)[WIDE].wanted == 2


def test_only_the_last_step_is_used():
    summary = pd.concat(
        [summary_of_values(both(ALTERNATING), 20), summary_of_values(both(CONSTANT), 150)]
    )
    groups = bundles(small())[0].groups
    decisions = decide_seeds(small().synthetic, groups, summary, ())
    assert [decision.wanted for decision in decisions] == [4, 4]
