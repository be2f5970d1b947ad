"""A cluster for a file of tests, with accounting if the file says ACCOUNTING = True."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from cluster import Cluster, why_not
from starting import EVERY_KIND, GRID, ROOT, STARTED, in_order, locally, stop

FAULTS = ("sleep", "hoard", "cancelled", "crashed", "hold")


@pytest.fixture(scope="module")
def cluster(request):
    accounting = getattr(request.module, "ACCOUNTING", False)
    reason = why_not(accounting)
    if reason:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # pytest's own are closed to munge
    running = Cluster(folder, accounting)
    try:
        running.start()
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def nothing_is_left_running():
    """Whatever a test that fails has started."""
    yield
    while STARTED:
        stop(STARTED.pop())


@pytest.fixture(scope="session")
def possible():
    """Nothing is fitted for tests that are skipped."""
    reason = why_not(accounting=False)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def every_kind(possible, tmp_path_factory):
    """The rows of EVERY_KIND without a cluster."""
    return locally(tmp_path_factory.mktemp("every_kind"), EVERY_KIND)


@pytest.fixture(scope="session")
def source(possible, tmp_path_factory):
    """The source, with an algorithm that misbehaves."""
    folder = Path(shutil.copytree(ROOT / "src", tmp_path_factory.mktemp("source") / "src"))
    shutil.copy(Path(__file__).parent / "faulty.py", folder / "onlinefa" / "estimators")
    return folder


@pytest.fixture(scope="session")
def undisturbed(source, tmp_path_factory):
    """The folder of marks, and the rows of a run where no fault occurs, because all have a mark."""
    folder = tmp_path_factory.mktemp("undisturbed")
    marks = folder / "marks"
    marks.mkdir()
    for fault in FAULTS:
        (marks / fault).touch()
    return marks, locally(folder, faulty(marks, FAULTS), source=source)


@pytest.fixture
def disturbed(undisturbed):
    """For some faults: the configuration, and the rows to be had in spite of them. No marks yet."""
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
    """A configuration with a job for each fault, and one without."""
    variants = {
        fault: {"algorithm": "faulty", "fault": fault, "marks": str(marks)} for fault in faults
    }
    return {"variants": variants, "synthetic": GRID | {"algorithms": [*faults, "diagonal"]}}
