"""Bayesian linear regression: the posterior in closed form, and the loss whose minimum is its mean.

Chapters 2.2 and 6 of the thesis. With y_n = theta' x_n + noise of precision beta and the prior
theta ~ N(0, I / alpha), the posterior is N(m, S) with S^-1 = A = alpha I + beta X'X and
m = beta S X'y, (2.11) and (2.13).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.scaling import Scaling, append_ones


@dataclass(frozen=True, eq=False)
class LinearRegression:
    """A linear regression with a Gaussian prior.

    Parameters
    ----------
    X : array of shape (N, D)
        Inputs, including the constant one.
    y : array of shape (N,)
        Targets.
    alpha : float
        Precision of the prior.
    beta : float
        Precision of the noise.
    """

    X: Array
    y: Array
    alpha: float
    beta: float

    @classmethod
    def of_table(cls, inputs: Array, y: Array, prior_share: float = 0.01) -> LinearRegression:
        """Build the regression of section 6.1.

        Inputs are standardised and get a constant one for the bias. beta is one over the variance
        of y.

        Parameters
        ----------
        inputs : array of shape (N, p)
            Inputs as published.
        y : array of shape (N,)
            Targets as published.
        prior_share : float
            alpha as a fraction of the mean diagonal of beta X'X.

        Raises
        ------
        ValueError
            If a column does not vary.
        """
        if np.ptp(y) == 0:
            raise ValueError("column y does not vary")
        X = append_ones(Scaling.of(inputs).apply(inputs))
        beta = 1 / float(np.var(y))
        return cls(X, y, alpha=prior_share * beta * float(np.mean(np.sum(X**2, axis=0))), beta=beta)

    @property
    def D(self) -> int:
        """The number of weights, including the bias."""
        return self.X.shape[1]

    @property
    def N(self) -> int:
        """The number of rows."""
        return self.X.shape[0]

    @property
    def decay(self) -> float:
        """The weight decay lambda / N for a loss that is the *mean* of squared errors.

        The objective (6.4) is a sum over the table. Minimising a mean with lambda = alpha / beta
        instead would regularise N times too much.
        """
        return self.alpha / self.beta / self.N

    @cached_property
    def posterior(self) -> LowRankGaussian:
        """The exact posterior (2.13), by Cholesky decomposition."""
        from scipy.linalg import cho_solve, cholesky, solve_triangular

        A = self.alpha * np.eye(self.D) + self.beta * self.X.T @ self.X
        L = cholesky(A, lower=True)
        mean = cho_solve((L, True), self.beta * self.X.T @ self.y)
        half = solve_triangular(L, np.eye(self.D), lower=True)
        return LowRankGaussian.of_covariance(mean, half.T @ half)

    def loss(self, theta: Array) -> float:
        """Return (6.4) divided by N: the mean squared error plus decay |theta|^2."""
        errors = self.y - self.X @ theta
        return float(np.mean(errors**2) + self.decay * np.sum(theta**2))

    def hessian(self) -> Array:
        """Return the Hessian of the loss, 2 A / (N beta), which does not depend on theta."""
        return 2 * (self.X.T @ self.X / self.N + self.decay * np.eye(self.D))
