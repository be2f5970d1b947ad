"""Variational inference with factor analysis (VIFA): a Gaussian with a factor covariance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors._variational import Variational, make_family
from onlinefa_benchmark.posteriors.base import Task

if TYPE_CHECKING:
    from onlinefa_benchmark.models.network import NetworkPosterior
    from onlinefa_benchmark.models.training import Networks
    from onlinefa_benchmark.posteriors._factor_family import FactorFamily


_LONGEST = 1.0  # of the first factors, in standard deviations of the noise


class VIFA(Variational):
    """Variational inference with the family N(c, FF' + diag(psi)).

    The family contains that of mean-field inference, whose result is the start: after the steps of
    mean field, there are as many with factors. Near a Gaussian with independent weights, gradients
    of the factors are small and noisy. The first factors are therefore those with the largest bound
    for the posterior of the network linearised at the means, with all other parameters fixed.

    Parameters
    ----------
    steps : int
        Number of steps of Adam without factors, and with them.
    learning_rate : float
        Initial learning rate, which falls to zero, without factors and with them.
    draws : int
        Number of networks that are drawn in a step.
    """

    def _fit(
        self, networks: Networks, tasks: Sequence[Task], random: np.random.Generator
    ) -> FactorFamily:
        """Return Gaussians with the number of factors that the estimators of walks have."""
        independent = self._fit_independent(networks, tasks, random)
        start = [
            (mean, add_factors(task.network, mean, noise, task.K), noise)
            for task, (mean, _, noise) in zip(tasks, independent.members(), strict=True)
        ]
        return self._maximise(make_family(networks, start), networks, tasks, random)


def add_factors(network: NetworkPosterior, mean: Array, noise: Array, K: int) -> Array:
    """Return the factors F that maximise the bound of a linearised network, given mean and noise.

    Let P = I + A'A be the precision of the linearised posterior, and let psi be the noise. With
    F = psi^(1/2) V s^(1/2) and orthonormal V, twice the bound is, up to a constant,
    -tr(V'psi^(1/2) P psi^(1/2) V s) + sum log(1 + s). The maximum is where V has the eigenvectors
    of psi^(1/2) P psi^(1/2) with the smallest eigenvalues l, and 1 + s = 1 / l. There are fewer
    than K factors that are not zero if fewer eigenvalues are below one.

    Parameters
    ----------
    network : NetworkPosterior
        The network.
    mean : array of shape (D,)
        Means of the weights, in units of the prior.
    noise : array of shape (D,)
        Variances of the weights.
    K : int
        Number of factors.
    """
    from scipy.linalg import eigh

    from onlinefa_benchmark.models.mode_search import sampled_curvature_rows

    if not (np.isfinite(mean).all() and np.isfinite(noise).all()):  # other networks continue
        return np.full((len(mean), K), np.nan)
    A, sds = sampled_curvature_rows(network, mean), np.sqrt(noise)
    precision = (A * sds).T @ (A * sds) + np.diag(noise)
    eigenvalues, V = eigh(precision, subset_by_index=(0, min(K, len(mean)) - 1))
    lengths = np.sqrt(np.clip(1 / eigenvalues - 1, 0, _LONGEST**2))
    return sds[:, None] * V * lengths
