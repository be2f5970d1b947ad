"""Chapter 6: what a cell measures along a walk, and that comparisons are paired."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onlinefa.cell import Cell
from onlinefa.experiments import linear, plane, walking
from onlinefa.models.linear_regression import LinearRegression
from onlinefa.models.sgd_walk import Descent

N, INPUTS = 90, 4
PARAMETERS = {
    "root_seed": 1, "settings": {}, "learning_rate": 0.05, "batch": 16, "warm_up": 2, "every": 2,
    "epochs": 62,
}  # fmt: skip
STEPS = list(range(4, 63, 2))


@pytest.fixture(autouse=True)
def small_table(monkeypatch):
    random = np.random.default_rng(0)
    inputs = random.normal(size=(N, INPUTS)) @ random.normal(size=(INPUTS, INPUTS))
    y = 3 + inputs @ random.normal(size=INPUTS) + random.normal(size=N)
    monkeypatch.setattr(linear.data, "read", lambda name, folder: (inputs, y))
    return LinearRegression.of_table(inputs, y)


def cell(algorithm, walk="reshuffled", K=2, seed=0, **changes):
    axes = {"dataset": "small", "D": INPUTS + 1, "algorithm": algorithm, "walk": walk, "K": K}
    return Cell("linear", axes, seed, PARAMETERS | changes)


def run(*arguments, **changes):
    return list(linear.run(cell(*arguments, **changes), Path()))


def at_the_end(measurements):
    return {m.metric: m.value for m in measurements if m.step == 62}


@pytest.mark.parametrize("algorithm", ["online_em", "online_sga", "swag", "swag_diagonal"])
def test_online_algorithms_are_measured_at_every_step(algorithm):
    measurements = run(algorithm)
    steps = [m.step for m in measurements if m.metric == "wasserstein2"]
    assert steps == STEPS
    assert all(m.status == "ok" for m in measurements)
    assert {m.metric for m in measurements if m.step == 4} == set(walking.METRICS)
    assert {*walking.LOSSES, walking.FLOOR} < set(at_the_end(measurements))


@pytest.mark.parametrize("algorithm", ["batch_svd", "batch_ml"])
def test_batch_algorithms_are_measured_at_every_tenth_and_at_the_end(algorithm):
    steps = [m.step for m in run(algorithm) if m.metric == "wasserstein2"]
    assert steps == [22, 42, 62]


@pytest.mark.parametrize("walk", ["reshuffled", "replacement", "reshuffled_averaged"])
def test_the_diagonal_is_the_walks_own_mean_and_variance(walk, small_table):
    given = cell("swag_diagonal", walk)
    walker = walking.start(given, Descent(small_table, 0.05, 16, walk))
    walker.observe(2)
    rows = walker.observe(60)
    assert len(rows) == (60 if walk.endswith("averaged") else 60 * 6)
    values = at_the_end(run("swag_diagonal", walk))
    for i in range(INPUTS + 1):
        assert values[f"mean[{i}]"] == pytest.approx(rows[:, i].mean())
        assert values[f"covariance[{i},{i}]"] == pytest.approx(rows[:, i].var())


def test_the_walk_depends_on_the_seed_and_on_nothing_else():
    def means(*arguments, **changes):
        return [v for k, v in at_the_end(run(*arguments, **changes)).items() if k[:5] == "mean["]

    first = means("swag")
    assert means("online_em") == pytest.approx(first, rel=1e-12)
    assert means("swag", K=1) == pytest.approx(first, rel=1e-12)
    assert means("swag", seed=1) != pytest.approx(first, rel=1e-6)
    # The mean of means over equal epochs, up to the shorter last batch being a step as well.
    assert means("swag", "reshuffled_averaged") == pytest.approx(first, rel=1e-9)


def test_the_truth_is_the_posterior(small_table):
    values = at_the_end(run("online_em"))
    posterior = small_table.posterior
    for i in range(INPUTS + 1):
        assert values[f"true_mean[{i}]"] == posterior.mean[i]
        assert values[f"true_covariance[0,{i}]"] == posterior.covariance()[0, i]


@pytest.mark.parametrize("walk", ["reshuffled", "replacement_averaged"])
@pytest.mark.parametrize("algorithm", ["online_em", "batch_ml", "swag"])
def test_losses_add_up_to_no_less_than_the_distance(algorithm, walk):
    values = at_the_end(run(algorithm, walk))
    losses = [values[name] for name in walking.LOSSES]
    assert min(losses) >= 0
    assert sum(losses) >= values["wasserstein2"] - 1e-12
    # And each is at most the way round by all the others.
    for loss in losses:
        assert loss <= sum(losses) - loss + values["wasserstein2"] + 1e-12


def test_maximum_likelihood_loses_nothing_as_an_algorithm():
    values = at_the_end(run("batch_ml"))
    assert values["loss_of_algorithm"] < 1e-6 < values["loss_of_rank"]


def test_more_factors_lower_the_floor():
    floors = [at_the_end(run("swag", K=K))[walking.FLOOR] for K in (1, 2, 3)]
    # The bias is independent of the other four weights, and two factors fit any four.
    assert floors[0] > 0.001
    assert max(floors[1:]) < 1e-5


def test_a_walk_that_diverges_is_a_status():
    measurements = [m for m in run("online_em", learning_rate=1e9) if m.metric[:5] != "true_"]
    assert {m.step for m in measurements} == set(STEPS)
    assert {m.status for m in measurements} == {"diverged"}
    assert all(m.message.startswith("SGD diverged in epoch ") for m in measurements)
    final = {m.metric for m in measurements if m.step == 62}
    assert {*walking.METRICS, *walking.LOSSES, walking.FLOOR, "mean[0]"} < final


def test_without_a_stationary_law_its_losses_are_undefined_and_the_others_are_not(monkeypatch):
    def none(descent):
        raise walking.NoStationaryLaw("it never settles")

    monkeypatch.setattr(walking, "stationary_law", none)
    statuses = {m.metric: m.status for m in run("swag") if m.step == 62}
    assert [statuses[name] for name in walking.LOSSES] == ["undefined"] * 2 + ["ok"] * 2


def test_the_plane_has_the_posterior_and_the_footprints_of_the_walk():
    axes = {"dataset": "plane", "D": 2, "K": 1, "algorithm": "swag", "walk": "0.1"}
    measurements = list(plane.run(Cell("plane", axes, 0, PARAMETERS | {"batch": 100}), Path()))
    feet = np.array([m.value for m in measurements if m.metric == "theta[1]"])
    assert len(feet) == 60 * 10  # epochs after the warm-up, batches of 100 among 1000 rows
    values = at_the_end([m for m in measurements if not m.metric.startswith("theta")])
    assert values["mean[1]"] == pytest.approx(feet.mean())
    # X'X is about N times the inputs' covariance, whose inverse is [[4, -2], [-2, 4]] / 3, and
    # beta is 0.1: variances of about 4 / 300, and a correlation of about -1/2.
    assert values["true_covariance[0,0]"] == pytest.approx(4 / 300, rel=0.15)
    assert values["true_covariance[0,1]"] == pytest.approx(-2 / 300, rel=0.25)
