"""Online estimators on PyTorch tensors, for many trials at once, on the device of the tensors.

Each trial has its own rows, initial factors and result. All trials process their t-th row together,
so that a GPU is used well. The loops never read a value from the device: a trial that diverges
continues with NaN, which is reported when the results are read.

Examples
--------
>>> import torch
>>> from onlinefa.torch.batched import OnlineEM
>>> model = OnlineEM(torch.linalg.qr(torch.randn(3, 5, 2, dtype=torch.float64))[0])
>>> model.partial_fit(torch.randn(3, 500, 5, dtype=torch.float64))
>>> [gaussian.factors.shape for gaussian in model.gaussians()]
[(5, 2), (5, 2), (5, 2)]
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from onlinefa._arrays import invert, invert_root, make_root
from onlinefa.estimators._block_em import BlockLearner, BlockState, RecursiveModel
from onlinefa.estimators._shrunk_model import ShrunkModel
from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.estimators.online_em import OnlineEM as _OnlineEM
from onlinefa.estimators.online_sga import OnlineSGA as _OnlineSGA
from onlinefa.estimators.recursive_em import RecursiveEM as _RecursiveEM
from onlinefa.estimators.shrunk_em import ShrunkEM as _ShrunkEM
from onlinefa.estimators.stepwise_em import StepwiseEM as _StepwiseEM
from onlinefa.gaussian import Array, LowRankGaussian, NotFinite

__all__ = [
    "Batched",
    "OnlineEM",
    "OnlineSGA",
    "RecursiveEM",
    "ShrunkEM",
    "StepwiseEM",
    "build",
    "supports",
]


class Batched(ABC):
    """Base class for estimators of S trials."""

    @abstractmethod
    def partial_fit(self, X: Tensor) -> None:
        """Learn from further rows of each trial.

        Parameters
        ----------
        X : torch.Tensor of shape (S, n, D)
            Rows.
        """

    @abstractmethod
    def _parameters(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return means, factors of shape (S, D, K) and noise of all trials."""

    def gaussians(self) -> list[LowRankGaussian | FitDiverged]:
        """Return the estimate of each trial.

        Returns
        -------
        gaussians : list of LowRankGaussian or FitDiverged
            The estimates; for a trial that has diverged, an exception, which is not raised.
        """
        return [
            _make_gaussian(*parameters)
            for parameters in zip(
                *(value.double().cpu().numpy() for value in self._parameters()), strict=True
            )
        ]


def _make_gaussian(mean: Array, F: Array, psi: Array) -> LowRankGaussian | FitDiverged:
    try:
        return LowRankGaussian(mean, F, psi)
    except (NotFinite, ValueError) as error:
        return FitDiverged(str(error))


