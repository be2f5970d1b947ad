"""Run a bundle of cells: what a fit job of the workflow does."""

from __future__ import annotations

import logging
from pathlib import Path
from time import perf_counter

import pyarrow as pa
from threadpoolctl import threadpool_limits

from onlinefa import estimators, experiments, results
from onlinefa.cell import Bundle, Cell
from onlinefa.provenance import Provenance

log = logging.getLogger(__name__)


class CellsFailed(RuntimeError):
    """Some cells of a bundle failed. The others are in the store and will not be fitted again."""


def fit_bundle(bundle: Bundle, code: str, store: results.Store, tables: Path, output: Path) -> None:
    """Fit the cells that are not in the store yet, then write all rows of the bundle.

    `tables` is the folder of datasets that were fetched before.
    """
    fitted, failed = [], []
    for cell in bundle.cells():
        digest = cell.digest(code)
        table = store.get(digest)
        if table is not None:
            log.info("%s: already there", cell)
        else:
            try:
                table = _fit(cell, digest, tables)
            except Exception:
                log.exception("%s failed", cell)
                failed.append(str(cell))
                continue
            store.put(digest, table)
        fitted.append(table)
    if failed:
        raise CellsFailed(f"{bundle.name}: failed: {'; '.join(failed)}")
    results.write(pa.concat_tables(fitted), output)


def _fit(cell: Cell, digest: str, tables: Path) -> pa.Table:
    log.info("%s: fitting", cell)
    # Loaded first: threads of a library that is imported later would not be limited.
    run = experiments.load(cell.experiment)
    estimators.load(cell.estimator)
    start = perf_counter()
    provenance = Provenance()
    # One thread, whatever the machine has: the order of sums, and so the bits, depend on it.
    with threadpool_limits(1):
        measurements = list(run(cell, tables))
    table = results.table_of(cell, digest, measurements, provenance)
    log.info("%s: done in %.1f s", cell, perf_counter() - start)
    return table
