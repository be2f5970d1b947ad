"""What a run shows of itself: bars on a terminal, a few lines elsewhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from contextlib import suppress

import pytest
from running import ROOT, command, environment, snakemake
from test_workflow import misbehaving

PROFILE = ("--profile", str(ROOT / "profiles" / "local"))
FITS = ("--until", "fit")


def on_a_terminal(directory, *arguments, **variables):
    """What a run leaves on a terminal, without the moves of its cursor, and its exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(directory, *arguments), stdin=theirs, stdout=theirs, stderr=theirs,
        env=environment(TERM="xterm", COLUMNS="100", **variables),
    )  # fmt: skip
    os.close(theirs)
    parts = []
    with suppress(OSError):  # that is how a terminal ends
        while part := os.read(ours, 4096):
            parts.append(part)
    os.close(ours)
    text = b"".join(parts).decode()
    assert "\x1b[" in text
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text), process.wait()


@pytest.fixture(scope="module")
def failed_run(tmp_path_factory):
    """Two jobs of two cells each, of which one fails, and no terminal."""
    folder = tmp_path_factory.mktemp("progress")
    fail = 'if number == 2: raise ValueError("no such luck")'
    source, arguments, name = misbehaving(folder, fail)
    run = snakemake(folder, *PROFILE, *arguments, *FITS, source=source)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder, source, arguments, name, run


def test_without_a_terminal_there_are_few_lines_and_no_control_characters(failed_run):
    *_, run = failed_run
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", run.stdout + run.stderr)
    lines = run.stderr.splitlines()
    shown = [line for line in lines if line.startswith("fits ")]
    assert shown[-1] == "fits 3/4 cells, 1 failed"
    assert 1 <= len(shown) <= len(lines) <= 12
    assert "Finished. Open results/report.html" in run.stdout


def test_a_terminal_shows_all_cells_done_those_in_the_store_at_once(failed_run):
    folder, source, arguments, name, _ = failed_run
    (folder / f"results/cells/{name}.parquet").unlink()
    shown, code = on_a_terminal(folder, *PROFILE, *arguments, *FITS, source=source)
    assert code == 0, shown
    bars = re.findall(r"fits +[━╺╸]+ (\d)/2 cells", shown)
    # One cell was fitted before. What has failed is tried again, and fails no more.
    assert set(bars) == {"1", "2"}
    assert bars[-1] == "2"
    assert "Finished. Open results/report.html" in shown
