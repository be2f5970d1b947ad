"""Pretrained weights of networks: one file for each network, found by its name.

A file ``efficientnet_lite0.py`` in this folder defines the weights ``efficientnet_lite0`` as
`Weights` with the name ``WEIGHTS``. They are not part of the package; they are downloaded and
compared with a digest.
"""

from __future__ import annotations

from pathlib import Path

from onlinefa_benchmark.datasets import _registry, _sources
from onlinefa_benchmark.datasets.weights.base import Weights

__all__ = ["Weights", "describe", "load", "names", "read"]


def names() -> list[str]:
    """Return the names of all files of weights, sorted."""
    return _registry.list_names(__path__)


def describe(name: str) -> Weights:
    """Return the description of a file of weights.

    Raises
    ------
    ValueError
        If there are no weights of that name.
    """
    found: Weights = _registry.find(__name__, name, "WEIGHTS", "weights", names())
    return found


def load(name: str, data_dir: str | Path | None = None, cache: str | Path | None = None) -> Path:
    """Return the path of a file of weights, and download it if it is not there.

    The first of these sources that has the file is used: `data_dir`, the copy that an earlier call
    saved in `cache`, a package.

    Parameters
    ----------
    name : str
        Name of the weights.
    data_dir : path-like, optional
        Folder with files that the user has downloaded.
    cache : path-like, optional
        Folder in which the file is saved; by default the user's cache folder.

    Returns
    -------
    Path
        Path of the file in `cache`.

    Raises
    ------
    DataUnavailable
        If no source has the file, or if it cannot be saved.
    """
    folder = _sources.cache_folder(cache)
    _sources.fetch(name, describe(name), _sources.user_folder(data_dir), folder)
    return read(name, folder)


def read(name: str, folder: Path) -> Path:
    """Return the path of the file of weights that an earlier call of `load` saved in a folder.

    Nothing is downloaded.

    Parameters
    ----------
    name : str
        Name of the weights.
    folder : Path
        The `cache` of the earlier call.

    Returns
    -------
    Path
        Path of the file, whose digest has been checked.

    Raises
    ------
    DataUnavailable
        If there is no such file, or if it is damaged.
    """
    wanted = describe(name)
    _sources.read_copy(name, wanted, folder)
    return _sources.copy_path(name, wanted, folder)
