"""Tests of networks on digits: splits, rotated images, metrics of classes."""

from __future__ import annotations

from math import e, exp, log

import numpy as np
import pytest
from sklearn.datasets import load_digits
from support.contexts import run
from support.network_cells import QUICK, cell, values_of

from onlinefa_benchmark.context import Context
from onlinefa_benchmark.experiments.network import digits_computation as digits
from onlinefa_benchmark.experiments.network.task import NetworkTraining
from onlinefa_benchmark.posteriors.base import SampledFunctions
from onlinefa_benchmark.randomness import generator


def test_digits_have_three_parts_and_a_rotated_copy_of_the_test_part():
    study = digits._study(0, 1, QUICK, Context(None))
    images, labels = load_digits(return_X_y=True)
    order = generator(1, "digits", "digits", 0, "held_out").permutation(len(labels))
    tested, rest = order[:359], order[359:]
    assert (len(study.validation.y), len(study.learned.y)) == (287, 1151)
    learned_from = np.concatenate([study.validation.y, study.learned.y])
    np.testing.assert_array_equal(learned_from, labels[rest])
    mean, sd = images[rest].mean(), images[rest].std()
    shown = sd * study.asked[:, :-1] + mean
    np.testing.assert_allclose(shown[:359], images[tested], atol=1e-9)
    for image, turned in zip(images[tested][:20], shown[359:], strict=False):
        expected = np.rot90(image.reshape(8, 8))
        np.testing.assert_allclose(turned.reshape(8, 8), expected, atol=1e-9)
        # Rotated left by 90 degrees: the right column, from top to bottom, becomes the top row.
        np.testing.assert_allclose(turned[:8], image.reshape(8, 8)[:, 7], atol=1e-9)


def test_metrics_of_classes_by_hand():
    """Two networks, two images and their rotated copies, three classes; logits are log p."""
    sure, unsure, flat = [0.98, 0.01, 0.01], [0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]
    turned = [0.6, 0.2, 0.2]
    draws = np.log([[sure, unsure, flat, turned], [unsure, unsure, flat, turned]])
    draws[1] += 7  # probabilities do not depend on it
    found = digits.measure(SampledFunctions(draws), 0.1, {}, np.array([0, 1]))
    scalars = {name: value for (name, index), value in found.items() if not index}
    first = (0.98 + 0.5) / 2  # probabilities are averaged, not their logarithms
    assert scalars["accuracy"] == 1 / 2
    assert scalars["class_nll"] == pytest.approx(-(log(first) + log(0.25)) / 2)
    assert scalars["calibration_error"] == pytest.approx((abs(first - 1) + abs(0.5 - 0)) / 2)
    of_turned = -(0.6 * log(0.6) + 0.4 * log(0.2))
    assert scalars["rotated_entropy"] == pytest.approx((log(3) + of_turned) / 2)
    # Entropies are 0.77 and 1.04 against 1.10 and 0.95: three of four pairs are in order.
    assert scalars["rotated_auroc"] == 3 / 4
    shares = [found["bin_share", (i,)] for i in range(10)]
    assert shares == [0, 0, 0, 0, 1 / 2, 0, 0, 1 / 2, 0, 0]
    assert found["confidence", (7,)] == pytest.approx(first)
    assert (found["bin_accuracy", (7,)], found["bin_accuracy", (4,)]) == (1, 0)
    assert ("confidence", (0,)) not in found
    assert {metric for metric, _ in found} == set(digits.CONTRACTS)


def test_probabilities_are_averaged_without_overflow():
    logits = np.array([[[1000.0, 0.0]], [[0.0, 1.0]]])
    found = np.exp(digits.log_probabilities(SampledFunctions(logits)))
    np.testing.assert_allclose(found, [[(1 + 1 / (1 + e)) / 2, exp(1) / (1 + e) / 2]])


@pytest.mark.slow
def test_a_cell_of_digits_has_all_metrics():
    training = NetworkTraining(**vars(QUICK) | {"width": 12, "candidates": 2, "steps": 200})
    found = run(cell("laplace_diagonal", experiment="digits", training=training))
    assert {one.networks for one in found} == {5}
    values = values_of(found)
    assert sum(values["bin_share", i] for i in range(10)) == pytest.approx(1)
    assert values["accuracy"] > 0.5  # random guesses have an accuracy of 0.1
    assert not any("[" in one.metric for one in found)


def test_classes_have_no_noise():
    found = run(cell("map", experiment="digits"))
    assert "chosen_noise" not in {measurement.metric for measurement in found}
