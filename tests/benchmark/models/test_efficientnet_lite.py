"""Tests of the structure of EfficientNet-lite0, its padding, and names of pretrained weights."""

from __future__ import annotations

from math import ceil

import pytest
import torch
from torch.nn.functional import conv2d

from onlinefa_benchmark.models.efficientnet_lite import (
    EfficientNetLite0,
    SameConvolution,
    load_pretrained,
    reference_name,
)

# Of the seven stages of EfficientNet-B0.
EXPAND = (1, 6, 6, 6, 6, 6, 6)
CHANNELS = (16, 24, 40, 80, 112, 192, 320)
REPEATS = (1, 2, 2, 3, 3, 4, 1)
STRIDES = (1, 2, 2, 2, 1, 2, 1)
KERNELS = (3, 3, 5, 3, 5, 5, 3)


def blocks():
    """Return expansion, input and output channels, stride and kernel of each block."""
    found, channels = [], 32
    for e, c, n, s, k in zip(EXPAND, CHANNELS, REPEATS, STRIDES, KERNELS, strict=True):
        for i in range(n):
            found.append((e, channels, c, s if i == 0 else 1, k))
            channels = c
    return found


def network(classes=1000, seed=0):
    """Return a network with random weights and statistics, in evaluation mode."""
    torch.manual_seed(seed)
    model = EfficientNetLite0(classes)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(std=0.1)
            module.running_var.uniform_(0.5, 1.5)
    return model.eval()


