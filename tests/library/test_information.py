"""Tests of sums of outer products as low rank plus diagonal."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from onlinefa.information import InformationSketch

D, N = 9, 60


def make_rows(rank=D):
    random = np.random.default_rng(0)
    return random.normal(size=(N, rank)) @ (
        random.normal(size=(rank, D)) * 3.0 ** -np.arange(rank)[:, None]
    )


def absorb(rows, K, block):
    sketch = InformationSketch(K)
    for start in range(0, N, block):
        sketch.absorb(rows[start : start + block])
    return sketch


@pytest.mark.parametrize("block", [1, 7, N])
def test_with_enough_components_the_sum_is_exact(block):
    rows = make_rows(rank=4)
    sketch = absorb(rows, 4, block)
    np.testing.assert_allclose(sketch.factors @ sketch.factors.T, rows.T @ rows, atol=1e-9)
    np.testing.assert_allclose(sketch.diagonal, 0, atol=1e-9)
    assert sketch.count == N


@pytest.mark.parametrize("block", [7, N])
def test_the_diagonal_is_exact_with_any_number_of_components(block):
    rows = make_rows()
    sketch = absorb(rows, 2, block)
    found = np.sum(sketch.factors**2, axis=1) + sketch.diagonal
    np.testing.assert_allclose(found, np.sum(rows**2, axis=0), rtol=1e-10)


def test_the_components_of_one_block_are_the_principal_ones():
    rows = make_rows()
    _, singular, Vt = np.linalg.svd(rows)
    factors = absorb(rows, 3, N).factors
    expected = (Vt[:3].T * singular[:3] ** 2) @ Vt[:3]
    np.testing.assert_allclose(factors @ factors.T, expected, rtol=1e-8, atol=1e-8)


def test_tensors_give_the_same_result():
    rows = make_rows()
    expected, found = absorb(rows, 3, 7), absorb(torch.tensor(rows), 3, 7)
    np.testing.assert_allclose(found.diagonal, expected.diagonal, rtol=1e-9)
    np.testing.assert_allclose(
        found.factors @ found.factors.T, expected.factors @ expected.factors.T, atol=1e-9
    )


def test_the_number_of_components_is_positive():
    with pytest.raises(ValueError, match=r"^n_components=0 must be at least 1$"):
        InformationSketch(0)
