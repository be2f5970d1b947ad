"""A mixture of low-rank Laplace approximations, around several modes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.deep_posteriors.laplace_fa import LaplaceFA


class MultiLaplaceFA(LaplaceFA):
    """Laplace approximations in O(DK) around several modes, equally likely.

    Parameters
    ----------
    runs : int
        Number of modes.
    validation_images, validation_samples
        As in `LaplaceFA`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = LaplaceFA._parameter_constraints | {
        "runs": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(
        self, *, runs: int = 5, validation_images: int = 500, validation_samples: int = 10
    ) -> None:
        super().__init__(validation_images=validation_images, validation_samples=validation_samples)
        self.runs = runs
