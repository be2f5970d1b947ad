"""Tests of corruptions of images, against formulas on made images."""

from __future__ import annotations

from math import cos, radians, sin

import numpy as np
import pytest
from scipy.stats import norm

from onlinefa_benchmark.models import image_shifts
from onlinefa_benchmark.models.image_shifts import (
    ANGLES,
    BLUR_SDS,
    CONTRASTS,
    NOISE_SDS,
    SHIFTS,
    STRENGTHS,
    blur_kernel,
    shift_images,
)


def generator():
    return np.random.default_rng(0)


def constant(value, side=16, N=1, C=1):
    return np.full((N, C, side, side), value, dtype=np.uint8)


def strokes(side):
    """Return two images: a horizontal bar through the centre, and one from the centre to a side."""
    images = np.zeros((2, 1, side, side), dtype=np.uint8)
    bar = slice(3 * side // 8, 5 * side // 8)
    images[0, 0, bar, side // 8 : -side // 8] = 255
    images[1, 0, bar, side // 2 : -side // 8] = 200
    return images


def distances_from_centre(side):
    rows, columns = np.indices((side, side)) - (side - 1) / 2
    return np.hypot(rows, columns)


@pytest.mark.parametrize("side", [8, 28, 32])
@pytest.mark.parametrize("kind", SHIFTS)
def test_the_mean_squared_change_grows_with_the_strength(kind, side):
    images = strokes(side)
    changes = [
        np.mean((shift_images(images, kind, strength, generator()).astype(float) - images) ** 2)
        for strength in STRENGTHS
    ]
    assert changes[0] > 0
    assert np.all(np.diff(changes) > 0)


@pytest.mark.parametrize("kind", SHIFTS)
def test_the_input_stays_and_a_seed_determines_the_result(kind):
    images = generator().integers(0, 256, size=(3, 2, 10, 12)).astype(np.uint8)
    before = images.copy()
    first = shift_images(images, kind, 3, generator())
    np.testing.assert_array_equal(images, before)
    assert (first.dtype, first.shape) == (np.uint8, images.shape)
    np.testing.assert_array_equal(first, shift_images(images, kind, 3, generator()))


@pytest.mark.parametrize("kind", SHIFTS)
def test_the_result_does_not_depend_on_how_images_are_grouped(kind, monkeypatch):
    images = generator().integers(0, 256, size=(5, 2, 9, 8)).astype(np.uint8)
    at_once = shift_images(images, kind, 2, generator())
    monkeypatch.setattr(image_shifts, "_CHUNK", 2 * images[0].size)
    np.testing.assert_array_equal(shift_images(images, kind, 2, generator()), at_once)
    assert shift_images(images[:0], kind, 2, generator()).shape == (0, 2, 9, 8)


def test_different_seeds_give_different_noise():
    images = constant(128)
    other = shift_images(images, "noise", 1, np.random.default_rng(1))
    assert np.any(other != shift_images(images, "noise", 1, generator()))


@pytest.mark.parametrize("strength", STRENGTHS)
def test_the_noise_of_a_grey_image_has_the_declared_standard_deviation(strength):
    """Compare with the moments of a Gaussian that is rounded and clipped to 0..255.

    Rounding adds 1/12 to the variance, and clipping is rare for the lower strengths. The tolerance
    is four standard errors: those of a standard deviation are sd / sqrt(2 n), or less if the tails
    are clipped.
    """
    declared = 255 * NOISE_SDS[strength - 1]
    values = np.arange(256)
    edges = np.concatenate([[-np.inf], np.arange(255) + 0.5, [np.inf]])
    chances = np.diff(norm.cdf(edges, 128, declared))
    mean = values @ chances
    sd = np.sqrt((values - mean) ** 2 @ chances)
    if strength <= 3:
        assert sd == pytest.approx(declared, rel=0.002)
    images = constant(128, side=100, N=4, C=3)
    shifted = shift_images(images, "noise", strength, generator()).astype(float)
    assert shifted.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(images.size))
    assert shifted.std() == pytest.approx(sd, rel=4 / np.sqrt(2 * images.size))


@pytest.mark.parametrize("strength", STRENGTHS)
def test_contrast_is_reduced_towards_the_mean_of_each_image(strength):
    """The mean of 0, 100, 40 and 60 is 50, and that of the second image 200."""
    images = np.array([[0, 100, 40, 60], [200, 180, 200, 220]], dtype=np.uint8).reshape(2, 2, 1, 2)
    factor = CONTRASTS[strength - 1]
    expected = [
        [50 - 50 * factor, 50 + 50 * factor, 50 - 10 * factor, 50 + 10 * factor],
        [200, 200 - 20 * factor, 200, 200 + 20 * factor],
    ]
    shifted = shift_images(images, "contrast", strength, generator())
    np.testing.assert_array_equal(shifted, np.rint(expected).reshape(2, 2, 1, 2))


@pytest.mark.parametrize("strength", STRENGTHS)
def test_blur_and_contrast_keep_constant_images(strength):
    images = np.concatenate([constant(value, side=8) for value in (0, 1, 100, 255)])
    for kind in ("blur", "contrast"):
        np.testing.assert_array_equal(shift_images(images, kind, strength, generator()), images)


@pytest.mark.parametrize("side", [9, 29])
@pytest.mark.parametrize("strength", STRENGTHS)
def test_a_blurred_point_is_the_product_of_two_kernels(side, strength):
    """The weights sum to 1, so that the sum stays except for the rounding of non-zero pixels."""
    images = constant(0, side)
    images[0, 0, side // 2, side // 2] = 255
    kernel = blur_kernel(side * BLUR_SDS[strength - 1])
    middle, radius = len(kernel) // 2, side // 2
    inside = kernel[max(0, middle - radius) : middle + radius + 1]
    pad = (side - len(inside)) // 2
    exact = 255 * np.outer(np.pad(inside, pad), np.pad(inside, pad))
    shifted = shift_images(images, "blur", strength, generator())[0, 0].astype(float)
    # Weights beyond the border are reflected into the image.
    reflected = 255 - exact.sum()
    assert 0 <= reflected + 1e-9 < 0.1
    np.testing.assert_allclose(shifted, exact, atol=0.5 + reflected)
    assert abs(shifted.sum() - 255) <= 0.5 * np.count_nonzero(exact > 1e-9)


@pytest.mark.parametrize("sd", [0.05, 0.16, 0.8, 3.2, 20.0])
def test_the_kernel_has_the_declared_variance(sd):
    """The tolerance allows for the weights that are left out."""
    kernel = blur_kernel(sd)
    radius = len(kernel) // 2
    assert kernel.sum() == pytest.approx(1)
    np.testing.assert_allclose(kernel, kernel[::-1])
    assert kernel @ np.arange(-radius, radius + 1) ** 2 == pytest.approx(sd**2, rel=1e-4)


@pytest.mark.parametrize("side", [28, 32, 64, 128])
def test_blur_is_comparable_on_images_of_different_sizes(side):
    """The slope of a blurred edge is 255 / sqrt(2 pi) over the standard deviation, on every image.

    Both are in units of the side. The rounding of two pixels changes the slope by at most one unit
    per pixel. The largest weight of the kernel is 1 + 1 / (8 t) times that of the Gaussian density,
    with t the variance in pixels, except for terms of order 1 / t^2.
    """
    images = constant(0, side)
    images[..., side // 2 :] = 255
    edge = shift_images(images, "blur", 5, generator())[0, 0, 0].astype(float)
    slope = (edge[side // 2] - edge[side // 2 - 1]) * side
    t = (side * BLUR_SDS[4]) ** 2
    expected = 255 / (np.sqrt(2 * np.pi) * BLUR_SDS[4]) * (1 + 1 / (8 * t))
    assert slope == pytest.approx(expected, abs=side + expected / t**2)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_a_disc_in_the_centre_stays_when_rotated(strength):
    """Pixels whose four neighbours are all within the disc, or all outside, are unchanged."""
    side, radius = 32, 10
    distances = distances_from_centre(side)
    images = constant(0, side)
    images[0, 0, distances <= radius] = 180
    shifted = shift_images(images, "rotation", strength, generator())[0, 0]
    assert np.all(shifted[distances <= radius - np.sqrt(2)] == 180)
    assert np.all(shifted[distances >= radius + np.sqrt(2)] == 0)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_a_rotated_blob_moves_counterclockwise(strength):
    """The centre of mass of a blob right of the centre moves along a circle.

    Bilinear interpolation does not move the centre of mass of a smooth blob; the tolerance is for
    the rounding of pixels.
    """
    side, offset = 33, 8
    rows, columns = np.indices((side, side)) - (side - 1) / 2
    blob = 255 * np.exp(-(rows**2 + (columns - offset) ** 2) / (2 * 2.0**2))
    images = np.rint(blob).astype(np.uint8)[None, None]
    shifted = shift_images(images, "rotation", strength, generator())[0, 0].astype(float)
    angle = radians(ANGLES[strength - 1])
    up, right = -(rows * shifted).sum() / shifted.sum(), (columns * shifted).sum() / shifted.sum()
    assert (up, right) == pytest.approx((offset * sin(angle), offset * cos(angle)), abs=0.05)


def test_the_corners_of_a_rotated_image_are_zero():
    """At 45 degrees, pixels farther from the centre than half a side along a diagonal are outside.

    The original corner is sqrt(2) times half a side away, hence outside the rotated square.
    """
    side = 28
    shifted = shift_images(constant(255, side), "rotation", 3, generator())[0, 0]
    rows, columns = np.abs(np.indices((side, side)) - (side - 1) / 2)
    depth = (rows + columns) / np.sqrt(2)  # in the direction of the nearest corner
    assert np.all(shifted[depth >= (side - 1) / 2 + 1] == 0)
    assert np.all(shifted[depth <= (side - 1) / 2] == 255)
    assert shifted[0, 0] == 0


def test_channels_are_rotated_and_blurred_alike():
    images = strokes(12)
    colour = np.concatenate([images, images // 2, images], axis=1)
    for kind in ("rotation", "blur"):
        shifted = shift_images(colour, kind, 4, generator())
        np.testing.assert_array_equal(shifted[:, 0], shifted[:, 2])
        alone = shift_images(images // 2, kind, 4, generator())
        np.testing.assert_array_equal(shifted[:, 1], alone[:, 0])


@pytest.mark.parametrize(
    ("images", "kind", "strength", "message"),
    [
        (constant(0), "rotations", 1, "allowed: rotation, noise, blur, contrast"),
        (constant(0), "fog", 1, "unknown shift of images 'fog'"),
        (constant(0), "blur", 0, "unknown strength 0"),
        (constant(0), "blur", 6, r"unknown strength 6 .*\(allowed: 1, 2, 3, 4, 5\)"),
        (constant(0).astype(float), "blur", 1, "got float64"),
        (constant(0)[0], "blur", 1, r"got uint8 and \(1, 16, 16\)"),
    ],
)
def test_mistakes_are_reported_in_one_line(images, kind, strength, message):
    with pytest.raises(ValueError, match=message) as error:
        shift_images(images, kind, strength, generator())
    assert "\n" not in str(error.value)
