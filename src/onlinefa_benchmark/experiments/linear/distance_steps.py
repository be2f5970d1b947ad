"""The distance from the posterior to an estimate in steps, and the entries of an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from onlinefa.estimators._moments import RunningMoments
from onlinefa.estimators.batch_ml import BatchML, maximum_likelihood
from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments._tracking import Metric
from onlinefa_benchmark.measurement import Value

# The distance from the posterior to the estimate in four steps. Each is the 2-Wasserstein distance
# between two neighbours of: the posterior; the stationary law of the walk; mean and covariance of
# the observed weights; the factor analysis that fits them best; the estimate. By the triangle
# inequality they add up to no less than the distance from the posterior to the estimate.
LOSSES = ("loss_of_sgd", "loss_of_finite_walk", "loss_of_rank", "loss_of_algorithm")
# The distance of the best factor analysis of the posterior itself, which needs no walk.
FLOOR = "floor_of_rank"


def losses(
    posterior: LowRankGaussian,
    law: LowRankGaussian | str,
    moments: RunningMoments,
    K: int,
    estimate: LowRankGaussian,
) -> dict[str, Value]:
    """Return the distance of each step from the posterior to the estimate, and the floor.

    Parameters
    ----------
    posterior : LowRankGaussian
        The exact posterior.
    law : LowRankGaussian or str
        Stationary law of the walk, or why there is none.
    moments : RunningMoments
        Mean and covariance of the observed weights.
    K : int
        Number of factors.
    estimate : LowRankGaussian
        The estimate.
    """
    walk = LowRankGaussian.of_covariance(moments.mean, moments.second)
    best_of_walk = _best_factor_analysis(moments.mean, moments.second, K)
    values: dict[str, Value] = dict(
        zip(LOSSES[2:], _distances([walk, best_of_walk, estimate]), strict=True)
    )
    if isinstance(law, str):
        values |= dict.fromkeys(LOSSES[:2], law)
    else:
        values |= dict(zip(LOSSES[:2], _distances([posterior, law, walk]), strict=True))
    best = _best_factor_analysis(posterior.mean, posterior.covariance(), K)
    return values | {FLOOR: posterior.wasserstein2(best)}


def _distances(chain: Sequence[LowRankGaussian]) -> list[float]:
    return [one.wasserstein2(two) for one, two in pairwise(chain)]


def _best_factor_analysis(mean: Array, covariance: Array, K: int) -> LowRankGaussian:
    """Return the maximum likelihood fit of a factor analysis with K factors to a covariance."""
    model = BatchML()
    return LowRankGaussian(
        mean, *maximum_likelihood(covariance, K, model.tolerance, model.max_iterations)
    )


def entries(prefix: str, gaussian: LowRankGaussian) -> dict[Metric, Value]:
    """Return the entries of the mean and of the upper triangle of the covariance."""
    covariance = gaussian.covariance()
    means: dict[Metric, Value] = {
        (f"{prefix}mean", (i,)): float(mean) for i, mean in enumerate(gaussian.mean)
    }
    return means | {
        (f"{prefix}covariance", (i, j)): float(covariance[i, j])
        for i in range(gaussian.dimension)
        for j in range(i, gaussian.dimension)
    }
