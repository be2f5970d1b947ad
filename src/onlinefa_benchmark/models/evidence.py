"""The selection of a network's prior precision and noise variance by Laplace's evidence.

Let all prior variances be proportional to 1 / alpha, and let theta be the weights in units of the
prior. Laplace's approximation of the log evidence at a mode, with the Gauss-Newton Hessian I + A'A
of the energy, is

    -RSS / (2 noise) - N log(2 pi noise) / 2 - theta'theta / 2 - log det(I + A'A) / 2,

with the sum RSS of squared residuals. The effective number of weights is
gamma = tr A'A (I + A'A)^-1. If the dependence of A on the mode is neglected, the derivative in
log alpha is (gamma - theta'theta) / 2 and the derivative in log noise is
(RSS / noise - N + gamma) / 2, so that at a maximum

    alpha = old alpha * gamma / theta'theta   and   noise = RSS / (N - gamma).

These are the updates of MacKay (1992). Here several networks share alpha and noise: gamma,
theta'theta, RSS and N are sums over the networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log, pi

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.covariance import NeuralNetwork
from onlinefa_benchmark.models.likelihoods import Gaussian
from onlinefa_benchmark.models.mode_search import find_mode, sampled_curvature_rows
from onlinefa_benchmark.models.network import NetworkPosterior

_ITERATIONS = 30  # of the search for modes, between two updates of alpha and noise
_TOLERANCE = 0.02  # change of log alpha and log noise at which the updates end
_PATIENCE = 3  # updates without a larger evidence, after which the maximisation ends
_LEAST_NOISE = 1e-6  # for standardised targets


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
        A posterior with Gaussian noise. Its prior and noise are those of the first stage.
    starts : array of shape (networks, D)
        Initial weights of each network, in units of the prior.
    rounds : int
        Maximum number of stages. There are fewer if prior and noise do not change any more.
    """
    thetas, quiet = starts, replace(network, progress=None)
    for _ in network.iterate(range(rounds), "updates of prior and noise, at most"):
        thetas = np.array([find_mode(quiet, theta, _ITERATIONS).theta for theta in thetas])
        found = [_Statistics.at(quiet, theta) for theta in thetas]
        evidence = float(np.mean([one.log_evidence(_noise(quiet)) for one in found]))
        yield Stage(replace(quiet, progress=network.progress), thetas, evidence)
        factor = sum(one.effective for one in found) / sum(one.squares for one in found)
        noise = sum(one.residuals for one in found) / sum(one.freedom for one in found)
        noise = max(noise, _LEAST_NOISE)
        if max(abs(log(factor)), abs(log(noise / _noise(quiet)))) < _TOLERANCE:
            return
        quiet, thetas = _rescale(quiet, factor, noise), np.sqrt(factor) * thetas


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
        A posterior with Gaussian noise.
    theta : array of shape (D,)
        A mode, in units of the prior.
    """
    return _Statistics.at(network, theta).log_evidence(_noise(network))


@dataclass(frozen=True, eq=False)
class _Statistics:
    """What the updates need to know of one network.

    Parameters
    ----------
    eigenvalues : array
        Positive eigenvalues of A'A.
    squares : float
        theta'theta.
    residuals : float
        Sum of squared residuals.
    rows : int
        Number of rows.
    """

    eigenvalues: Array
    squares: float
    residuals: float
    rows: int

    @classmethod
    def at(cls, network: NetworkPosterior, theta: Array) -> _Statistics:
        A = sampled_curvature_rows(network, theta)
        gram = A @ A.T if len(A) < A.shape[1] else A.T @ A
        eigenvalues = np.clip(np.linalg.eigvalsh(gram), 0, None)
        residuals = network.functions(theta[None], network.X)[0] - network.y
        return cls(eigenvalues, float(theta @ theta), float(residuals @ residuals), len(network.y))

    def log_evidence(self, noise: float) -> float:
        """Return Laplace's approximation of the log evidence, given the noise."""
        normalisation = self.rows * log(2 * pi * noise) + np.sum(np.log1p(self.eigenvalues))
        return -float(self.residuals / noise + self.squares + normalisation) / 2

    @property
    def effective(self) -> float:
        """The effective number of weights, gamma."""
        return float(np.sum(self.eigenvalues / (1 + self.eigenvalues)))

    @property
    def freedom(self) -> float:
        """The number of rows less the effective number of weights."""
        return self.rows - self.effective


def _noise(network: NetworkPosterior) -> float:
    assert isinstance(network.likelihood, Gaussian)
    return float(network.likelihood.noise)


def _rescale(network: NetworkPosterior, factor: float, noise: float) -> NetworkPosterior:
    """Return the posterior with another noise and with `factor` times the prior precision."""
    old, by = network.prior, factor**-0.5
    prior = NeuralNetwork(old.sigma_w * by, old.omega * by, old.sigma_b * by)
    return replace(network, prior=prior, likelihood=Gaussian(noise))
