"""Tests of metrics of classes, against values by hand, brute force and known means."""

from __future__ import annotations

from math import e, exp, log, sqrt

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from onlinefa_benchmark.models.class_metrics import (
    accuracy,
    auroc,
    brier_score,
    debiased_calibration_error,
    entropy,
    fit_temperature,
    negative_log_likelihood,
    reliability_curve,
    scale_temperature,
    selective_accuracy,
    squared_calibration_error,
)

P = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2], [0.0, 1.0, 0.0]])
Y = np.array([1, 2, 0, 1])


def binary(confidence, right):
    """Return probabilities of two classes with given confidences, at least 1/2, and the classes.

    The predicted class is the first one, so that an image of the second one is a wrong prediction.
    """
    confidence = np.asarray(confidence, dtype=float)
    return np.stack([confidence, 1 - confidence], axis=1), 1 - np.asarray(right, dtype=int)


def test_scores_by_hand():
    """Of two equally probable classes, the first one is predicted."""
    expected = -(log(0.25) + log(0.8) + log(0.4) + log(1)) / 4
    assert negative_log_likelihood(P, Y) == pytest.approx(expected)
    assert accuracy(P, Y) == 3 / 4
    assert accuracy(P, np.array([0, 2, 1, 1])) == 3 / 4
    sums = [0.25 + 0.5625 + 0.0625, 0.01 + 0.01 + 0.04, 0.36 + 0.16 + 0.04, 0]
    assert brier_score(P, Y) == pytest.approx(np.mean(sums))


def test_scores_at_their_bounds():
    certain, y = np.eye(3), np.arange(3)
    assert (negative_log_likelihood(certain, y), brier_score(certain, y)) == (0, 0)
    assert negative_log_likelihood(certain, y[::-1]) == np.inf
    assert brier_score(certain, np.roll(y, 1)) == 2
    uniform = np.full((3, 4), 0.25)
    assert negative_log_likelihood(uniform, y) == pytest.approx(log(4))


def test_scores_do_not_change_their_input():
    p = P.copy()
    brier_score(p, Y)
    squared_calibration_error(p, Y)
    np.testing.assert_array_equal(p, P)


def test_entropy_is_zero_for_certainty_and_largest_for_equal_probabilities():
    p = np.array([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [1 / e, 0, 1 - 1 / e, 0]])
    last = 1 / e - (1 - 1 / e) * log(1 - 1 / e)
    np.testing.assert_allclose(entropy(p), [0, log(4), log(2), last])
    np.testing.assert_array_equal(entropy(p.reshape(2, 2, 4)), entropy(p).reshape(2, 2))


def test_the_area_under_the_roc_curve_is_the_share_of_ordered_pairs():
    random = np.random.default_rng(0)
    known = random.integers(0, 6, size=23).astype(float)
    unknown = random.integers(2, 9, size=17).astype(float)
    pairs = [(u > k) + (u == k) / 2 for u in unknown for k in known]
    assert any(pair == 0.5 for pair in pairs)
    assert auroc(known, unknown) == pytest.approx(np.mean(pairs))
    assert auroc(unknown, known) == pytest.approx(1 - np.mean(pairs))


