"""Tests of the progress display: bars on a terminal, a few lines elsewhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from contextlib import suppress

import pytest
from support.misbehaving import make_misbehaving
from support.running import ROOT, command, environment, snakemake

PROFILE = ("--profile", str(ROOT / "profiles" / "local"))
FITS = ("--until", "fit")


def on_a_terminal(directory, *arguments, **variables):
    """Return a run's output on a terminal, without cursor movements, and its exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(directory, *arguments),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(TERM="xterm", COLUMNS="100", **variables),
    )
    os.close(theirs)
    parts = []
    with suppress(OSError):  # raised at the end of a terminal's output
        while part := os.read(ours, 4096):
            parts.append(part)
    os.close(ours)
    text = b"".join(parts).decode()
    assert "\x1b[" in text
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text), process.wait()


@pytest.fixture(scope="module")
def failed_run(tmp_path_factory):
    """Run two jobs of two cells each, one of which fails, without a terminal."""
    folder = tmp_path_factory.mktemp("progress")
    fail = 'if number == 2: raise ValueError("no such luck")'
    source, arguments, name = make_misbehaving(folder, fail)
    run = snakemake(folder, *PROFILE, *arguments, *FITS, source=source)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder, source, arguments, name, run


def test_output_without_a_terminal_has_few_lines_and_no_control_characters(failed_run):
    *_, run = failed_run
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", run.stdout + run.stderr)
    lines = run.stderr.splitlines()
    shown = [line for line in lines if line.startswith("fits ")]
    assert shown[-1] == "fits 3/4 cells, 1 failed"
    assert 1 <= len(shown) <= len(lines) <= 12
    assert "Finished. Open results/report.html" in run.stdout


def test_a_terminal_shows_cells_in_the_store_as_done_from_the_start(failed_run):
    folder, source, arguments, name, _ = failed_run
    (folder / f"results/cells/{name}.parquet").unlink()
    shown, code = on_a_terminal(folder, *PROFILE, *arguments, *FITS, source=source)
    assert code == 0, shown
    bars = re.findall(r"fits +[━╺╸]+ (\d)/2 cells", shown)
    # One cell was fitted before. The failed cell is fitted again, and succeeds.
    assert set(bars) == {"1", "2"}
    assert bars[-1] == "2"
    assert "Finished. Open results/report.html" in shown
