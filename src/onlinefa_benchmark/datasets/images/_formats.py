"""Formats of image sets: IDX, records of bytes, and pictures with a row for each image."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from onlinefa_benchmark.datasets._archives import expand
from onlinefa_benchmark.datasets.images.base import Rows


def read_idx_files(contents: Sequence[bytes]) -> Rows:
    """Read files in the format IDX: images and labels in turn, each of which may be compressed."""
    arrays = [_read_idx(expand(content)) for content in contents]
    images = (block.reshape(len(block), -1) for block in arrays[::2])
    return _join(images, np.concatenate(arrays[1::2]))


def _read_idx(content: bytes) -> NDArray[np.uint8]:
    """Read an IDX file of unsigned bytes: a type, the number of axes, the lengths, the values."""
    if content[:3] != b"\x00\x00\x08":
        raise ValueError("not an IDX file of unsigned bytes")
    axes = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=axes, offset=4).tolist()
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * axes).reshape(shape)


def read_records(contents: Sequence[bytes], size: int) -> Rows:
    """Read files of records: a byte with the label, then `size` bytes of the image."""
    records = [np.frombuffer(content, dtype=np.uint8) for content in contents]
    values = np.concatenate(records).reshape(-1, size + 1)
    return np.roll(values, -1, axis=1)


def read_pictures(contents: Sequence[bytes], pictures: int, width: int) -> Rows:
    """Read RGB pictures that have an image in each row, and lists of labels in JSON.

    Parameters
    ----------
    contents : sequence of bytes
        Content of the pictures, then of the lists.
    pictures : int
        Number of pictures.
    width : int
        Number of pixels of an image.
    """
    images = (_read_picture(content, width) for content in contents[:pictures])
    labels = [label for content in contents[pictures:] for label in json.loads(content)]
    return _join(images, np.array(labels))


def _read_picture(content: bytes, width: int) -> NDArray[np.uint8]:
    from PIL import Image

    # Only the named decoder is used, and Pillow refuses pictures of more than 179 million pixels.
    with Image.open(io.BytesIO(content), formats=("PNG",)) as picture:
        if picture.mode != "RGB" or picture.width != width:
            raise ValueError(f"picture has mode {picture.mode} and width {picture.width}")
        pixels: NDArray[np.uint8] = np.asarray(picture)
    return pixels.transpose(0, 2, 1).reshape(len(pixels), -1)  # channel by channel


def _join(images: Iterable[NDArray[np.uint8]], labels: NDArray[np.integer]) -> Rows:
    """Return the rows of images in blocks, and their labels in the last column.

    Only one block is in memory at a time, beside the result.
    """
    if labels.ndim != 1 or not np.isin(labels, np.arange(256)).all():
        raise ValueError(f"labels of shape {labels.shape} are not one byte for each image")
    rows, done = np.empty((0, 0), dtype=np.uint8), 0
    for block in images:
        if not done:
            rows = np.empty((len(labels), block.shape[1] + 1), dtype=np.uint8)
        rows[done : done + len(block), :-1] = block
        done += len(block)
    if done != len(labels):
        raise ValueError(f"{done} images and {len(labels)} labels")
    rows[:, -1] = labels
    return rows
