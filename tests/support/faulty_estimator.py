"""An algorithm whose first fit is faulty; tests copy it to the folder of estimators."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from onlinefa.estimators._moments import RunningMoments
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import LowRankGaussian


class Faulty(FactorEstimator):
    """The diagonal control, after a `fault`.

    A fault writes a mark, a file in a folder, and does not occur if its mark exists. A faulty fit
    never ends; with "hoard" it also allocates too much memory, and with "hold" it continues once a
    test has written the mark. Every fit adds a line to the file `fits` in the folder.
    """

    def __init__(self, *, fault: str = "none", marks: str = "") -> None:
        self.fault = fault
        self.marks = marks

    def _start(self, D: int) -> _State:
        return _State(D, self.fault, Path(self.marks))


class _State(RunningMoments):
    def __init__(self, D: int, fault: str, marks: Path) -> None:
        super().__init__(D)
        self.fault, self.marks, self.began = fault, marks, False

    def absorb(self, X: np.ndarray) -> None:
        super().absorb(X)
        if X.shape[1] > 3 and not self.began:  # the fit that compiles kernels has three columns
            self.began = True
            self._misbehave()

    def _misbehave(self) -> None:
        with (self.marks / "fits").open("a") as fits:
            fits.write(f"{self.fault} {self.mean.sum()}\n")
        mark = self.marks / self.fault
        if self.fault == "hold":
            while not mark.exists():
                time.sleep(0.2)
        elif not mark.exists():
            mark.touch()
            hoard = [np.ones(10**7) for _ in range(25 if self.fault == "hoard" else 0)]  # 2 GB
            time.sleep(600)
            del hoard

    def estimate(self) -> LowRankGaussian:
        D = len(self.mean)
        return LowRankGaussian(self.mean, np.zeros((D, 0)), self.second)