def images(N=2, H=32, W=32):
    return torch.randn(N, 3, H, W, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def model():
    return network()


@torch.no_grad()
def logits(model, x):
    return model(x)


@pytest.mark.parametrize("classes", [1000, 10])
def test_the_number_of_weights_is_the_sum_over_layers(classes):
    """A layer has the weights of its kernel, and two for each output channel in the normalisation.

    The sum for 1000 classes is 4,652,008, as published (4.65 million).
    """
    expected = 3 * 32 * 9 + 2 * 32
    for e, c_in, c_out, _, k in blocks():
        inner = e * c_in
        if e > 1:
            expected += c_in * inner + 2 * inner
        expected += inner * k * k + 2 * inner
        expected += inner * c_out + 2 * c_out
    expected += 320 * 1280 + 2 * 1280
    expected += 1280 * classes + classes
    assert sum(p.numel() for p in EfficientNetLite0(classes).parameters()) == expected
    if classes == 1000:
        assert expected == 4_652_008


@pytest.mark.parametrize(("H", "W"), [(32, 32), (33, 47), (64, 40)])
def test_each_stride_halves_the_sides_upwards(model, H, W):
    found = []
    hooks = [
        part.register_forward_hook(lambda _, __, output: found.append(tuple(output.shape[1:])))
        for part in (model.stem, *model.blocks, model.head)
    ]
    assert logits(model, images(2, H, W)).shape == (2, 1000)
    for hook in hooks:
        hook.remove()
    sides = ceil(H / 2), ceil(W / 2)
    expected = [(32, *sides)]
    for _, _, channels, stride, _ in blocks():
        sides = ceil(sides[0] / stride), ceil(sides[1] / stride)
        expected.append((channels, *sides))
    assert found == [*expected, (1280, *sides)]
    assert sides == (ceil(H / 32), ceil(W / 32))


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("H", "W"), [(6, 7), (1, 2)])
def test_padding_is_that_of_tensorflow(kernel, stride, H, W):
    """The windows of ceil(n / stride) outputs cover (ceil(n / stride) - 1) stride + kernel pixels.

    Zeros fill what is outside the image: half of them, rounded down, at the top and on the left.
    """
    convolution = SameConvolution(2, 3, kernel, stride).double()
    x = torch.randn(1, 2, H, W, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sides = [ceil(n / stride) for n in (H, W)]
    before = [
        max((m - 1) * stride + kernel - n, 0) // 2 for m, n in zip(sides, (H, W), strict=True)
    ]
    wide = torch.zeros(1, 2, H + 20, W + 20, dtype=torch.float64)
    wide[..., 10 : 10 + H, 10 : 10 + W] = x
    expected = torch.empty(1, 3, *sides, dtype=torch.float64)
    for i in range(sides[0]):
        for j in range(sides[1]):
            top, left = 10 - before[0] + stride * i, 10 - before[1] + stride * j
            window = wide[..., top : top + kernel, left : left + kernel]
            expected[..., i, j] = conv2d(window, convolution.weight)[..., 0, 0]
    torch.testing.assert_close(convolution(x), expected)


def test_an_even_image_is_padded_at_the_bottom_and_on_the_right():
    """With a kernel of ones and the stride 2, windows of 1..16 start at the first pixel."""
    convolution = SameConvolution(1, 1, 3, 2)
    torch.nn.init.ones_(convolution.weight)
    x = torch.arange(1.0, 17.0).reshape(1, 1, 4, 4)
    expected = [
        [1 + 2 + 3 + 5 + 6 + 7 + 9 + 10 + 11, 3 + 4 + 7 + 8 + 11 + 12],
        [9 + 10 + 11 + 13 + 14 + 15, 11 + 12 + 15 + 16],
    ]
    torch.testing.assert_close(convolution(x), torch.tensor([[expected]]).float())


def test_blocks_add_their_input_if_its_shape_stays(model):
    """With a projection to -7, a block of the stride 1 with equal channels subtracts 7.

    These are all but the first block of each stage: 9 of 16. A projection has no activation, which
    would clip -7 to 0.
    """
    residual = [stride == 1 and c_in == c_out for _, c_in, c_out, stride, _ in blocks()]
    assert sum(residual) == 9
    for block, (_, c_in, _, _, _), adds in zip(model.blocks, blocks(), residual, strict=True):
        x = torch.randn(1, c_in, 6, 6, generator=torch.Generator().manual_seed(0))
        norm = block.projection.norm
        weight, bias = norm.weight.detach().clone(), norm.bias.detach().clone()
        with torch.no_grad():
            norm.weight.zero_()
            norm.bias.fill_(-7.0)
            found = block(x)
            norm.weight.copy_(weight)
            norm.bias.copy_(bias)
        torch.testing.assert_close(found, x - 7 if adds else torch.full_like(found, -7.0))


def test_layers_are_normalised_and_clipped_to_six():
    """With zero weights, a layer yields (0 - mean) / sqrt(var + 0.001) * scale + shift, clipped."""
    layer = network().stem
    with torch.no_grad():
        layer.convolution.weight.zero_()
        layer.norm.running_mean.fill_(-3.0)
        layer.norm.running_var.fill_(0.003)
        layer.norm.weight.fill_(0.1)
        layer.norm.weight[0] = 1.0
        layer.norm.weight[1] = -1.0
        layer.norm.bias.fill_(0.5)
        found = layer(images())[0, :, 0, 0]
    expected = torch.full((32,), 3 / 0.004**0.5 * 0.1 + 0.5)
    expected[0], expected[1] = 6, 0
    torch.testing.assert_close(found, expected)


def test_running_statistics_move_by_a_hundredth():
    """Before training, the running mean is 0, so that it is a hundredth of the mean of a batch."""
    model = EfficientNetLite0(2).train()
    inside = model.stem.convolution(images(4))
    model.stem(images(4))
    torch.testing.assert_close(
        model.stem.norm.running_mean, 0.01 * inside.mean(dim=(0, 2, 3)).detach()
    )


def test_the_classifier_is_linear_in_the_features(model):
    with torch.no_grad():
        features = model.features(images())
        expected = features @ model.classifier.weight.T + model.classifier.bias
    assert features.shape == (2, 1280)
    assert 0 <= features.min() < features.max() <= 6
    torch.testing.assert_close(logits(model, images()), expected)


def test_images_of_a_batch_do_not_influence_each_other_in_evaluation(model):
    x = images(3)
    torch.testing.assert_close(logits(model, x[1:2]), logits(model, x)[1:2])


def reference_names():
    """Return the names of the pretrained weights, from the structure."""
    of_norm = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    layers = [("_conv_stem", "_bn0"), ("_conv_head", "_bn1")]
    for i, (e, *_) in enumerate(blocks()):
        parts = [("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")]
        for convolution, norm in parts[e == 1 :]:
            layers.append((f"_blocks.{i}.{convolution}", f"_blocks.{i}.{norm}"))
    names = {f"{convolution}.weight" for convolution, _ in layers}
    names |= {f"{norm}.{value}" for _, norm in layers for value in of_norm}
    return names | {"_fc.weight", "_fc.bias"}


def test_names_are_those_of_the_pretrained_weights(model):
    """The file has 296 entries: 6 for each of 2 + 16 * 3 - 1 layers, and 2 of the classifier's."""
    names = [reference_name(name) for name in model.state_dict()]
    assert len(names) == len(set(names)) == 6 * 49 + 2
    assert set(names) == reference_names()
    assert reference_name("stem.convolution.weight") == "_conv_stem.weight"
    assert reference_name("head.norm.running_var") == "_bn1.running_var"
    assert reference_name("blocks.12.expansion.norm.bias") == "_blocks.12._bn0.bias"


def stored(model, path, **changes):
    """Save a network under the names of pretrained weights."""
    state = {reference_name(name): value for name, value in model.state_dict().items()}
    torch.save({**state, **changes}, path)
    return path


def test_loaded_weights_give_the_same_logits(model, tmp_path):
    path = stored(model, tmp_path / "weights.pth")
    other = network(seed=1)
    assert not torch.allclose(logits(other, images()), logits(model, images()))
    load_pretrained(other, path)
    torch.testing.assert_close(logits(other, images()), logits(model, images()), rtol=0, atol=0)


def test_a_classifier_of_other_classes_stays(model, tmp_path):
    path = stored(model, tmp_path / "weights.pth")
    other = network(classes=10, seed=1)
    weight = other.classifier.weight.detach().clone()
    load_pretrained(other, path)
    torch.testing.assert_close(other.classifier.weight.detach(), weight, rtol=0, atol=0)
    with torch.no_grad():
        torch.testing.assert_close(
            other.features(images()), model.features(images()), rtol=0, atol=0
        )
    assert logits(other, images()).shape == (2, 10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"_conv_stem.bias": torch.zeros(32)}, "unknown names: 1, the first is _conv_stem.bias"),
        (
            {"_conv_head.weight": torch.zeros(1280, 320, 3, 3)},
            r"_conv_head.weight has the shape \(1280, 320, 3, 3\) instead of \(1280, 320, 1, 1\)",
        ),
    ],
)
def test_other_weights_are_refused_in_one_line(model, tmp_path, changes, message):
    path = stored(model, tmp_path / "weights.pth", **changes)
    other = network(seed=1)
    before = {name: value.clone() for name, value in other.state_dict().items()}
    with pytest.raises(ValueError, match=message) as error:
        load_pretrained(other, path)
    assert "\n" not in str(error.value)
    for name, value in other.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)
