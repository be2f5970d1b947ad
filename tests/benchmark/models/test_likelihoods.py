"""Tests of likelihoods against those of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from onlinefa_benchmark.models.likelihoods import Categorical, Gaussian, HeteroscedasticGaussian


@pytest.fixture(autouse=True)
def same_numbers():
    torch.manual_seed(0)


def test_the_misfit_of_numbers_is_the_negative_log_density_up_to_a_constant():
    outputs, y = torch.randn(2, 5, 6, 1), torch.randn(6)
    noise = torch.tensor([[0.3], [2.0]])  # one value for each of two networks
    normal = torch.distributions.Normal(outputs[..., 0], noise[..., None].sqrt())
    constant = 6 / 2 * torch.log(2 * torch.pi * noise)
    expected = -normal.log_prob(y).sum(dim=-1) - constant
    torch.testing.assert_close(Gaussian(noise).misfit(outputs, y), expected)


def test_the_misfit_with_noise_that_depends_on_the_input():
    outputs, y = torch.randn(2, 5, 6, 2), torch.randn(5, 6)
    variance = 0.3 * torch.exp(0.8 * outputs[..., 1])
    normal = torch.distributions.Normal(outputs[..., 0], variance.sqrt())
    constant = 6 / 2 * np.log(2 * np.pi * 0.3)
    expected = -normal.log_prob(y).sum(dim=-1) - constant
    found = HeteroscedasticGaussian(0.3, 0.8).misfit(outputs, y)
    assert found.shape == (2, 5)
    torch.testing.assert_close(found, expected)


def test_without_spread_the_noise_is_the_same_for_all_inputs():
    outputs, y = torch.randn(4, 6, 2), torch.randn(6)
    found = HeteroscedasticGaussian(0.3, 0.0).misfit(outputs, y)
    torch.testing.assert_close(found, Gaussian(0.3).misfit(outputs[..., :1], y))


def test_the_root_for_noise_that_depends_on_the_input_is_that_of_the_expected_hessian():
    """The mean of Hessians over targets that are drawn from the model, at one input."""
    likelihood = HeteroscedasticGaussian(0.3, 0.8)
    outputs = torch.randn(1, 2, dtype=torch.float64)
    sd = (0.3 * torch.exp(0.8 * outputs[0, 1])).sqrt()
    # The Hessian is quadratic in y, so that these targets have the mean of all.
    targets = torch.stack([outputs[0, 0] - sd, outputs[0, 0] + sd])
    hessians = [torch.func.hessian(likelihood.misfit)(outputs, y[None])[0, :, 0] for y in targets]
    root = likelihood.curvature_root(outputs)[0]
    torch.testing.assert_close(root @ root.T, torch.stack(hessians).mean(dim=0))


def test_the_misfit_of_classes_is_the_negative_log_probability():
    """Labels differ between runs and are shared by all networks."""
    outputs, y = torch.randn(2, 5, 6, 3), torch.randint(3, (5, 6))
    expected = -torch.distributions.Categorical(logits=outputs).log_prob(y.expand(2, 5, 6))
    found = Categorical(3).misfit(outputs, y)
    assert found.shape == (2, 5)
    torch.testing.assert_close(found, expected.sum(dim=-1))


@pytest.mark.parametrize(
    "likelihood",
    [
        Gaussian(0.3),
        Gaussian(torch.tensor([[0.3], [2.0]])),
        HeteroscedasticGaussian(0.3, 0.8),
        Categorical(4),
    ],
)
def test_derivatives_are_those_of_the_misfit(likelihood):
    outputs = torch.randn(2, 5, 6, likelihood.outputs, dtype=torch.float64)
    y = torch.randint(4, (5, 6))
    y = y if isinstance(likelihood, Categorical) else y.double()
    expected = torch.func.grad(lambda at: likelihood.misfit(at, y).sum())(outputs)
    torch.testing.assert_close(likelihood.derive(outputs, y), expected)


@pytest.mark.parametrize(
    ("likelihood", "y"), [(Gaussian(0.3), torch.tensor([0.7])), (Categorical(4), torch.tensor([2]))]
)
def test_the_root_times_its_transpose_is_the_hessian(likelihood, y):
    outputs = torch.randn(5, 1, likelihood.outputs, dtype=torch.float64)
    roots = likelihood.curvature_root(outputs[:, 0])
    for point, root in zip(outputs, roots, strict=True):
        hessian = torch.func.hessian(likelihood.misfit)(point, y)[0, :, 0]
        torch.testing.assert_close(root @ root.T, hessian)
