"""Metrics of the probabilities of classes: scores, calibration, and detection of unknown inputs.

`p` is an array of shape (N, C) with the probabilities of C classes for each of N images, and `y`
has the N true classes, counted from 0. The predicted class of an image is the most probable one,
the first of several equally probable ones; its probability is the confidence of the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlinefa_benchmark.arrays import Array

Labels = NDArray[np.integer[Any]]

_LOG_TEMPERATURE = 3.0  # bound of |log T|: T is between 0.05 and 20
_SUM_TOLERANCE = 1e-4  # of the sum of probabilities, which may be in single precision


def negative_log_likelihood(p: Array, y: Labels) -> float:
    """Return the mean of -log p of the true class, in nats.

    It is infinite if the true class of an image has probability zero.

    Parameters
    ----------
    p : array of shape (N, C)
        Probabilities.
    y : array of shape (N,)
        True classes.
    """
    p, y = _checked(p, y)
    with np.errstate(divide="ignore"):
        return float(-np.mean(np.log(p[np.arange(len(y)), y])))


def accuracy(p: Array, y: Labels) -> float:
    """Return the share of images whose predicted class is the true one.

    Parameters
    ----------
    p : array of shape (N, C)
        Probabilities.
    y : array of shape (N,)
        True classes.
    """
    return float(np.mean(_predictions(p, y)[1]))


def brier_score(p: Array, y: Labels) -> float:
    """Return the mean over images of the squared distance from p to the true class.

    The distance is the sum over classes of squared differences, with 1 for the true class and 0 for
    the others. The score is between 0 and 2.

    Parameters
    ----------
    p : array of shape (N, C)
        Probabilities.
    y : array of shape (N,)
        True classes.
    """
    p, y = _checked(p, y)
    difference = p.copy()
    difference[np.arange(len(y)), y] -= 1
    return float(np.mean(np.sum(difference**2, axis=1)))


def entropy(p: Array) -> Array:
    """Return the entropy of the classes of each image, in nats.

    Parameters
    ----------
    p : array of shape (..., C)
        Probabilities.

    Returns
    -------
    array of shape (...)
        Entropies, between 0 and log(C).
    """
    from scipy.special import entr

    return entr(p).sum(axis=-1)


def auroc(known: Array, unknown: Array) -> float:
    """Return the area under the ROC curve for the detection of unknown inputs by a score.

    It is the probability that an unknown input has a higher score than a known one, where equal
    scores count half: the Mann-Whitney statistic over the number of pairs.

    Parameters
    ----------
    known : array of shape (N,)
        Scores of known inputs, such as entropies.
    unknown : array of shape (M,)
        Scores of unknown inputs, which should be higher.

    Raises
    ------
    ValueError
        If there are no known or no unknown inputs, or if a score is NaN.
    """
    from scipy.stats import rankdata

    if not len(known) or not len(unknown):
        raise ValueError("the area under the ROC curve needs both known and unknown inputs")
    scores = np.concatenate([known, unknown])
    if np.isnan(scores).any():
        raise ValueError("scores of inputs contain NaN")
    M = len(unknown)
    ranks = rankdata(scores)[len(known) :]  # equal scores share the mean of their ranks
    return float((ranks.sum() - M * (M + 1) / 2) / (M * len(known)))


def selective_accuracy(p: Array, y: Labels, coverages: Sequence[float]) -> Array:
    """Return the accuracy on the most confident images, for each of several coverages.

    For a coverage c, these are the ceil(c N) images with the highest confidences. Of several images
    with equal confidences, those that come first are taken first.

    Parameters
    ----------
    p : array of shape (N, C)
        Probabilities.
    y : array of shape (N,)
        True classes.
    coverages : sequence of float
        Shares of images, in (0, 1].

    Returns
    -------
    array of shape (len(coverages),)
        Accuracies.

    Raises
    ------
    ValueError
        If a coverage is not in (0, 1].
    """
    wrong = [c for c in coverages if not 0 < c <= 1]
    if wrong:
        raise ValueError(f"coverages must be in (0, 1], got {wrong[0]!r}")
    confidence, right = _predictions(p, y)
    order = np.argsort(-confidence, kind="stable")
    accuracies = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    # 0.07 * 100 is a little more than 7 in floating point.
    counts = [max(1, ceil(c * len(order) - 1e-9)) for c in coverages]
    return accuracies[np.array(counts, dtype=int) - 1]


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Confidence and accuracy in bins of images, in order of confidence.

    Parameters
    ----------
    confidence : array of shape (B,)
        Mean confidence in each bin.
    accuracy : array of shape (B,)
        Share of correct predictions in each bin.
    share : array of shape (B,)
        Share of the images in each bin.
    """

    confidence: Array
    accuracy: Array
    share: Array


