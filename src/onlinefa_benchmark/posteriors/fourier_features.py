"""Random Fourier features of the squared exponential covariance (Rahimi and Recht, 2007)."""

from __future__ import annotations

from onlinefa_benchmark.models.covariance import SquaredExponential
from onlinefa_benchmark.models.gaussian_process import GaussianProcess
from onlinefa_benchmark.posteriors.base import Task
from onlinefa_benchmark.posteriors.random_features import RandomFeatures


class FourierFeatures(RandomFeatures):
    """A regression on random waves, as many as the network has units.

    It is compared with another process than the networks: the most likely one with the squared
    exponential covariance.
    """

    def truth(self, task: Task) -> GaussianProcess:
        """Return the most likely process with the squared exponential covariance."""
        return task.process_with(SquaredExponential)
