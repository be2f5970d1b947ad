"""Random features of a process's covariance, as many as the network has units."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from onlinefa.models.covariance import SquaredExponential
from onlinefa.models.features import FeatureRegression, random_features
from onlinefa.models.gaussian_process import GaussianProcess, most_likely
from onlinefa.posteriors.base import Functions, GaussianFunctions, Posterior, Task


class RandomFeatures(Posterior):
    """For the network's covariance: a network whose hidden layer stays as the prior draws it.

    For the squared exponential they are Fourier features, and the process to compare with is
    another one: the most likely with that covariance.
    """

    trained: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "covariance": [StrOptions({"network", "squared_exponential"})]
    }

    def __init__(self, *, covariance: str = "network") -> None:
        self.covariance = covariance

    def truth(self, task: Task) -> GaussianProcess:
        if self.covariance == "network":
            return task.process
        X, y = task.process.X, task.process.y
        return most_likely(X, y, SquaredExponential, task.random("model"))

    def functions(self, task: Task) -> Functions:
        process = self.truth(task)
        features = random_features(
            process.covariance, process.X.shape[1], task.network.width, task.random("sampling")
        )
        regression = FeatureRegression(process.X, process.y, features, process.noise)
        mean, variance = regression.predict(task.inputs)
        return GaussianFunctions(mean, np.sqrt(variance))
