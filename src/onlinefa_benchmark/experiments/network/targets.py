"""Predictive distributions of targets, from distributions of the functions of networks."""

from __future__ import annotations

import numpy as np

from onlinefa_benchmark.models.likelihoods import Gaussian, HeteroscedasticGaussian, Likelihood
from onlinefa_benchmark.models.predictive import GaussianMixture
from onlinefa_benchmark.posteriors.base import Functions, SampledFunctions

_LARGEST_LOG = 30.0  # no target is predicted with a variance or a precision beyond its exponential


def predict_targets(functions: Functions, likelihood: Likelihood) -> GaussianMixture:
    """Return the distribution of targets.

    Parameters
    ----------
    functions : Functions
        Distribution of the network's outputs.
    likelihood : Likelihood
        Distribution of a target, given the outputs.
    """
    if isinstance(likelihood, HeteroscedasticGaussian):
        assert isinstance(functions, SampledFunctions)
        means, outputs = functions.values[..., 0], functions.values[..., 1]
        logs = np.clip(likelihood.spread * outputs, -_LARGEST_LOG, _LARGEST_LOG)
        return GaussianMixture(means, np.sqrt(likelihood.noise) * np.exp(logs / 2))
    assert isinstance(likelihood, Gaussian)
    return functions.targets(float(likelihood.noise))
