"""Run programs in a new interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCE = str(Path(__file__).parents[2] / "src")


def run_python(*arguments, folder=None, **variables):
    """Run Python with this source; return the finished process."""
    environment = os.environ | {"PYTHONPATH": SOURCE} | variables
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def run_program(program, **variables):
    """Run a program that must not fail; return what it prints."""
    answer = run_python("-c", program, **variables)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def imported(program, modules):
    """Return which of the modules a new interpreter has imported after a program."""
    look = f"import sys; print('imported:', *(name for name in {modules} if name in sys.modules))"
    return run_program(f"{program}\n{look}").rpartition("imported:")[2].split()
