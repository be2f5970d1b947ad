"""Tests of chapter 6: measurements of cells along a walk that all algorithms share."""

from __future__ import annotations

import numpy as np
import pytest
from support import contexts

from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.experiments.linear import distance_steps, sgd_tracking
from onlinefa_benchmark.models import distances
from onlinefa_benchmark.models.linear_regression import LinearRegression
from onlinefa_benchmark.models.sgd_walk import SGDSettings
from onlinefa_benchmark.models.walk_names import parse_walk_name

N, INPUTS = 90, 4
PARAMETERS = {
    "root_seed": 1,
    "settings": {},
    "learning_rate": 0.05,
    "batch": 16,
    "warm_up": 2,
    "every": 2,
    "epochs": 62,
}
STEPS = list(range(4, 63, 2))


def read_table(name):
    random = np.random.default_rng(0)
    inputs = random.normal(size=(N, INPUTS)) @ random.normal(size=(INPUTS, INPUTS))
    return inputs, 3 + inputs @ random.normal(size=INPUTS) + random.normal(size=N)


@pytest.fixture
def regression():
    return LinearRegression.of_table(*read_table("small"))


def cell(algorithm, walk="reshuffled", K=2, seed=0, **changes):
    axes = {"dataset": "small", "D": INPUTS + 1, "algorithm": algorithm, "walk": walk, "K": K}
    return Cell("linear", axes, seed, PARAMETERS | changes)


def run(*arguments, **changes):
    one = cell(*arguments, **changes)
    return contexts.run(one, contexts.context_of(one, read_table=read_table))


def at_the_end(measurements):
    """Return the values of the last step, by the name of the metric and its indices, if any."""
    return {key_of(m): m.value for m in measurements if m.step == 62}


def key_of(measurement):
    indices = [index for index in (measurement.i, measurement.j) if index is not None]
    return (measurement.metric, *indices) if indices else measurement.metric


@pytest.mark.parametrize("algorithm", ["online_em", "online_sga", "swag", "swag_diagonal"])
def test_online_algorithms_are_measured_at_every_step(algorithm):
    measurements = run(algorithm)
    steps = [m.step for m in measurements if m.metric == "wasserstein2"]
    assert steps == STEPS
    assert all(m.status == "ok" for m in measurements)
    assert {key_of(m) for m in measurements if m.step == 4} == set(distances.DISTANCES)
    assert {*distance_steps.LOSSES, distance_steps.FLOOR} < set(at_the_end(measurements))


@pytest.mark.parametrize("algorithm", ["batch_svd", "batch_ml"])
def test_batch_algorithms_are_measured_at_every_tenth_and_at_the_end(algorithm):
    steps = [m.step for m in run(algorithm) if m.metric == "wasserstein2"]
    assert steps == [22, 42, 62]


@pytest.mark.parametrize("walk", ["reshuffled", "replacement", "reshuffled_averaged"])
def test_swag_diagonal_has_the_mean_and_variance_of_the_walk(walk, regression):
    given = cell("swag_diagonal", walk)
    sgd = SGDSettings(regression, 0.05, 16, parse_walk_name(walk))
    walker = sgd_tracking.start_walk(given, sgd)
    walker.observe(2)
    rows = walker.observe(60)
    assert len(rows) == (60 if walk.endswith("averaged") else 60 * 6)
    values = at_the_end(run("swag_diagonal", walk))
    for i in range(INPUTS + 1):
        assert values["mean", i] == pytest.approx(rows[:, i].mean())
        assert values["covariance", i, i] == pytest.approx(rows[:, i].var())


def test_the_walk_depends_only_on_the_seed():
    def means(*arguments, **changes):
        values = at_the_end(run(*arguments, **changes))
        return [values["mean", i] for i in range(INPUTS + 1)]

    first = means("swag")
    assert means("online_em") == pytest.approx(first, rel=1e-12)
    assert means("swag", K=1) == pytest.approx(first, rel=1e-12)
    assert means("swag", seed=1) != pytest.approx(first, rel=1e-6)
    # Equal up to the shorter last batch of epochs, which counts as a full step.
    assert means("swag", "reshuffled_averaged") == pytest.approx(first, rel=1e-9)


