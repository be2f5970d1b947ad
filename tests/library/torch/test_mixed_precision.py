"""Tests of posteriors in a loop with a gradient scaler, which skips some steps."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from support.posteriors import assert_equal, learn
from torch import nn

from onlinefa import SWAG
from onlinefa.torch import WeightPosterior

STEPS = 8


def make_model():
    torch.manual_seed(0)
    return nn.Linear(3, 1)


# A fused optimiser skips a step itself; other ones are not called by the scaler.
@pytest.mark.parametrize("fused", [False, True])
def test_the_scale_falls_exactly_if_a_step_is_skipped(fused):
    """The recipe of docs/training_loops.md."""
    model = make_model()
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.1, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=3)
    posterior = WeightPosterior(model, SWAG(n_components=2))
    walk, skips = [nn.utils.parameters_to_vector(model.parameters()).detach().clone()], []
    for step in range(STEPS):
        inputs = torch.randn(4, 3)
        loss = nn.functional.mse_loss(model(inputs), inputs[:, :1])
        scaler.scale(loss * float("inf") if step in (0, 5) else loss).backward()
        scale = scaler.get_scale()
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad()
        skips.append(scaler.get_scale() < scale)
        if not skips[-1]:
            posterior.update()
        walk.append(nn.utils.parameters_to_vector(model.parameters()).detach().clone())
    unchanged = [torch.equal(one, two) for one, two in pairwise(walk)]
    assert skips == unchanged == [step in (0, 5) for step in range(STEPS)]
    taken = [weights for weights, skipped in zip(walk[1:], skips, strict=True) if not skipped]
    assert_equal(posterior, learn(make_model(), SWAG(n_components=2), taken))
