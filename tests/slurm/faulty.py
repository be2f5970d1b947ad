"""An algorithm that misbehaves the first time: put among the estimators by the tests."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import LowRankGaussian
from onlinefa.moments import RunningMoments


class Faulty(FactorEstimator):
    """The diagonal control, after a `fault`.

    A fault leaves a mark in a folder, and is not repeated where there is one: the fit never ends,
    and for "hoard" it takes too much memory. "hold" goes on as soon as someone else leaves its
    mark. Every fit adds a line to `fits` there.
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
        if X.shape[1] > 3 and not self.began:  # three columns are the fit that is thrown away
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
