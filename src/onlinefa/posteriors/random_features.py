"""Random features of the process's covariance, as many as the network has units."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa.models.features import FeatureRegression, random_features
from onlinefa.posteriors.base import Functions, GaussianFunctions, Posterior, Task


class RandomFeatures(Posterior):
    """For the network's covariance: a network whose hidden layer stays as the prior draws it."""

    trained: ClassVar[bool] = False
    reference: ClassVar[bool] = True

    def functions(self, task: Task) -> Functions:
        process = self.truth(task)
        features = random_features(
            process.covariance, process.X.shape[1], task.network.width, task.random("sampling")
        )
        regression = FeatureRegression(process.X, process.y, features, process.noise)
        mean, variance = regression.predict(task.inputs)
        return GaussianFunctions(mean, np.sqrt(variance))
