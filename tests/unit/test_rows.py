"""What rows are made of whatever is given: the same as scikit-learn makes of it."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.validation import validate_data

from onlinefa import OnlineEM
from onlinefa.rows import checked_rows

D = 4
X = np.random.default_rng(0).normal(size=(9, D))


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def with_entry(value):
    rows = X.copy()
    rows[3, 2] = value
    return rows


FRAME = pd.DataFrame(X, columns=list("abcd"))
GIVEN = {
    "an array": X,
    "float32": X.astype(np.float32),
    "whole numbers": np.arange(3 * D).reshape(3, D),
    "yes and no": X > 0,
    "half precision": X.astype(np.float16),
    "more than double precision": X.astype(np.longdouble),
    "the other byte order": X.astype(X.dtype.newbyteorder()),
    "columns first": np.asfortranarray(X),
    "every other row": X[::2],
    "read-only": read_only(X),
    "read-only columns first": read_only(np.asfortranarray(X)),
    "a list": X.tolist(),
    "a frame": FRAME,
    "a frame of other columns": FRAME.rename(columns={"a": "z"}),
    "a subclass": X.view(np.recarray),
    "a matrix": np.matrix(X),
    "objects": X.astype(object),
    "strings": X.astype(str),
    "complex": X + 1j,
    "sparse": sparse.csr_array(X),
    "NaN": with_entry(np.nan),
    "infinite": with_entry(np.inf),
    "infinite on both sides": np.array([[np.inf, -np.inf, 0, 0]]),
    "too large for float32": with_entry(1e300),
    "a sum that overflows": np.full((3, D), 1e308),
    "no rows": X[:0],
    "no columns": X[:, :0],
    "one dimension": X[0],
    "three dimensions": X[None],
    "a number": 3.0,
    "another number of columns": X[:, 1:],
}


def outcome(check, estimator):
    """All that can be told of a check: rows, what the estimator remembers, warnings, refusals."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            rows = check(estimator)
            layout = rows.dtype, rows.flags.writeable, rows.strides if rows.size else None
            found = [type(rows), *layout, rows.tolist()]
        except Exception as refusal:
            found = [type(refusal), str(refusal)]
    remembered = {key: str(value) for key, value in vars(estimator).items()}
    return found, remembered, [str(warning.message) for warning in told]


def estimator_after(first):
    """One that knows the columns of the first rows. What else it has learned is left out."""
    model = OnlineEM(2, random_state=0)
    if first is not None:
        model.fit(first)
        del model._state, model._last_estimate
    return model


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize(
    ("first", "reset"),
    [
        pytest.param(None, True, id="first"),
        pytest.param(X, False, id="further"),
        pytest.param(X, True, id="anew"),
        pytest.param(FRAME, False, id="further, names before"),
        pytest.param(FRAME, True, id="anew, names before"),
    ],
)
@pytest.mark.parametrize("dtypes", [[np.float64], [np.float64, np.float32], [np.float32]], ids=str)
@pytest.mark.parametrize("for_kernels", [True, False], ids=["for kernels", "to be read"])
def test_scikit_learn_would_have_done_the_same(given, first, reset, dtypes, for_kernels):
    options = {"order": "C" if for_kernels else None, "force_writeable": for_kernels}
    assert outcome(
        lambda model: checked_rows(model, given, dtypes, reset=reset, for_kernels=for_kernels),
        estimator_after(first),
    ) == outcome(
        lambda model: validate_data(model, given, reset=reset, dtype=dtypes, **options),
        estimator_after(first),
    )


def test_an_array_is_taken_as_it_is():
    assert checked_rows(OnlineEM(2), X, [np.float64], reset=True, for_kernels=True) is X


def test_a_look_at_many_rows_takes_no_memory():
    many = np.zeros((2, 1_000_000))
    tracemalloc.start()
    try:
        checked_rows(OnlineEM(2), many, [np.float64], reset=True, for_kernels=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < many.nbytes / 100
