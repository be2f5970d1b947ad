"""Tests of the outputs of networks and their derivatives, against formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from onlinefa_benchmark.models.architecture import OneHiddenLayer
from onlinefa_benchmark.models.covariance import NeuralNetwork


def outputs_by_hand(weights, X, H, C, activate):
    """Compute one unit and one output at a time, with weights in the documented order."""
    p = X.shape[1]
    found = []
    for c in range(C):
        output = weights[H * p + H * C + c] * torch.ones(len(X), dtype=X.dtype)
        for h in range(H):
            unit = activate(X @ weights[h * p : (h + 1) * p])
            output = output + weights[H * p + h * C + c] * unit
        found.append(output)
    return torch.stack(found, dim=1)


@pytest.mark.parametrize("C", [1, 3])
@pytest.mark.parametrize(("name", "activate"), [("erf", torch.erf), ("relu", torch.relu)])
def test_outputs_and_derivatives_equal_the_formula(C, name, activate):
    random = torch.Generator().manual_seed(0)
    shape = OneHiddenLayer(inputs=4, width=5, outputs=C, activation=name)
    assert shape.dimension == 4 * 5 + 5 * C + C
    weights = torch.randn(shape.dimension, generator=random, dtype=torch.float64)
    X = torch.randn((6, 4), generator=random, dtype=torch.float64)
    expected = outputs_by_hand(weights, X, 5, C, activate)
    torch.testing.assert_close(shape.forward(weights, X), expected)
    slopes = torch.func.jacrev(outputs_by_hand)(weights, X, 5, C, activate)
    torch.testing.assert_close(shape.jacobian(weights, X), slopes)
    of_last = shape.jacobian(weights, X, first=shape.last_layer)
    torch.testing.assert_close(of_last, slopes[..., 20:])


@pytest.mark.parametrize("C", [1, 3])
@pytest.mark.parametrize("name", ["erf", "relu"])
@pytest.mark.parametrize("is_masked", [False, True])
def test_gradients_equal_those_of_automatic_differentiation(C, name, is_masked):
    """Two networks with three runs each, whose inputs differ."""
    random = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=random, dtype=torch.float64)

    shape = OneHiddenLayer(inputs=4, width=5, outputs=C, activation=name)
    weights, X, targets = draw(2, 3, shape.dimension), draw(3, 6, 4), draw(3, 6, C)
    mask = (draw(2, 3, 6, 5) > 0).double() if is_masked else None

    def misfit(at):
        return torch.sum((shape.forward(at, X, mask) - targets) ** 2) / 2

    outputs, found = shape.pull_back(weights, X, lambda outputs: outputs - targets, mask)
    torch.testing.assert_close(outputs, shape.forward(weights, X, mask))
    torch.testing.assert_close(found, torch.func.grad(misfit)(weights))


def test_scales_equal_the_standard_deviations_of_the_prior():
    scales = OneHiddenLayer(2, 4, 3).scales(NeuralNetwork(0.5, 3.0, 2.0))
    np.testing.assert_allclose(scales, [0.5] * 8 + [1.5] * 12 + [2.0] * 3)


@pytest.mark.parametrize("C", [1, 2])
def test_a_further_output_is_zero_and_the_others_stay(C):
    random = np.random.default_rng(1)
    shape, wider = OneHiddenLayer(4, 5, C), OneHiddenLayer(4, 5, C + 1)
    weights, X = (
        random.normal(size=(3, shape.dimension)),
        torch.as_tensor(random.normal(size=(6, 4))),
    )
    before = shape.forward(torch.as_tensor(weights), X)
    after = wider.forward(torch.as_tensor(shape.add_output(weights)), X)
    torch.testing.assert_close(after[..., :C], before)
    assert not after[..., C].any()


def test_the_weights_of_an_output_change_that_output_only():
    shape = OneHiddenLayer(4, 5, 3)
    X = torch.as_tensor(np.random.default_rng(2).normal(size=(6, 4)))
    weights = np.random.default_rng(3).normal(size=shape.dimension)
    changed = weights + shape.select_output(1)
    before, after = (shape.forward(torch.as_tensor(each), X) for each in (weights, changed))
    assert (before != after).any(dim=0).tolist() == [False, True, False]
    assert shape.select_output(1).sum() == 5 + 1
