"""Digits of scikit-learn: 1,797 handwritten digits of 8 x 8 pixels, without a test part."""

from __future__ import annotations

import numpy as np

from onlinefa_benchmark.datasets.images.base import ImageSet, Rows


def _load() -> Rows:
    from sklearn.datasets import load_digits

    levels, labels = load_digits(return_X_y=True)
    # From 0, ..., 16 to 0, ..., 255, rounded to the nearest integer, and up at the middle.
    images = (levels.astype(np.int64) * 255 + 8) // 16
    return np.column_stack([images, labels]).astype(np.uint8)


IMAGES = ImageSet(
    title="Digits",
    shape=(1, 8, 8),
    classes=tuple("0123456789"),
    training=1797,
    test=0,
    digest="f6f6eeba2c88473bfb9b206d57a8c478ad93b286374773b0a30f001a9c1e9060",
    load_bundled=_load,
)
