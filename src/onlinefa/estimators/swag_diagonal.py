"""SWAG-diagonal: the moments of an SGD trajectory without its deviations (Maddox et al., 2019)."""

from __future__ import annotations

from onlinefa.estimators.diagonal import Diagonal


class SWAGDiagonal(Diagonal):
    """Mean and variances of an SGD trajectory: the same estimate as `Diagonal`, named after SWAG.

    Examples
    --------
    >>> from onlinefa import SWAGDiagonal
    >>> SWAGDiagonal().fit([[0.0, 1.0], [2.0, 5.0]]).noise_variance_
    array([1., 4.])
    """
