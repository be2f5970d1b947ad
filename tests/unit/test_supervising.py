"""A process that is killed leaves word of what it was at, and no orphan."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from onlinefa.cell import Bundle, Group
from onlinefa.supervising import Notice, supervise

AXES = {"algorithm": "diagonal", "D": 4, "K": 2, "spectrum": "1-10"}
BUNDLE = Bundle("synthetic", AXES, (Group(AXES, {"dataset": "algorithm_3"}),), (0, 1, 2))

# The real command line, with fits that do as the test says.
FIT = """
import os, signal, sys, time
from pathlib import Path
from onlinefa import experiments
from onlinefa.__main__ import main
from onlinefa.experiments.tracking import Measurement

def run(cell, tables):
    with (tables / "fits").open("a") as fits:
        fits.write(f"{cell.seed} {os.getpid()}\\n")
    if cell.seed == 1:
        MISBEHAVE
    yield Measurement(5, "relative_frobenius", 0.5, "ok", "", 0.1)

experiments.load = lambda name: run
sys.exit(main(sys.argv[1:]))
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
WAIT = "time.sleep(60)"


def start(folder, misbehave, attempt=1):
    """The command as a rule calls it: standard error goes into a log."""
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-c", FIT.replace("MISBEHAVE", misbehave), "fit",
             "--bundle", BUNDLE.to_json(), "--code", BUNDLE.code, "--store", folder / "store",
             "--tables", folder, "--output", folder / "rows.parquet",
             "--attempt", str(attempt), "--attempts", "2"],
            stderr=log,
        )  # fmt: skip


def fits(folder):
    """Seeds and processes, in the order in which they were begun."""
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
    """The process that waits in the middle of seed 1."""
    until(lambda: len(fits(folder)) == 2)
    return fits(folder)[1][1]


def is_gone(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_killed_fit_fails_while_there_are_attempts(tmp_path):
    assert start(tmp_path, KILL).wait() == 128 + 9
    assert not (tmp_path / "rows.parquet").exists()
    assert len(list(tmp_path.glob("store/*/*.parquet"))) == 1  # what came before it


def test_a_fit_that_is_killed_at_last_is_a_row_and_the_others_go_on(tmp_path):
    assert start(tmp_path, KILL, attempt=2).wait() == 0
    rows = {row["seed"]: row for row in pq.read_table(tmp_path / "rows.parquet").to_pylist()}
    assert {seed: row["status"] for seed, row in rows.items()} == {0: "ok", 1: "failed", 2: "ok"}
    first, *log = rows[1]["message"].splitlines()
    assert first == "killed by signal 9, SIGKILL: out of memory?"
    assert any(line.endswith("spectrum 1-10, seed 1: fitting") for line in log)
    assert [seed for seed, _ in fits(tmp_path)] == [0, 1, 2]
    assert len(list(tmp_path.glob("store/*/*.parquet"))) == 2


@pytest.mark.parametrize("attempt", [1, 2])
@pytest.mark.parametrize("request_", [signal.SIGTERM, signal.SIGINT])
def test_a_request_to_stop_is_forwarded_and_nobodys_failure(tmp_path, attempt, request_):
    job = start(tmp_path, WAIT, attempt)
    child = waiting(tmp_path)
    assert child != job.pid
    job.send_signal(request_)
    assert job.wait(timeout=30) == 128 + request_
    assert is_gone(child)
    assert not (tmp_path / "rows.parquet").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can do that")
def test_no_fit_goes_on_without_its_parent(tmp_path):
    job = start(tmp_path, WAIT)
    child = waiting(tmp_path)
    job.kill()
    job.wait()
    until(lambda: is_gone(child))


def test_who_is_killed_at_nothing_is_not_started_again(capfd):
    def work(begin, lost):
        begin(["a"])
        begin([])
        os.kill(os.getpid(), signal.SIGKILL)

    assert supervise(work, is_last_attempt=True) == 128 + 9


def test_each_child_is_told_what_is_lost(tmp_path, capfd):
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
    assert "killed by signal 24, SIGXCPU; the others go on" in capfd.readouterr().err


def test_an_exception_is_an_exit_code(capfd):
    def work(begin, lost):
        raise ValueError("nothing of the kind")

    assert supervise(work, is_last_attempt=True) == 1
    assert "ValueError: nothing of the kind" in capfd.readouterr().err


def test_a_notice_is_the_last_that_was_written():
    notice = Notice()
    assert notice.read() == []
    for names in (["a" * 32, "b" * 32], ["c"], []):
        notice.write(names)
        assert notice.read() == names
