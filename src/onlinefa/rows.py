"""The rows that an estimator is given: checked, and converted where they have to be.

NumPy's own arrays of real numbers need no more than a look. Whatever else there is (lists, data
frames, sparse matrices) and whatever is wrong with an array is scikit-learn's to convert or to
refuse, in its own words. It is imported only then, because that takes longer than most fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from onlinefa.gaussian import Array

_REAL = "biuf"  # kinds of NumPy's types


def checked_rows(
    estimator: Any, X: Any, dtypes: Sequence[DTypeLike], *, reset: bool, for_kernels: bool
) -> Array:
    """X as finite rows of one of the types, of the first if it has another one.

    As scikit-learn's `validate_data` does it: if `reset`, the estimator learns how many columns
    there are, and their names if they have some; otherwise they must be those of the first rows.
    Kernels want rows in C order that are writeable: numba would compile them anew for others.
    """
    order: Literal["C"] | None = "C" if for_kernels else None
    rows = _plain(X, dtypes, order)
    if rows is None or not (reset or _fits(estimator, rows)):
        from sklearn.utils.validation import validate_data

        return validate_data(
            estimator, X, reset=reset, dtype=dtypes, order=order, force_writeable=for_kernels
        )
    if reset:
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = rows.shape[1]
    return rows.copy() if for_kernels and not rows.flags.writeable else rows


def _plain(X: Any, dtypes: Sequence[DTypeLike], order: Literal["C"] | None) -> Array | None:
    """A plain array as rows of one of the types; None if it is something else, or not finite."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or X.dtype.kind not in _REAL:
        return None
    dtype = X.dtype if X.dtype in dtypes else np.dtype(dtypes[0])
    # What is too large for the type becomes infinite, and is found out.
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.asarray(X, dtype=dtype, order=order)
        # A sum is not finite if a number is not, and needs no memory. Of numbers that are finite it
        # may overflow all the same: then scikit-learn looks at each.
        return rows if np.isfinite(rows.sum()) else None


def _fits(estimator: Any, rows: Array) -> bool:
    """Whether there is nothing to say about the columns."""
    named = hasattr(estimator, "feature_names_in_")  # and an array's columns have no names
    return bool(rows.shape[1] == estimator.n_features_in_ and not named)