class _RowByRow(Batched):
    # Factors are stored as S x K x D, as in the kernels.

    def __init__(self, factors: Tensor, warm_up: int = 100) -> None:
        S, D, _ = factors.shape
        self.count = 0
        self.mean = factors.new_zeros(S, D)
        self.F = factors.mT.contiguous()
        self.psi = factors.new_ones(S, D)
        self.warm_up = warm_up
        self.eye = torch.eye(self.F.shape[1], dtype=factors.dtype, device=factors.device)

    def partial_fit(self, X: Tensor) -> None:
        """Learn from further rows of each trial, of shape (S, n, D)."""
        for n in range(X.shape[1]):
            self.count += 1
            self.mean = self.mean + (X[:, n] - self.mean) / self.count
            deviation = (X[:, n] - self.mean)[:, :, None]
            C = self.F / self.psi[:, None, :]
            Sigma = invert(self.eye + C @ self.F.mT)
            self._learn(deviation, Sigma, Sigma @ (C @ deviation))

    def _parameters(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.mean, self.F.mT, self.psi

    @abstractmethod
    def _learn(self, d: Tensor, Sigma: Tensor, m: Tensor) -> None:
        """Update the model: Algorithms 1 and 2 from line 9 on.

        d has shape (S, D, 1) and m has shape (S, K, 1).
        """


class OnlineEM(_RowByRow):
    """Online EM, Algorithm 2 of the thesis, for S trials.

    Parameters
    ----------
    factors : torch.Tensor of shape (S, D, K)
        Initial factors. The fit has their device and type.
    warm_up : int, default=100
        Number of rows during which the factors and the noise keep their initial values.
    """

    def __init__(self, factors: Tensor, warm_up: int = 100) -> None:
        super().__init__(factors, warm_up)
        self.A, self.d2 = torch.zeros_like(self.F), torch.zeros_like(self.psi)
        self.B = self.F.new_zeros(len(self.F), len(self.eye), len(self.eye))

    def _learn(self, d: Tensor, Sigma: Tensor, m: Tensor) -> None:
        t = self.count
        self.A = self.A + (m @ d.mT - self.A) / t
        self.B = self.B + (m @ m.mT - self.B) / t
        self.d2 = self.d2 + (d[:, :, 0] ** 2 - self.d2) / t
        if t > self.warm_up:
            self.F = invert(Sigma + self.B) @ self.A
            noise = self.d2 - torch.sum(self.F * self.A, dim=1)
            self.psi = noise.clamp(min=math.sqrt(torch.finfo(noise.dtype).tiny))


class OnlineSGA(_RowByRow):
    """Online gradient ascent, Algorithm 1 of the thesis, for S trials.

    Parameters
    ----------
    factors : torch.Tensor of shape (S, D, K)
        Initial factors. The fit has their device and type.
    learning_rate : float, default=0.001
        Step along the gradient of the factors and of beta = log psi.
    warm_up : int, default=100
        Number of rows during which only the running mean changes.
    """

    def __init__(self, factors: Tensor, learning_rate: float = 0.001, warm_up: int = 100) -> None:
        super().__init__(factors, warm_up)
        self.learning_rate = learning_rate
        self.beta = torch.zeros_like(self.psi)

    def _learn(self, d: Tensor, Sigma: Tensor, m: Tensor) -> None:
        if self.count <= self.warm_up:
            return
        G = (Sigma + m @ m.mT) @ self.F
        squares = d[:, :, 0] ** 2 + torch.sum(self.F * (G - 2 * m @ d.mT), dim=1)
        self.F = self.F + self.learning_rate * (m @ d.mT - G) / self.psi[:, None, :]
        self.beta = self.beta + self.learning_rate * (squares / self.psi - 1) / 2
        self.psi = torch.exp(self.beta)


class StepwiseEM(_RowByRow):
    """Stepwise EM with averaged statistics (Cappe and Moulines, 2009) for S trials.

    Parameters
    ----------
    factors : torch.Tensor of shape (S, D, K)
        Initial factors, in units of the standard deviations of the columns. The fit has their
        device and type.
    exponent : float, default=0.8
        Rate at which the weights of rows decrease.
    offset : float, default=300.0
        The t-th row has the weight (t + offset)^-exponent.
    warm_up : int, default=100
        Number of rows whose variances set the scale of the initial model.
    """

    def __init__(
        self, factors: Tensor, exponent: float = 0.8, offset: float = 300.0, warm_up: int = 100
    ) -> None:
        super().__init__(factors, warm_up)
        self.exponent, self.offset = exponent, offset
        self.initial, self.scatter = self.F, torch.zeros_like(self.psi)
        self.A, self.d2 = torch.zeros_like(self.F), torch.zeros_like(self.psi)
        self.B = self.eye.expand(len(self.F), -1, -1)
        self.averages: tuple[Tensor, ...] = self.A, self.B, self.d2

    def _learn(self, d: Tensor, Sigma: Tensor, m: Tensor) -> None:
        squares = d[:, :, 0] ** 2
        if self.count <= self.warm_up:
            # d is the deviation from the mean that includes the row.
            self.scatter = self.scatter + squares * (self.count / max(self.count - 1, 1))
            self._begin()
            return
        weight = (self.count + self.offset) ** -self.exponent
        self.A = self.A + weight * (m @ d.mT - self.A)
        self.B = self.B + weight * (Sigma + m @ m.mT - self.B)
        self.d2 = self.d2 + weight * (squares - self.d2)
        self.F = invert(self.B) @ self.A
        noise = self.d2 - torch.sum(self.F * self.A, dim=1)
        self.psi = noise.clamp(min=math.sqrt(torch.finfo(noise.dtype).tiny))
        share = 1 / (self.count - self.warm_up)
        self.averages = tuple(
            mean + share * (value - mean)
            for mean, value in zip(self.averages, (self.A, self.B, self.d2), strict=True)
        )

    def _begin(self) -> None:
        """Start from a model with equal parts of the variances, and its own statistics."""
        half = self.scatter / self.count / 2
        self.F = self.A = self.initial * torch.sqrt(half)[:, None, :]
        self.psi = half.clamp(min=math.sqrt(torch.finfo(half.dtype).tiny))
        self.d2 = torch.sum(self.F**2, dim=1) + self.psi
        self.averages = self.A, self.B, self.d2

    def _parameters(self) -> tuple[Tensor, Tensor, Tensor]:
        A, B, d2 = self.averages
        F = invert_root(make_root(B)) @ A
        return self.mean, F.mT, (d2 - torch.sum(F**2, dim=1)).clamp(min=0)


class RecursiveEM(Batched):
    """Recursive EM for S trials.

    Parameters
    ----------
    empty : torch.Tensor of shape (S, D, K)
        A tensor with the shape, type and device of the factors. Its values are not used: EM starts
        from the principal components of the first block.
    block_size : int, default=100
        Number of rows that are absorbed at once. Rows are stored until a block is full.
    inner_steps : int, default=5
        Number of steps of EM for each block, more for the first ones.
    warm_up : int, default=100
        Number of rows of the first block, whose variances set the scale.
    forgetting : int or None, default=None
        Effective sample size for rows whose distribution changes.
    """

    def __init__(
        self,
        empty: Tensor,
        block_size: int = 100,
        inner_steps: int = 5,
        warm_up: int = 100,
        forgetting: int | None = None,
    ) -> None:
        learner = self._make_learner(RecursiveModel(empty, inner_steps, forgetting))
        self._state = BlockState(learner, warm_up, block_size)

    def _make_learner(self, model: RecursiveModel) -> BlockLearner:
        return model

    def partial_fit(self, X: Tensor) -> None:
        """Learn from further rows of each trial, of shape (S, n, D)."""
        self._state.absorb(X)

    def _parameters(self) -> tuple[Tensor, Tensor, Tensor]:
        return self._state.parameters()


class ShrunkEM(RecursiveEM):
    """Recursive EM with shrunk factors for S trials; the parameters are those of `RecursiveEM`."""

    def _make_learner(self, model: RecursiveModel) -> BlockLearner:
        return ShrunkModel(model)


_BATCHED: dict[str, Callable[..., Batched]] = {
    "online_em": OnlineEM,
    "online_sga": OnlineSGA,
    "recursive_em": RecursiveEM,
    "shrunk_em": ShrunkEM,
    "stepwise_em": StepwiseEM,
}
_ESTIMATORS: dict[str, type[FactorEstimator]] = {
    "online_em": _OnlineEM,
    "online_sga": _OnlineSGA,
    "recursive_em": _RecursiveEM,
    "shrunk_em": _ShrunkEM,
    "stepwise_em": _StepwiseEM,
}
# Parameters of the estimator classes that are not settings: `factors` takes their place here.
_NOT_SETTINGS = {"n_components", "init_factors", "random_state"}


def build(name: str, factors: Tensor, settings: Mapping[str, Any]) -> Batched:
    """Create the estimators of an algorithm.

    Parameters
    ----------
    name : str
        Name of the algorithm's module in `onlinefa.estimators`.
    factors : torch.Tensor of shape (S, D, K)
        Initial factors, for algorithms that do not find their own.
    settings : mapping
        Settings that `supports` accepts.

    Returns
    -------
    estimators : Batched
        Estimators of S trials.
    """
    own = {key: value for key, value in settings.items() if key in _get_settings(name)}
    return _BATCHED[name](factors, **own)


def supports(name: str, settings: Mapping[str, Any]) -> bool:
    """Return whether an algorithm is available for tensors with the given settings.

    Parameters
    ----------
    name : str
        Name of the algorithm's module in `onlinefa.estimators`.
    settings : mapping
        Settings of the estimator class.

    Returns
    -------
    supported : bool
        Whether the algorithm is available, and every setting is either available as well or has
        its default value.
    """
    if name not in _BATCHED:
        return False
    defaults = {
        key: parameter.default
        for key, parameter in inspect.signature(_ESTIMATORS[name]).parameters.items()
        if key not in _NOT_SETTINGS
    }
    return all(
        key in _get_settings(name) or (key in defaults and value == defaults[key])
        for key, value in settings.items()
    )


def _get_settings(name: str) -> set[str]:
    return set(inspect.signature(_BATCHED[name]).parameters) - {"empty", "factors"}
