"""Tests of posteriors of LoRA adapters, with peft."""

from __future__ import annotations

import pytest
import torch
from support.posteriors import assert_equal, learn

from onlinefa import Diagonal
from onlinefa.torch import WeightPosterior
from onlinefa_benchmark.torchvision_operators import declare_missing_operators

declare_missing_operators()
peft = pytest.importorskip("peft")

from support.tiny_transformers import make_model, make_texts  # noqa: E402

RANK, STEPS = 2, 6


def make_adapted():
    torch.manual_seed(0)
    config = peft.LoraConfig(
        r=RANK, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"
    )
    return peft.get_peft_model(make_model(), config)


def get_adapter(model):
    trained = (each for each in model.parameters() if each.requires_grad)
    return torch.nn.utils.parameters_to_vector(trained).detach().clone()


@pytest.fixture(scope="module")
def trained():
    """Return posteriors of the adapter and of a pattern, and the recorded weights."""
    model = make_adapted()
    optimiser = torch.optim.AdamW(
        (each for each in model.parameters() if each.requires_grad), lr=0.1
    )
    posteriors = [
        WeightPosterior(model, Diagonal(), parameters=parameters)
        for parameters in (None, "*lora_*")
    ]
    walk = []
    batch = {name: torch.stack([text[name] for text in make_texts(8)]) for name in make_texts(1)[0]}
    for _ in range(STEPS):
        optimiser.zero_grad()
        model(**batch).loss.backward()
        optimiser.step()
        walk.append(get_adapter(model))
        for posterior in posteriors:
            posterior.update()
    return posteriors, walk


def test_the_posterior_covers_the_adapter_only(trained):
    posteriors, walk = trained
    width = 8  # c_attn maps it to three times as many
    assert posteriors[0].gaussian().dimension == RANK * width + 3 * width * RANK
    assert_equal(*posteriors)
    assert_equal(posteriors[0], learn(make_adapted(), Diagonal(), walk))


def test_drawn_adapters_share_the_frozen_weights(trained):
    posterior = trained[0][0]
    inputs = {"input_ids": torch.stack([text["input_ids"] for text in make_texts(3)])}
    drawn = posterior.sample(0)
    frozen = dict(posterior.model.named_parameters())
    for name, parameter in drawn.named_parameters():
        assert torch.equal(parameter, frozen[name]) == ("lora_" not in name)
    with torch.no_grad():
        expected = drawn(**inputs).logits
    found = posterior.predict(inputs, 1, random_state=0)[0]
    assert torch.equal(found, expected)
    # A drawn adapter can be merged into the network, as any other one.
    merged = drawn.merge_and_unload()
    with torch.no_grad():
        torch.testing.assert_close(merged(**inputs).logits, expected)
