"""Facts about architectures and datasets that a plan needs and that need no PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["ARCHITECTURES", "PHOTOGRAPHS", "UNKNOWN", "Architecture", "Shape"]

PHOTOGRAPHS = "photographs"
"""Patches of scikit-learn's two photographs, which are unknown to networks for digits."""

UNKNOWN: dict[str, tuple[str, ...]] = {
    "digits": (PHOTOGRAPHS,),
    "mnist": ("fashion_mnist",),
    "fashion_mnist": ("mnist",),
    "cifar10": ("mnist", "fashion_mnist"),
}
"""Datasets whose images are unknown to networks that are trained on another dataset."""

Shape = tuple[int, int, int]
"""Channels, height and width of images."""


@dataclass(frozen=True)
class Architecture:
    """A kind of network.

    Parameters
    ----------
    count_weights : callable
        Return the number of weights that are trained, given the shape of images and the number of
        classes.
    multiplications : float
        Approximate number of multiplications for an image of the usual size, for estimates of time.
    smallest : int
        Smallest side of an image.
    channels : int or None, default=None
        Number of channels that images must have; None for any.
    weights : str, default=""
        Name of the pretrained weights that a new network gets; empty if it begins at random.
    scale : tuple of float or None, default=None
        Mean and standard deviation of pixels that pretrained weights expect; None for those of the
        training images.
    head_only : bool, default=False
        Whether only the last layer is trained.
    """

    count_weights: Callable[[Shape, int], int]
    multiplications: float
    smallest: int
    channels: int | None = None
    weights: str = ""
    scale: tuple[float, float] | None = None
    head_only: bool = False


def _count_small(shape: Shape, classes: int) -> int:
    channels, height, width = shape
    pixels = (height // 4) * (width // 4)
    return 8 * (9 * channels + 1) + 16 * (9 * 8 + 1) + 32 * (16 * pixels + 1) + classes * 33


def _count_lenet(shape: Shape, classes: int) -> int:
    channels, height, width = shape
    pixels = ((height // 2 - 4) // 2) * ((width // 2 - 4) // 2)
    convolutions = 6 * (25 * channels + 1) + 16 * (25 * 6 + 1)
    return convolutions + 120 * (16 * pixels + 1) + 84 * 121 + classes * 85


def _count_resnet(blocks: int) -> Callable[[Shape, int], int]:
    def count(shape: Shape, classes: int) -> int:
        total, inputs = 9 * shape[0] * 16 + 2 * 16, 16
        for outputs in (16, 32, 64):
            for _ in range(blocks):
                total += 9 * inputs * outputs + 9 * outputs**2 + 4 * outputs
                inputs = outputs
        return total + classes * 65

    return count


def _count_efficientnet_head(shape: Shape, classes: int) -> int:
    return 1281 * classes


def _count_efficientnet(shape: Shape, classes: int) -> int:
    return 3_371_008 + _count_efficientnet_head(shape, classes)


def _make_pretrained(count: Callable[[Shape, int], int], *, head_only: bool) -> Architecture:
    return Architecture(
        count,
        multiplications=4e8,
        smallest=8,
        channels=3,
        weights="efficientnet_lite0",
        scale=(127.0, 128.0),
        head_only=head_only,
    )


ARCHITECTURES: dict[str, Architecture] = {
    "small": Architecture(_count_small, 2.5e4, 8),
    "lenet": Architecture(_count_lenet, 4e5, 16),
    "resnet8": Architecture(_count_resnet(1), 1.2e7, 8),
    "resnet20": Architecture(_count_resnet(3), 4e7, 8),
    "efficientnet_lite0": _make_pretrained(_count_efficientnet, head_only=False),
    "efficientnet_lite0_head": _make_pretrained(_count_efficientnet_head, head_only=True),
}
