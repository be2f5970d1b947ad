"""Random features of the covariance of the Gaussian process, the limit of wide networks."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa_benchmark.models.features import FeatureRegression, random_features
from onlinefa_benchmark.posteriors.base import Functions, GaussianFunctions, Posterior, Task


class RandomFeatures(Posterior):
    """A regression on random features, as many as the network has units.

    For the covariance of networks, this is a network whose hidden layer is drawn from the prior and
    not trained.
    """

    trained: ClassVar[bool] = False
    reference: ClassVar[bool] = True

    def functions(self, task: Task) -> Functions:
        """Return the approximate process at the task's inputs."""
        process = self.truth(task)
        features = random_features(
            process.covariance, process.X.shape[1], task.network.width, task.random("sampling")
        )
        regression = FeatureRegression(process.X, process.y, features, process.noise)
        mean, variance = regression.predict(task.inputs)
        return GaussianFunctions(mean, np.sqrt(variance))
