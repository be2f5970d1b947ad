"""Tests of drawn and linearised networks of laplace-torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.deep_posteriors._linearised_draws import LinearisedDraws
from onlinefa_benchmark.deep_posteriors._probit import ProbitPrediction
from onlinefa_benchmark.torchvision_operators import declare_missing_operators


@pytest.fixture(autouse=True)
def package():
    if algorithms.missing_package("deep_laplace_kron"):
        pytest.skip("laplace-torch is not installed")
    declare_missing_operators()


def fitted(network, precision):
    """Return the Kronecker-factored posterior of a network for random images of three classes."""
    from laplace import Laplace

    torch.manual_seed(1)
    inputs, labels = torch.randn(60, 4), torch.randint(3, (60,))
    posterior = Laplace(
        network, "classification", subset_of_weights="all", hessian_structure="kron"
    )
    posterior.fit(DataLoader(TensorDataset(inputs, labels), batch_size=20))
    posterior.prior_precision = precision
    return posterior


def test_draws_of_a_linear_network_are_those_of_its_weights():
    torch.manual_seed(0)
    network = nn.Linear(4, 3)
    posterior, images = fitted(network, 1.0), torch.randn(7, 4)
    draws = LinearisedDraws(network, posterior, 5, seed=3, size=0)
    found = draws.predict([images[:4], images[4:]])
    torch.manual_seed(3)
    weights = posterior.sample(5)
    logits = [images @ each[:12].view(3, 4).T + each[12:] for each in weights]
    expected = torch.stack([torch.softmax(each, dim=1) for each in logits]).mean(dim=0)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(draws.predict([images]), found)  # the same in every call


def test_many_draws_agree_with_the_covariance_in_closed_form():
    """With a strong prior functions hardly differ, and the probit approximation is accurate."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).eval()
    posterior, images = fitted(network, 100.0), torch.randn(6, 4)
    n = 4000
    drawn = LinearisedDraws(network, posterior, n, seed=3, size=0).predict([images])
    closed = ProbitPrediction(posterior, 6, 0).predict([images])
    alone = torch.softmax(network(images), dim=1)
    # Probabilities of linearised networks differ by 0.05 or so; their mean by 1 / sqrt(n) of that.
    assert (drawn - closed).abs().max() < 4 * 0.1 / n**0.5
    assert (closed - alone).abs().max() > 0  # the covariance matters


def test_the_weights_of_the_network_stay_as_they_are():
    network = nn.Linear(4, 3)
    before = network.weight.detach().clone()
    LinearisedDraws(network, fitted(network, 1.0), 2, seed=0, size=0).predict([torch.randn(2, 4)])
    torch.testing.assert_close(network.weight, before)
