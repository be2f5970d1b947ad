"""Fixtures: a cluster for each test module, with accounting if it sets ACCOUNTING = True."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.slurm_cluster import Cluster, why_not
from support.slurm_runs import EVERY_KIND, GRID, ROOT, STARTED, in_order, locally, stop

FAULTS = ("sleep", "hoard", "cancelled", "crashed", "hold")


@pytest.fixture(scope="module")
def cluster(request):
    accounting = getattr(request.module, "ACCOUNTING", False)
    reason = why_not(accounting)
    if reason:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # munge cannot read pytest's folders
    running = Cluster(folder, accounting)
    try:
        running.start()
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def nothing_is_left_running():
    """Stop processes that a failed test has left running."""
    yield
    while STARTED:
        stop(STARTED.pop())


@pytest.fixture(scope="session")
def possible():
    """Skip the tests, before anything is fitted, where a cluster cannot be started."""
    reason = why_not(accounting=False)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def every_kind(possible, tmp_path_factory):
    """Return the rows of EVERY_KIND without a cluster."""
    return locally(tmp_path_factory.mktemp("every_kind"), EVERY_KIND)


@pytest.fixture(scope="session")
def source(possible, tmp_path_factory):
    """Return a copy of the source with a faulty algorithm."""
    folder = Path(shutil.copytree(ROOT / "src", tmp_path_factory.mktemp("source") / "src"))
    estimators = folder / "onlinefa" / "estimators"
    shutil.copy(ROOT / "tests" / "support" / "faulty_estimator.py", estimators / "faulty.py")
    return folder


@pytest.fixture(scope="session")
def undisturbed(source, tmp_path_factory):
    """Return the folder of marks and the rows of a run in which all marks disable the faults."""
    folder = tmp_path_factory.mktemp("undisturbed")
    marks = folder / "marks"
    marks.mkdir()
    for fault in FAULTS:
        (marks / fault).touch()
    return marks, locally(folder, faulty(marks, FAULTS), source=source)


@pytest.fixture
def disturbed(undisturbed):
    """Return the configuration with some faults, and the expected rows; delete all marks."""
    marks, expected = undisturbed
    for mark in marks.iterdir():
        mark.unlink()

    def with_faults(*faults):
        among = expected["algorithm"].isin([*faults, "diagonal"])
        return faulty(marks, faults), in_order(expected[among])

    def fits():
        file = marks / "fits"
        return len(file.read_text().splitlines()) if file.exists() else 0

    return SimpleNamespace(marks=marks, by=with_faults, fits=fits)


def faulty(marks, faults):
    """Return a configuration with a job for each fault, and one without."""
    variants = {
        fault: {"algorithm": "faulty", "fault": fault, "marks": str(marks)} for fault in faults
    }
    return {"variants": variants, "synthetic": GRID | {"algorithms": [*faults, "diagonal"]}}
