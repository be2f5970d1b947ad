"""Parts of an image dataset: training, validation and test images, and images it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from onlinefa_benchmark.deep.catalogue import PHOTOGRAPHS
from onlinefa_benchmark.deep.data import Bytes, ImageParts, LabelledImages
from onlinefa_benchmark.experiments.images.sizes import count_parts

if TYPE_CHECKING:
    from onlinefa_benchmark.context import Context
    from onlinefa_benchmark.datasets.images import ImageData

_PATCH = 32  # side of a patch, in pixels


def split_images(
    data: ImageData,
    random: np.random.Generator,
    limit: int | None,
    scale: tuple[float, float] | None,
) -> ImageParts:
    """Split a dataset.

    Parameters
    ----------
    data : ImageData
        Images and labels. If none of them are test images, a random fifth is.
    random : numpy.random.Generator
        Source of the split.
    limit : int or None
        Largest number of training images; None for all.
    scale : tuple of float or None
        Mean and standard deviation of pixels; None for those of the training images.

    Returns
    -------
    parts : ImageParts
        The parts. A tenth of the images that are not in the test part is the validation part.
    """
    N = len(data.labels)
    _, of_validation, of_test = count_parts(data.training, N - data.training)
    order = np.arange(N)
    if data.training == N:
        order = random.permutation(N)
    known, asked = np.split(order, [N - of_test])
    validation, training = np.split(random.permutation(known), [of_validation])

    def take(rows: NDArray[np.int64]) -> LabelledImages:
        return LabelledImages(data.images[rows], data.labels[rows])

    return ImageParts(
        take(training[:limit]),
        take(validation),
        take(asked),
        classes=int(data.labels.max()) + 1,
        flips=data.images.shape[1] == 3,
        test_rows=asked,
        fixed_scale=scale,
    )


def read_unknown(name: str, context: Context, shape: tuple[int, int, int], number: int) -> Bytes:
    """Return images of another dataset, with the shape of those that networks are trained on.

    Parameters
    ----------
    name : str
        Name of the dataset, or `PHOTOGRAPHS`.
    context : Context
        Access to datasets.
    shape : tuple of int
        Channels, height and width of the result.
    number : int
        Number of images.

    Returns
    -------
    images : array of shape (number, C, H, W)
        The last images of the dataset, which are test images, enlarged or reduced.
    """
    images = _cut_photographs() if name == PHOTOGRAPHS else context.read_images(name).images
    return _resize(np.asarray(images[-number:]), shape)


def _cut_photographs() -> Bytes:
    """Return patches of photographs in shades of grey, in random order."""
    from sklearn.datasets import load_sample_images

    patches = []
    for photograph in load_sample_images().images:
        grey = photograph.mean(axis=2)
        height, width = (side // _PATCH * _PATCH for side in grey.shape)
        grid = grey[:height, :width].reshape(height // _PATCH, _PATCH, width // _PATCH, _PATCH)
        patches.append(grid.swapaxes(1, 2).reshape(-1, 1, _PATCH, _PATCH))
    found = np.concatenate(patches).astype(np.uint8)
    return np.random.default_rng(0).permutation(found)


def _resize(images: Bytes, shape: tuple[int, int, int]) -> Bytes:
    """Return images with another number of channels and another size."""
    channels, height, width = shape
    if images.shape[1] != channels:
        images = np.repeat(images.mean(axis=1, keepdims=True), channels, axis=1).astype(np.uint8)
    factors = (1, 1, height / images.shape[2], width / images.shape[3])
    if factors == (1, 1, 1, 1):
        return images
    blurred = images.astype(np.float32)
    if min(factors) < 1:  # without smoothing, reduced images would be single pixels
        sd = 0.5 / min(factors)
        blurred = ndimage.gaussian_filter(blurred, (0, 0, sd, sd))
    resized = ndimage.zoom(blurred, factors, order=1, grid_mode=True, mode="nearest")
    return np.clip(np.rint(resized), 0, 255).astype(np.uint8)
