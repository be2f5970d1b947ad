"""Image sets for classification: one file for each dataset, found by its name.

A file ``mnist.py`` in this folder defines the dataset ``mnist`` as an `ImageSet` with the name
``IMAGES``. The images are not part of the package; they are downloaded and compared with a digest.
"""

from __future__ import annotations

from pathlib import Path

from onlinefa_benchmark.datasets import _registry, _sources
from onlinefa_benchmark.datasets.images.base import ImageData, ImageSet

__all__ = ["ImageData", "ImageSet", "describe", "load", "names", "read"]


def names() -> list[str]:
    """Return the names of all image sets, sorted."""
    return _registry.list_names(__path__)


def describe(name: str) -> ImageSet:
    """Return the description of an image set, without its images.

    Raises
    ------
    ValueError
        If there is no image set of that name.
    """
    found: ImageSet = _registry.find(__name__, name, "IMAGES", "image set", names())
    return found


def load(
    name: str, data_dir: str | Path | None = None, cache: str | Path | None = None
) -> ImageData:
    """Load an image set as published, in the published order.

    The first of these sources that has the images is used: files in `data_dir` or in its subfolder
    with the name of the image set, the copy that an earlier call saved in `cache`, the published
    files, a package. All of them give the same bits.

    Parameters
    ----------
    name : str
        Name of the image set.
    data_dir : path-like, optional
        Folder with files that the user has downloaded.
    cache : path-like, optional
        Folder in which downloaded images are saved; by default the user's cache folder.

    Returns
    -------
    ImageData
        Images, labels, and the number of training images.

    Raises
    ------
    DataUnavailable
        If no source has the images. The message lists the sources that were tried and the folder
        into which the files can be put.

    Examples
    --------
    >>> from onlinefa_benchmark.datasets import images
    >>> digits = images.load("digits")
    >>> digits.images.shape, digits.labels[:5].tolist()
    ((1797, 1, 8, 8), [0, 1, 2, 3, 4])
    """
    wanted, folder = describe(name), _sources.cache_folder(cache)
    if wanted.bundled:
        return wanted.split(wanted.bundled())
    return wanted.split(_sources.fetch(name, wanted, _sources.user_folder(data_dir), folder))


def read(name: str, folder: Path) -> ImageData:
    """Read the copy of an image set that an earlier call of `load` saved in a folder.

    Nothing is downloaded. An image set that comes with an installed package needs no copy.

    Parameters
    ----------
    name : str
        Name of the image set.
    folder : Path
        The `cache` of the earlier call.

    Returns
    -------
    ImageData
        Images, which are read from the file when they are accessed, labels, and the number of
        training images.

    Raises
    ------
    DataUnavailable
        If there is no copy, or if it is damaged.
    """
    wanted = describe(name)
    if wanted.bundled:
        return wanted.split(wanted.bundled())
    return wanted.split(_sources.read_copy(name, wanted, folder))
