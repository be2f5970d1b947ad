"""The walk of SGD over the weights of a linear regression, and the law it settles into.

A walk is named by its sampling scheme and by what is observed of it. `reshuffled` goes through the
table in a new order every epoch, as the thesis does; `replacement` draws every batch afresh. What
is observed is every step, or, with `_averaged`, the mean over each epoch of N / batch steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.models.linear_regression import LinearRegression

WalkName = Literal["reshuffled", "replacement", "reshuffled_averaged", "replacement_averaged"]
Integers = NDArray[np.int64]
WALKS: tuple[WalkName, ...] = get_args(WalkName)

# Weights of this size are beyond return, and their squares are still numbers.
_BEYOND_RETURN = 1e100
_MOST_ITERATIONS = 10_000


class WalkDiverged(ArithmeticError):
    """SGD has left the numbers that are of any use: the learning rate is too large."""


class NoStationaryLaw(ArithmeticError):
    """The walk does not settle: the learning rate is too large."""


@dataclass(frozen=True, eq=False)
class Descent:
    """How SGD runs over a regression."""

    regression: LinearRegression
    rate: float
    batch: int
    walk: WalkName

    @property
    def reshuffled(self) -> bool:
        return self.walk.startswith("reshuffled")

    @property
    def averaged(self) -> bool:
        return self.walk.endswith("averaged")

    @property
    def batch_sizes(self) -> Integers:
        """Of the steps of one epoch. A reshuffled epoch ends with what is left of the table."""
        full, rest = divmod(self.regression.N, self.batch)
        if not self.reshuffled:
            return np.full(full + (rest > 0), self.batch)
        return np.array([self.batch] * full + [rest] * (rest > 0))


class Walker:
    """A walk in progress."""

    def __init__(self, descent: Descent, theta: Array, random: np.random.Generator) -> None:
        self.descent = descent
        self.theta = np.array(theta, dtype=np.float64)
        self.random = random
        self.epoch = 0

    def observe(self, epochs: int) -> Array:
        """Go on for some epochs; return a row per step, or per epoch if epochs are averaged."""
        from onlinefa.kernels.sgd import descend

        descent, regression = self.descent, self.descent.regression
        sizes = descent.batch_sizes
        steps = np.empty((epochs, len(sizes), regression.D))
        for iterates in steps:
            descend(
                regression.X, regression.y, self._order(sizes), sizes, descent.rate,
                regression.decay, self.theta, iterates,
            )  # fmt: skip
            self.epoch += 1
            if not (np.abs(self.theta) < _BEYOND_RETURN).all():
                raise WalkDiverged(
                    f"SGD diverged in epoch {self.epoch}, with learning rate {descent.rate}"
                )
        return steps.mean(axis=1) if descent.averaged else steps.reshape(-1, regression.D)

    def _order(self, sizes: Integers) -> Integers:
        N = self.descent.regression.N
        if self.descent.reshuffled:
            return self.random.permutation(N)
        return self.random.integers(N, size=int(sizes.sum()))


def walk_name(word: str) -> WalkName:
    """The walk of that name."""
    for name in WALKS:
        if name == word:
            return name
    raise ValueError(f"unknown walk '{word}' (there are: {', '.join(WALKS)})")


def initial_weights(D: int, random: np.random.Generator) -> Array:
    """Where training starts: uniform in +-1 / sqrt(D), as is the custom for linear layers."""
    return random.uniform(-1, 1, size=D) / np.sqrt(D)


def stationary_law(descent: Descent) -> LowRankGaussian:
    """The law of what is observed of a walk that has gone on for ever.

    Near the minimum m, a step is e <- (I - rate H) e - rate xi, with e = theta - m, the Hessian H
    and a gradient noise xi with covariance C(S) / batch, which itself depends on the covariance S
    of e because the noise of a gradient grows with the distance from the minimum. For a small rate
    S solves the Lyapunov equation H S + S H = rate C / batch. Here it is solved without that
    assumption, and for batches drawn with replacement the result is exact.

    For reshuffled epochs it is an approximation to first order in the rate. Their batches are
    negatively correlated, and here the part of the noise that grows with e is taken to be so as
    well, although e has moved on between two batches; and the mean of the walk, which is a little
    off the minimum, is taken to be the minimum. On the tables of chapter 6, with batches of 32 and
    a third of the critical rate, the total variance of steps comes out up to 8 % too small, that of
    averages over epochs up to 30 %.
    """
    regression = descent.regression
    if descent.rate >= critical_rate(regression, descent.batch):
        raise NoStationaryLaw(f"learning rate {descent.rate} is too large: SGD does not settle")
    h, V = np.linalg.eigh(regression.hessian())
    at_minimum, growth = _noise_at_minimum(regression), _noise_growth(regression)
    S = np.zeros_like(at_minimum)
    for _ in range(_MOST_ITERATIONS):
        before, C = S, at_minimum + (growth @ S.ravel()).reshape(S.shape)
        every_step, averages = _covariances(descent, 1 - descent.rate * h, V.T @ C @ V)
        S = V @ every_step @ V.T
        if np.abs(S - before).max() <= 1e-12 * np.abs(S).max():
            covariance = V @ averages @ V.T if descent.averaged else S
            return LowRankGaussian.of_covariance(regression.posterior.mean, covariance)
    raise NoStationaryLaw(f"learning rate {descent.rate} is all but too large")


def critical_rate(regression: LinearRegression, batch: int) -> float:
    """The learning rate from which on the covariance of a walk with replacement grows for ever.

    A step takes the covariance S to (I - rate H) S (I - rate H) plus rate^2 / batch times a linear
    function of S: a matrix on D^2 numbers, whose largest eigenvalue must be below one.
    """
    from scipy.optimize import brentq

    H, growth = regression.hessian(), _noise_growth(regression)

    def excess(rate: float) -> float:
        step = np.eye(regression.D) - rate * H
        operator = np.kron(step, step) + rate**2 / batch * growth
        return float(np.linalg.eigvalsh(operator)[-1] - 1)

    unstable = 2 / float(np.linalg.eigvalsh(H)[-1])  # even without any noise
    stable = unstable / 2
    while excess(stable) > 0:
        stable /= 2
    return float(brentq(excess, stable, unstable))


def _noise_at_minimum(regression: LinearRegression) -> Array:
    """Covariance over the table of the gradients of single rows, at the minimum."""
    X, mean = regression.X, regression.posterior.mean
    gradients = -2 * (regression.y - X @ mean)[:, None] * X + 2 * regression.decay * mean
    return gradients.T @ gradients / regression.N


def _noise_growth(regression: LinearRegression) -> Array:
    """What e ~ N(0, S) adds to that covariance, as a matrix that takes the D^2 entries of S."""
    X, D = regression.X, regression.D
    pairs = (X[:, :, None] * X[:, None, :]).reshape(-1, D * D)  # x x' of every row
    moment = X.T @ X / regression.N
    return 4 * (pairs.T @ pairs / regression.N - np.kron(moment, moment))


def _covariances(descent: Descent, a: Array, C: Array) -> tuple[Array, Array]:
    """Covariances of single steps and of means over an epoch, in the Hessian's eigenvectors.

    There, a step multiplies each coordinate by its a. After k steps from the start of an epoch,
    e_k = a^k e_0 - rate sum_i a^(k - i) xi_i. The mean gradients of batches i and j have covariance
    C (own_i [i = j] - shared): with replacement own = 1 / batch and shared = 0; without,
    own = N / (N - 1) / batch and shared = 1 / (N - 1), so that equal batches sum to zero.
    """
    sizes, N = descent.batch_sizes, descent.regression.N
    own = N / (N - 1) / sizes if descent.reshuffled else 1 / sizes
    shared = 1 / (N - 1) if descent.reshuffled else 0.0
    n, aa = len(sizes), np.outer(a, a)
    noise = descent.rate**2 * C

    squares, sums = np.zeros_like(C), np.zeros_like(a)
    added = []  # the covariance that the epoch's own noise has after k steps
    for k in range(n):
        squares, sums = aa * squares + own[k], a * sums + 1
        added.append(noise * (squares - shared * np.outer(sums, sums)))
    start = added[-1] / (1 - aa**n)  # of e_0, which is as an epoch later
    every_step = np.mean([aa ** (k + 1) * start + added[k] for k in range(n)], axis=0)

    # In the mean over the epoch, e_0 has the weight (a + ... + a^n) / n, and xi_i the weight
    # (1 + ... + a^(n - i)) / n.
    sums_of_powers = np.cumsum(a[None, :] ** np.arange(n)[:, None], axis=0) / n
    of_start, of_noise = a * sums_of_powers[-1], sums_of_powers[::-1]
    squares = (of_noise * own[:, None]).T @ of_noise
    sums = of_noise.sum(axis=0)
    averages = np.outer(of_start, of_start) * start
    return every_step, averages + noise * (squares - shared * np.outer(sums, sums))
