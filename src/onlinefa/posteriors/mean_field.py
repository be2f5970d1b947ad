"""Mean-field variational inference: all weights independent."""

from __future__ import annotations

from typing import ClassVar

from onlinefa.posteriors._variational import Variational
from onlinefa.posteriors.base import Task


class MeanField(Variational):
    """The same family without factors, by gradients through its draws."""

    stochastic: ClassVar[bool] = True

    def __init__(self, *, steps: int = 2000, learning_rate: float = 0.03, draws: int = 8) -> None:
        super().__init__(steps=steps, learning_rate=learning_rate, draws=draws)

    def rank(self, task: Task) -> int:
        return 0
