"""Predictive distributions of targets, proper scores and calibration.

A posterior over functions plus Gaussian noise gives, at each of N points, a mixture of S equally
likely Gaussians. All scores are computed from the means and standard deviations of its components.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinefa_benchmark.arrays import Array

_CHUNK = 2**22  # numbers that arrays of pairs of components may hold at a time


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """A mixture of S equally likely Gaussians at each of N points.

    Parameters
    ----------
    means : array of shape (S, N)
        Means of the components.
    sds : array
        Standard deviations of the components, of a shape that broadcasts to (S, N).
    """

    means: Array
    sds: Array

    @property
    def mean(self) -> Array:
        """The mean at each point."""
        return self.means.mean(axis=0)

    def log_density(self, y: Array) -> Array:
        """Return the log density of each target (the Bayesian model average), by log-sum-exp."""
        from scipy.special import logsumexp

        each = -(((y - self.means) / self.sds) ** 2) / 2 - np.log(self.sds * np.sqrt(2 * np.pi))
        return logsumexp(each, axis=0) - np.log(len(self.means))

    def cdf(self, y: Array) -> Array:
        """Return the probability below each target.

        The probabilities are uniformly distributed on [0, 1] if predictions are calibrated.
        """
        from scipy.special import ndtr

        return ndtr((y - self.means) / self.sds).mean(axis=0)

    def crps(self, y: Array) -> Array:
        """Return the exact continuous ranked probability score, E|Y - y| - E|Y - Y'| / 2.

        It is in the units of y. For a prediction without variance it is the absolute error.
        """
        S, N = self.means.shape
        sds = np.broadcast_to(self.sds, (S, N))
        i, j = np.triu_indices(S, 1)
        scores = np.empty(N)
        for part in np.array_split(np.arange(N), max(1, -(-S * S * N // _CHUNK))):
            m, s = self.means[:, part], sds[:, part]
            # Each pair of components counts twice. Two draws of one component have the mean
            # distance 2 sd / sqrt(pi).
            apart = 2 * _mean_absolute(m[i] - m[j], np.hypot(s[i], s[j])).sum(axis=0)
            apart += np.sum(2 * s / np.sqrt(np.pi), axis=0)
            scores[part] = _mean_absolute(m - y[part], s).mean(axis=0) - apart / (2 * S**2)
        return scores


def _mean_absolute(mean: Array, sd: Array) -> Array:
    """Return E|Z| for Gaussians Z."""
    from scipy.special import ndtr

    z = mean / sd
    return 2 * sd * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) + mean * (2 * ndtr(z) - 1)


def coverage(levels: Array, share: float) -> float:
    """Return the fraction of targets in the central prediction interval.

    Parameters
    ----------
    levels : array of shape (N,)
        Values of `GaussianMixture.cdf` at the targets.
    share : float
        Nominal probability of the interval.
    """
    return float(np.mean(np.abs(levels - 0.5) <= share / 2))
