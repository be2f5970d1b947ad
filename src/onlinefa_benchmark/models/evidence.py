"""The selection of the hyperparameters of a network by Laplace's evidence.

Let the weights theta be in units of the prior, and let R be the negative log-likelihood of all
rows. Laplace's approximation of the log evidence at a mode, with the Gauss-Newton Hessian I + A'A
of the energy, is

    -R - theta'theta / 2 - log det(I + A'A) / 2.

The prior variances of a group g of weights are proportional to 1 / alpha_g. The effective number of
its weights, gamma_g, is the trace of its block of I - (I + A'A)^-1. If the dependence of A on the
mode is neglected, the derivative in log alpha_g is (gamma_g - |theta_g|^2) / 2. At a maximum,

    alpha_g = old alpha_g * gamma_g / |theta_g|^2.

With constant noise and the sum RSS of squared residuals over N rows, the derivative in log noise is
(RSS / noise - N + gamma) / 2, so that at a maximum

    noise = RSS / (N - gamma).

These are the updates of MacKay (1992). With constant noise, all weights are one group. If the noise
depends on the input, the weights of the second output are a group of their own, whose alpha is that
of the spread of the log variance: where the rows do not support it, the spread goes to zero. Here
several networks share all hyperparameters: gamma, |theta|^2, RSS and N are sums over the networks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.covariance import NeuralNetwork
from onlinefa_benchmark.models.gaussian_process import cholesky
from onlinefa_benchmark.models.likelihoods import Gaussian, HeteroscedasticGaussian
from onlinefa_benchmark.models.mode_search import find_mode, sampled_curvature_rows
from onlinefa_benchmark.models.network import NetworkPosterior

_ITERATIONS = 30  # of the search for modes, between two updates of alpha and noise
_TOLERANCE = 0.02  # change of the logarithms of hyperparameters at which the updates end
_PATIENCE = 3  # updates without a larger evidence, after which the maximisation ends
_LEAST_NOISE = 1e-6  # for standardised targets
_LEAST = 1e-12  # so that no precision is zero or infinite
_LEAST_SPREAD, _LARGEST_SPREAD = 0.01, 100.0

RegressionLikelihood = Gaussian | HeteroscedasticGaussian


@dataclass(frozen=True, eq=False)
class Stage:
    """Networks between two updates of prior and noise.

    Parameters
    ----------
    network : NetworkPosterior
        The posterior with the prior and noise of this stage.
    thetas : array of shape (networks, D)
        Weights after some iterations of the search for modes, in units of the prior.
    log_evidence : float
        Mean of the log evidences of the networks, as if these weights were modes.
    """

    network: NetworkPosterior
    thetas: Array
    log_evidence: float


def trace_updates(network: NetworkPosterior, starts: Array, rounds: int) -> Iterator[Stage]:
    """Train networks and update prior and noise in turn, and yield every stage.

    Parameters
    ----------
    network : NetworkPosterior
        A posterior of regression. Its hyperparameters are those of the first stage.
    starts : array of shape (networks, D)
        Initial weights of each network, in units of the prior.
    rounds : int
        Maximum number of stages. There are fewer if the hyperparameters do not change any more.
    """
    thetas, quiet = starts, replace(network, progress=None)
    for _ in network.iterate(range(rounds), "updates of prior and noise, at most"):
        thetas = np.array([find_mode(quiet, theta, _ITERATIONS).theta for theta in thetas])
        found = [_Statistics.at(quiet, theta) for theta in thetas]
        evidence = float(np.mean([one.log_evidence for one in found]))
        yield Stage(replace(quiet, progress=network.progress), thetas, evidence)
        updated, factors = _update(quiet, found)
        if _measure_change(quiet, updated) < _TOLERANCE:
            return
        quiet, thetas = updated, np.sqrt(factors) * thetas


def maximise_evidence(network: NetworkPosterior, starts: Array, rounds: int) -> Stage:
    """Return the stage of `trace_updates` that has the largest evidence.

    The updates neglect that A depends on the mode. With many weights for few rows they pass the
    maximum of the evidence, and then lead to ever smaller noise: they end after a few stages
    without a larger evidence.

    Parameters
    ----------
    network, starts, rounds
        As for `trace_updates`.
    """
    best: Stage | None = None
    since = 0
    for stage in trace_updates(network, starts, rounds):
        since += 1
        if best is None or stage.log_evidence > best.log_evidence:
            best, since = stage, 0
        if since == _PATIENCE:
            break
    assert best is not None
    return best


def log_evidence(network: NetworkPosterior, theta: Array) -> float:
    """Return Laplace's approximation of the log evidence.

    Parameters
    ----------
    network : NetworkPosterior
        A posterior of regression.
    theta : array of shape (D,)
        A mode, in units of the prior.
    """
    return _Statistics.at(network, theta).log_evidence


@dataclass(frozen=True, eq=False)
class _Statistics:
    """What the updates need to know of one network.

    Parameters
    ----------
    theta : array of shape (D,)
        Weights, in units of the prior.
    effective : array of shape (D,)
        Diagonal of I - (I + A'A)^-1.
    residuals : float
        Sum of squared residuals.
    log_evidence : float
        Laplace's approximation of the log evidence.
    """

    theta: Array
    effective: Array
    residuals: float
    log_evidence: float

    @classmethod
    def at(cls, network: NetworkPosterior, theta: Array) -> _Statistics:
        """Compute the statistics of a network with some weights."""
        effective, log_determinant = _decompose(sampled_curvature_rows(network, theta))
        with torch.no_grad():
            energy = network.energy(network.tensor(theta)).item()
        evidence = -energy - network.likelihood.constant(len(network.y)) - log_determinant / 2
        means = network.functions(theta[None], network.X)[0].reshape(len(network.y), -1)[:, 0]
        residuals = means - network.y
        return cls(theta, effective, float(residuals @ residuals), evidence)


def _decompose(A: Array) -> tuple[Array, float]:
    """Return the diagonal of I - (I + A'A)^-1 = A'(I + AA')^-1 A, and log det(I + A'A)."""
    from scipy.linalg import solve_triangular

    rows, D = A.shape
    root = cholesky(np.eye(min(rows, D)) + (A @ A.T if rows < D else A.T @ A))
    if rows < D:
        effective = np.sum(solve_triangular(root, A, lower=True) ** 2, axis=0)
    else:
        effective = 1 - np.sum(solve_triangular(root, np.eye(D), lower=True) ** 2, axis=0)
    return np.clip(effective, 0, 1), 2 * float(np.sum(np.log(np.diag(root))))


def _update(
    network: NetworkPosterior, found: Sequence[_Statistics]
) -> tuple[NetworkPosterior, Array]:
    """Return the posterior after an update, and the factor of the prior precision of each weight.

    A spread at its limit has another factor than the update says.
    """
    likelihood, factors = network.likelihood, np.ones(network.dimension)
    if isinstance(likelihood, HeteroscedasticGaussian):
        of_logs = network.shape.select_output(1)
        factor, of_spread = _update_precision(found, ~of_logs), _update_precision(found, of_logs)
        spread = likelihood.spread * np.sqrt(factor / of_spread)
        limited = float(np.clip(spread, _LEAST_SPREAD, _LARGEST_SPREAD))
        factors[~of_logs] = factor
        factors[of_logs] = of_spread * (spread / limited) ** 2
        return _rescale(network, factor, replace(likelihood, spread=limited)), factors
    factors[:] = _update_precision(found, np.full(network.dimension, True))
    freedom = sum(len(network.y) - np.sum(one.effective) for one in found)
    noise = max(sum(one.residuals for one in found) / freedom, _LEAST_NOISE)
    return _rescale(network, factors[0], Gaussian(noise)), factors


def _update_precision(found: Sequence[_Statistics], group: NDArray[np.bool_]) -> float:
    """Return the new over the old prior precision of a group of weights."""
    effective = sum(np.sum(one.effective[group]) for one in found)
    squares = sum(np.sum(one.theta[group] ** 2) for one in found)
    return float(max(effective, _LEAST) / max(squares, _LEAST))


def _rescale(
    network: NetworkPosterior, factor: float, likelihood: RegressionLikelihood
) -> NetworkPosterior:
    """Return the posterior with another likelihood and with `factor` times the prior precision."""
    old, by = network.prior, factor**-0.5
    prior = NeuralNetwork(old.sigma_w * by, old.omega * by, old.sigma_b * by)
    return replace(network, prior=prior, likelihood=likelihood)


def _measure_change(one: NetworkPosterior, two: NetworkPosterior) -> float:
    """Return the largest change of the logarithm of a hyperparameter."""
    return float(np.max(np.abs(_logarithms(one) - _logarithms(two))))


def _logarithms(network: NetworkPosterior) -> Array:
    likelihood = _likelihood(network)
    spread = likelihood.spread if isinstance(likelihood, HeteroscedasticGaussian) else 1.0
    return np.log([network.prior.omega**-2, float(likelihood.noise), spread**2])


def _likelihood(network: NetworkPosterior) -> RegressionLikelihood:
    assert isinstance(network.likelihood, Gaussian | HeteroscedasticGaussian)
    return network.likelihood
