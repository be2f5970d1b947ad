"""Tests of chapter 7: measurements of a cell, and results that cells share."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from support.contexts import context_of, run
from support.gp_cells import CACHE, cell, measurements, values

from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.context import Cache, Context
from onlinefa_benchmark.experiments.gp import GPConfig, computation, task
from onlinefa_benchmark.experiments.gp.computation import METRICS, _Part
from onlinefa_benchmark.experiments.gp.task import GPTask
from onlinefa_benchmark.models.gaussian_process import NotPositiveDefinite
from onlinefa_benchmark.models.mode_search import TOLERANCE
from onlinefa_benchmark.posteriors.base import GaussianFunctions


def prepare(*arguments):
    one = cell(*arguments)
    return computation.prepare_task(one, context_of(one, cache=CACHE))


def test_the_process_has_no_distance_from_itself():
    found = values("gaussian_process")
    for metric in ("function_wasserstein2", "mean_error"):
        assert found[metric] == pytest.approx(0, abs=1e-9)
    assert found["sd_ratio"] == pytest.approx(1)


def test_distances_and_errors_of_known_functions():
    problem, task = prepare("map")
    mean, variance = task.process.predict(problem.inputs)
    sd = np.sqrt(variance)
    shifted = GaussianFunctions(mean + 0.3 * sd, 0.6 * sd)
    found = computation.measure(problem, task.process, shifted)
    assert found["mean_error"] == pytest.approx(0.3)
    assert found["sd_ratio"] == pytest.approx(0.6)
    assert found["function_wasserstein2"] == pytest.approx(0.5)  # 3, 4, 5
    targets, unit = problem.unit * problem.targets, problem.unit
    total = unit**2 * (0.36 * variance + task.process.noise)
    residuals = targets - unit * (mean + 0.3 * sd)
    density = -(residuals**2 / total + np.log(2 * np.pi * total)) / 2
    assert found["test_log_likelihood"] == pytest.approx(density.mean())
    assert found["test_rmse"] == pytest.approx(np.sqrt(np.mean(residuals**2)))


def test_an_additional_metric_gets_the_predictions_and_the_targets():
    problem, task = prepare("map")
    mean, variance = task.process.predict(problem.inputs)
    functions = GaussianFunctions(mean, np.sqrt(variance))
    bias = {"bias": lambda predicted, y: np.mean(predicted.mean - y)}
    found = computation.measure(problem, task.process, functions, bias)
    assert found["bias"] == pytest.approx(np.mean(mean - problem.targets))


def test_unreliable_functions_have_a_reason_instead_of_a_distance():
    problem, task = prepare("map")
    mean, variance = task.process.predict(problem.inputs)
    doubtful = GaussianFunctions(mean, np.sqrt(variance), {"r_hat": 1.4}, "R-hat is 1.4")
    found = computation.measure(problem, task.process, doubtful)
    assert {found[metric] for metric in METRICS} == {"R-hat is 1.4"}
    assert found["r_hat"] == 1.4


def test_an_estimator_is_sampled_around_the_mode_that_its_walk_starts_from():
    swag, mode = values("swag"), values("map")
    assert mode["sd_ratio"] == 0
    assert 0 < swag["sd_ratio"] < 1
    assert swag["mean_error"] == pytest.approx(mode["mean_error"], abs=0.1)


@pytest.mark.slow
def test_the_values_of_a_cell_do_not_depend_on_cells_before_it():
    first = values("online_em")
    values("ensemble", seed=1)
    assert values("online_em") == first
    assert values("online_em", cache=Cache()) == first


def test_algorithms_share_networks_and_seeds_share_the_toy_dataset():
    one, two, other = values("map"), values("laplace"), values("map", seed=1)
    assert one["mean_error"] == two["mean_error"]
    assert one["mean_error"] != other["mean_error"]
    assert one["true_mean", 7] == other["true_mean", 7]


def test_points_of_curves_have_their_index_in_a_column():
    found = measurements("map")
    curves = {m.metric for m in found} - set(METRICS) - {computation.MODE_GRADIENT}
    assert curves == {
        "asked",
        "function_mean",
        "function_sd",
        "true_mean",
        "true_sd",
        "input",
        "target",
    }
    for name in curves:
        indices = [(m.i, m.j) for m in found if m.metric == name]
        assert indices == [(i, None) for i in range(len(indices))]
    assert {(m.i, m.j) for m in found if m.metric in METRICS} == {(None, None)}


@pytest.fixture
def calls(monkeypatch):
    """Count the searches for processes and the trainings of networks."""
    counted = {"processes": 0, "networks": 0}
    search, find_mode = computation.fit_most_likely, task.find_mode

    def counted_search(*arguments, **options):
        counted["processes"] += 1
        return search(*arguments, **options)

    def counted_find_mode(*arguments, **options):
        counted["networks"] += 1
        return find_mode(*arguments, **options)

    monkeypatch.setattr(computation, "fit_most_likely", counted_search)
    monkeypatch.setattr(task, "find_mode", counted_find_mode)
    return counted


def test_cells_of_one_network_share_it_through_the_cache_of_their_job(calls):
    cache = Cache()
    for algorithm in ("map", "laplace", "swag"):
        values(algorithm, cache=cache)
    assert calls == {"processes": 1, "networks": 1}
    values("map", 7, cache=cache)  # another network for the same process
    assert calls == {"processes": 1, "networks": 2}


def test_jobs_do_not_share_results(calls):
    for _ in range(2):
        values("map", cache=Cache())
    assert calls == {"processes": 2, "networks": 2}


def test_every_seed_has_another_split_of_a_table():
    inputs = np.random.default_rng(0).normal(size=(50, 1))
    y = inputs[:, 0]
    context = Context(None, read_table=lambda name: (inputs, y))
    parts = [computation._split(_Part("yacht", seed, 1), context) for seed in (0, 0, 1)]
    assert [len(part[1]) for part in parts] == [45] * 3
    assert [len(part[3]) for part in parts] == [5] * 3
    np.testing.assert_array_equal(parts[0][3], parts[1][3])
    assert set(parts[0][3]) != set(parts[2][3])
    assert sorted([*parts[0][1], *parts[0][3]]) == sorted(y)


def test_a_constant_column_is_refused():
    context = Context(None, read_table=lambda name: (np.ones((20, 2)), np.arange(20.0)))
    with pytest.raises(ValueError, match="yacht, seed 3: column 0 does not vary"):
        computation._standardised(_Part("yacht", 3, 1), context)


def test_an_ill_conditioned_kernel_matrix_is_recorded_as_a_reason(monkeypatch):
    def refuse(*arguments, **options):
        raise NotPositiveDefinite("a kernel matrix of 40 points is not positive definite")

    monkeypatch.setattr(computation, "fit_most_likely", refuse)
    found = measurements("map", cache=Cache())
    assert [m.metric for m in found] == list(METRICS)
    assert {(m.value, m.status) for m in found} == {(None, "undefined")}
    assert "is not positive definite" in found[0].message


def test_a_walk_that_diverges_has_the_status_diverged(monkeypatch):
    def diverge(self, run):
        raise WalkDiverged("SGD diverges")

    monkeypatch.setattr(GPTask, "walk", diverge)
    one = cell("swag")
    found = run(one, context_of(one, metrics={"bias": lambda predicted, y: 0.0}))
    assert {m.metric for m in found} == {*METRICS, "bias"}
    assert {(m.status, m.message) for m in found} == {("diverged", "SGD diverges")}


def test_fourier_features_are_compared_with_the_process_of_their_kernel():
    few, many = (values("fourier_features", width) for width in (20, 2000))
    assert many["function_wasserstein2"] < few["function_wasserstein2"] / 2
    assert many["function_wasserstein2"] < 0.2


def test_the_axis_d_equals_the_number_of_weights():
    for width in (3, 50):
        _, task = prepare("map", width)
        assert task.network.dimension == GPConfig.weights("toy", width)


def test_rows_have_the_norm_of_the_gradient_at_the_mode():
    (found,) = [m for m in measurements("map") if m.metric == computation.MODE_GRADIENT]
    assert 0 <= found.value <= TOLERANCE
    names = {m.metric for m in measurements("gaussian_process")}
    assert computation.MODE_GRADIENT not in names  # it has no mode


def test_a_mode_that_is_not_reached_leaves_no_value():
    one = copy.deepcopy(cell("map", 5))
    one.parameters["training"]["iterations"] = 1
    found = list(run(one, context_of(one)))
    assert {m.metric for m in found} == set(METRICS)
    assert {m.status for m in found} == {"undefined"}
    assert all("no mode was reached in 1 iterations" in m.message for m in found)
