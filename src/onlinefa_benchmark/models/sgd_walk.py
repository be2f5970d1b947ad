"""The walk of SGD over the weights of a linear regression, and its stationary distribution.

`walk_names` explains the names of walks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onlinefa.gaussian import LowRankGaussian
from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.linear_regression import LinearRegression
from onlinefa_benchmark.models.walk_names import WalkName

Integers = NDArray[np.int64]

# A walk with a weight of this size has diverged. The square of such a weight is still finite.
_DIVERGED = 1e100
_MAX_ITERATIONS = 10_000


class NoStationaryLaw(ArithmeticError):
    """Exception for a walk without a stationary law, because of a large learning rate."""


@dataclass(frozen=True, eq=False)
class SGDSettings:
    """The parameters of SGD over a regression.

    Parameters
    ----------
    regression : LinearRegression
        The regression whose loss is minimised.
    rate : float
        Learning rate.
    batch : int
        Number of rows in a batch.
    walk : {"reshuffled", "replacement", "reshuffled_averaged", "replacement_averaged"}
        How batches are drawn, and whether steps or means over epochs are observed.
    """

    regression: LinearRegression
    rate: float
    batch: int
    walk: WalkName

    @property
    def reshuffled(self) -> bool:
        """Whether each epoch goes through the table once, in a new order."""
        return self.walk.startswith("reshuffled")

    @property
    def averaged(self) -> bool:
        """Whether the mean over each epoch is observed."""
        return self.walk.endswith("averaged")

    @property
    def batch_sizes(self) -> Integers:
        """The number of rows in each step of an epoch.

        The last batch of a reshuffled epoch contains the remaining rows.
        """
        full, rest = divmod(self.regression.N, self.batch)
        if not self.reshuffled:
            return np.full(full + (rest > 0), self.batch)
        return np.array([self.batch] * full + [rest] * (rest > 0))


class Walker:
    """A walk of SGD that can be continued.

    Parameters
    ----------
    sgd : SGDSettings
        The parameters of SGD.
    theta : array of shape (D,)
        Initial weights; they are copied.
    random : numpy.random.Generator
        Source of the batches.

    Attributes
    ----------
    theta : array of shape (D,)
        Current weights.
    epoch : int
        Number of epochs so far.
    """

    def __init__(self, sgd: SGDSettings, theta: Array, random: np.random.Generator) -> None:
        self.sgd = sgd
        self.theta = np.array(theta, dtype=np.float64)
        self.random = random
        self.epoch = 0

    def observe(self, epochs: int) -> Array:
        """Continue the walk for some epochs.

        Parameters
        ----------
        epochs : int
            Number of epochs.

        Returns
        -------
        array of shape (rows, D)
            The weights after each step, or their mean over each epoch if epochs are averaged.

        Raises
        ------
        WalkDiverged
            If a weight becomes too large.
        """
        from onlinefa.kernels.sgd import descend

        sgd, regression = self.sgd, self.sgd.regression
        sizes = sgd.batch_sizes
        steps = np.empty((epochs, len(sizes), regression.D))
        for iterates in steps:
            order = self._draw_order(sizes)
            X, y, rate, decay = regression.X, regression.y, sgd.rate, regression.decay
            descend(X, y, order, sizes, rate, decay, self.theta, iterates)
            self.epoch += 1
            if not (np.abs(self.theta) < _DIVERGED).all():
                raise WalkDiverged(
                    f"SGD diverged in epoch {self.epoch}, with learning rate {sgd.rate}"
                )
        return steps.mean(axis=1) if sgd.averaged else steps.reshape(-1, regression.D)

    def _draw_order(self, sizes: Integers) -> Integers:
        N = self.sgd.regression.N
        if self.sgd.reshuffled:
            return self.random.permutation(N)
        return self.random.integers(N, size=int(sizes.sum()))


def initial_weights(D: int, random: np.random.Generator) -> Array:
    """Draw initial weights uniformly from +-1 / sqrt(D), as is common for linear layers."""
    return random.uniform(-1, 1, size=D) / np.sqrt(D)


def stationary_law(sgd: SGDSettings) -> LowRankGaussian:
    """Compute mean and covariance of the stationary distribution of a walk.

    Near the minimum m, a step is e <- (I - rate H) e - rate xi, with e = theta - m, the Hessian H
    and a gradient noise xi with covariance C(S) / batch, which itself depends on the covariance S
    of e because the noise of a gradient grows with the distance from the minimum. For a small rate
    S solves the Lyapunov equation H S + S H = rate C / batch. Here it is solved without that
    assumption, and for batches drawn with replacement the result is exact.

    For reshuffled epochs it is an approximation to first order in the rate. Their batches are
    negatively correlated. The part of the noise that grows with e is assumed to be correlated in
    the same way, although e changes between two batches, and the mean of the walk, which differs
    slightly from the minimum, is assumed to be the minimum. On the tables of chapter 6, with
    batches of 32 and a third of the critical rate, the total variance of steps is up to 8 % too
    small, that of averages over epochs up to 30 %.

    Parameters
    ----------
    sgd : SGDSettings
        The parameters of SGD.

    Returns
    -------
    LowRankGaussian
        The Gaussian with the mean and covariance of the observed weights.

    Raises
    ------
    NoStationaryLaw
        If the learning rate is too large.
    """
    regression = sgd.regression
    if sgd.rate >= critical_rate(regression, sgd.batch):
        raise NoStationaryLaw(f"learning rate {sgd.rate} is too large: SGD does not settle")
    h, V = np.linalg.eigh(regression.hessian())
    at_minimum, growth = noise_at_minimum(regression), noise_growth(regression)
    S = np.zeros_like(at_minimum)
    for _ in range(_MAX_ITERATIONS):
        before, C = S, at_minimum + (growth @ S.ravel()).reshape(S.shape)
        every_step, averages = _covariances(sgd, 1 - sgd.rate * h, V.T @ C @ V)
        S = V @ every_step @ V.T
        if np.abs(S - before).max() <= 1e-12 * np.abs(S).max():
            covariance = V @ averages @ V.T if sgd.averaged else S
            return LowRankGaussian.of_covariance(regression.posterior.mean, covariance)
    raise NoStationaryLaw(f"learning rate {sgd.rate} is too close to the critical rate")


def critical_rate(regression: LinearRegression, batch: int) -> float:
    """Return the least learning rate at which the covariance of a walk with replacement diverges.

    A step maps the covariance S to (I - rate H) S (I - rate H) plus rate^2 / batch times a linear
    function of S. This map is a D^2 x D^2 matrix, whose largest eigenvalue must be below one.

    Parameters
    ----------
    regression : LinearRegression
        The regression whose loss is minimised.
    batch : int
        Number of rows in a batch.
    """
    from scipy.optimize import brentq

    H, growth = regression.hessian(), noise_growth(regression)

    def excess(rate: float) -> float:
        step = np.eye(regression.D) - rate * H
        operator = np.kron(step, step) + rate**2 / batch * growth
        return float(np.linalg.eigvalsh(operator)[-1] - 1)

    unstable = 2 / float(np.linalg.eigvalsh(H)[-1])  # unstable even without noise
    stable = unstable / 2
    while excess(stable) > 0:
        stable /= 2
    return float(brentq(excess, stable, unstable))


def noise_at_minimum(regression: LinearRegression) -> Array:
    """Return the covariance over the table of the gradients of single rows, at the minimum."""
    X, mean = regression.X, regression.posterior.mean
    gradients = -2 * (regression.y - X @ mean)[:, None] * X + 2 * regression.decay * mean
    return gradients.T @ gradients / regression.N


def noise_growth(regression: LinearRegression) -> Array:
    """Return the matrix that maps the D^2 entries of S to the growth of the gradients' covariance.

    The growth is what e ~ N(0, S) adds to the covariance at the minimum.
    """
    X, D = regression.X, regression.D
    pairs = (X[:, :, None] * X[:, None, :]).reshape(-1, D * D)  # x x' of each row
    moment = X.T @ X / regression.N
    return 4 * (pairs.T @ pairs / regression.N - np.kron(moment, moment))


def _covariances(sgd: SGDSettings, a: Array, C: Array) -> tuple[Array, Array]:
    """Return covariances of single steps and of means over an epoch.

    The coordinates are those of the Hessian's eigenvectors, in which a step multiplies each
    coordinate by its entry of a. After k steps from the start of an epoch,
    e_k = a^k e_0 - rate sum_i a^(k - i) xi_i. The mean gradients of batches i and j have covariance
    C (own_i [i = j] - shared): with replacement own = 1 / batch and shared = 0; without,
    own = N / (N - 1) / batch and shared = 1 / (N - 1), so that equal batches sum to zero.

    Parameters
    ----------
    sgd : SGDSettings
        The parameters of SGD.
    a : array of shape (D,)
        One minus the learning rate times each eigenvalue of the Hessian.
    C : array of shape (D, D)
        Covariance over the table of the gradients of single rows.
    """
    sizes, N = sgd.batch_sizes, sgd.regression.N
    own = N / (N - 1) / sizes if sgd.reshuffled else 1 / sizes
    shared = 1 / (N - 1) if sgd.reshuffled else 0.0
    n, aa = len(sizes), np.outer(a, a)
    noise = sgd.rate**2 * C

    squares, sums = np.zeros_like(C), np.zeros_like(a)
    added = []  # covariances of the epoch's own noise after k steps
    for k in range(n):
        squares, sums = aa * squares + own[k], a * sums + 1
        added.append(noise * (squares - shared * np.outer(sums, sums)))
    start = added[-1] / (1 - aa**n)  # covariance of e_0, which has the same distribution as e_n
    every_step = np.mean([aa ** (k + 1) * start + added[k] for k in range(n)], axis=0)

    # In the mean over the epoch, e_0 has the weight (a + ... + a^n) / n, and xi_i the weight
    # (1 + ... + a^(n - i)) / n.
    sums_of_powers = np.cumsum(a[None, :] ** np.arange(n)[:, None], axis=0) / n
    of_start, of_noise = a * sums_of_powers[-1], sums_of_powers[::-1]
    squares = (of_noise * own[:, None]).T @ of_noise
    sums = of_noise.sum(axis=0)
    averages = np.outer(of_start, of_start) * start
    return every_step, averages + noise * (squares - shared * np.outer(sums, sums))