def test_the_truth_is_the_posterior(regression):
    values = at_the_end(run("online_em"))
    posterior = regression.posterior
    for i in range(INPUTS + 1):
        assert values["true_mean", i] == posterior.mean[i]
        assert values["true_covariance", 0, i] == posterior.covariance()[0, i]


@pytest.mark.parametrize("walk", ["reshuffled", "replacement_averaged"])
@pytest.mark.parametrize("algorithm", ["online_em", "batch_ml", "swag"])
def test_the_sum_of_losses_is_at_least_the_distance(algorithm, walk):
    values = at_the_end(run(algorithm, walk))
    losses = [values[name] for name in distance_steps.LOSSES]
    assert min(losses) >= 0
    assert sum(losses) >= values["wasserstein2"] - 1e-12
    # By the triangle inequality, each is at most the sum of all others.
    for loss in losses:
        assert loss <= sum(losses) - loss + values["wasserstein2"] + 1e-12


def test_the_algorithmic_loss_of_maximum_likelihood_is_zero():
    values = at_the_end(run("batch_ml"))
    assert values["loss_of_algorithm"] < 1e-6 < values["loss_of_rank"]


def test_more_factors_lower_the_floor():
    floors = [at_the_end(run("swag", K=K))[distance_steps.FLOOR] for K in (1, 2, 3)]
    # The bias is independent of the other four weights, and two factors fit any four.
    assert floors[0] > 0.001
    assert max(floors[1:]) < 1e-5


def test_a_diverging_walk_has_the_status_diverged():
    measurements = [m for m in run("online_em", learning_rate=1e9) if m.metric[:5] != "true_"]
    assert {m.step for m in measurements} == set(STEPS)
    assert {m.status for m in measurements} == {"diverged"}
    assert all(m.message.startswith("SGD diverged in epoch ") for m in measurements)
    final = {key_of(m) for m in measurements if m.step == 62}
    names = {*distances.DISTANCES, *distance_steps.LOSSES, distance_steps.FLOOR}
    assert names | {("mean", 0), ("covariance", 1, 4)} < final


def test_entries_have_their_indices_in_columns_and_not_in_names():
    measurements = [m for m in run("online_em") if m.step == 62]
    D = INPUTS + 1
    for prefix in ("", "true_"):
        means = [(m.i, m.j) for m in measurements if m.metric == f"{prefix}mean"]
        assert means == [(i, None) for i in range(D)]
        covariances = [(m.i, m.j) for m in measurements if m.metric == f"{prefix}covariance"]
        assert covariances == [(i, j) for i in range(D) for j in range(i, D)]
    assert not any("[" in m.metric for m in measurements)
    others = [m for m in measurements if not m.metric.endswith(("mean", "covariance"))]
    assert {(m.i, m.j) for m in others} == {(None, None)}


def test_only_losses_of_the_stationary_law_are_undefined_without_it(monkeypatch):
    def none(descent):
        raise sgd_tracking.NoStationaryLaw("it never settles")

    monkeypatch.setattr(sgd_tracking, "stationary_law", none)
    statuses = {m.metric: m.status for m in run("swag") if m.step == 62}
    assert [statuses[name] for name in distance_steps.LOSSES] == ["undefined"] * 2 + ["ok"] * 2


def test_the_plane_has_the_posterior_and_the_steps_of_the_walk():
    axes = {"dataset": "plane", "D": 2, "K": 1, "algorithm": "swag", "walk": "0.1"}
    measurements = contexts.run(Cell("plane", axes, 0, PARAMETERS | {"batch": 100}))
    second = np.array([m.value for m in measurements if (m.metric, m.i) == ("theta", 1)])
    assert len(second) == 60 * 10  # epochs after the warm-up, batches of 100 among 1000 rows
    values = at_the_end([m for m in measurements if m.metric != "theta"])
    assert values["mean", 1] == pytest.approx(second.mean())
    # X'X is about N times the inputs' covariance, whose inverse is [[4, -2], [-2, 4]] / 3, and
    # beta is 0.1: variances of about 4 / 300, and a correlation of about -1/2.
    assert values["true_covariance", 0, 0] == pytest.approx(4 / 300, rel=0.15)
    assert values["true_covariance", 0, 1] == pytest.approx(-2 / 300, rel=0.25)
