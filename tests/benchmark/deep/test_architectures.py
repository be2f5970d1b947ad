"""Tests of architectures: sizes, dropout, and frozen parts."""

from __future__ import annotations

import pytest
import torch

from onlinefa_benchmark.deep.architectures import build
from onlinefa_benchmark.deep.catalogue import ARCHITECTURES

SHAPES = {"small": (1, 8, 8), "lenet": (1, 28, 28)}


def shape_of(name):
    return SHAPES.get(name, (3, 32, 32))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_catalogue_has_the_number_of_trained_weights(name):
    network = build(name, shape_of(name), 10)
    trained = sum(each.numel() for each in network.parameters() if each.requires_grad)
    assert trained == ARCHITECTURES[name].count_weights(shape_of(name), 10)


def test_sizes_are_those_of_the_papers():
    # LeNet-5 with fully connected second convolutions has 61,706 weights; He et al. (2016) give
    # 0.27 million for 20 layers.
    assert ARCHITECTURES["lenet"].count_weights((1, 28, 28), 10) == 61_706
    assert round(ARCHITECTURES["resnet20"].count_weights((3, 32, 32), 10), -4) == 270_000


@pytest.mark.parametrize("name", ["small", "lenet", "resnet8", "resnet20"])
def test_networks_return_logits_of_classes(name):
    network = build(name, shape_of(name), 7).eval()
    assert network(torch.zeros(2, *shape_of(name))).shape == (2, 7)


def test_a_residual_block_of_zeros_passes_its_input_on():
    network = build("resnet8", (3, 32, 32), 10).eval()
    block = network[4]  # from 16 to 32 channels
    torch.nn.init.zeros_(block.layers[-1].weight)
    images = torch.rand(1, 16, 8, 8)
    found = block(images)
    assert torch.equal(found[:, :16], images[:, :, ::2, ::2])
    assert not found[:, 16:].any()


def test_dropout_acts_in_training_mode_only():
    network = build("lenet", (1, 28, 28), 10, dropout=0.5)
    images = torch.rand(4, 1, 28, 28)
    assert not torch.equal(network(images), network(images))
    assert torch.equal(network.eval()(images), network(images))


def test_a_frozen_body_keeps_its_statistics():
    network = build("efficientnet_lite0_head", (3, 32, 32), 10)
    network.side = 32  # as small as possible
    before = {name: value.clone() for name, value in network.named_buffers()}
    network.train()(torch.rand(2, 3, 32, 32))
    assert all(torch.equal(value, before[name]) for name, value in network.named_buffers())
    assert [name for name, each in network.named_parameters() if each.requires_grad] == [
        "network.classifier.weight",
        "network.classifier.bias",
    ]