def test_the_area_under_the_roc_curve_at_its_bounds():
    assert auroc(np.array([0.0, 1.0]), np.array([2.0, np.inf])) == 1
    assert auroc(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 0
    assert auroc(np.zeros(5), np.zeros(3)) == 0.5


def test_selective_accuracy_takes_the_most_confident_images():
    """Images with the confidence 0.8 are taken in their order: right, wrong, right."""
    p, y = binary([0.6, 0.8, 0.9, 0.8, 0.8], [0, 1, 1, 0, 1])
    coverages = [0.2, 0.4, 0.6, 0.8, 1.0, 0.21, 1e-12]
    expected = [1, 1, 2 / 3, 3 / 4, 3 / 5, 1, 1]
    np.testing.assert_allclose(selective_accuracy(p, y, coverages), expected)
    assert selective_accuracy(p, y, []).shape == (0,)


def test_images_with_equal_confidences_are_taken_in_their_order():
    """Two confidences alternate; of the images with the higher one, the first 30 are right."""
    i = np.arange(200)
    p, y = binary(np.where(i % 2, 0.9, 0.6), i < 60)
    np.testing.assert_allclose(selective_accuracy(p, y, [0.1, 0.15, 0.3]), [1, 1, 1 / 2])


def test_selective_accuracy_counts_images_exactly():
    """In floating point, 0.07 * 100 exceeds 7. The eighth image is the only wrong one."""
    assert 0.07 * 100 > 7
    p, y = binary(np.linspace(0.99, 0.6, 100), np.arange(100) != 7)
    np.testing.assert_allclose(selective_accuracy(p, y, [0.07, 0.08]), [1, 7 / 8])


def test_the_debiased_calibration_error_by_hand():
    """Two bins of three images: (1/30)^2 - (2/9) / 2 in the lower, and 0.95^2 - 0 in the upper."""
    p, y = binary([0.95, 0.6, 0.94, 0.8, 0.7, 0.96], [0, 1, 0, 0, 1, 0])
    curve = reliability_curve(p, y, 2)
    np.testing.assert_allclose(curve.confidence, [0.7, 0.95])
    np.testing.assert_allclose(curve.accuracy, [2 / 3, 0])
    np.testing.assert_allclose(curve.share, [0.5, 0.5])
    plain = ((1 / 30) ** 2 + 0.95**2) / 2
    assert squared_calibration_error(p, y, 2, debiased=False) == pytest.approx(plain)
    assert squared_calibration_error(p, y, 2) == pytest.approx(plain - 1 / 18)
    assert debiased_calibration_error(p, y, 2) == pytest.approx(sqrt(plain - 1 / 18))


def test_a_negative_estimate_gives_the_calibration_error_zero():
    """With equal confidence and accuracy, the estimate is -(1/4) / 3."""
    p, y = binary([0.5] * 4, [0, 1, 0, 1])
    assert squared_calibration_error(p, y) == pytest.approx(-1 / 12)
    assert debiased_calibration_error(p, y) == 0


def estimates(confidence, bins, repetitions):
    """Return debiased and plain squared errors of draws of a calibrated source."""
    random = np.random.default_rng(0)
    confidence = np.asarray(confidence)
    draws = [
        binary(confidence, random.random(len(confidence)) < confidence) for _ in range(repetitions)
    ]
    return np.array(
        [[squared_calibration_error(p, y, bins, debiased=d) for p, y in draws] for d in (1, 0)]
    )


def test_the_debiased_error_of_a_calibrated_source_has_mean_zero():
    """The plain one has the mean q (1 - q) / 40, averaged over three bins of equal confidences q.

    The tolerances are four standard errors, from the estimates themselves.
    """
    q = np.array([0.6, 0.75, 0.9])
    debiased, plain = estimates(np.repeat(q, 40), 3, 3000)
    error = debiased.std() / sqrt(3000)
    assert abs(debiased.mean()) < 4 * error
    expected = np.mean(q * (1 - q) / 40)
    assert plain.mean() == pytest.approx(expected, abs=4 * plain.std() / sqrt(3000))
    assert expected > 20 * error  # a missing correction would be noticed


def test_the_debiased_error_has_the_documented_bias_if_confidences_in_a_bin_differ():
    confidence = np.linspace(0.5, 1, 20)
    debiased, _ = estimates(confidence, 1, 4000)
    error = debiased.std() / sqrt(4000)
    bias = -confidence.var() / 19
    assert debiased.mean() == pytest.approx(bias, abs=4 * error)
    assert bias < -4 * error


def test_the_debiased_error_of_a_miscalibrated_source_has_the_mean_of_the_gap():
    """At the confidence 0.9 and the accuracy 0.6, the mean squared error is 0.3^2."""
    random = np.random.default_rng(1)
    found = np.array(
        [
            squared_calibration_error(*binary([0.9] * 30, random.random(30) < 0.6))
            for _ in range(2000)
        ]
    )
    assert found.mean() == pytest.approx(0.09, abs=4 * found.std() / sqrt(2000))


def test_images_with_equal_confidences_are_in_one_bin():
    """The border after three of six images moves up, behind the third image with 0.8."""
    p, y = binary([0.6, 0.7, 0.8, 0.8, 0.9, 0.95], [1, 0, 1, 0, 1, 0])
    curve = reliability_curve(p, y, 2)
    np.testing.assert_allclose(curve.share, [4 / 6, 2 / 6])
    np.testing.assert_allclose(curve.confidence, [2.9 / 4, 1.85 / 2])
    np.testing.assert_allclose(curve.accuracy, [1 / 2, 1 / 2])
    p, y = binary([0.8] * 6, [1, 0, 1, 0, 1, 1])
    np.testing.assert_array_equal(reliability_curve(p, y, 5).share, [1])


def test_a_bin_that_equal_confidences_leave_with_one_image_is_joined():
    """Of the bins 0.6 0.7 | 0.7 0.8 | 0.9 0.95, the second would keep 0.8 alone."""
    p, y = binary([0.6, 0.7, 0.7, 0.8, 0.9, 0.95], [1, 0, 1, 0, 1, 0])
    np.testing.assert_allclose(reliability_curve(p, y, 3).share, [3 / 6, 3 / 6])


def test_the_calibration_error_does_not_depend_on_the_order_of_images():
    random = np.random.default_rng(0)
    confidence = np.round(random.uniform(0.5, 1, size=200), 2)
    p, y = binary(confidence, random.random(200) < confidence)
    by_class = np.argsort(y, kind="stable")
    found = squared_calibration_error(p, y)
    assert squared_calibration_error(p[by_class], y[by_class]) == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize(("N", "bins"), [(2, 15), (3, 15), (10, 15), (31, 15), (100, 15), (7, 1)])
def test_bins_have_nearly_equal_numbers_of_at_least_two_images(N, bins):
    confidence = np.random.default_rng(0).permutation(np.linspace(0.5, 1, N))
    p, y = binary(confidence, np.arange(N) % 2)
    counts = np.rint(reliability_curve(p, y, bins).share * N)
    assert counts.sum() == N
    assert counts.min() >= 2
    assert counts.max() - counts.min() <= 1
    assert len(counts) == min(bins, N // 2)
    assert np.isfinite(squared_calibration_error(p, y, bins))


def test_the_curve_averages_to_the_mean_confidence_and_accuracy():
    random = np.random.default_rng(0)
    p = softmax(random.normal(size=(101, 5)), axis=1)
    y = random.integers(5, size=101)
    curve = reliability_curve(p, y, 8)
    assert curve.share @ curve.confidence == pytest.approx(p.max(axis=1).mean())
    assert curve.share @ curve.accuracy == pytest.approx(accuracy(p, y))
    assert np.all(np.diff(curve.confidence) > 0)


def logits_of_a_true_model(N=4000, C=4):
    """Return logits and classes that are drawn from their probabilities."""
    random = np.random.default_rng(0)
    logits = random.normal(scale=1.5, size=(N, C))
    levels = np.cumsum(softmax(logits, axis=1), axis=1)
    return logits, np.minimum((random.random(N)[:, None] > levels).sum(axis=1), C - 1)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_the_temperature_is_the_factor_of_the_logits(factor):
    """The maximum-likelihood estimate of 1 / T has the Fisher information of N variances of logits.

    Hence T has the standard error T^2 / sqrt(information). The tolerance is four of these.
    """
    logits, y = logits_of_a_true_model()
    scaled = factor * logits
    p = softmax(logits, axis=1)
    information = np.sum((p * scaled**2).sum(axis=1) - (p * scaled).sum(axis=1) ** 2)
    tolerance = 4 * factor**2 / sqrt(information)
    assert tolerance < 0.1 * factor
    found = fit_temperature(scaled, y)
    assert found == pytest.approx(factor, abs=tolerance)
    # Log probabilities differ from logits by a number for each image.
    assert fit_temperature(log_softmax(scaled, axis=1), y) == pytest.approx(found, rel=1e-6)


def test_the_gradient_vanishes_at_the_temperature():
    """It is the mean of (z_y - E z) / T^2, with the expectation over softmax(z / T).

    Its slope is below the mean of z^2 / T^3, and T is found to a relative accuracy of 1e-6.
    """
    logits, y = logits_of_a_true_model(300)
    z = 3 * logits

    def gradient(T):
        p = scale_temperature(z, T)
        return np.mean(z[np.arange(300), y] - (p * z).sum(axis=1)) / T**2

    T = fit_temperature(z, y)
    assert abs(gradient(T)) < 1e-6 * np.mean((z**2).sum(axis=1)) / T**2
    assert gradient(0.99 * T) < 0 < gradient(1.01 * T)


def test_a_bound_limits_the_temperature():
    """If all predictions are right, lower temperatures are better; if all are wrong, higher ones.

    Impossible classes have the logit minus infinity.
    """
    logits = np.array([[0.2, 0.0, -np.inf], [-0.1, 0.3, -np.inf]])
    assert fit_temperature(logits, np.array([0, 1])) == pytest.approx(exp(-3), rel=1e-4)
    assert fit_temperature(logits, np.array([1, 0])) == pytest.approx(exp(3), rel=1e-4)


def test_scaled_probabilities_by_hand():
    """The logits log 9 and 0 at the temperature 2 are those of the odds 3 to 1."""
    log_p = np.log([[0.9, 0.1], [0.5, 0.5]])
    np.testing.assert_allclose(scale_temperature(log_p, 2.0), [[0.75, 0.25], [0.5, 0.5]])
    np.testing.assert_allclose(scale_temperature(log_p, 1.0), np.exp(log_p))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: accuracy(np.log(P[:2]), Y[:2]), "sum to 1"),
        (lambda: accuracy(np.full((2, 3), np.nan), Y[:2]), "sum to 1"),
        (lambda: accuracy(P, Y[:2]), r"got \(4, 3\) and \(2,\)"),
        (lambda: accuracy(P[:0], Y[:0]), r"got \(0, 3\) and \(0,\)"),
        (lambda: brier_score(P, Y - 1), "whole numbers from 0 to 2"),
        (lambda: brier_score(P, Y + 1), "whole numbers from 0 to 2"),
        (lambda: negative_log_likelihood(P, Y.astype(float)), "whole numbers"),
        (lambda: squared_calibration_error(P[:1], Y[:1]), "needs two images, got 1"),
        (lambda: reliability_curve(P, Y, 0), "must be positive, got 0"),
        (lambda: selective_accuracy(P, Y, [0.5, 0.0]), r"in \(0, 1\], got 0.0"),
        (lambda: selective_accuracy(P, Y, [1.5]), "got 1.5"),
        (lambda: auroc(np.zeros(0), np.zeros(2)), "both known and unknown"),
        (lambda: auroc(np.zeros(2), np.array([np.nan])), "contain NaN"),
        (lambda: scale_temperature(P, 0.0), "positive, got 0.0"),
        (lambda: fit_temperature(np.array([[-np.inf, 0.0]]), np.array([0])), "finite logits"),
        (lambda: fit_temperature(np.array([[0.0, np.nan]]), np.array([0])), "no NaN"),
    ],
)
def test_mistakes_are_reported_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
