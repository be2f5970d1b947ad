"""Chapter 5: how well does an algorithm recover a known factor analysis model from its samples?

One pass over a stream of observations, measured at every sample size T. Data are drawn block by
block as they are needed, so that an online fit never holds more than one block.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from time import perf_counter

import numpy as np

from onlinefa import estimators, metrics
from onlinefa.cell import Cell
from onlinefa.estimators.base import FactorEstimator, FitDiverged, orthonormal_factors
from onlinefa.experiments import Measurement
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.models.factor_model import generate
from onlinefa.randomness import Role, generator

BLOCK = 1000
HELD_OUT = 1000

log = logging.getLogger(__name__)


def run(cell: Cell) -> Iterator[Measurement]:
    """Fit one algorithm to one stream of observations and measure it at every T."""
    truth = generate(
        int(cell.axes["D"]),
        int(cell.axes["K"]),
        cell.parameters["spectrum"],
        _random(cell, "model"),
    )
    held_out = truth.sample(HELD_OUT, _random(cell, "held_out"))
    _import_and_compile(cell, held_out[:10, :3])
    estimator = _estimator(cell, truth)
    observations = _random(cell, "data")
    learning, seen = 0.0, 0
    sample_sizes: list[int] = cell.parameters["T"]
    for position, T in enumerate(sample_sizes):
        try:
            while seen < T:
                block = truth.sample(min(BLOCK, T - seen), observations)
                start = perf_counter()
                estimator.partial_fit(block)
                learning += perf_counter() - start
                seen += len(block)
            start = perf_counter()
            estimate = estimator.gaussian()
            # Not what earlier estimates took: they were not needed for this one.
            seconds = learning + perf_counter() - start
        except FitDiverged as divergence:
            log.warning("%s", divergence)
            for later in sample_sizes[position:]:
                for metric in metrics.NAMES:
                    yield Measurement(later, metric, None, "diverged", str(divergence), learning)
            return
        for metric, value in metrics.compare(truth, estimate, held_out).items():
            if isinstance(value, str):
                yield Measurement(T, metric, None, "undefined", value, seconds)
            else:
                yield Measurement(T, metric, value, "ok", "", seconds)
        log.info("T = %d of %d, %.1f s of fitting", T, sample_sizes[-1], seconds)


def _estimator(cell: Cell, truth: LowRankGaussian) -> FactorEstimator:
    normals = _random(cell, "init").standard_normal(truth.factors.shape)
    return estimators.build(
        cell.algorithm,
        cell.parameters["settings"],
        n_components=truth.rank,
        init_factors=orthonormal_factors(normals),
        random_state=int(_random(cell, "sampling").integers(2**31)),
    )


def _import_and_compile(cell: Cell, rows: Array) -> None:
    """A tiny fit that is thrown away: what it loads is not to count as time of the real one."""
    with suppress(FitDiverged):
        settings = cell.parameters["settings"]
        estimators.build(cell.algorithm, settings, n_components=1).fit(rows).gaussian()


def _random(cell: Cell, role: Role) -> np.random.Generator:
    dataset = "D~{D}/K~{K}/spectrum~{spectrum}".format(**cell.axes)
    return generator(cell.parameters["root_seed"], "synthetic", dataset, cell.seed, role)
