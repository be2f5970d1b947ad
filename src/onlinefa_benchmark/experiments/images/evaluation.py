"""Images that a posterior is measured on, and the metrics of its predictions of their classes.

All images are predicted at once, so that every network is drawn once: the test images, test images
under a shift, images that no class fits, and validation images for the temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.deep.data import Bytes, ImageParts, to_tensor
from onlinefa_benchmark.deep.task import BATCH
from onlinefa_benchmark.models import class_metrics
from onlinefa_benchmark.models.image_shifts import SHIFTS, STRENGTHS, shift_images

MetricValues = dict[tuple[str, tuple[int, ...]], float | str]

COVERAGES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100)  # per cent of images
BINS = 15
DOUBTS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)  # borders of bins of one minus the confidence
GALLERY = 3  # images in the gallery of an algorithm
_VALIDATION = 2000
_LEAST = float(np.finfo(np.float32).tiny)

_OF_TEST = "mean over test images"
_OF_SHIFTED = "mean over shifted test images"
_BINNED = f"root of the debiased squared error in {BINS} bins of equally many images"
CONTRACTS = {
    "class_nll": _OF_TEST,
    "accuracy": "share of test images",
    "calibration_error": _BINNED,
    "brier_score": _OF_TEST,
    "scaled_nll": f"{_OF_TEST}, temperature chosen on validation images",
    "scaled_calibration_error": f"{_BINNED}, temperature chosen on validation images",
    "temperature": "largest likelihood of validation images",
    "unknown_auroc": "by the entropy of predictions, mean over unknown datasets",
    "shifted_nll": f"{_OF_SHIFTED}, kinds and strengths",
    "shift_nll": _OF_SHIFTED,
    "shift_accuracy": "share of shifted test images",
    "shift_calibration_error": _BINNED,
    "shift_brier_score": _OF_SHIFTED,
    "selective_accuracy": "share of the most confident test images",
    "confidence": "mean in a bin",
    "bin_accuracy": "mean in a bin",
    "bin_share": "share of test images",
    "gallery_image": "number of the test image in the dataset",
    "gallery_probability": "of a class",
    "gallery_map_probability": "of a class, by the trained network",
    "posterior_megabytes": "tensors that predictions need",
}


@dataclass(frozen=True, eq=False)
class EvaluationImages:
    """Images in the order in which they are predicted.

    Parameters
    ----------
    pixels : array of shape (N, C, H, W)
        All images.
    test, validation : slice
        Where test and validation images are.
    shifted : mapping
        Where the images of a kind of shift and a strength are.
    unknown : sequence of slice
        Where the images of each unknown dataset are.
    test_labels, validation_labels : array
        Classes; shifted images are the first test images.
    """

    pixels: Bytes
    test: slice
    validation: slice
    shifted: Mapping[tuple[str, int], slice]
    unknown: Sequence[slice]
    test_labels: NDArray[np.int64]
    validation_labels: NDArray[np.int64]

    @classmethod
    def make(
        cls,
        data: ImageParts,
        unknown: Sequence[Bytes],
        sizes: Mapping[str, int | None],
        random: np.random.Generator,
    ) -> EvaluationImages:
        """Make the images of a dataset.

        Parameters
        ----------
        data : ImageParts
            The dataset.
        unknown : sequence of array
            Images of other datasets.
        sizes : mapping of str to int or None
            ``test_images`` and ``shifted_images``.
        random : numpy.random.Generator
            Source of the shifts.
        """
        test = data.test.take(sizes["test_images"] or len(data.test))
        validation = data.validation.take(min(_VALIDATION, len(test)))
        first = test.images[: sizes["shifted_images"]]
        parts: list[Bytes] = []

        def append(images: Bytes) -> slice:
            start = sum(map(len, parts))
            parts.append(images)
            return slice(start, start + len(images))

        places = append(test.images), append(validation.images)
        shifted = {
            (kind, strength): append(shift_images(first, kind, strength, random))
            for kind in SHIFTS
            for strength in STRENGTHS
        }
        others = [append(images) for images in unknown]
        return cls(np.concatenate(parts), *places, shifted, others, test.labels, validation.labels)


def make_batches(pixels: Bytes, scale: tuple[Tensor, Tensor]) -> Iterator[Tensor]:
    """Yield images as inputs of networks."""
    for start in range(0, len(pixels), BATCH):
        yield to_tensor(pixels[start : start + BATCH], scale)


def measure(probabilities: Array, images: EvaluationImages) -> MetricValues:
    """Return the metrics of predictions.

    Parameters
    ----------
    probabilities : array of shape (N, C)
        Class probabilities of all images.
    images : EvaluationImages
        The images.

    Returns
    -------
    values : dict
        Values of metrics, with the indices of curves.
    """
    # In single precision, the probability of a class may be zero.
    p = np.clip(probabilities, _LEAST, None)
    test, y = p[images.test], images.test_labels
    values: MetricValues = {
        ("class_nll", ()): class_metrics.negative_log_likelihood(test, y),
        ("accuracy", ()): class_metrics.accuracy(test, y),
        ("calibration_error", ()): class_metrics.debiased_calibration_error(test, y, BINS),
        ("brier_score", ()): class_metrics.brier_score(test, y),
    }
    values |= _measure_scaled(p, images)
    values |= _measure_unknown(p, images)
    values |= _measure_shifts(p, images)
    shares = [coverage / 100 for coverage in COVERAGES]
    for coverage, value in zip(
        COVERAGES, class_metrics.selective_accuracy(test, y, shares), strict=True
    ):
        values["selective_accuracy", (coverage,)] = float(value)
    return values | _measure_reliability(test, y)


def _measure_reliability(p: Array, y: NDArray[np.int64]) -> MetricValues:
    """Return confidence and accuracy in bins of doubt, which are the same for all seeds."""
    values: MetricValues = {}
    confidence, is_right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.digitize(1 - confidence, DOUBTS)
    for i in range(len(DOUBTS) + 1):
        inside = bins == i
        values["bin_share", (i,)] = float(inside.mean())
        if inside.any():
            values["confidence", (i,)] = float(confidence[inside].mean())
            values["bin_accuracy", (i,)] = float(is_right[inside].mean())
    return values


def _measure_scaled(p: Array, images: EvaluationImages) -> MetricValues:
    logs, y = np.log(p), images.test_labels
    T = class_metrics.fit_temperature(logs[images.validation], images.validation_labels)
    scaled = np.clip(class_metrics.scale_temperature(logs[images.test], T), _LEAST, None)
    error = class_metrics.debiased_calibration_error(scaled, y, BINS)
    return {
        ("temperature", ()): T,
        ("scaled_nll", ()): class_metrics.negative_log_likelihood(scaled, y),
        ("scaled_calibration_error", ()): error,
    }


def _measure_unknown(p: Array, images: EvaluationImages) -> MetricValues:
    entropy = class_metrics.entropy(p)
    areas = [class_metrics.auroc(entropy[images.test], entropy[each]) for each in images.unknown]
    return {("unknown_auroc", ()): float(np.mean(areas))}


def measure_gallery(p: Array, baseline: Array, rows: NDArray[np.int64]) -> MetricValues:
    """Return the test images whose predictions differ most from those of the trained network.

    Parameters
    ----------
    p : array of shape (N, C)
        Class probabilities of test images.
    baseline : array of shape (N, C)
        Those of the trained network.
    rows : array of shape (N,)
        Numbers of the test images in the dataset.

    Returns
    -------
    values : dict
        For each place in the gallery, the number of the image and both probabilities.
    """
    values: MetricValues = {}
    distances = np.abs(p - baseline).sum(axis=1) / 2  # total variation
    for place, row in enumerate(np.argsort(-distances, kind="stable")[:GALLERY]):
        values["gallery_image", (place,)] = float(rows[row])
        for j in range(p.shape[1]):
            values["gallery_probability", (place, j)] = float(p[row, j])
            values["gallery_map_probability", (place, j)] = float(baseline[row, j])
    return values


_SHIFT_METRICS: dict[str, Callable[[Array, NDArray[np.int64]], float]] = {
    "shift_nll": class_metrics.negative_log_likelihood,
    "shift_accuracy": class_metrics.accuracy,
    "shift_calibration_error": partial(class_metrics.debiased_calibration_error, bins=BINS),
    "shift_brier_score": class_metrics.brier_score,
}


def _measure_shifts(p: Array, images: EvaluationImages) -> MetricValues:
    """Return curves of metrics; the indices are the kind of shift and its strength."""
    values: MetricValues = {}
    likelihoods = []
    for (kind, strength), place in images.shifted.items():
        shifted = p[place]
        y = images.test_labels[: len(shifted)]
        index = (SHIFTS.index(kind), strength)
        for name, metric in _SHIFT_METRICS.items():
            values[name, index] = metric(shifted, y)
        likelihoods.append(class_metrics.negative_log_likelihood(shifted, y))
    values["shifted_nll", ()] = float(np.mean(likelihoods))
    return values
