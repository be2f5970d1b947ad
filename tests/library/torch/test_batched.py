"""Tests that estimators on PyTorch tensors equal those on NumPy arrays, trial by trial."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import onlinefa
from onlinefa import FitDiverged
from onlinefa.torch import batched

pytestmark = pytest.mark.slow  # every batch is compared with separate fits

S, D, K, T = 3, 12, 3, 537
SETTINGS = {
    "OnlineEM": {"warm_up": 50},
    "OnlineSGA": {"warm_up": 50, "learning_rate": 0.01},
    "RecursiveEM": {"warm_up": 80, "block_size": 70, "inner_steps": 3},
    "ShrunkEM": {"warm_up": 80, "block_size": 70, "forgetting": 200},
    "StepwiseEM": {"warm_up": 50, "exponent": 0.7, "offset": 100.0},
}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    signal = random.normal(size=(S, T, K)) @ random.normal(size=(S, K, D))
    return signal + random.normal(size=(S, T, D)) + random.normal(size=(S, 1, D))


@pytest.fixture(scope="module")
def factors():
    return np.linalg.qr(np.random.default_rng(1).normal(size=(S, D, K)))[0]


def make_estimator(name, factors):
    """Create an estimator with these initial factors, if it does not find its own."""
    initial = {"init_factors": factors} if name in ("OnlineEM", "OnlineSGA", "StepwiseEM") else {}
    return getattr(onlinefa, name)(K, **initial)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("block", [T, 101])
def test_each_trial_equals_a_separate_fit(name, block, rows, factors):
    model = getattr(batched, name)(torch.tensor(factors), **SETTINGS[name])
    for start in range(0, T, block):
        model.partial_fit(torch.tensor(rows[:, start : start + block]))
        model.gaussians()  # reading results must not change later ones
    for trial, found in enumerate(model.gaussians()):
        alone = make_estimator(name, factors[trial]).set_params(**SETTINGS[name])
        expected = alone.fit(rows[trial]).gaussian()
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found.covariance(), expected.covariance(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", SETTINGS)
def test_fits_have_the_precision_of_the_initial_factors(name, rows, factors):
    single = torch.tensor(factors, dtype=torch.float32)
    model = getattr(batched, name)(single, **SETTINGS[name])
    model.partial_fit(torch.tensor(rows, dtype=torch.float32))
    assert {value.dtype for value in model._parameters()} == {torch.float32}
    double = getattr(batched, name)(torch.tensor(factors), **SETTINGS[name])
    double.partial_fit(torch.tensor(rows))
    for one, two in zip(model.gaussians(), double.gaussians(), strict=True):
        assert two.relative_frobenius(one) < 1e-4


@pytest.mark.parametrize("name", ["OnlineSGA", "RecursiveEM", "ShrunkEM", "StepwiseEM"])
def test_a_diverging_trial_does_not_affect_the_others(name, rows, factors):
    wild = rows.copy()
    wild[1] *= 1e200
    model = getattr(batched, name)(torch.tensor(factors), **SETTINGS[name])
    model.partial_fit(torch.tensor(wild))
    first, second, third = model.gaussians()
    assert isinstance(second, FitDiverged)
    calm = getattr(batched, name)(torch.tensor(factors), **SETTINGS[name])
    calm.partial_fit(torch.tensor(rows))
    for found, expected in zip((first, third), calm.gaussians()[::2], strict=True):
        assert np.array_equal(found.covariance(), expected.covariance())


@pytest.mark.parametrize("name", ["OnlineEM", "OnlineSGA", "RecursiveEM", "ShrunkEM"])
def test_float32_rows_are_fitted_in_float32(name, rows, factors):
    estimator = make_estimator(name, factors[0])
    double = estimator.fit(rows[0]).gaussian()
    estimator.fit(rows[0, :300].astype(np.float32)).partial_fit(rows[0, 300:])
    assert estimator._kind.dtype == np.float32  # that of the first rows
    assert 0 < double.relative_frobenius(estimator.gaussian()) < 1e-4


def test_algorithms_are_built_by_name(factors):
    settings = {"warm_up": 7, "forgetting": None}
    assert batched.supports("recursive_em", settings)
    model = batched.build("recursive_em", torch.tensor(factors), settings)
    assert isinstance(model, batched.RecursiveEM)
    assert model._state.first == 7


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        pytest.param("swag", {}, id="another algorithm"),
        pytest.param("recursive_em", {"max_components": 5}, id="not the default"),
        pytest.param("online_em", {"learning_rate": 0.1}, id="a setting of another algorithm"),
        pytest.param("online_em", {"n_components": 1}, id="the number of factors"),
    ],
)
def test_unsupported_settings_are_reported_as_such(name, settings):
    assert not batched.supports(name, settings)
