"""Images as tensors: the parts of a dataset, their scale, and augmented batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["ImageParts", "LabelledImages", "augment", "to_tensor"]

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images and their classes.

    Parameters
    ----------
    images : array of shape (N, C, H, W)
        Pixels, from 0 to 255.
    labels : array of shape (N,)
        Classes.
    """

    images: Bytes
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    def take(self, number: int) -> LabelledImages:
        """Return the first images."""
        return LabelledImages(self.images[:number], self.labels[:number])


@dataclass(frozen=True, eq=False)
class ImageParts:
    """A dataset in three parts, and the scale of its training images.

    Parameters
    ----------
    training : LabelledImages
        Images that networks are trained with.
    validation : LabelledImages
        Images by which temperatures and prior precisions are chosen.
    test : LabelledImages
        Images that metrics are measured on.
    classes : int
        Number of classes.
    flips : bool
        Whether augmentation may mirror an image, as for photographs.
    test_rows : array of int
        Which images of the dataset the test images are.
    fixed_scale : tuple of float or None, default=None
        Mean and standard deviation that pixels are scaled by; None for those of the training
        images.
    """

    training: LabelledImages
    validation: LabelledImages
    test: LabelledImages
    classes: int
    flips: bool
    test_rows: NDArray[np.int64]
    fixed_scale: tuple[float, float] | None = None

    @cached_property
    def scale(self) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of pixels, for each channel."""
        pixels = self.training.images
        if self.fixed_scale is not None:
            moments = [np.full(pixels.shape[1], value) for value in self.fixed_scale]
        else:
            moments = _compute_moments(pixels)
        mean, sd = (torch.tensor(each, dtype=torch.float32)[:, None, None] for each in moments)
        return mean, sd

    def batches(self, part: LabelledImages, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield inputs and labels of a part, in its order."""
        for start in range(0, len(part), size):
            rows = slice(start, start + size)
            yield to_tensor(part.images[rows], self.scale), torch.from_numpy(part.labels[rows])


def _compute_moments(pixels: Bytes) -> list[NDArray[np.float64]]:
    """Return mean and standard deviation of each channel, without a copy in double precision."""
    values = np.arange(256)
    counts = [np.bincount(channel.ravel(), minlength=256) for channel in pixels.swapaxes(0, 1)]
    means = np.array([np.average(values, weights=count) for count in counts])
    squares = np.array([np.average(values**2, weights=count) for count in counts])
    return [means, np.sqrt(squares - means**2)]


def to_tensor(images: Bytes, scale: tuple[Tensor, Tensor]) -> Tensor:
    """Convert pixels to inputs of a network.

    Parameters
    ----------
    images : array of shape (N, C, H, W)
        Pixels.
    scale : tuple of torch.Tensor
        Mean and standard deviation of each channel.

    Returns
    -------
    inputs : torch.Tensor of shape (N, C, H, W)
        Inputs in float32.
    """
    mean, sd = scale
    return (torch.from_numpy(np.ascontiguousarray(images)).float() - mean) / sd


def augment(images: Bytes, random: np.random.Generator, *, flips: bool) -> Bytes:
    """Move images by up to an eighth of their side, and mirror half of them.

    For 32 x 32 pixels these are the usual four pixels of padding and a random crop.

    Parameters
    ----------
    images : array of shape (N, C, H, W)
        Pixels.
    random : numpy.random.Generator
        Source of the moves.
    flips : bool
        Whether images are mirrored.

    Returns
    -------
    images : array of shape (N, C, H, W)
        Other images, with pixels of value zero where nothing is known.
    """
    N, C, height, width = images.shape
    margin = max(1, height // 8)
    padded = np.pad(images, ((0, 0), (0, 0), (margin, margin), (margin, margin)))
    down, right = random.integers(0, 2 * margin + 1, size=(2, N))
    rows = down[:, None] + np.arange(height)
    columns = right[:, None] + np.arange(width)
    if flips:
        mirrored = random.integers(2, size=N).astype(bool)
        columns[mirrored] = columns[mirrored, ::-1]
    trial, channel = np.arange(N)[:, None, None, None], np.arange(C)[None, :, None, None]
    moved: Bytes = padded[trial, channel, rows[:, None, :, None], columns[:, None, None, :]]
    return moved
