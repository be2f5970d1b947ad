"""The estimators on PyTorch tensors are those on NumPy arrays, trial by trial."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import onlinefa
from onlinefa import FitDiverged, batched

S, D, K, T = 3, 12, 3, 537
SETTINGS = {
    "OnlineEM": {"warm_up": 50},
    "OnlineSGA": {"warm_up": 50, "learning_rate": 0.01},
    "RecursiveEM": {"warm_up": 80, "block_size": 70, "inner_steps": 3},
}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    signal = random.normal(size=(S, T, K)) @ random.normal(size=(S, K, D))
    return signal + random.normal(size=(S, T, D)) + random.normal(size=(S, 1, D))


@pytest.fixture(scope="module")
def factors():
    return np.linalg.qr(np.random.default_rng(1).normal(size=(S, D, K)))[0]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("block", [T, 101])
def test_trials_are_fits_of_their_own(name, block, rows, factors):
    model = getattr(batched, name)(torch.tensor(factors), **SETTINGS[name])
    for start in range(0, T, block):
        model.partial_fit(torch.tensor(rows[:, start : start + block]))
        model.gaussians()  # which must not disturb what follows
    for trial, found in enumerate(model.gaussians()):
        alone = getattr(onlinefa, name)(K, init_factors=factors[trial], **SETTINGS[name])
        expected = alone.fit(rows[trial]).gaussian()
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found.covariance(), expected.covariance(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", SETTINGS)
def test_precision_is_that_of_the_initial_factors(name, rows, factors):
    single = torch.tensor(factors, dtype=torch.float32)
    model = getattr(batched, name)(single, **SETTINGS[name])
    model.partial_fit(torch.tensor(rows, dtype=torch.float32))
    assert model.F.dtype == model.psi.dtype == model.mean.dtype == torch.float32
    double = getattr(batched, name)(torch.tensor(factors), **SETTINGS[name])
    double.partial_fit(torch.tensor(rows))
    for one, two in zip(model.gaussians(), double.gaussians(), strict=True):
        assert two.relative_frobenius(one) < 1e-4


def test_a_trial_that_diverges_leaves_the_others_alone(rows, factors):
    wild = rows.copy()
    wild[1] *= 1e200
    model = batched.OnlineSGA(torch.tensor(factors), **SETTINGS["OnlineSGA"])
    model.partial_fit(torch.tensor(wild))
    first, second, third = model.gaussians()
    assert isinstance(second, FitDiverged)
    calm = batched.OnlineSGA(torch.tensor(factors), **SETTINGS["OnlineSGA"])
    calm.partial_fit(torch.tensor(rows))
    for found, expected in zip((first, third), calm.gaussians()[::2], strict=True):
        assert np.array_equal(found.covariance(), expected.covariance())


@pytest.mark.parametrize("name", ["OnlineEM", "OnlineSGA", "RecursiveEM", "ShrunkEM"])
def test_rows_in_single_precision_are_learned_from_as_such(name, rows, factors):
    estimator = getattr(onlinefa, name)(K, init_factors=factors[0])
    double = estimator.fit(rows[0]).gaussian()
    estimator.fit(rows[0, :300].astype(np.float32)).partial_fit(rows[0, 300:])
    assert estimator._dtype == np.float32  # that of the first rows
    assert 0 < double.relative_frobenius(estimator.gaussian()) < 1e-4