def reliability_curve(p: Array, y: Labels, bins: int = 15) -> ReliabilityCurve:
    """Return mean confidence, accuracy and share in bins of (nearly) equal numbers of images.

    Images with equal confidences are in one bin: the border between two bins moves up to the next
    higher confidence. Hence the bins do not depend on the order of images, nor on their classes.
    Each bin has at least two images (if there are two): a border that leaves fewer is left out.
    There are fewer bins than requested if many confidences are equal or if there are fewer than two
    images per bin; N images with different confidences have at most N / 2 bins.

    Parameters
    ----------
    p : array of shape (N, C)
        Probabilities.
    y : array of shape (N,)
        True classes.
    bins : int
        Largest number of bins.

    Returns
    -------
    ReliabilityCurve
        Values of the B bins, with 1 <= B <= bins.
    """
    confidence, right = _predictions(p, y)
    order = np.argsort(confidence, kind="stable")
    starts = _bin_starts(confidence[order], bins)
    counts = np.diff([*starts, len(order)])
    return ReliabilityCurve(
        np.add.reduceat(confidence[order], starts) / counts,
        np.add.reduceat(right[order].astype(float), starts) / counts,
        counts / len(order),
    )


def _bin_starts(confidence: Array, bins: int) -> list[int]:
    """Return the index of the first image of each bin, for sorted confidences."""
    if bins < 1:
        raise ValueError(f"the number of bins must be positive, got {bins}")
    N = len(confidence)
    starts = [0]
    for i in range(1, min(bins, N)):
        last = (i * N - 1) // min(bins, N)  # of the bin below, in case of equal numbers
        start = int(np.searchsorted(confidence, confidence[last], side="right"))
        if start - starts[-1] >= 2 and N - start >= 2:
            starts.append(start)
    return starts


def debiased_calibration_error(p: Array, y: Labels, bins: int = 15) -> float:
    """Return the root of the debiased squared calibration error, or 0 if that is negative.

    Parameters
    ----------
    p : array of shape (N, C)
        Probabilities.
    y : array of shape (N,)
        True classes.
    bins : int
        Largest number of bins.
    """
    return sqrt(max(0.0, squared_calibration_error(p, y, bins)))


def squared_calibration_error(
    p: Array, y: Labels, bins: int = 15, *, debiased: bool = True
) -> float:
    """Return an estimate of the squared calibration error of the predicted class.

    In the bins of `reliability_curve`, it is the mean of (confidence - accuracy)^2, weighted by
    their shares. Even if predictions are calibrated, this is positive on average, because the
    accuracy of n images varies. The debiased estimator subtracts accuracy (1 - accuracy) / (n - 1)
    in each bin, an unbiased estimate of that variance (Kumar, Liang and Ma, 2019, "Verified
    uncertainty calibration"). It may be negative.

    The estimator is unbiased if confidences within a bin are equal. Otherwise, if predictions are
    calibrated, its mean is too low by v / (n - 1) in each bin, with v the variance of the
    confidences in the bin: the variance of the accuracy is then the mean of q (1 - q) / n over the
    confidences q, which is less than that at the mean of q.

    Parameters
    ----------
    p : array of shape (N, C)
        Probabilities.
    y : array of shape (N,)
        True classes.
    bins : int
        Largest number of bins.
    debiased : bool
        Whether to subtract the variance of the accuracy.

    Raises
    ------
    ValueError
        If there are fewer than two images, for which a variance cannot be estimated.
    """
    if len(y) < 2:
        raise ValueError(f"the calibration error needs two images, got {len(y)}")
    curve = reliability_curve(p, y, bins)
    squares = (curve.confidence - curve.accuracy) ** 2
    if debiased:
        squares -= curve.accuracy * (1 - curve.accuracy) / (curve.share * len(y) - 1)
    return float(curve.share @ squares)


