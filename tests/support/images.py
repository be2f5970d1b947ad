"""Made images."""

from __future__ import annotations

import numpy as np

from onlinefa_benchmark.datasets.images import ImageData


def make_images(number, shape=(1, 8, 8), training=None, classes=10):
    """Return random images and labels; all are training images unless their number is given."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, size=(number, *shape), dtype=np.uint8)
    labels = np.arange(number) % classes
    return ImageData(images, labels, number if training is None else training)
