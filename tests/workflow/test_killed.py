"""Tests that runs which are killed at any time and restarted give the same rows, bit for bit."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from support.running import NO_EXPERIMENTS, ROOT, environment, snakemake

from onlinefa_benchmark.cells import Bundle
from onlinefa_benchmark.config.files import write_checked
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.grid import bundles
from onlinefa_benchmark.storage import result_file

KILLS = 20  # of a fit
GRID = {
    "algorithms": ["online_em", "recursive_em"],
    "D": [40],
    "K": [2],
    "spectrum": [[1, 10], [1, 100], [1, 1000]],
    "T": [500, 3000],
    "seeds": 4,
}
CONFIG = {**NO_EXPERIMENTS, "synthetic": GRID, "seeds_per_job": 4}
# Columns that differ between runs.
PROVENANCE = ["seconds", "peak_memory_mb", "host", "commit", "versions"]


DEFAULT = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())


@pytest.fixture(scope="module")
def bundle():
    return bundles(validate(DEFAULT | CONFIG))[0]


def fit(bundle: Bundle, directory: Path, **options) -> subprocess.Popen:
    config = Path(directory, "checked.json")
    write_checked(validate(DEFAULT | CONFIG), config)
    arguments = {
        "--config": config,
        "--digest": bundle.digest(),
        "--store": "store",
        "--tables": "tables",
        "--output": "cells.parquet",
        "--attempt": "1",
        "--attempts": "3",
    }
    words = [word for item in arguments.items() for word in item]
    return subprocess.Popen(
        [sys.executable, "-m", "onlinefa_benchmark", "fit", bundle.name, *words],
        cwd=directory,
        env=environment(),
        text=True,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **options,
    )


def rows(path: Path) -> pa.Table:
    return pq.ParquetFile(path).read().drop_columns(PROVENANCE)


@pytest.fixture(scope="module")
def undisturbed(bundle, tmp_path_factory):
    directory = tmp_path_factory.mktemp("undisturbed")
    _, complaints = (process := fit(bundle, directory)).communicate()
    assert process.returncode == 0, complaints
    return rows(directory / "cells.parquet")


def check_to_the_end(bundle, directory, undisturbed):
    _, complaints = (process := fit(bundle, directory)).communicate()
    assert process.returncode == 0, complaints
    assert rows(directory / "cells.parquet").equals(undisturbed)


def whole_cells(directory: Path) -> int:
    """Return the number of cells in the store, after checking that each is readable."""
    files = list((directory / "store").glob("*/*.parquet"))
    for file in files:
        assert result_file.read(file).num_rows > 0
    return len(files)


@pytest.mark.long
def test_a_fit_that_is_killed_repeatedly_has_the_same_rows(bundle, tmp_path, undisturbed):
    moments = random.Random(0)
    finished = []
    for _ in range(KILLS):
        process = fit(bundle, tmp_path)
        time.sleep(moments.uniform(0.1, 1.5))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        finished.append(whole_cells(tmp_path))
    assert finished == sorted(finished)
    check_to_the_end(bundle, tmp_path, undisturbed)
    # Incomplete files have temporary names and are not read.
    assert whole_cells(tmp_path) == len(bundle.cells())


def test_a_killed_fit_can_be_continued(bundle, tmp_path, undisturbed):
    process = fit(bundle, tmp_path)
    time.sleep(1.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    whole_cells(tmp_path)
    check_to_the_end(bundle, tmp_path, undisturbed)


def test_a_terminated_fit_can_be_continued(bundle, tmp_path, undisturbed):
    process = fit(bundle, tmp_path)
    time.sleep(1.5)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    # On a fast machine, the fit may have ended before the signal.
    assert process.returncode in (0, 128 + signal.SIGTERM)
    check_to_the_end(bundle, tmp_path, undisturbed)


def test_a_fit_continues_after_write_errors(bundle, tmp_path, undisturbed):
    """Writing beyond a limit on file sizes is an error, as on a full disk."""

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    _, complaints = (process := fit(bundle, tmp_path, preexec_fn=limited)).communicate()
    assert process.returncode == 1
    assert "File too large" in complaints
    assert not (tmp_path / "cells.parquet").exists()
    assert whole_cells(tmp_path) == 0
    check_to_the_end(bundle, tmp_path, undisturbed)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk of its own")
def test_a_fit_continues_after_the_disk_was_full(bundle, tmp_path, undisturbed):
    size = ["-o", "size=64k"]
    if subprocess.run(["mount", "-t", "tmpfs", *size, "tmpfs", tmp_path]).returncode:
        pytest.skip("disks cannot be mounted on this machine")
    try:
        _, complaints = (process := fit(bundle, tmp_path)).communicate()
        assert process.returncode == 1
        assert "No space left on device" in complaints
        assert not (tmp_path / "cells.parquet").exists()
        whole_cells(tmp_path)
        subprocess.run(["mount", "-o", "remount,size=64m", tmp_path], check=True)
        check_to_the_end(bundle, tmp_path, undisturbed)
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.long
def test_a_killed_workflow_can_be_restarted(bundle, tmp_path, undisturbed):
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    target = f"results/cells/{bundle.name}.parquet"
    options = ("--cores", "1", "--configfile", str(config), "--rerun-incomplete")
    arguments = (*options, "--", target)
    process = subprocess.Popen(
        [*(sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile"), *arguments],
        cwd=tmp_path,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    while not list(tmp_path.glob("results/store/*/*.parquet")):
        time.sleep(0.05)
    process.kill()
    subprocess.run(["pkill", "-KILL", "-s", str(process.pid), "-f", "onlinefa_benchmark fit"])
    process.wait()
    assert snakemake(tmp_path, "--unlock", *arguments).returncode == 0
    run = snakemake(tmp_path, *arguments)
    assert run.returncode == 0, run.stdout + run.stderr
    assert rows(tmp_path / target).equals(undisturbed)