def fit_temperature(log_p: Array, y: Labels) -> float:
    """Return the temperature T that minimises the negative log-likelihood of softmax(log_p / T).

    The negative log-likelihood is convex in 1 / T, so that it has one minimum in log T. The search
    is bounded by |log T| <= 3. T is close to the lower bound if all predictions are correct, except
    that temperatures at which the loss rounds to the same number are not told apart.

    Parameters
    ----------
    log_p : array of shape (N, C)
        Logarithms of probabilities, or logits.
    y : array of shape (N,)
        True classes.

    Raises
    ------
    ValueError
        If the true class of an image has the logit minus infinity, so that the negative
        log-likelihood is infinite at each temperature, or if a logit is NaN or plus infinity.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp

    y = _checked_labels(log_p.shape, y)
    of_true = log_p[np.arange(len(y)), y]
    # Other classes may have the logit minus infinity. The comparison is false for NaN.
    if not np.isfinite(of_true).all() or not (log_p < np.inf).all():
        raise ValueError("the temperature needs finite logits of true classes, and no NaN")

    def loss(log_temperature: float) -> float:
        beta = exp(-log_temperature)
        return float(np.mean(logsumexp(beta * log_p, axis=1) - beta * of_true))

    bounds = (-_LOG_TEMPERATURE, _LOG_TEMPERATURE)
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-8})
    return exp(float(found.x))


def scale_temperature(log_p: Array, T: float) -> Array:
    """Return the probabilities softmax(log_p / T).

    Parameters
    ----------
    log_p : array of shape (..., C)
        Logarithms of probabilities, or logits.
    T : float
        Temperature, positive. Probabilities are closer to each other if it is above 1.

    Returns
    -------
    array of shape (..., C)
        Probabilities.

    Raises
    ------
    ValueError
        If the temperature is not positive.
    """
    from scipy.special import softmax

    if not T > 0:
        raise ValueError(f"the temperature must be positive, got {T!r}")
    return softmax(log_p / T, axis=-1)


def _predictions(p: Array, y: Labels) -> tuple[Array, NDArray[np.bool_]]:
    """Return the confidence of each image, and whether its predicted class is the true one."""
    p, y = _checked(p, y)
    return p.max(axis=1), p.argmax(axis=1) == y


def _checked(p: Array, y: Labels) -> tuple[Array, Labels]:
    """Return probabilities in double precision and classes, or raise ValueError.

    Logits that are given in place of probabilities would yield numbers without a meaning.
    """
    p = np.asarray(p, dtype=np.float64)
    y = _checked_labels(p.shape, y)
    # The comparison is false for NaN.
    if not (p.min() >= 0 and np.abs(p.sum(axis=1) - 1).max() <= _SUM_TOLERANCE):
        raise ValueError("probabilities of classes must be non-negative and sum to 1")
    return p, y


def _checked_labels(shape: tuple[int, ...], y: Labels) -> Labels:
    """Return classes that suit an array of shape (N, C), or raise ValueError."""
    y = np.asarray(y)
    if len(shape) != 2 or y.shape != shape[:1] or not len(y):
        raise ValueError(f"expected arrays of shapes (N, C) and (N,), got {shape} and {y.shape}")
    if not np.issubdtype(y.dtype, np.integer) or y.min() < 0 or y.max() >= shape[1]:
        raise ValueError(f"classes must be whole numbers from 0 to {shape[1] - 1}")
    return y
