"""The exact stationary law of an overdamped Langevin walk over a linear regression."""

from __future__ import annotations

import numpy as np

from onlinefa.gaussian import LowRankGaussian
from onlinefa.walks import Preconditioner
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.linear_regression import LinearRegression
from onlinefa_benchmark.models.sgd_walk import NoStationaryLaw, noise_at_minimum, noise_growth


def langevin_law(
    regression: LinearRegression,
    batch: int,
    preconditioner: Preconditioner,
    step: float,
    noise: Array,
    anchor: Array | None = None,
) -> LowRankGaussian:
    """Compute mean and covariance of the stationary law of theta <- theta - h P g + noise.

    The gradient g of the energy is estimated from a batch that is drawn with replacement. Around
    the mode, with e = theta - m and precision A, the covariance S of e solves
    S = (I - hPA) S (I - hPA)' + h^2 P C(S) P + noise. The covariance C(S) of the gradients of
    batches is a constant plus a linear function of S, so that S solves a linear equation.

    Parameters
    ----------
    regression : LinearRegression
        The regression.
    batch : int
        Number of rows in a batch.
    preconditioner : Preconditioner
        The matrix P.
    step : float
        The step size h.
    noise : array of shape (D, D)
        Covariance of the noise that is added in each step.
    anchor : array of shape (D,), optional
        Anchor of the control variate, if gradients have one.

    Raises
    ------
    NoStationaryLaw
        If the step is too large.
    """
    D, mean = regression.D, regression.posterior.mean
    P = preconditioner.apply(np.eye(D))
    # The energy is N beta / 2 times the loss, to which the functions of SGD refer.
    unit = regression.N * regression.beta / 2
    scale = (unit * step) ** 2 / batch
    growth = noise_growth(regression)
    if anchor is None:
        constant = noise_at_minimum(regression)
    else:  # the noise is zero at the anchor, and grows with the distance from it
        constant = (growth @ np.outer(mean - anchor, mean - anchor).ravel()).reshape(D, D)
    contraction = np.eye(D) - step * unit * P @ regression.hessian()
    operator = np.kron(contraction, contraction) + scale * np.kron(P, P) @ growth
    if np.abs(np.linalg.eigvals(operator)).max() >= 1:
        raise NoStationaryLaw(f"a step of {step:.3g} is too large: the walk does not settle")
    added = scale * P @ constant @ P + noise
    S = np.linalg.solve(np.eye(D * D) - operator, added.ravel()).reshape(D, D)
    return LowRankGaussian.of_covariance(mean, (S + S.T) / 2)
