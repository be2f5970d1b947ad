"""Hyperparameters of networks on tables."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from onlinefa_benchmark.models.covariance import NeuralNetwork
from onlinefa_benchmark.models.likelihoods import Gaussian, HeteroscedasticGaussian
from onlinefa_benchmark.models.network import NetworkPosterior


@dataclass(frozen=True)
class Hyperparameters:
    """The precision of the prior and the noise, for standardised targets.

    Parameters
    ----------
    precision : float
        Precision of the prior: all weights that lead to a unit have the total variance
        1 / precision.
    noise : float
        Variance of the noise. If it depends on the input, the variance where the second output of
        the network is zero.
    spread : float, default=0.0
        Prior standard deviation of the log variance, in units of that of the mean; zero if all
        inputs have the same noise.
    """

    precision: float
    noise: float
    spread: float = 0.0

    @classmethod
    def of(cls, network: NetworkPosterior) -> Hyperparameters:
        """Return the hyperparameters of a network."""
        likelihood, precision = network.likelihood, network.prior.omega**-2
        if isinstance(likelihood, HeteroscedasticGaussian):
            return cls(precision, likelihood.noise, likelihood.spread)
        noise = float(likelihood.noise) if isinstance(likelihood, Gaussian) else 1.0
        return cls(precision, noise)

    def prior(self, inputs: int) -> NeuralNetwork:
        """Return the prior of a network with a number of inputs."""
        sd = 1 / sqrt(self.precision)
        return NeuralNetwork(sd / sqrt(inputs), sd, sd)
