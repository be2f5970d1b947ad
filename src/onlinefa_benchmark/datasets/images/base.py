"""Description of an image set, which its file in this folder defines."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from onlinefa_benchmark.datasets.base import BadData, Edition, check_digest, save_array

# Of shape (N, C*H*W + 1): an image in each row, channel by channel, and its label at the end.
Rows = NDArray[np.uint8]


@dataclass(frozen=True)
class ImageData:
    """Images and their labels.

    Parameters
    ----------
    images : uint8 array of shape (N, C, H, W)
        Images. Those of a saved copy are read from the file when they are accessed.
    labels : int64 array of shape (N,)
        Number of the class of each image.
    training : int
        Number of training images, which come first; the others are test images.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    training: int


@dataclass(frozen=True)
class ImageSet:
    """A dataset of labelled images of one size, from any of its editions.

    Parameters
    ----------
    title : str
        Title for readers.
    shape : tuple of int
        Channels, height and width of an image.
    classes : tuple of str
        Names of the classes, in the order of labels.
    training : int
        Number of training images, which come first.
    test : int
        Number of test images; 0 if the dataset is published without a split.
    digest : str
        SHA-256 digest of the images and labels. It does not depend on the edition.
    editions : tuple of Edition
        Files that contain the images.
    load_bundled : callable, optional
        Return the images and labels of a dataset that comes with an installed package.
    """

    title: str
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    training: int
    test: int
    digest: str
    editions: tuple[Edition[Rows], ...] = ()
    load_bundled: Callable[[], Rows] | None = None

    noun: ClassVar[str] = "image set"
    suffix: ClassVar[str] = ".npy"

    @property
    def bundled(self) -> Callable[[], Rows] | None:
        """A function that returns the checked values, if they come with an installed package."""
        load = self.load_bundled
        return None if load is None else lambda: self.check(load())

    def check(self, values: Rows) -> Rows:
        """Return the values if they are those of this image set.

        Raises
        ------
        BadData
            If the values have another type, another shape or another digest.
        """
        shape = (self.training + self.test, prod(self.shape) + 1)
        if values.dtype != np.uint8 or values.shape != shape:
            found = f"{values.dtype} values of shape {values.shape}"
            raise BadData(f"has {found}, expected uint8 values of shape {shape}")
        check_digest(compute_digest(values), self.digest)
        return values

    def open_copy(self, path: Path) -> Rows:
        """Return the values of a saved copy, unchecked and not yet in memory."""
        values: Rows = np.load(path, mmap_mode="r", allow_pickle=False)
        return values

    def save_copy(self, values: Rows, path: Path) -> None:
        """Save a copy, uncompressed, so that parts of it can be read."""
        save_array(values, path)

    def split(self, values: Rows) -> ImageData:
        """Return the images and labels of checked values; the images are a view."""
        images = values[:, :-1].reshape(len(values), *self.shape)
        return ImageData(images, values[:, -1].astype(np.int64), self.training)


def compute_digest(values: Rows) -> str:
    """Return the SHA-256 digest of images and labels."""
    return hashlib.sha256(np.ascontiguousarray(values).data).hexdigest()
