"""Fit jobs of the workflow: the fits of the cells of a bundle."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from onlinefa_benchmark import algorithms, datasets, experiments, metrics
from onlinefa_benchmark.cells import Bundle, Cell
from onlinefa_benchmark.construction import build_estimator
from onlinefa_benchmark.context import Cache, Context
from onlinefa_benchmark.datasets import images, weights
from onlinefa_benchmark.execution import devices, errors
from onlinefa_benchmark.execution.checkpoint import Checkpoint, StopRequests
from onlinefa_benchmark.execution.child_process import Begin
from onlinefa_benchmark.execution.events import EventFile
from onlinefa_benchmark.execution.progress import LoggedProgress
from onlinefa_benchmark.execution.workspace import FolderWorkspace
from onlinefa_benchmark.measurement import Measurement
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.provenance import Provenance
from onlinefa_benchmark.storage.store import Store
from onlinefa_benchmark.threads import one_thread

log = logging.getLogger(__name__)


class OutOfMemory(RuntimeError):
    """Exception for cells that ran out of memory before the last attempt.

    The other cells of the job are in the store.
    """


@dataclass(frozen=True)
class Job:
    """Settings and resources of a fit job.

    Parameters
    ----------
    store : Store
        Store of finished cells.
    tables : Path
        Folder of fetched datasets.
    is_last_attempt : bool
        Whether a cell that runs out of memory is recorded as failed. Before the last attempt, the
        job fails instead, and is retried with more memory.
    begin : callable
        Called with the digests of cells that are about to be fitted, and with none when they are
        done.
    killed : mapping of str to str
        Cells, by digest, in which an earlier process of this job was killed, and the reason.
    events : EventFile
        Where events are written.
    stop_requests : StopRequests
        Handler of SIGTERM, on which the current fit saves its state.
    cache : Cache
        Results that cells share.
    companions : sequence of (Cell, type)
        The cells that have to be fitted, and the classes of their algorithms.
    workspace : FolderWorkspace or None
        Files with the state of training runs that cells share.
    """

    store: Store
    tables: Path
    is_last_attempt: bool = True
    begin: Begin = lambda digests: None
    killed: Mapping[str, str] = field(default_factory=dict)
    events: EventFile = field(default_factory=lambda: EventFile(None))
    stop_requests: StopRequests = field(default_factory=StopRequests)
    cache: Cache = field(default_factory=Cache)
    companions: Sequence[tuple[Cell, Any]] = ()
    workspace: FolderWorkspace | None = None


def fit_bundle(bundle: Bundle, job: Job, output: Path) -> None:
    """Fit the cells that are not in the store yet, then write all rows of the bundle.

    A cell that fails has a row with the reason. An exception is raised only for an error of the
    machine and, before the last attempt, for cells that run out of memory.
    """
    cells = {cell.digest(): cell for cell in bundle.cells()}
    found = _read_store(cells, job.store)
    missing = [cell for digest, cell in cells.items() if digest not in found]
    log.info("%s: %d of %d cells are in the store", bundle.name, len(found), len(cells))
    device = devices.resolve(missing[0].device) if missing else "cpu"
    workspace = FolderWorkspace(job.store.workspace(bundle.digest()))
    workspace.discard_abandoned()
    # A cell that an earlier process was killed in takes part no more.
    companions = [
        (cell, algorithms.load(cell.base_algorithm))
        for cell in missing
        if cell.digest() not in job.killed
    ]
    job = replace(job, companions=companions, workspace=workspace)
    failed, too_large = dict(job.killed), list[str]()
    for batch in _batches(bundle, missing, device):
        undecided = [cell for cell in batch if cell.digest() not in failed]
        error = _fit_batch(undecided, job, device, found)
        if error is None:
            continue
        if errors.is_out_of_memory(error) and not job.is_last_attempt:
            too_large += map(str, batch)
        else:
            failed |= {cell.digest(): errors.describe(error) for cell in batch}
    if too_large:
        raise OutOfMemory(f"{bundle.name}: out of memory: {'; '.join(too_large)}")
    lacking = {digest: cell for digest, cell in cells.items() if digest not in found}
    for digest, table in _failure_tables(lacking, failed, device).items():
        job.store.put_failure(cells[digest], digest, table)
        found[digest] = table
    result_file.write(pa.concat_tables(found[digest] for digest in cells), output)
    workspace.delete()


def _read_store(digests: Iterable[str], store: Store) -> dict[str, pa.Table]:
    """Return the rows of the cells that are finished, by digest."""
    tables = ((digest, store.get(digest)) for digest in digests)
    return {digest: table for digest, table in tables if table is not None}


def _batches(bundle: Bundle, missing: list[Cell], device: str) -> list[list[Cell]]:
    """Return the cells to fit in the order of fitting; those of a batch are fitted at once."""
    batches = _by_group(missing) if _is_batch(bundle, device) else [[cell] for cell in missing]
    # Another job that fits the same cells may still be running, if Snakemake was started again:
    # the two begin at different ends, and each skips what the other has finished.
    if len(missing) < len(bundle.seeds) * len(bundle.groups):
        batches.reverse()
    return batches


def _is_batch(bundle: Bundle, device: str) -> bool:
    """Return whether the seeds of a group are fitted at once."""
    return device != "cpu" and experiments.load(bundle.experiment).gpu == "batch"


def _fit_batch(
    batch: list[Cell], job: Job, device: str, found: dict[str, pa.Table]
) -> Exception | None:
    """Fit the cells of a batch, unless another job has finished them meanwhile.

    Parameters
    ----------
    batch : list of Cell
        The cells.
    job : Job
        The job.
    device : str
        Device of the fits.
    found : dict
        Rows of finished cells by digest; those of the batch are added.

    Returns
    -------
    Exception or None
        The error of the cells, if there is one. An error of the machine is raised.
    """
    found |= _read_store((cell.digest() for cell in batch), job.store)
    cells = {cell.digest(): cell for cell in batch if cell.digest() not in found}
    if not cells:
        return None
    job.begin(cells)
    try:
        for digest, table in _fit(list(cells.values()), job, device).items():
            job.store.put(cells[digest], digest, table)
            found[digest] = table
    except Exception as error:
        log.exception("%s failed", "; ".join(map(str, cells.values())))
        job.events.failed(cells.values())
        if errors.is_machine_error(error):
            raise
        return error
    finally:
        job.begin(())
    return None


def _failure_tables(
    cells: Mapping[str, Cell], reasons: Mapping[str, str], device: str
) -> dict[str, pa.Table]:
    """Return the row of each cell that failed."""
    if not cells:
        return {}
    provenance = Provenance(devices.describe(device))
    return {
        digest: result_file.failure_table(cell, digest, reasons[digest], provenance)
        for digest, cell in cells.items()
    }


def _by_group(cells: list[Cell]) -> list[list[Cell]]:
    """Group cells that differ in the seed alone."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(repr([cell.axes, cell.parameters]), []).append(cell)
    return list(groups.values())


