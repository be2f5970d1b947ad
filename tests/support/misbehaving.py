"""An algorithm that counts its fits, and fails or is killed in one of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.running import NO_EXPERIMENTS, ROOT, with_file

_SOURCE = """
import os
from pathlib import Path

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.diagonal import _State as Control


class Misbehaving(FactorEstimator):
    _parameter_constraints = {"marks": [str]}

    def __init__(self, *, marks: str = "") -> None:
        self.marks = marks

    def _start(self, D):
        return _State(D, Path(self.marks))


class _State(Control):
    def __init__(self, D, marks):
        super().__init__(D)
        self.fits, self.began = marks / "fits", False

    def absorb(self, X):
        super().absorb(X)
        if X.shape[1] > 3 and not self.began:  # the fit that compiles kernels has three columns
            self.began = True
            with self.fits.open("a") as fits:
                fits.write("one more\\n")
            number = len(self.fits.read_text().splitlines())
            MISBEHAVE
"""


def make_misbehaving(folder, statement):
    """Copy the sources and add an algorithm that runs a statement in its `number`-th fit.

    Returns the sources, the arguments of Snakemake for a grid of two algorithms with two cells
    each, and the name of the job of the misbehaving one.
    """
    source = Path(shutil.copytree(ROOT / "src", folder / "src"))
    file = source / "onlinefa" / "estimators" / "misbehaving.py"
    file.write_text(_SOURCE.replace("MISBEHAVE", statement))
    grid = {
        "algorithms": ["misbehaving", "diagonal"],
        "D": [12],
        "K": [2],
        "spectrum": [[1, 10]],
        "T": [20, 150],
        "seeds": 2,
        "compared_with": "diagonal",
    }
    config = {
        **NO_EXPERIMENTS,
        "seeds_per_job": 2,
        "settings": {"misbehaving": {"marks": str(folder)}},
        "synthetic": grid,
    }
    name = "synthetic/algorithm~misbehaving/D~12/K~2/seeds~0-1"
    return source, with_file(folder, config), name


def count_fits(folder):
    """Return how many fits of the misbehaving algorithm were begun."""
    return len((folder / "fits").read_text().splitlines())
