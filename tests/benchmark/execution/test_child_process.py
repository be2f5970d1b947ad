"""Tests of work in a child process: the parent knows the cells of a killed child."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from onlinefa_benchmark.config import config_model
from onlinefa_benchmark.config.files import write_checked
from onlinefa_benchmark.execution.child_process import Notice, supervise
from onlinefa_benchmark.grid import bundles

# The command line, with fits that are controlled by the test.
FIT = """
import os, signal, sys, time
from pathlib import Path
from onlinefa_benchmark import experiments
from onlinefa_benchmark.cli import main
from onlinefa_benchmark.measurement import measured

def run(self, cell, context):
    with Path(sys.argv[-1]).open("a") as fits:
        fits.write(f"{cell.seed} {os.getpid()}\\n")
    if cell.seed == 1:
        MISBEHAVE
    yield measured(5, "relative_frobenius", 0.5, 0.1)

type(experiments.load("synthetic")).run = run
sys.exit(main(sys.argv[1:-1]))
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
WAIT = "time.sleep(60)"

CONFIG = config_model()(
    root_seed=0,
    seeds_per_job=3,
    synthetic={
        "algorithms": ["diagonal"],
        "D": [4],
        "K": [2],
        "spectrum": [[1, 10]],
        "T": [5],
        "seeds": 3,
    },
)


def start(folder, misbehave, attempt=1):
    """Start the command as a rule does: standard error goes into a log."""
    (bundle,) = bundles(CONFIG)
    write_checked(CONFIG, folder / "config.json")
    options = {
        "config": folder / "config.json",
        "digest": bundle.digest(),
        "store": folder / "store",
        "tables": folder,
        "output": folder / "rows.parquet",
        "events": folder / "events.jsonl",
        "attempt": attempt,
        "attempts": 2,
    }
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    program = FIT.replace("MISBEHAVE", misbehave)
    command = [sys.executable, "-c", program, "fit", bundle.name, *arguments, folder / "fits"]
    with (folder / "log").open("w") as log:
        return subprocess.Popen(command, stderr=log)


def fits(folder):
    """Return seeds and processes in the order in which fits were started."""
    file = folder / "fits"
    lines = file.read_text().splitlines() if file.exists() else []
    return [tuple(map(int, line.split())) for line in lines]


def until(happened):
    for _ in range(600):
        if happened():
            return
        time.sleep(0.1)
    raise TimeoutError


def waiting(folder):
    """Return the process that waits in the middle of seed 1."""
    until(lambda: len(fits(folder)) == 2)
    return fits(folder)[1][1]


def is_gone(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.slow
def test_a_killed_fit_fails_the_job_if_attempts_are_left(tmp_path):
    assert start(tmp_path, KILL).wait() == 128 + 9
    assert not (tmp_path / "rows.parquet").exists()
    assert len(list(tmp_path.glob("store/*/*.parquet"))) == 1  # of the previous cell


@pytest.mark.slow
def test_a_fit_killed_in_the_last_attempt_is_recorded_as_failed_and_others_continue(tmp_path):
    assert start(tmp_path, KILL, attempt=2).wait() == 0
    rows = {row["seed"]: row for row in pq.read_table(tmp_path / "rows.parquet").to_pylist()}
    assert {seed: row["status"] for seed, row in rows.items()} == {0: "ok", 1: "failed", 2: "ok"}
    first, *log = rows[1]["message"].splitlines()
    assert first == "killed by signal 9, SIGKILL: out of memory?"
    assert any(line.endswith("spectrum 1-10, seed 1: fitting") for line in log)
    assert [seed for seed, _ in fits(tmp_path)] == [0, 1, 2]
    assert len(list(tmp_path.glob("store/*/*.parquet"))) == 2
    # The second child keeps the events of the first.
    events = map(json.loads, (tmp_path / "events.jsonl").read_text().splitlines())
    assert [(event["name"], event["cells"][0][-6:]) for event in events] == [
        ("started", "seed 0"),
        ("finished", "seed 0"),
        ("started", "seed 1"),
        ("started", "seed 2"),
        ("finished", "seed 2"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("attempt", [1, 2])
@pytest.mark.parametrize("request_", [signal.SIGTERM, signal.SIGINT])
def test_a_request_to_stop_is_forwarded_and_not_a_failure(tmp_path, attempt, request_):
    job = start(tmp_path, WAIT, attempt)
    child = waiting(tmp_path)
    assert child != job.pid
    job.send_signal(request_)
    assert job.wait(timeout=30) == 128 + request_
    assert is_gone(child)
    assert not (tmp_path / "rows.parquet").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can do that")
def test_a_fit_ends_with_its_parent(tmp_path):
    job = start(tmp_path, WAIT)
    child = waiting(tmp_path)
    job.kill()
    job.wait()
    until(lambda: is_gone(child))


def test_a_child_that_is_killed_between_cells_is_not_started_again(capfd):
    def work(begin, lost):
        begin(["a"])
        begin([])
        os.kill(os.getpid(), signal.SIGKILL)

    assert supervise(work, is_last_attempt=True) == 128 + 9


def test_each_child_gets_the_cells_that_are_lost(tmp_path, capfd):
    def work(begin, lost):
        with (tmp_path / "seen").open("a") as seen:
            seen.write(f"{sorted(lost)}\n")
        for names in (["a", "b"], ["c"]):
            if not set(names) <= lost.keys():
                begin(names)
                os.kill(os.getpid(), signal.SIGXCPU)
        return 7

    assert supervise(work, is_last_attempt=True) == 7
    seen = (tmp_path / "seen").read_text().splitlines()
    assert seen == ["[]", "['a', 'b']", "['a', 'b', 'c']"]
    assert "killed by signal 24, SIGXCPU; the other cells continue" in capfd.readouterr().err


def test_an_exception_gives_a_nonzero_exit_code(capfd):
    def work(begin, lost):
        raise ValueError("nothing of the kind")

    assert supervise(work, is_last_attempt=True) == 1
    assert "ValueError: nothing of the kind" in capfd.readouterr().err


def test_a_notice_has_the_names_that_were_written_last():
    notice = Notice()
    assert notice.read() == []
    for names in (["a" * 32, "b" * 32], ["c"], []):
        notice.write(names)
        assert notice.read() == names
