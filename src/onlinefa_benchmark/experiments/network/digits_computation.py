"""Measurements of a posterior of networks on held-out handwritten digits.

The images are scikit-learn's, 8 x 8 pixels in ten classes. A seed is a random split. The test part
is a fifth of the images, because calibration needs many points. The same images turned by a quarter
are outside the training distribution, so that their predictions should have a higher entropy. No
detector can be perfect: a zero that is turned looks like a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments.network.model_selection import MetricValues, Study, run_study
from onlinefa_benchmark.experiments.network.task import NetworkTraining, Rows
from onlinefa_benchmark.measurement import Measurement
from onlinefa_benchmark.models.likelihoods import Categorical
from onlinefa_benchmark.models.predictive import calibration_error, reliability_bins
from onlinefa_benchmark.models.scaling import append_ones
from onlinefa_benchmark.posteriors.base import Functions, SampledFunctions
from onlinefa_benchmark.randomness import generator

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

BINS = 10  # of the reliability diagram

# Range of the prior's precision. A confident prediction of a class needs outputs that are far
# apart. With 0.1, the lower end for tables, predictions are underconfident, and below 0.01 they
# become worse again.
_PRECISIONS = (0.01, 0.3)

_OF_IMAGES = "mean over held-out images"
CONTRACTS = {
    "accuracy": "share of held-out images",
    "class_nll": _OF_IMAGES,
    "calibration_error": "15 equal bins of confidence, over held-out images",
    "rotated_auroc": "by the entropy of predictions, held-out images and the same turned",
    "rotated_entropy": "mean over held-out images turned by a quarter",
    "confidence": "mean in a bin",
    "bin_accuracy": "mean in a bin",
    "bin_share": "share of held-out images",
}


def run(cell: Cell, context: Context) -> Iterator[Measurement]:
    """Measure one posterior on one split."""
    root, training = (
        int(cell.parameters["root_seed"]),
        NetworkTraining(**cell.parameters["training"]),
    )
    # Cells of one split follow one another and share its networks.
    study = context.cache.get(
        "digits study",
        (cell.seed, root, training),
        lambda: _study(cell.seed, root, training, context),
    )
    yield from run_study(cell, study, context)


def _study(seed: int, root: int, training: NetworkTraining, context: Context) -> Study:
    from sklearn.datasets import load_digits

    random = partial(generator, root, "digits", "digits", seed)
    images, labels = load_digits(return_X_y=True)
    order = random("held_out").permutation(len(labels))
    asked, validation, learned = np.split(order, [len(labels) // 5, len(labels) * 9 // 25])
    # One unit for all pixels, because some of them never vary.
    rest = np.concatenate([validation, learned])
    mean, sd = images[rest].mean(), images[rest].std()
    X = append_ones((images - mean) / sd)
    turned = np.rot90(images[asked].reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)
    return Study(
        Rows(X[learned], labels[learned]),
        Rows(X[validation], labels[validation]),
        np.concatenate([X[asked], append_ones((turned - mean) / sd)]),
        training,
        random,
        lambda noise: Categorical(10),
        lambda functions, y, noise: -float(np.mean(log_probabilities(functions)[range(len(y)), y])),
        partial(measure, y=labels[asked]),
        CONTRACTS,
        context.device,
        has_noise=False,
        precisions=_PRECISIONS,
        progress=context.progress,
    )


def log_probabilities(functions: Functions) -> Array:
    """Return log probabilities of the Bayesian model average, of shape (images, classes)."""
    from scipy.special import log_softmax, logsumexp

    assert isinstance(functions, SampledFunctions)
    values = functions.values
    return logsumexp(log_softmax(values, axis=-1), axis=0) - np.log(len(values))


def measure(
    functions: Functions, noise: float, additional: Mapping[str, Callable[..., Any]], y: Array
) -> MetricValues:
    """Return the test metrics of predictions for images of classes y, then for the same turned."""
    from sklearn.metrics import roc_auc_score

    logs = log_probabilities(functions)
    entropies = -np.sum(np.exp(logs) * logs, axis=1)
    known, N = logs[: len(y)], len(y)
    confidence, right = np.exp(known.max(axis=1)), known.argmax(axis=1) == y
    values: MetricValues = {
        ("accuracy", ()): float(right.mean()),
        ("class_nll", ()): -float(known[range(N), y].mean()),
        ("calibration_error", ()): calibration_error(confidence, right),
        ("rotated_auroc", ()): float(roc_auc_score(np.repeat([0, 1], N), entropies)),
        ("rotated_entropy", ()): float(entropies[N:].mean()),
    }
    for i, inside in enumerate(reliability_bins(confidence, BINS)):
        values["bin_share", (i,)] = float(inside.mean())
        if inside.any():
            values["confidence", (i,)] = float(confidence[inside].mean())
            values["bin_accuracy", (i,)] = float(right[inside].mean())
    return values
