"""Run a bundle of cells: what a fit job of the workflow does."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from time import perf_counter
from types import MappingProxyType

import pyarrow as pa

from onlinefa import algorithms, devices, experiments, failing, results
from onlinefa.cell import Bundle, Cell
from onlinefa.checkpoints import kept_at
from onlinefa.progress import about
from onlinefa.provenance import Provenance
from onlinefa.supervising import Begin
from onlinefa.threads import one_thread

log = logging.getLogger(__name__)


class OutOfMemory(RuntimeError):
    """Some cells need more memory, which the next attempt has. The others are in the store."""


def fit_bundle(
    bundle: Bundle,
    store: results.Store,
    tables: Path,
    output: Path,
    *,
    is_last_attempt: bool = True,
    begin: Begin = lambda digests: None,
    killed: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Fit the cells that are not in the store yet, then write all rows of the bundle.

    `tables` is the folder of datasets that were fetched before. `begin` is told which cells are
    begun, and `killed` are those, by digest, in which an earlier process of this job was killed.
    A cell that fails has a row that says so; only what is wrong with the machine is an exception.
    """
    cells = {cell.digest(): cell for cell in bundle.cells()}
    found = {digest: store.get(digest) for digest in cells}
    missing = [cell for digest, cell in cells.items() if found[digest] is None]
    log.info(
        "%s: %d of %d cells are already there", bundle.name, len(cells) - len(missing), len(cells)
    )
    failed, too_large = dict(killed), list[str]()
    device = devices.resolve(missing[0].device) if missing else "cpu"
    at_once = device != "cpu" and experiments.fits_together(bundle.experiment)
    order = _of_one_group(missing) if at_once else [[cell] for cell in missing]
    # The job that fitted the others may be at it still, if Snakemake was started again meanwhile:
    # the two begin at different ends, and each leaves out what the other has finished.
    if len(missing) < len(cells):
        order.reverse()
    for together in order:
        found |= {cell.digest(): store.get(cell.digest()) for cell in together}
        together = [
            cell
            for cell in together
            if found[cell.digest()] is None and cell.digest() not in failed
        ]
        if not together:
            continue
        begin(cell.digest() for cell in together)
        try:
            # What many seeds at once have learned is not kept: such fits are short.
            kept = nullcontext() if at_once else kept_at(store.unfinished(together[0].digest()))
            with kept:
                fitted = _fit(together, tables, device, at_once)
        except Exception as error:
            log.exception("%s failed", "; ".join(map(str, together)))
            if failing.is_of_the_machine(error):
                raise
            if failing.is_for_want_of_memory(error) and not is_last_attempt:
                too_large += map(str, together)
            else:
                why = failing.message_of(error)
                failed |= {cell.digest(): why for cell in together}
        else:
            for digest, table in fitted.items():
                store.put(cells[digest], digest, table)
                found[digest] = table
        finally:
            begin(())
    if too_large:
        raise OutOfMemory(f"{bundle.name}: out of memory: {'; '.join(too_large)}")
    lacking = {digest: cell for digest, cell in cells.items() if found[digest] is None}
    for digest, table in _failures(lacking, failed, device).items():
        store.put_failure(cells[digest], digest, table)
        found[digest] = table
    results.write(pa.concat_tables(found.values()), output)


def _failures(
    cells: Mapping[str, Cell], why: Mapping[str, str], device: str
) -> dict[str, pa.Table]:
    """The row of each cell that failed."""
    if not cells:
        return {}
    provenance = Provenance(devices.describe(device))
    return {
        digest: results.table_of_failure(cell, digest, why[digest], provenance)
        for digest, cell in cells.items()
    }


def _of_one_group(cells: list[Cell]) -> list[list[Cell]]:
    """Those together that differ in the seed alone."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(repr([cell.axes, cell.parameters]), []).append(cell)
    return list(groups.values())


def _shortly(cells: list[Cell]) -> str:
    return str(cells[0]) if len(cells) == 1 else f"{cells[0]} and {len(cells) - 1} others"


def _fit(cells: list[Cell], tables: Path, device: str, at_once: bool) -> dict[str, pa.Table]:
    """The rows of each cell, by digest."""
    names = "; ".join(map(str, cells))
    log.info("%s: fitting", names)
    # Loaded first: importing them is no part of what a fit takes.
    run = experiments.load(cells[0].experiment)
    import_module(algorithms.module_of(cells[0].estimator))
    if not experiments.fits_together(cells[0].experiment):
        import torch

        torch.set_num_threads(1)  # its MKL, too, which threadpoolctl does not see
    start = perf_counter()
    provenance = Provenance(devices.describe(device))
    with one_thread(), about(_shortly(cells)):
        if at_once:
            from onlinefa.experiments.together import run_together

            measurements = run_together(cells, device)
        else:
            measurements = [list(run(cell, tables)) for cell in cells]
    fitted = {}
    for cell, rows in zip(cells, measurements, strict=True):
        digest = cell.digest()
        fitted[digest] = results.table_of(cell, digest, rows, provenance)
    log.info("%s: done in %.1f s", names, perf_counter() - start)
    return fitted
