"""The online estimators on PyTorch tensors, many trials at once, on whatever device these are.

A trial is an estimator of its own: its own rows, initial factors and result. All of them take their
t-th row together, so that a GPU has something to do. Nothing in the loops asks a value of the
device: a trial that leaves the finite numbers goes on as NaN, and says so when asked for a result.

>>> import torch
>>> from onlinefa.batched import OnlineEM
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

from onlinefa.estimators import default_settings
from onlinefa.estimators.base import FitDiverged
from onlinefa.gaussian import LowRankGaussian, NotFinite
from onlinefa.recursion import inner_steps_of, smallest_share


class Batched(ABC):
    """Estimators of S trials. Factors are S x D x K outside, and S x K x D inside as in kernels."""

    def __init__(self, factors: Tensor) -> None:
        S, D, _ = factors.shape
        self.count = 0
        self.mean = factors.new_zeros(S, D)
        self.F = factors.mT.contiguous()
        self.psi = factors.new_ones(S, D)

    @abstractmethod
    def partial_fit(self, X: Tensor) -> None:
        """Learn from X, of shape (S, n, D)."""

    def gaussians(self) -> list[LowRankGaussian | FitDiverged]:
        """What each trial has learned, or that it has diverged."""
        return [
            _gaussian(*parameters)
            for parameters in zip(
                *(value.double().cpu().numpy() for value in self._estimate()), strict=True
            )
        ]

    def _estimate(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.mean, self.F, self.psi


def _gaussian(mean, F, psi) -> LowRankGaussian | FitDiverged:  # type: ignore[no-untyped-def]
    try:
        return LowRankGaussian(mean, F.T, psi)
    except (NotFinite, ValueError) as error:
        return FitDiverged(str(error))


class _OneByOne(Batched):
    def __init__(self, factors: Tensor, warm_up: int = 100) -> None:
        super().__init__(factors)
        self.warm_up = warm_up
        self.eye = torch.eye(self.F.shape[1], dtype=factors.dtype, device=factors.device)

    def partial_fit(self, X: Tensor) -> None:
        for n in range(X.shape[1]):
            self.count += 1
            self.mean = self.mean + (X[:, n] - self.mean) / self.count
            deviation = (X[:, n] - self.mean)[:, :, None]
            C = self.F / self.psi[:, None, :]
            Sigma = _inverse(self.eye + C @ self.F.mT)
            self._learn(deviation, Sigma, Sigma @ (C @ deviation))

    @abstractmethod
    def _learn(self, d: Tensor, Sigma: Tensor, m: Tensor) -> None:
        """Lines 9 and on of Algorithms 1 and 2, with d of shape (S, D, 1) and m (S, K, 1)."""


class OnlineEM(_OneByOne):
    """Algorithm 2 for S trials.

    Parameters
    ----------
    factors : tensor of shape (S, D, K), the initial factors; its device and type are the fit's
    warm_up : as in `onlinefa.OnlineEM`
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


class OnlineSGA(_OneByOne):
    """Algorithm 1 for S trials.

    Parameters
    ----------
    factors : tensor of shape (S, D, K), the initial factors; its device and type are the fit's
    learning_rate, warm_up : as in `onlinefa.OnlineSGA`
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
    factors : tensor of shape (S, D, K), the initial factors; its device and type are the fit's
    block_size, inner_steps, warm_up : as in `onlinefa.RecursiveEM`
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
        before = dict(vars(self))  # tensors are replaced, never changed
        self._absorb(torch.cat(self.waiting, dim=1))
        estimate = super()._estimate()
        vars(self).update(before)
        return estimate

    def _absorb(self, block: Tensor) -> None:
        b, old = block.shape[1], self.rows
        total = old + b
        deviations = block - block[:, :1]  # as in `moments.mean_of`
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
        smallest = torch.where(varies, smallest_share(total) * diagonal, 1.0)
        eye = torch.eye(F.shape[1], dtype=F.dtype, device=F.device)
        for _ in range(inner_steps_of(self.inner_steps, new)):
            W = F / torch.maximum(psi, smallest)[:, None, :]
            M = _inverse(eye + W @ F.mT)
            SW = (W @ Y.mT) @ Y + share * ((W @ F0.mT) @ F0 + W * psi0[:, None, :])
            cross = M @ SW
            second = M + (cross @ W.mT) @ M
            F = torch.linalg.solve_triangular(_root(second), cross, upper=False)
            psi = torch.maximum(diagonal - torch.sum(F**2, dim=1), smallest)
        self.F, self.psi = F, torch.where(varies, psi, 0.0)


def _root(matrix: Tensor) -> Tensor:
    """Cholesky factors, or NaN for what has none: to raise would be to wait for the device."""
    root, trouble = torch.linalg.cholesky_ex(matrix)
    return torch.where((trouble == 0)[:, None, None], root, torch.nan)


def _inverse(matrix: Tensor) -> Tensor:
    """Of symmetric positive definite matrices."""
    return torch.cholesky_inverse(_root(matrix))


_REGISTERED = {"online_em": OnlineEM, "online_sga": OnlineSGA, "recursive_em": RecursiveEM}


def build(name: str, factors: Tensor, settings: Mapping[str, Any]) -> Batched:
    """An algorithm of the registry with settings that `supports` has agreed to."""
    own = {key: value for key, value in settings.items() if key in _parameters(name)}
    model: Batched = _REGISTERED[name](factors, **own)
    return model


def supports(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether an algorithm of the registry is here, and whatever its settings ask for."""
    default = default_settings(name)
    return name in _REGISTERED and all(
        key in _parameters(name) or (key in default and value == default[key])
        for key, value in settings.items()
    )


def _parameters(name: str) -> set[str]:
    return set(inspect.signature(_REGISTERED[name]).parameters) - {"factors"}
