"""Tests of the parts of image datasets, and of images that a dataset does not have."""

from __future__ import annotations

import numpy as np
import pytest
from support.images import make_images

from onlinefa_benchmark.context import Context
from onlinefa_benchmark.deep.catalogue import PHOTOGRAPHS
from onlinefa_benchmark.experiments.images.parts import read_unknown, split_images


def numbers(part):
    """Return the numbers of the images, which are their first two pixels."""
    return [int(image[0, 0, 0]) + 256 * int(image[0, 0, 1]) for image in part.images]


def make_numbered(number, training):
    data = make_images(number, training=training)
    data.images[:, 0, 0, 0] = np.arange(number) % 256
    data.images[:, 0, 0, 1] = np.arange(number) // 256
    return data


def test_a_published_test_part_is_kept():
    parts = split_images(make_numbered(600, 500), np.random.default_rng(0), None, None)
    assert numbers(parts.test) == list(range(500, 600))
    assert len(parts.validation) == 50
    assert sorted(numbers(parts.validation) + numbers(parts.training)) == list(range(500))


def test_a_dataset_without_test_part_is_split_by_the_seed():
    one, two = (
        split_images(make_numbered(500, 500), np.random.default_rng(seed), None, None)
        for seed in (0, 1)
    )
    assert [len(part) for part in (one.test, one.validation, one.training)] == [100, 40, 360]
    all_parts = numbers(one.test) + numbers(one.validation) + numbers(one.training)
    assert sorted(all_parts) == list(range(500))
    assert numbers(one.test) != numbers(two.test)


def test_fewer_training_images_leave_the_other_parts_as_they_are():
    all_images, few = (
        split_images(make_numbered(500, 500), np.random.default_rng(0), limit, None)
        for limit in (None, 20)
    )
    assert numbers(few.training) == numbers(all_images.training)[:20]
    assert numbers(few.test) == numbers(all_images.test)


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 32, 32), (1, 28, 28)])
def test_unknown_images_have_the_shape_of_the_others(shape):
    context = Context(None, read_images=lambda name: make_images(30, (1, 28, 28)))
    found = read_unknown("mnist", context, shape, 5)
    assert found.shape == (5, *shape)
    assert found.dtype == np.uint8


def test_resized_images_keep_their_brightness():
    """Check a vertical border in the middle: halves of 0 and 200 stay halves of 0 and 200."""
    data = make_images(1, (1, 28, 28))
    data.images[:] = 0
    data.images[:, :, :, 14:] = 200
    found = read_unknown("mnist", Context(None, read_images=lambda name: data), (3, 32, 32), 1)
    assert (found[0, :, :, :14] == 0).all()
    assert (found[0, :, :, 18:] == 200).all()
    assert found.mean() == pytest.approx(100, abs=1)


def test_photographs_are_unknown_to_networks_for_digits():
    found = read_unknown(PHOTOGRAPHS, Context(None), (1, 8, 8), 500)
    assert found.shape == (500, 1, 8, 8)
    assert len(np.unique(found.reshape(500, -1), axis=0)) == 500
    assert 30 < found.std() < 120  # neither black nor single pixels
