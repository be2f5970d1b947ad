"""Pieces of the compiled loops against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from onlinefa.kernels.exponential import exponentials
from onlinefa.kernels.latent import combine


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 87), (np.float64, 708)])
def test_exponentials_to_a_unit_of_the_last_place(dtype, limit):
    random = np.random.default_rng(0)
    x = np.concatenate([random.uniform(-limit, limit, 20000), 0.01 * random.normal(size=1000), [0]])
    x = x.astype(dtype)
    found = np.empty_like(x)
    exponentials(x, found)
    exact = np.exp(x.astype(np.longdouble))
    assert np.max(np.abs(found / exact - 1)) < np.finfo(dtype).eps
    assert found[-1] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_of_what_is_no_usable_number(dtype):
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 800, -800], dtype)
    found = np.empty_like(x)
    exponentials(x, found)
    np.testing.assert_array_equal(found, [np.nan, np.inf, 0, np.inf, 0, np.inf, 0])


@pytest.mark.parametrize("K", [1, 2, 3, 5, 6, 7, 10, 13])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_combine_is_a_product_of_matrices(K, dtype):
    random = np.random.default_rng(K)
    weights, matrix = random.normal(size=(K, K)), random.normal(size=(K, 40)).astype(dtype)
    out = np.full((K, 50), 7, dtype)
    combine(weights, matrix, 5, 38, out, 11)
    tolerance = 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(
        out[:, 11:44], weights @ matrix[:, 5:38], rtol=tolerance, atol=K * tolerance
    )
    assert (out[:, :11] == 7).all()
    assert (out[:, 44:] == 7).all()
