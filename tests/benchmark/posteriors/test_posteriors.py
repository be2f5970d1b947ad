"""Tests of the common properties of all posteriors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError
from support import tiny_networks
from support.gp_tasks import gp_task

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.posteriors.base import GaussianFunctions, SampledFunctions

SETTINGS = {name: {"steps": 20} for name in ("mean_field", "vifa", "sghmc", "mc_dropout", "ivon")}
FOR_NUMBERS_ONLY = ("laplace_kron",)
NUMBERS_OF_NETWORKS = {"map": 1, "swa": 1, "ensemble": 5}
IN_CLOSED_FORM = (
    "laplace",
    "laplace_all",
    "laplace_diagonal",
    "laplace_draws",
    "laplace_fa",
    "laplace_kron",
    "laplace_low_rank",
    "multi_laplace_all",
    "multi_laplace_fa",
)


@pytest.fixture(scope="module")
def task():
    return gp_task(8)


def test_the_mode_has_no_spread_and_an_ensemble_has_some(task):
    mode = algorithms.load("map")().functions(task)
    np.testing.assert_array_equal(mode.sd, 0)
    ensemble = algorithms.load("ensemble")(members=3).functions(task)
    assert ensemble.values.shape == (3, 9)
    np.testing.assert_array_equal(ensemble.values[0], mode.mean)
    assert ensemble.sd.max() > 0


def test_the_likelihood_of_a_mixture_is_the_average_of_its_parts():
    values, y = np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([0.5, 3.0])
    parts = [GaussianFunctions(row, np.zeros(2)).targets(0.3).log_density(y) for row in values]
    expected = np.log(np.mean(np.exp(parts), axis=0))
    np.testing.assert_allclose(SampledFunctions(values).targets(0.3).log_density(y), expected)


@pytest.mark.parametrize(
    "name", [n for n in algorithms.posterior_names() if not algorithms.is_reference(n)]
)
@pytest.mark.parametrize("classes", [None, 3])
def test_every_posterior_has_functions_of_numbers_and_of_classes(name, classes):
    if classes and name in FOR_NUMBERS_ONLY:
        pytest.skip("a posterior of functions with one output")
    posterior = algorithms.load(name)(**SETTINGS.get(name, {}))
    if missing := algorithms.missing_package(name):
        pytest.skip(f"{missing} is not installed")
    task = tiny_networks.task_of(tiny_networks.trainings_of(classes))
    found, seconds = posterior.timed(task)
    assert np.shape(found.mean) == np.shape(found.sd) == ((7, 3) if classes else (7,))
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.sd).all()
    assert seconds >= 0
    closed = name in IN_CLOSED_FORM and not classes
    assert found.networks == (0 if closed else NUMBERS_OF_NETWORKS.get(name, task.samples))
    again = algorithms.load(name)(**SETTINGS.get(name, {})).functions(task)
    np.testing.assert_array_equal(again.mean, found.mean)
    np.testing.assert_array_equal(again.sd, found.sd)


@pytest.mark.parametrize("name", algorithms.posterior_names())
def test_default_parameters_are_valid_and_can_be_cloned(name):
    posterior = algorithms.load(name)()
    posterior._validate_params()
    assert posterior.get_params() == algorithms.default_settings(name)
    assert set(posterior._parameter_constraints) == set(posterior.get_params())
    assert clone(posterior).get_params() == posterior.get_params()


@pytest.mark.parametrize(
    ("name", "parameter", "value", "allowed"),
    [
        ("ensemble", "members", 1, "an int in the range [2, inf)"),
        ("ensemble", "members", 2.5, "an int in the range [2, inf)"),
        ("multi_fa", "runs", 0, "an int in the range [1, inf)"),
        ("multi_online_em", "runs", 0, "an int in the range [1, inf)"),
        ("multiswag", "runs", "5", "an int in the range [1, inf)"),
        ("mean_field", "steps", 0, "an int in the range [1, inf)"),
        ("vifa", "draws", 0, "an int in the range [1, inf)"),
        ("vifa", "learning_rate", 0.0, "a float in the range (0.0, inf)"),
        ("vifa", "learning_rate", float("inf"), "a float in the range (0.0, inf)"),
        ("vifa", "learning_rate", float("nan"), "a float in the range (0.0, inf)"),
        ("nuts", "chains", 1, "an int in the range [2, inf)"),
        ("nuts", "draws", 3, "an int in the range [4, inf)"),
        ("nuts", "warm_up", 0, "an int in the range [1, inf)"),
        ("nuts", "tree_depth", 0, "an int in the range [1, inf)"),
    ],
)
def test_invalid_parameters_are_refused(name, parameter, value, allowed):
    posterior = algorithms.load(name)(**{parameter: value})
    with pytest.raises(InvalidParameterError) as caught:
        posterior._validate_params()
    expected = (
        f"The {parameter!r} parameter of {type(posterior).__name__} must be {allowed}. "
        f"Got {value!r} instead."
    )
    assert str(caught.value) == expected


def test_class_attributes_are_inherited():
    posteriors = {name: algorithms.load(name) for name in algorithms.posterior_names()}
    references = {"fourier_features", "gaussian_process", "nuts", "nystrom", "random_features"}
    stochastic = {"mean_field", "multi_fa", "multi_online_em", "multiswag", "swa", "underdamped"}
    stochastic |= {"underdamped_fa", "vifa", "sghmc", "mc_dropout", "ivon"}
    needs = {"nuts": "numpyro", "laplace_kron": "laplace", "ivon": "ivon"}
    assert {name for name, posterior in posteriors.items() if posterior.reference} == references
    assert {name for name, posterior in posteriors.items() if not posterior.trained} == references
    assert {name for name, posterior in posteriors.items() if posterior.stochastic} == stochastic
    found = {name: posterior.needs for name, posterior in posteriors.items() if posterior.needs}
    assert found == needs
    assert [name for name, posterior in posteriors.items() if not posterior.on_gpu] == ["nuts"]
