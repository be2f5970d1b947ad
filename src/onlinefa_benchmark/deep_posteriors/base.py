"""The interface of posteriors of deep networks, and of their predictions.

Files of algorithms import PyTorch inside of functions only, because a plan reads their settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from torch import Tensor

    from onlinefa.estimators.base import FactorEstimator
    from onlinefa_benchmark.deep.task import DeepTask

__all__ = ["DeepPosterior", "Predictor"]


class Predictor(Protocol):
    """Class probabilities of a posterior."""

    @property
    def networks(self) -> int:
        """The number of networks that are drawn; 0 if predictions have a closed form."""

    @property
    def size(self) -> int:
        """The number of bytes that predictions need."""

    def predict(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return class probabilities, of shape (N, C), for batches of images."""


class DeepPosterior(BaseEstimator, ABC):
    """Base class of posteriors of deep networks.

    Parameters of the constructor are keyword-only, and their defaults are plain values.

    Attributes
    ----------
    runs : int
        Number of training runs of SGD that the posterior depends on.
    needs : str or None
        A package that the posterior imports and that is not installed with this one.
    extra : str
        The extra of this distribution that installs the package.
    """

    runs: int = 1
    needs: ClassVar[str | None] = None
    extra: ClassVar[str] = "peers"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def observer(self, K: int, random_state: int) -> FactorEstimator | None:
        """Return the estimator that learns from the walk of each run, if there is one.

        Parameters
        ----------
        K : int
            Number of factors.
        random_state : int
            Seed of the estimator.
        """
        return None

    def prepare(self) -> None:
        """Import packages, so that this does not count as time of the fit."""

    @abstractmethod
    def build(self, task: DeepTask) -> Predictor:
        """Return the predictions of the posterior."""
