"""Posteriors of networks that are learned from recorded weights, and their comparison."""

from __future__ import annotations

import torch
from torch.nn.utils import vector_to_parameters

from onlinefa.torch import WeightPosterior


def learn(model, estimator, walk, **options):
    """Return a posterior that has learned from each of some vectors of all trained weights."""
    posterior = WeightPosterior(model, estimator, **options)
    for weights in walk:
        trained = (each for each in model.parameters() if each.requires_grad)
        vector_to_parameters(weights, trained)
        posterior.update()
    return posterior


def assert_equal(one, two):
    """Check that two posteriors have learned the same, to the bit."""
    assert one.updates == two.updates
    first, second = one.gaussian(), two.gaussian()
    for name in ("mean", "factors", "noise"):
        assert torch.equal(
            torch.as_tensor(getattr(first, name)), torch.as_tensor(getattr(second, name))
        )
