"""Handwritten digits in ten classes: does a posterior know when its network is wrong?

scikit-learn's 8 x 8 images. A seed is a random split, as for tables, but a fifth of the images is
the test: calibration is a matter of many points. The same images turned by a quarter are what no
network has been trained for, and the entropy of its predictions should say so. No detector can be
perfect: a zero or an eight that is turned looks like one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from onlinefa import devices
from onlinefa.cell import Cell
from onlinefa.experiments.network_task import Table, Training
from onlinefa.experiments.searching import Study, run_study
from onlinefa.experiments.tracking import Measurement
from onlinefa.gaussian import Array
from onlinefa.metrics import Value
from onlinefa.models.likelihoods import Categorical
from onlinefa.models.predictive import calibration_error, reliability_bins
from onlinefa.models.scaling import with_one
from onlinefa.posteriors.base import Functions, SampledFunctions
from onlinefa.randomness import generator

BINS = 10  # of the reliability diagram

# Of the prior. To be sure of a class, outputs must be far apart: with 0.1, where tables begin,
# predictions are too timid, and below 0.01 they become worse again.
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


def run(cell: Cell, tables: Path) -> Iterator[Measurement]:
    """One posterior on one split."""
    study = _study(
        cell.seed,
        int(cell.parameters["root_seed"]),
        Training(**cell.parameters["training"]),
        devices.resolve(cell.device),
    )
    yield from run_study(cell, study)


@lru_cache(maxsize=1)  # the cells of a split follow each other
def _study(seed: int, root: int, training: Training, device: str) -> Study:
    from sklearn.datasets import load_digits

    random = partial(generator, root, "digits", "digits", seed)
    images, labels = load_digits(return_X_y=True)
    order = random("held_out").permutation(len(labels))
    asked, held_back, learned = np.split(order, [len(labels) // 5, len(labels) * 9 // 25])
    # One unit for all pixels: some of them never vary.
    rest = np.concatenate([held_back, learned])
    mean, sd = images[rest].mean(), images[rest].std()
    X = with_one((images - mean) / sd)
    turned = np.rot90(images[asked].reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)
    return Study(
        Table(X[learned], labels[learned]),
        Table(X[held_back], labels[held_back]),
        np.concatenate([X[asked], with_one((turned - mean) / sd)]),
        training,
        random,
        lambda noise: Categorical(10),
        lambda functions, y, noise: -float(np.mean(log_probabilities(functions)[range(len(y)), y])),
        partial(measure, y=labels[asked]),
        CONTRACTS,
        device,
        has_noise=False,
        precisions=_PRECISIONS,
    )


def log_probabilities(functions: Functions) -> Array:
    """Of the Bayesian model average, by log-sum-exp: of shape (images, classes)."""
    from scipy.special import log_softmax, logsumexp

    assert isinstance(functions, SampledFunctions)
    values = functions.values
    return logsumexp(log_softmax(values, axis=-1), axis=0) - np.log(len(values))


def measure(functions: Functions, noise: float, y: Array) -> dict[str, Value]:
    """Of predictions for images of classes y, followed by those for the same images turned."""
    from sklearn.metrics import roc_auc_score

    logs = log_probabilities(functions)
    entropies = -np.sum(np.exp(logs) * logs, axis=1)
    known, N = logs[: len(y)], len(y)
    confidence, right = np.exp(known.max(axis=1)), known.argmax(axis=1) == y
    values: dict[str, Value] = {
        "accuracy": float(right.mean()),
        "class_nll": -float(known[range(N), y].mean()),
        "calibration_error": calibration_error(confidence, right),
        "rotated_auroc": float(roc_auc_score(np.repeat([0, 1], N), entropies)),
        "rotated_entropy": float(entropies[N:].mean()),
    }
    for i, inside in enumerate(reliability_bins(confidence, BINS)):
        values[f"bin_share[{i}]"] = float(inside.mean())
        if inside.any():
            values[f"confidence[{i}]"] = float(confidence[inside].mean())
            values[f"bin_accuracy[{i}]"] = float(right[inside].mean())
    return values
