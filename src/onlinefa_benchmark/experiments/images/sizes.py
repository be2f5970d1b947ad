"""Numbers of images in the parts of a dataset."""

from __future__ import annotations

__all__ = ["count_parts"]


def count_parts(training: int, test: int) -> tuple[int, int, int]:
    """Return the numbers of training, validation and test images.

    A fifth of a dataset without a test part is the test part, and a tenth of the other images is
    the validation part.

    Parameters
    ----------
    training : int
        Number of images that are published as training images.
    test : int
        Number of images that are published as test images.
    """
    asked = test or training // 5
    known = training + test - asked
    return known - known // 10, known // 10, asked
