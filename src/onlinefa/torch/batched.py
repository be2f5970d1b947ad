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
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from onlinefa.estimators._block_em import compute_noise_floor, count_inner_steps
from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.estimators.online_em import OnlineEM as _OnlineEM
from onlinefa.estimators.online_sga import OnlineSGA as _OnlineSGA
from onlinefa.estimators.recursive_em import RecursiveEM as _RecursiveEM
from onlinefa.gaussian import Array, LowRankGaussian, NotFinite

__all__ = ["Batched", "OnlineEM", "OnlineSGA", "RecursiveEM", "build", "supports"]


class Batched(ABC):
    """Base class for estimators of S trials.

    Parameters
    ----------
    factors : torch.Tensor of shape (S, D, K)
        Initial factors. The fit has their device and type.
    """

    # Factors are stored as S x K x D, as in the kernels.

    def __init__(self, factors: Tensor) -> None:
        S, D, _ = factors.shape
        self.count = 0
        self.mean = factors.new_zeros(S, D)
        self.F = factors.mT.contiguous()
        self.psi = factors.new_ones(S, D)

    @abstractmethod
    def partial_fit(self, X: Tensor) -> None:
        """Learn from further rows of each trial.

        Parameters
        ----------
        X : torch.Tensor of shape (S, n, D)
            Rows.
        """

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
                *(value.double().cpu().numpy() for value in self._estimate()), strict=True
            )
        ]

    def _estimate(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.mean, self.F, self.psi


def _make_gaussian(mean: Array, F: Array, psi: Array) -> LowRankGaussian | FitDiverged:
    try:
        return LowRankGaussian(mean, F.T, psi)
    except (NotFinite, ValueError) as error:
        return FitDiverged(str(error))


class _RowByRow(Batched):
    def __init__(self, factors: Tensor, warm_up: int = 100) -> None:
        super().__init__(factors)
        self.warm_up = warm_up
        self.eye = torch.eye(self.F.shape[1], dtype=factors.dtype, device=factors.device)

    def partial_fit(self, X: Tensor) -> None:
        """Learn from further rows of each trial, of shape (S, n, D)."""
        for n in range(X.shape[1]):
            self.count += 1
            self.mean = self.mean + (X[:, n] - self.mean) / self.count
            deviation = (X[:, n] - self.mean)[:, :, None]
            C = self.F / self.psi[:, None, :]
            Sigma = _inverse(self.eye + C @ self.F.mT)
            self._learn(deviation, Sigma, Sigma @ (C @ deviation))

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
            self.F = _inverse(Sigma + self.B) @ self.A
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


class RecursiveEM(Batched):
    """Recursive EM for S trials.

    Parameters
    ----------
    factors : torch.Tensor of shape (S, D, K)
        Initial factors, in units of the standard deviations of the columns. The fit has their
        device and type.
    block_size : int, default=100
        Number of rows that are absorbed at once. Rows are stored until a block is full.
    inner_steps : int, default=5
        Number of steps of EM for each block, more for the first ones.
    warm_up : int, default=100
        Number of rows of the first block, whose variances set the scale.
    """

    def __init__(
        self, factors: Tensor, block_size: int = 100, inner_steps: int = 5, warm_up: int = 100
    ) -> None:
        super().__init__(factors)
        self.block_size = block_size
        self.inner_steps = inner_steps
        self.rows = 0
        self.room = warm_up
        self.waiting: list[Tensor] = []
        self.variances = torch.zeros_like(self.psi)

    def partial_fit(self, X: Tensor) -> None:
        """Learn from further rows of each trial, of shape (S, n, D)."""
        self.count += X.shape[1]
        while X.shape[1] >= self.room:
            self._absorb(torch.cat([*self.waiting, X[:, : self.room]], dim=1))
            self.waiting, X, self.room = [], X[:, self.room :], self.block_size
        if X.shape[1]:
            self.waiting.append(X.clone())
            self.room -= X.shape[1]

    def _estimate(self) -> tuple[Tensor, Tensor, Tensor]:
        if not self.waiting:
            return super()._estimate()
        before = dict(vars(self))  # tensors are replaced, never modified
        self._absorb(torch.cat(self.waiting, dim=1))
        estimate = super()._estimate()
        vars(self).update(before)
        return estimate

    def _absorb(self, block: Tensor) -> None:
        b, old = block.shape[1], self.rows
        total = old + b
        deviations = block - block[:, :1]  # as in `_moments.compute_mean`
        offset = deviations.mean(dim=1)
        shift = block[:, 0] + offset - self.mean
        rows = [deviations - offset[:, None], math.sqrt(old * b / total) * shift[:, None]]
        Y = torch.cat(rows, dim=1) / math.sqrt(total)
        self.mean = self.mean + shift * (b / total)
        new = torch.sum(Y**2, dim=1)
        self.variances = new + (old / total) * self.variances
        if old == 0:
            self.F = self.F * torch.sqrt(self.variances / 2)[:, None, :]
            self.psi = self.variances / 2
        diagonal = new + (old / total) * (torch.sum(self.F**2, dim=1) + self.psi)
        self._maximise(Y, old / total, b / total, total, diagonal)
        self.rows = total

    def _maximise(self, Y: Tensor, share: float, new: float, total: int, diagonal: Tensor) -> None:
        F0, psi0, F, psi = self.F, self.psi, self.F, self.psi
        varies = self.variances > 0
        smallest = torch.where(varies, compute_noise_floor(total) * diagonal, 1.0)
        eye = torch.eye(F.shape[1], dtype=F.dtype, device=F.device)
        for _ in range(count_inner_steps(self.inner_steps, new)):
            W = F / torch.maximum(psi, smallest)[:, None, :]
            M = _inverse(eye + W @ F.mT)
            SW = (W @ Y.mT) @ Y + share * ((W @ F0.mT) @ F0 + W * psi0[:, None, :])
            cross = M @ SW
            second = M + (cross @ W.mT) @ M
            F = torch.linalg.solve_triangular(_root(second), cross, upper=False)
            psi = torch.maximum(diagonal - torch.sum(F**2, dim=1), smallest)
        self.F, self.psi = F, torch.where(varies, psi, 0.0)


def _root(matrix: Tensor) -> Tensor:
    """Compute Cholesky factors, or NaN for matrices that have none.

    To raise an exception, the function would have to wait for the device.
    """
    root, failed = torch.linalg.cholesky_ex(matrix)
    return torch.where((failed == 0)[:, None, None], root, torch.nan)


def _inverse(matrix: Tensor) -> Tensor:
    """Invert symmetric positive definite matrices."""
    return torch.cholesky_inverse(_root(matrix))


_BATCHED: dict[str, type[Batched]] = {
    "online_em": OnlineEM,
    "online_sga": OnlineSGA,
    "recursive_em": RecursiveEM,
}
_ESTIMATORS: dict[str, type[FactorEstimator]] = {
    "online_em": _OnlineEM,
    "online_sga": _OnlineSGA,
    "recursive_em": _RecursiveEM,
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
        Initial factors.
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
    return set(inspect.signature(_BATCHED[name]).parameters) - {"factors"}
