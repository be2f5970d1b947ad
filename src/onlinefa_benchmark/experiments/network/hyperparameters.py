"""Hyperparameters of networks on tables."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from onlinefa_benchmark.models.covariance import NeuralNetwork


@dataclass(frozen=True)
class Hyperparameters:
    """The precision of the prior and the variance of the noise, for standardised targets.

    Parameters
    ----------
    precision : float
        Precision of the prior: all weights that lead to a unit have the total variance
        1 / precision.
    noise : float
        Variance of the noise. It is not used for classes.
    """

    precision: float
    noise: float

    def prior(self, inputs: int) -> NeuralNetwork:
        """Return the prior of a network with a number of inputs."""
        sd = 1 / sqrt(self.precision)
        return NeuralNetwork(sd / sqrt(inputs), sd, sd)
