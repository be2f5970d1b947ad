"""Fit an algorithm along the walk of SGD over a regression, and compare it with the posterior."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from onlinefa import estimators, metrics
from onlinefa.cell import Cell
from onlinefa.estimators.batch_ml import BatchML, maximum_likelihood
from onlinefa.experiments.tracking import (
    Measurement,
    StreamDiverged,
    Trial,
    import_and_compile,
    new_estimator,
    track,
)
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.models.sgd_walk import (
    Descent,
    NoStationaryLaw,
    WalkDiverged,
    Walker,
    initial_weights,
    stationary_law,
)
from onlinefa.moments import RunningMoments
from onlinefa.randomness import Role, generator

METRICS = metrics.DISTANCES

# From the posterior to what an algorithm has learned, in four steps. Each is the 2-Wasserstein
# distance between two neighbours of: the posterior; the law that SGD settles into; the mean and
# covariance of the walk; the factor analysis that fits the walk best; the algorithm's estimate.
# By the triangle inequality they add up to no less than the distance from one end to the other.
LOSSES = ("loss_of_sgd", "loss_of_finite_walk", "loss_of_rank", "loss_of_algorithm")
# The distance of the best factor analysis of the posterior itself, which no walk was needed for.
FLOOR = "floor_of_rank"

# A batch algorithm starts from the whole walk whenever it is asked, and so it is asked at every
# tenth of the epochs at which an online algorithm is.
_BATCH_EVERY = 10


def follow(cell: Cell, descent: Descent) -> Iterator[Measurement]:
    """Fit one algorithm to one walk, and measure it every few epochs.

    After the last epoch, what was learned is taken apart as well: losses, means, covariances.
    """
    regression, parameters = descent.regression, cell.parameters
    walker = start(cell, descent)
    moments = RunningMoments(regression.D, full=True)
    steps = _epochs(parameters["warm_up"], parameters["every"], parameters["epochs"])
    if not estimators.load(cell.estimator).online:
        steps = steps[-1::-_BATCH_EVERY][::-1]

    def stream(epoch: int) -> Iterator[Array]:
        try:
            if walker.epoch == 0:
                walker.observe(parameters["warm_up"])
            rows = walker.observe(epoch - walker.epoch)
        except WalkDiverged as divergence:
            raise StreamDiverged(str(divergence)) from divergence
        moments.absorb(rows)
        yield rows

    def measure(epoch: int, estimate: LowRankGaussian) -> dict[str, metrics.Value]:
        values = metrics.compare(regression.posterior, estimate, METRICS)
        if epoch == steps[-1]:
            values |= losses(descent, moments, int(cell.axes["K"]), estimate)
            values |= entries("", estimate)
        return values

    final = [*METRICS, *LOSSES, FLOOR, *entries("", regression.posterior)]
    trial = Trial(
        regression.D,
        steps,
        stream,
        measure,
        lambda epoch: final if epoch == steps[-1] else METRICS,
        init=random(cell, "init", f"/K~{cell.axes['K']}"),
        sampling=random(cell, "sampling"),
        unit="epochs",
    )
    import_and_compile(cell)
    yield from track(new_estimator(cell, trial), trial)
    for metric, value in entries("true_", regression.posterior).items():
        yield Measurement.of(steps[-1], metric, value, 0.0)


def _epochs(warm_up: int, every: int, last: int) -> list[int]:
    return list(range(warm_up + every, last + 1, every))


def start(cell: Cell, descent: Descent) -> Walker:
    """The seed's walk, before its first step: the same for every algorithm and every K."""
    weights = initial_weights(descent.regression.D, random(cell, "weights"))
    return Walker(descent, weights, random(cell, "data"))


def losses(
    descent: Descent, moments: RunningMoments, K: int, estimate: LowRankGaussian
) -> dict[str, metrics.Value]:
    """What each step from the posterior to the estimate costs, and the floor."""
    posterior = descent.regression.posterior
    walk = LowRankGaussian.of_covariance(moments.mean, moments.second)
    values: dict[str, metrics.Value] = dict(
        zip(
            LOSSES[2:], _distances([walk, _best(moments.mean, moments.second, K), estimate]),
            strict=True,
        )
    )  # fmt: skip
    try:
        settled = stationary_law(descent)
        values |= dict(zip(LOSSES[:2], _distances([posterior, settled, walk]), strict=True))
    except NoStationaryLaw as reason:
        values |= dict.fromkeys(LOSSES[:2], str(reason))
    best = _best(posterior.mean, posterior.covariance(), K)
    return values | {FLOOR: posterior.wasserstein2(best)}


def _distances(chain: Sequence[LowRankGaussian]) -> list[float]:
    return [one.wasserstein2(two) for one, two in pairwise(chain)]


def _best(mean: Array, covariance: Array, K: int) -> LowRankGaussian:
    """The factor analysis with K factors that fits a covariance best, by maximum likelihood."""
    model = BatchML()
    return LowRankGaussian(
        mean, *maximum_likelihood(covariance, K, model.tolerance, model.max_iterations)
    )


def entries(prefix: str, gaussian: LowRankGaussian) -> dict[str, metrics.Value]:
    """Mean and covariance, entry by entry: mean[3], covariance[0,3], ..."""
    covariance = gaussian.covariance()
    means: dict[str, metrics.Value] = {
        f"{prefix}mean[{i}]": float(mean) for i, mean in enumerate(gaussian.mean)
    }
    return means | {
        f"{prefix}covariance[{i},{j}]": float(covariance[i, j])
        for i in range(gaussian.dimension)
        for j in range(i, gaussian.dimension)
    }


def random(cell: Cell, role: Role, more: str = "") -> np.random.Generator:
    """The seed's random numbers, which neither the algorithm nor the kind of walk decides."""
    dataset = f"{cell.axes['dataset']}{more}"
    return generator(cell.parameters["root_seed"], cell.experiment, dataset, cell.seed, role)
