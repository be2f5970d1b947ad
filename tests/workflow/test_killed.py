"""Killed at any moment and started again: the same rows, to the bit, as if nothing had happened."""

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
from running import ROOT, snakemake

from onlinefa import results
from onlinefa.cell import Bundle
from onlinefa.config import EXPERIMENTS
from onlinefa.grid import bundles
from onlinefa.validation import validate

KILLS = 20  # of a fit
GRID = {
    "algorithms": ["online_em", "recursive_em"],
    "D": [40],
    "K": [2],
    "spectrum": [[1, 10], [1, 100], [1, 1000]],
    "T": [500, 3000],
    "seeds": 4,
}
CONFIG = {**dict.fromkeys(EXPERIMENTS), "synthetic": GRID, "seeds_per_job": 4}
# What differs from run to run, and is no result.
PROVENANCE = ["seconds", "peak_memory_mb", "host", "commit", "versions"]


@pytest.fixture(scope="module")
def bundle():
    default = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    return bundles(validate(default | CONFIG))[0]


def fit(bundle: Bundle, directory: Path, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "onlinefa", "fit", "--bundle", bundle.to_json(), "--code",
         bundle.code, "--store", "store", "--tables", "tables", "--output", "cells.parquet",
         "--attempt", "1", "--attempts", "3"],
        cwd=directory, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, text=True,
        stderr=subprocess.PIPE, start_new_session=True, **options,
    )  # fmt: skip


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
    """How many are in the store, each of which can be read."""
    files = list((directory / "store").glob("*/*.parquet"))
    for file in files:
        assert results.read_one(file, None).num_rows > 0
    return len(files)


@pytest.mark.long
def test_a_fit_that_is_killed_again_and_again(bundle, tmp_path, undisturbed):
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
    # What a kill leaves half-written has a name that nobody reads.
    assert whole_cells(tmp_path) == len(bundle.cells())


def test_a_fit_that_is_killed_goes_on(bundle, tmp_path, undisturbed):
    process = fit(bundle, tmp_path)
    time.sleep(1.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    whole_cells(tmp_path)
    check_to_the_end(bundle, tmp_path, undisturbed)


def test_a_fit_that_is_told_to_stop_goes_on(bundle, tmp_path, undisturbed):
    process = fit(bundle, tmp_path)
    time.sleep(1.5)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode in (0, 128 + signal.SIGTERM)  # a quick machine may be done
    check_to_the_end(bundle, tmp_path, undisturbed)


def test_a_file_system_that_cannot_be_written_to(bundle, tmp_path, undisturbed):
    """A limit on the size of files, beyond which writing is an error: so is a full disk."""

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
def test_a_full_disk(bundle, tmp_path, undisturbed):
    size = ["-o", "size=64k"]
    if subprocess.run(["mount", "-t", "tmpfs", *size, "tmpfs", tmp_path]).returncode:
        pytest.skip("this machine lets nobody mount a disk")
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
def test_snakemake_and_its_jobs(bundle, tmp_path, undisturbed):
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    target = f"results/cells/{bundle.name}.parquet"
    arguments = ("--configfile", str(config), "--rerun-incomplete", "--", target)
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--cores", "1",
         *arguments],
        cwd=tmp_path, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                          "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    while not list(tmp_path.glob("results/store/*/*.parquet")):
        time.sleep(0.05)
    process.kill()
    subprocess.run(["pkill", "-KILL", "-s", str(process.pid), "-f", "onlinefa fit"])
    process.wait()
    assert snakemake(tmp_path, "--unlock", *arguments).returncode == 0
    run = snakemake(tmp_path, *arguments)
    assert run.returncode == 0, run.stdout + run.stderr
    assert rows(tmp_path / target).equals(undisturbed)
