"""Tests of the validation of rows: conversions before kernels run, and inputs that are refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from support.library_estimators import ESTIMATORS, NAMES, make_estimator

from onlinefa import OnlineEM
from onlinefa._arrays import ArrayKind

D, K = 4, 2
X = np.random.default_rng(0).normal(size=(9, D))
FRAME = pd.DataFrame(X, columns=list("abcd"))


def make_read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def with_entry(value):
    rows = X.copy()
    rows[3, 2] = value
    return rows


# The same numbers in other forms.
EQUIVALENT = {
    "other byte order": X.astype(X.dtype.newbyteorder()),
    "Fortran order": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=0)[::2],
    "read-only": make_read_only(X),
    "read-only, Fortran order": make_read_only(np.asfortranarray(X)),
    "list": X.tolist(),
    "frame": FRAME,
    "subclass": X.view(np.recarray),
    "objects": X.astype(object),
}
REFUSED = {
    "strings": np.full((3, D), "a"),
    "complex": X + 1j,
    "sparse": sparse.csr_array(X),
    "matrix": np.asmatrix(X),
    "NaN": with_entry(np.nan),
    "infinite": with_entry(np.inf),
    "infinite on both sides": np.array([[np.inf, -np.inf, 0, 0]]),
    "no rows": X[:0],
    "no columns": X[:, :0],
    "one dimension": X[0],
    "three dimensions": X[None],
    "a number": 3.0,
    "too few columns": X[:, 1:],
}


def make(name):
    return make_estimator(name, {"warm_up": 3}, n_components=K, random_state=0)


def assert_same_bits(one, two):
    for name in ("mean_", "components_", "noise_variance_"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("given", EQUIVALENT.values(), ids=EQUIVALENT)
@pytest.mark.parametrize("name", NAMES)
def test_results_do_not_depend_on_the_container_or_layout_of_rows(name, given):
    expected = make(name).fit(X).partial_fit(X)
    assert_same_bits(make(name).fit(given).partial_fit(given), expected)


@pytest.mark.parametrize("given", EQUIVALENT.values(), ids=EQUIVALENT)
def test_kernels_get_the_layout_that_they_are_compiled_for(given, monkeypatch):
    seen = []
    model = OnlineEM(K, random_state=0)
    monkeypatch.setattr(OnlineEM, "_absorb", lambda self, rows: seen.append(rows) or self)
    model.fit(given)
    model.partial_fit(given)
    for rows in seen:
        assert rows.flags.c_contiguous and rows.flags.writeable and rows.flags.aligned
        assert rows.dtype == np.float64 and rows.dtype.isnative
        assert np.array_equal(rows, X)


@pytest.mark.parametrize(
    "rows",
    [X, X.astype(np.float32), np.asfortranarray(X), make_read_only(X), X[::2], X[:0], X[0], FRAME],
)
@pytest.mark.parametrize("first", [X, X.astype(np.float32), FRAME], ids=["64", "32", "names"])
@pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")
def test_only_rows_that_need_no_conversion_skip_validation(first, rows):
    """scikit-learn's validation returns such rows unchanged, without a copy."""
    model = OnlineEM(K, random_state=0).fit(first)
    try:
        unchanged = model._validate_rows(rows, [model._kind.dtype], reset=False) is rows
    except ValueError:
        unchanged = False
    named = hasattr(model, "feature_names_in_")
    assert model._is_valid(rows) == (unchanged and not named)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_rows_that_are_not_finite_are_validated(value):
    model = OnlineEM(K, random_state=0).fit(X.astype(np.float32))
    with np.errstate(over="ignore"):
        assert not model._is_valid(with_entry(value).astype(np.float32))


def test_finite_rows_whose_sum_overflows_are_accepted():
    rows = np.full((3, D), 1e308)
    model = OnlineEM(K, random_state=0).fit(X)
    assert model._is_valid(rows)
    assert model._validate_rows(rows, [np.float64], reset=False) is rows


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_float32_stay_float32_where_that_is_supported(name):
    model = make(name).fit(X.astype(np.float32))
    single = ESTIMATORS[name].single_precision
    assert model._kind.dtype == (np.float32 if single else np.float64)
    # All further rows are converted to the type of the first ones.
    further = make(name).fit(X.astype(np.float32)).partial_fit(X.astype(np.float32))
    assert_same_bits(further, model.partial_fit(X.astype(np.float32).astype(np.float64)))
    assert make(name).fit(X)._kind.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.bool_, np.longdouble])
def test_other_types_become_float64(dtype):
    rows = (10 * X).astype(dtype)
    expected = make("online_em").fit(rows.astype(np.float64))
    assert_same_bits(make("online_em").fit(rows), expected)


def test_values_too_large_for_the_type_of_the_first_rows_are_refused():
    model = make("online_em").fit(X.astype(np.float32))
    with pytest.raises(ValueError, match=r"infinity|too large"), np.errstate(over="ignore"):
        model.partial_fit(with_entry(1e300))


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # infinity - infinity
@pytest.mark.parametrize("bad", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("method", ["partial_fit", "fit", "score", "score_samples", "transform"])
def test_bad_rows_are_refused_and_change_nothing(bad, method):
    if method == "fit" and np.shape(bad) == (9, D - 1):
        pytest.skip("a new fit may have other columns")
    model, expected = (make("online_em").fit(X) for _ in range(2))
    with pytest.raises((ValueError, TypeError)):
        getattr(model, method)(bad)
    assert model.n_features_in_ == D
    assert_same_bits(model, expected)
    assert_same_bits(model.partial_fit(X), expected.partial_fit(X))


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # infinity - infinity
@pytest.mark.parametrize("bad", REFUSED.values(), ids=REFUSED)
def test_bad_first_rows_leave_an_estimator_unfitted(bad):
    if np.shape(bad) == (9, D - 1):
        pytest.skip("the first rows may have any columns")
    model = make("online_em")
    with pytest.raises((ValueError, TypeError)):
        model.partial_fit(bad)
    assert vars(model) == vars(make("online_em"))


def test_names_of_columns_are_remembered_and_compared():
    model = make("online_em").fit(FRAME)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(FRAME.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.partial_fit(X)
    assert not hasattr(model.fit(X), "feature_names_in_")


def test_validation_allocates_no_copy_of_the_rows():
    many = np.zeros((2, 1_000_000))
    model = OnlineEM(K)
    tracemalloc.start()
    try:
        model._validate_rows(many, [np.float64], reset=True)
        model._kind = ArrayKind.of(many)
        assert model._is_valid(many)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < many.nbytes / 50
