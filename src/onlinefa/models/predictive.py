"""What is predicted of targets, point by point, and how good that is: proper scores, calibration.

Whatever a posterior says of a function, with Gaussian noise on top it is a mixture of S equally
likely Gaussians at each of N points, and everything here follows from their means and spreads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinefa.gaussian import Array

_CHUNK = 2**22  # numbers that pairs of components may take at a time


@dataclass(frozen=True, eq=False)
class Mixture:
    """`means` of shape (S, N), and standard deviations that broadcast to it."""

    means: Array
    sds: Array

    @property
    def mean(self) -> Array:
        return self.means.mean(axis=0)

    def log_density(self, y: Array) -> Array:
        """Of the Bayesian model average, by log-sum-exp."""
        from scipy.special import logsumexp

        each = -(((y - self.means) / self.sds) ** 2) / 2 - np.log(self.sds * np.sqrt(2 * np.pi))
        return logsumexp(each, axis=0) - np.log(len(self.means))

    def cdf(self, y: Array) -> Array:
        """How much is below each y: spread evenly over 0 to 1 if predictions are calibrated."""
        from scipy.special import ndtr

        return ndtr((y - self.means) / self.sds).mean(axis=0)

    def crps(self, y: Array) -> Array:
        """Continuous ranked probability score, E|Y - y| - E|Y - Y'| / 2, exactly.

        In the units of y; of a prediction without spread it is the absolute error.
        """
        S, N = self.means.shape
        sds = np.broadcast_to(self.sds, (S, N))
        i, j = np.triu_indices(S, 1)
        scores = np.empty(N)
        for part in np.array_split(np.arange(N), max(1, -(-S * S * N // _CHUNK))):
            m, s = self.means[:, part], sds[:, part]
            # A pair counts twice; two of one component are apart by 2 sd / sqrt(pi) on average.
            apart = 2 * _mean_absolute(m[i] - m[j], np.hypot(s[i], s[j])).sum(axis=0)
            apart += np.sum(2 * s / np.sqrt(np.pi), axis=0)
            scores[part] = _mean_absolute(m - y[part], s).mean(axis=0) - apart / (2 * S**2)
        return scores


def _mean_absolute(mean: Array, sd: Array) -> Array:
    """E|Z| of Gaussians."""
    from scipy.special import ndtr

    z = mean / sd
    return 2 * sd * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) + mean * (2 * ndtr(z) - 1)


def coverage(levels: Array, share: float) -> float:
    """How many targets are in the central interval that should have a share of them.

    `levels` are what `cdf` says of the targets.
    """
    return float(np.mean(np.abs(levels - 0.5) <= share / 2))


def calibration_error(confidence: Array, right: Array, bins: int = 15) -> float:
    """Expected calibration error: |confidence - accuracy|, averaged over equal bins."""
    return float(
        sum(
            abs(confidence[inside].mean() - right[inside].mean()) * inside.mean()
            for inside in reliability_bins(confidence, bins)
            if inside.any()
        )
    )


def reliability_bins(confidence: Array, bins: int) -> list[Array]:
    """Which predictions are in each of equal bins of confidence; a border belongs below it."""
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return [place == i for i in range(bins)]
