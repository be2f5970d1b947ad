"""The Nystrom approximation of the Gaussian process (Williams and Seeger, 2001)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa_benchmark.models.features import FeatureRegression, nystrom_features
from onlinefa_benchmark.posteriors.base import Functions, GaussianFunctions, Posterior, Task


class Nystrom(Posterior):
    """A regression on Nystrom features, with as many landmarks as the network has units.

    Landmarks are training points: a random subset, or all of them if the network is wider.
    """

    trained: ClassVar[bool] = False
    reference: ClassVar[bool] = True

    def functions(self, task: Task) -> Functions:
        """Return the approximate process at the task's inputs."""
        process = task.process
        number = min(task.network.width, len(process.X))
        rows = task.random("sampling").choice(len(process.X), number, replace=False)
        features = nystrom_features(process.covariance, process.X[rows])
        regression = FeatureRegression(process.X, process.y, features, process.noise)
        mean, variance = regression.predict(task.inputs)
        # Far from all landmarks the features vanish, and so would the variance. Therefore the part
        # of the prior variance that the features do not explain is added.
        left_out = process.covariance.diagonal(task.inputs) - np.sum(
            features(task.inputs) ** 2, axis=1
        )
        return GaussianFunctions(mean, np.sqrt(variance + np.maximum(left_out, 0)))
