"""Nystrom's approximation of the process, with as many landmarks as the network has units."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa.models.features import FeatureRegression, nystrom_features
from onlinefa.posteriors.base import Functions, GaussianFunctions, Posterior, Task


class Nystrom(Posterior):
    """Landmarks are training points, all of them if there are no more than asked for."""

    trained: ClassVar[bool] = False
    reference: ClassVar[bool] = True

    def functions(self, task: Task) -> Functions:
        process = task.process
        number = min(task.network.width, len(process.X))
        rows = task.random("sampling").choice(len(process.X), number, replace=False)
        features = nystrom_features(process.covariance, process.X[rows])
        regression = FeatureRegression(process.X, process.y, features, process.noise)
        mean, variance = regression.predict(task.inputs)
        # Far from all landmarks features vanish, and the variance must not: what the features leave
        # out of the prior's is as large as before.
        left_out = process.covariance.diagonal(task.inputs) - np.sum(
            features(task.inputs) ** 2, axis=1
        )
        return GaussianFunctions(mean, np.sqrt(variance + np.maximum(left_out, 0)))
