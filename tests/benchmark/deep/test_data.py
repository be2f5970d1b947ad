"""Tests of images as tensors, and of augmentation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from onlinefa_benchmark.deep.data import ImageParts, LabelledImages, augment, to_tensor


def make_images(number, shape=(3, 16, 16)):
    images = np.random.default_rng(0).integers(0, 256, size=(number, *shape), dtype=np.uint8)
    return LabelledImages(images, np.arange(number) % 10)


def make_parts(scale=None):
    parts = make_images(50), make_images(5), make_images(8)
    return ImageParts(*parts, 10, True, np.arange(8), scale)


def test_training_images_have_mean_zero_and_unit_variance_in_each_channel():
    parts = make_parts()
    inputs = to_tensor(parts.training.images, parts.scale)
    assert inputs.dtype == torch.float32
    assert torch.allclose(inputs.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-5)
    assert torch.allclose(inputs.var(dim=(0, 2, 3), correction=0), torch.ones(3), atol=1e-5)


def test_pretrained_networks_have_a_scale_of_their_own():
    parts = make_parts((127.0, 128.0))
    inputs = to_tensor(np.full((1, 3, 1, 1), 255, dtype=np.uint8), parts.scale)
    assert torch.equal(inputs, torch.ones(1, 3, 1, 1))


def test_batches_are_all_images_in_order():
    parts = make_parts()
    batches = list(parts.batches(parts.test, 3))
    assert [len(inputs) for inputs, _ in batches] == [3, 3, 2]
    labels = torch.cat([labels for _, labels in batches])
    assert labels.tolist() == parts.test.labels.tolist()


@pytest.mark.parametrize("flips", [True, False])
def test_augmented_images_are_moved_and_mirrored(flips):
    images = make_images(200, (2, 16, 16)).images
    before = images.copy()
    moved = augment(images, np.random.default_rng(1), flips=flips)
    assert np.array_equal(images, before)
    padded = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))
    seen = set()
    for original, result in zip(padded, moved, strict=True):
        found = {
            (down, right, mirrored)
            for down in range(5)
            for right in range(5)
            for mirrored in (False, True)
            for part in [original[:, down : down + 16, right : right + 16]]
            if np.array_equal(part[:, :, ::-1] if mirrored else part, result)
        }
        assert len(found) == 1
        seen |= found
    # 200 draws of 25 or 50 equally likely moves: some are missed, few are.
    assert {mirrored for _, _, mirrored in seen} == ({False, True} if flips else {False})
    assert {down for down, _, _ in seen} == {right for _, right, _ in seen} == set(range(5))
