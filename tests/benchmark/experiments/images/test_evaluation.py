"""Tests of the images that posteriors are measured on, and of the metrics."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.images import make_images

from onlinefa_benchmark.experiments.images.evaluation import (
    CONTRACTS,
    COVERAGES,
    EvaluationImages,
    make_batches,
    measure,
    measure_gallery,
)
from onlinefa_benchmark.experiments.images.parts import split_images
from onlinefa_benchmark.models.image_shifts import SHIFTS, STRENGTHS

SIZES = {"test_images": 40, "shifted_images": 10}


@pytest.fixture
def images():
    parts = split_images(make_images(500), np.random.default_rng(0), None, None)
    unknown = [make_images(6).images, make_images(7).images]
    return EvaluationImages.make(parts, unknown, SIZES, np.random.default_rng(1))


def test_every_image_is_in_one_place(images):
    places = [images.test, images.validation, *images.shifted.values(), *images.unknown]
    rows = [row for place in places for row in range(place.start, place.stop)]
    assert rows == list(range(len(images.pixels)))
    assert len(rows) == 40 + 40 + 4 * 5 * 10 + 6 + 7
    assert set(images.shifted) == {(kind, strength) for kind in SHIFTS for strength in STRENGTHS}


def test_shifted_images_are_the_first_test_images(images):
    test = images.pixels[images.test]
    weak = images.pixels[images.shifted["contrast", 1]].astype(float)
    # Contrast moves all pixels towards the mean of the image.
    mean = test[:10].mean(axis=(1, 2, 3), keepdims=True)
    assert np.allclose(weak - mean, 0.75 * (test[:10] - mean), atol=1)


def test_batches_are_all_images(images):
    scale = torch.zeros(1, 1, 1), torch.ones(1, 1, 1)
    inputs = torch.cat(list(make_batches(images.pixels, scale)))
    assert np.array_equal(inputs.numpy(), images.pixels)


def make_probabilities(images, right, unknown):
    """Return probabilities of `right` for true classes of known images, else uniform ones."""
    p = np.full((len(images.pixels), 10), 0.1)
    labels = [(images.test, images.test_labels), (images.validation, images.validation_labels)]
    labels += [(place, images.test_labels[:10]) for place in images.shifted.values()]
    for place, y in labels:
        p[place] = (1 - right) / 9
        p[range(place.start, place.stop), y] = right
    for place in images.unknown:
        p[place] = unknown
    return p


def test_metrics_of_predictions_that_are_always_right(images):
    values = measure(make_probabilities(images, 0.91, 0.1), images)
    assert values["accuracy", ()] == 1
    assert values["class_nll", ()] == pytest.approx(-np.log(0.91))
    assert values["shifted_nll", ()] == pytest.approx(-np.log(0.91))
    # (0.09)^2 for the true class, and (0.01)^2 for each of nine others.
    assert values["brier_score", ()] == pytest.approx(0.0081 + 9 * 0.0001)
    assert values["calibration_error", ()] == pytest.approx(0.09)
    assert values["unknown_auroc", ()] == 1
    assert values["scaled_nll", ()] < 1e-3  # a lower temperature makes it confident
    assert all(values["selective_accuracy", (coverage,)] == 1 for coverage in COVERAGES)
    # One minus the confidence is 0.09: in the bin from 0.03 to 0.1.
    assert values["bin_share", (4,)] == 1
    assert values["confidence", (4,)] == pytest.approx(0.91)
    assert values["bin_accuracy", (4,)] == 1


def test_unknown_images_that_look_certain_are_not_detected(images):
    certain = np.eye(10)[0] * 0.99 + 0.001
    values = measure(make_probabilities(images, 0.91, certain), images)
    assert values["unknown_auroc", ()] == 0


def test_a_probability_of_zero_is_not_an_infinite_loss(images):
    p = make_probabilities(images, 0.0, 0.1)
    values = measure(p, images)
    assert values["class_nll", ()] == pytest.approx(-np.log(np.finfo(np.float32).tiny))


def test_every_value_has_a_contract(images):
    values = measure(make_probabilities(images, 0.9, 0.1), images)
    own = {"posterior_megabytes"}
    gallery = {"gallery_image", "gallery_probability", "gallery_map_probability"}
    assert {metric for metric, _ in values} == CONTRACTS.keys() - own - gallery


def test_the_gallery_has_the_images_that_differ_most():
    p = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    baseline = np.array([[0.6, 0.4], [0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.4, 0.6]])
    values = measure_gallery(p, baseline, np.array([10, 11, 12, 13, 14]))
    # Total variation distances: 0.1, 0, 0.7, 0.2, 0.3.
    assert [values["gallery_image", (place,)] for place in range(3)] == [12, 14, 13]
    assert values["gallery_probability", (1, 0)] == 0.7
    assert values["gallery_map_probability", (1, 1)] == 0.6
