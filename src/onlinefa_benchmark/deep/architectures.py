"""Architectures of deep networks for images, by name.

The networks take images of C channels that are scaled by `deep.data`, and return logits of classes.
All of them may have dropout: in front of each linear layer, with a probability that is zero for all
algorithms but Monte-Carlo dropout.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from onlinefa_benchmark.deep.catalogue import ARCHITECTURES, Shape
from onlinefa_benchmark.models.efficientnet_lite import EfficientNetLite0, load_pretrained

__all__ = ["build"]

Maker = Callable[[Shape, int, float], nn.Module]
"""Create a network from the shape of images, the number of classes and the rate of dropout."""


def build(
    name: str, shape: Shape, classes: int, *, dropout: float = 0.0, pretrained: Path | None = None
) -> nn.Module:
    """Create a network; its random weights are drawn from PyTorch's global generator.

    Parameters
    ----------
    name : str
        Name of the architecture.
    shape : tuple of int
        Channels, height and width of the images.
    classes : int
        Number of classes.
    dropout : float, default=0.0
        Probability of dropout in front of linear layers.
    pretrained : Path or None, default=None
        File of the pretrained weights, for architectures that have them.

    Returns
    -------
    network : torch.nn.Module
        The network, in training mode.
    """
    network = _MAKERS[name](shape, classes, dropout)
    if pretrained is not None:
        assert isinstance(network, EnlargedEfficientNet)
        load_pretrained(network.network, pretrained)
    if ARCHITECTURES[name].head_only:
        assert isinstance(network, EnlargedEfficientNet)
        network.freeze_body()
    return network


def _make_small(shape: Shape, classes: int, dropout: float) -> nn.Module:
    """Create two convolutional layers and a linear one, for images of 8 x 8 pixels."""
    channels, height, width = shape
    return nn.Sequential(
        nn.Conv2d(channels, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(16 * (height // 4) * (width // 4), 32),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(32, classes),
    )


def _make_lenet(shape: Shape, classes: int, dropout: float) -> nn.Module:
    """Create LeNet-5 (LeCun et al., 1998) with rectified units and maximum pooling."""
    channels, height, width = shape
    side_products = ((height // 2 - 4) // 2) * ((width // 2 - 4) // 2)
    return nn.Sequential(
        nn.Conv2d(channels, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(16 * side_products, 120),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(84, classes),
    )


class ResidualBlock(nn.Module):
    """Two convolutions with batch normalisation, added to their input (He et al., 2016).

    Where the number of channels grows, the input is subsampled and padded with channels of zeros,
    as in the paper's networks for CIFAR-10.

    Parameters
    ----------
    inputs : int
        Channels of the input.
    outputs : int
        Channels of the output; if there are more, the image is half as high and wide.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.stride = 1 if inputs == outputs else 2
        self.padding = outputs - inputs
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, self.stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Compute the output."""
        shortcut = images[:, :, :: self.stride, :: self.stride]
        shortcut = nn.functional.pad(shortcut, (0, 0, 0, 0, 0, self.padding))
        return torch.relu(shortcut + self.layers(images))


def _make_resnet(blocks: int) -> Maker:
    """Return a maker of a residual network for small images, with 6 `blocks` + 2 layers."""

    def make(shape: Shape, classes: int, dropout: float) -> nn.Module:
        layers: list[nn.Module] = [
            nn.Conv2d(shape[0], 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
        ]
        inputs = 16
        for outputs in (16, 32, 64):
            for _ in range(blocks):
                layers.append(ResidualBlock(inputs, outputs))
                inputs = outputs
        pooling = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout)]
        return nn.Sequential(*layers, *pooling, nn.Linear(inputs, classes))

    return make


class EnlargedEfficientNet(nn.Module):
    """EfficientNet-lite0 for small images, which are enlarged to the size it was trained with.

    Parameters
    ----------
    classes : int
        Number of classes.
    dropout : float
        Probability of dropout in front of the last layer.
    """

    side = 224

    def __init__(self, classes: int, dropout: float) -> None:
        super().__init__()
        self.network = EfficientNetLite0(classes)
        self.dropout = nn.Dropout(dropout)
        self.is_frozen = False

    def freeze_body(self) -> None:
        """Train only the last layer; statistics of batch normalisation stay as they are."""
        self.requires_grad_(False)
        self.network.classifier.requires_grad_(True)
        self.is_frozen = True
        self.train()

    def train(self, mode: bool = True) -> EnlargedEfficientNet:
        """Set training mode, in which a frozen body stays in evaluation mode."""
        super().train(mode)
        if self.is_frozen:
            self.network.eval()
        return self

    def forward(self, images: Tensor) -> Tensor:
        """Compute the logits."""
        size = (self.side, self.side)
        enlarged = nn.functional.interpolate(images, size, mode="bilinear", align_corners=False)
        logits: Tensor = self.network.classifier(self.dropout(self.network.features(enlarged)))
        return logits


def _make_efficientnet(shape: Shape, classes: int, dropout: float) -> nn.Module:
    return EnlargedEfficientNet(classes, dropout)


_MAKERS: dict[str, Maker] = {
    "small": _make_small,
    "lenet": _make_lenet,
    "resnet8": _make_resnet(1),
    "resnet20": _make_resnet(3),
    "efficientnet_lite0": _make_efficientnet,
    "efficientnet_lite0_head": _make_efficientnet,
}
