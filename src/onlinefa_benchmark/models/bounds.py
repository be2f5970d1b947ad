"""Lower bounds of the log evidence, estimated from draws of an approximate posterior q.

With the weights w = p(y, theta) / q(theta) of draws, the evidence lower bound is E log w, and the
bound of Burda, Grosse and Salakhutdinov (2016) is E log((w_1 + ... + w_S) / S). The second is at
least as large, and approaches the log evidence as the number S of draws grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np
import torch

from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.network import NetworkPosterior

_CHUNK = 2**23  # numbers that a batched forward pass may hold at a time


@dataclass(frozen=True)
class Bounds:
    """Estimates of lower bounds of the log evidence, in nats.

    Parameters
    ----------
    lower : float
        Evidence lower bound.
    error : float
        Its standard error.
    importance_weighted : float
        Importance-weighted bound with all draws.
    """

    lower: float
    error: float
    importance_weighted: float


def estimate_bounds(
    network: NetworkPosterior, q: LowRankGaussian, draws: int, random: np.random.Generator
) -> Bounds:
    """Estimate the bounds.

    Parameters
    ----------
    network : NetworkPosterior
        The posterior that q approximates, with the prior N(0, I).
    q : LowRankGaussian
        Gaussian of the weights, in units of the prior.
    draws : int
        Number of draws.
    random : numpy.random.Generator
        Source of the draws.
    """
    from scipy.special import logsumexp

    thetas = q.sample(draws, random)
    logs = _log_joint(network, thetas) - q.log_prob(thetas)
    error = float(logs.std(ddof=1) / np.sqrt(draws))
    return Bounds(float(logs.mean()), error, float(logsumexp(logs) - log(draws)))


def _log_joint(network: NetworkPosterior, thetas: Array) -> Array:
    """Return the log density of targets and weights, for each of several weights."""
    X, y = network.table
    size = max(1, _CHUNK // (len(y) * network.width))
    with torch.no_grad():
        parts = torch.split(network.tensor(thetas), size)
        misfits = torch.cat([network.misfit(part, X, y) for part in parts]).cpu().numpy()
    constant = network.likelihood.constant(len(y)) + network.dimension * log(2 * pi) / 2
    return -misfits - np.sum(thetas**2, axis=1) / 2 - constant
