"""A mixture of Laplace approximations of all weights, around several modes."""

from __future__ import annotations

from typing import Any, ClassVar

from onlinefa_benchmark.posteriors._linearised import RUNS
from onlinefa_benchmark.posteriors.laplace_all import LaplaceOfAllWeights


class MultiLaplaceOfAllWeights(LaplaceOfAllWeights):
    """The Laplace approximations of all weights around several modes, equally likely.

    Parameters
    ----------
    runs : int
        Number of modes.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = RUNS

    def __init__(self, *, runs: int = 5) -> None:
        self.runs = runs