def _fit(cells: list[Cell], job: Job, device: str) -> dict[str, pa.Table]:
    """Fit cells, at once if there are several, and return the rows of each by digest."""
    is_batch = device != "cpu" and experiments.load(cells[0].experiment).gpu == "batch"
    names = "; ".join(map(str, cells))
    log.info("%s: fitting", names)
    job.events.started(cells)
    # The state of a batch on a GPU is not saved: such fits are short.
    path = job.store.checkpoint(cells[0].digest())
    with nullcontext() if is_batch else job.stop_requests.checkpoint(path) as checkpoint:
        context = new_context(cells, job.tables, device, checkpoint, job.cache)
        if job.workspace is not None:
            context = replace(context, workspace=job.workspace, companions=job.companions)
        start = perf_counter()
        provenance = Provenance(devices.describe(device))
        measurements = compute(cells, context, is_batch)
    seconds = perf_counter() - start
    tables = {}
    for cell, rows in zip(cells, measurements, strict=True):
        digest = cell.digest()
        tables[digest] = result_file.measurement_table(cell, digest, rows, provenance)
    log.info("%s: done in %.1f s", names, seconds)
    job.events.finished(cells, seconds)
    return tables


def new_context(
    cells: Sequence[Cell],
    tables: Path,
    device: str = "cpu",
    checkpoint: Checkpoint | None = None,
    cache: Cache | None = None,
) -> Context:
    """Return the context of cells that share everything but the seed.

    Modules are imported and kernels compiled here, so that neither counts as time of a fit.
    """
    cell = cells[0]
    experiment = experiments.load(cell.experiment)
    import_module(experiment.computation_of(cell.axes))
    algorithm = algorithms.load(cell.base_algorithm)
    if experiment.gpu == "each":
        import torch  # noqa: F401
    with one_thread():
        if algorithms.is_estimator(cell.base_algorithm):
            _compile(cell)
    return Context(
        algorithm=algorithm,
        read_table=lambda name: datasets.read(name, tables),
        read_images=lambda name: images.read(name, tables),
        weights_path=lambda name: weights.read(name, tables),
        metrics={name: metrics.load(name).measure for name in cell.metrics},
        progress=LoggedProgress(_shorten(cells)),
        checkpoint=checkpoint,
        cache=cache or Cache(),
        device=device,
    )


def compute(
    cells: Sequence[Cell], context: Context, is_batch: bool = False
) -> list[list[Measurement]]:
    """Compute cells, one by one or as a batch, and return the measurements of each."""
    experiment = experiments.load(cells[0].experiment)
    with one_thread():
        if is_batch:
            from onlinefa_benchmark.experiments._gpu_batch import run_batch

            computation = import_module(experiment.computation_of(cells[0].axes))
            make_trial: Callable[..., object] = computation.trial
            return run_batch(cells, make_trial, context)  # type: ignore[arg-type]
        return [list(experiment.run(cell, context)) for cell in cells]


def _compile(cell: Cell) -> None:
    """Fit the cell's estimator to a few rows, so that its kernels are compiled."""
    from onlinefa.estimators.base import FitDiverged

    settings = {
        name: value
        for name, value in cell.parameters["settings"].items()
        if not (name == "n_components" and isinstance(value, int))
    }
    rows = np.random.default_rng(0).normal(size=(settings.get("warm_up", 0) + 200, 3))
    estimator = algorithms.load(cell.base_algorithm)
    with suppress(FitDiverged):
        build_estimator(estimator, settings, n_components=1).fit(rows).gaussian()


def _shorten(cells: Sequence[Cell]) -> str:
    return str(cells[0]) if len(cells) == 1 else f"{cells[0]} and {len(cells) - 1} others"
