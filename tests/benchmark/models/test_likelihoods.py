"""Tests of likelihoods against those of PyTorch."""

from __future__ import annotations

import pytest
import torch

from onlinefa_benchmark.models.likelihoods import Categorical, Gaussian


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


def test_the_misfit_of_classes_is_the_negative_log_probability():
    """Labels differ between runs and are shared by all networks."""
    outputs, y = torch.randn(2, 5, 6, 3), torch.randint(3, (5, 6))
    expected = -torch.distributions.Categorical(logits=outputs).log_prob(y.expand(2, 5, 6))
    found = Categorical(3).misfit(outputs, y)
    assert found.shape == (2, 5)
    torch.testing.assert_close(found, expected.sum(dim=-1))


@pytest.mark.parametrize(
    ("likelihood", "y"), [(Gaussian(0.3), torch.tensor([0.7])), (Categorical(4), torch.tensor([2]))]
)
def test_the_root_times_its_transpose_is_the_hessian(likelihood, y):
    outputs = torch.randn(5, 1, likelihood.outputs, dtype=torch.float64)
    roots = likelihood.curvature_root(outputs[:, 0])
    for point, root in zip(outputs, roots, strict=True):
        hessian = torch.func.hessian(likelihood.misfit)(point, y)[0, :, 0]
        torch.testing.assert_close(root @ root.T, hessian)
