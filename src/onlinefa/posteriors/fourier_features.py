"""Random Fourier features of the squared exponential, as many as the network has units."""

from __future__ import annotations

from typing import ClassVar

from onlinefa.models.covariance import SquaredExponential
from onlinefa.models.gaussian_process import GaussianProcess
from onlinefa.posteriors.base import Task
from onlinefa.posteriors.random_features import RandomFeatures


class FourierFeatures(RandomFeatures):
    """The process to compare with is another one: the most likely with that covariance."""

    trained: ClassVar[bool] = False
    reference: ClassVar[bool] = True

    def truth(self, task: Task) -> GaussianProcess:
        return task.process_with(SquaredExponential)
