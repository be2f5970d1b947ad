"""A cluster for a file of tests, with accounting if the file says ACCOUNTING = True."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from cluster import Cluster, why_not
from starting import ROOT


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


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source, with an algorithm that misbehaves."""
    folder = Path(shutil.copytree(ROOT / "src", tmp_path_factory.mktemp("source") / "src"))
    shutil.copy(Path(__file__).parent / "faulty.py", folder / "onlinefa" / "estimators")
    return folder
