"""Corruptions of images, in five strengths, for tests under a shift of the distribution.

The strengths are stated in units that do not depend on the size of an image: degrees, shares of
the range of pixels and shares of the side of the image.
"""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

from onlinefa_benchmark.arrays import Array

Pixels = NDArray[np.uint8]

SHIFTS: tuple[str, ...] = ("rotation", "noise", "blur", "contrast")
STRENGTHS = (1, 2, 3, 4, 5)

# One value for each strength.
ANGLES = (15, 30, 45, 60, 75)  # degrees, counterclockwise
NOISE_SDS = (0.04, 0.08, 0.12, 0.18, 0.26)  # standard deviations, in units of the range 0..255
BLUR_SDS = (0.02, 0.04, 0.06, 0.08, 0.10)  # standard deviations, in units of the shorter side
CONTRASTS = (0.75, 0.5, 0.3, 0.2, 0.1)  # factors of the differences from the mean of the image

_CHUNK = 2**20  # pixels that are converted to floating point at a time


def shift_images(images: Pixels, kind: str, strength: int, random: np.random.Generator) -> Pixels:
    """Return corrupted copies of images.

    - `rotation`: rotation about the centre by an angle of `ANGLES`, with bilinear interpolation;
      the outside of the image is 0.
    - `noise`: independent Gaussian noise on every pixel of every channel, with a standard deviation
      of `NOISE_SDS`.
    - `blur`: the discrete Gaussian kernel (`blur_kernel`) along both sides, with a standard
      deviation of `BLUR_SDS`. The image is reflected at its border, so that the sum of pixels
      stays.
    - `contrast`: the differences from the mean over all pixels and channels of the image are
      multiplied by a factor of `CONTRASTS`.

    The results are rounded and clipped to 0..255.

    Parameters
    ----------
    images : uint8 array of shape (N, C, H, W)
        Images.
    kind : str
        Kind of the corruption, one of `SHIFTS`.
    strength : int
        Strength of the corruption, one of `STRENGTHS`.
    random : numpy.random.Generator
        Source of the noise. The other kinds do not use it.

    Returns
    -------
    uint8 array of shape (N, C, H, W)
        Corrupted images.

    Raises
    ------
    ValueError
        If the kind or the strength is unknown, or if the images have another type or shape.
    """
    if kind not in SHIFTS:
        raise ValueError(f"unknown shift of images '{kind}' (allowed: {', '.join(SHIFTS)})")
    if strength not in STRENGTHS:
        allowed = ", ".join(map(str, STRENGTHS))
        raise ValueError(f"unknown strength {strength!r} of a shift of images (allowed: {allowed})")
    if images.dtype != np.uint8 or images.ndim != 4:
        raise ValueError(
            f"images must be of type uint8 and shape (N, C, H, W), "
            f"got {images.dtype} and {images.shape}"
        )
    shifted = np.empty_like(images)
    step = max(1, _CHUNK // max(1, images[:1].size))
    # The generator yields the same noise for chunks in turn as for all images at once.
    for first in range(0, len(images), step):
        chunk = slice(first, first + step)
        values = _shift(images[chunk].astype(np.float64), kind, strength - 1, random)
        shifted[chunk] = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return shifted


def _shift(images: Array, kind: str, index: int, random: np.random.Generator) -> Array:
    """Return corrupted images in floating point; `index` is that of the strength."""
    if kind == "rotation":
        return _rotate(images, ANGLES[index])
    if kind == "noise":
        return images + 255 * NOISE_SDS[index] * random.standard_normal(images.shape)
    if kind == "blur":
        return _blur(images, BLUR_SDS[index] * min(images.shape[2:]))
    mean = images.mean(axis=(1, 2, 3), keepdims=True)
    return mean + CONTRASTS[index] * (images - mean)


def _rotate(images: Array, degrees: float) -> Array:
    """Rotate images about their centre, counterclockwise, with zeros outside."""
    from scipy import ndimage

    # The mode "constant" would not interpolate between the outermost pixels and the outside.
    return ndimage.rotate(
        images, degrees, axes=(2, 3), reshape=False, order=1, mode="grid-constant", cval=0.0
    )


def _blur(images: Array, sd: float) -> Array:
    """Convolve images with a Gaussian kernel of a standard deviation in pixels."""
    from scipy import ndimage

    kernel = blur_kernel(sd)
    for axis in (2, 3):
        images = ndimage.correlate1d(images, kernel, axis=axis, mode="reflect")
    return images


def blur_kernel(sd: float) -> Array:
    """Return the discrete Gaussian kernel: weights exp(-t) I_k(t) at distances k, with t = sd^2.

    I_k are the modified Bessel functions (Lindeberg, 1990). The variance of this kernel is sd^2 for
    any sd. A Gaussian density at whole distances has almost no variance if sd is less than half a
    pixel, as on images of 8 x 8 pixels, so that small images would not be blurred.

    Parameters
    ----------
    sd : float
        Standard deviation in pixels, positive.

    Returns
    -------
    array of shape (2 r + 1,)
        Weights at the distances -r, ..., r. Their sum is 1. The weights beyond r = 5 sd + 3, whose
        sum is less than 1e-6, are left out.
    """
    from scipy.special import ive

    radius = ceil(5 * sd + 3)
    weights = ive(np.abs(np.arange(-radius, radius + 1)), sd**2)
    return weights / weights.sum()
