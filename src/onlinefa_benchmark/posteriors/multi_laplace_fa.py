"""A mixture of low-rank Laplace approximations, around several modes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from onlinefa_benchmark.posteriors._linearised import RUNS
from onlinefa_benchmark.posteriors.laplace_fa import LaplaceFA


class MultiLaplaceFA(LaplaceFA):
    """Laplace approximations in O(DK) around several modes, equally likely.

    Parameters
    ----------
    runs : int
        Number of modes.
    estimator, factors, epochs, labels
        As in `LaplaceFA`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = LaplaceFA._parameter_constraints | RUNS

    def __init__(
        self,
        *,
        runs: int = 5,
        estimator: Literal["incremental_pca", "recursive_em", "shrunk_em"] = "incremental_pca",
        factors: int | None = None,
        epochs: int = 1,
        labels: Literal["drawn", "observed"] = "drawn",
    ) -> None:
        super().__init__(estimator=estimator, factors=factors, epochs=epochs, labels=labels)
        self.runs = runs
