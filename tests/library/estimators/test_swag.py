"""Tests of SWAG against a transcription of the paper, and of its diagonal variant."""

from __future__ import annotations

import numpy as np
import pytest

from onlinefa import SWAG, Diagonal, SWAGDiagonal

D, T = 5, 60


@pytest.fixture(scope="module")
def rows():
    """Return a random walk, so that the running mean lags behind the rows."""
    random = np.random.default_rng(0)
    return 3 + np.cumsum(random.standard_normal((T, D)) @ random.standard_normal((D, D)), axis=0)


def slow_swag(rows, K):
    """Algorithm 1 of Maddox et al. (2019), with a collection at every row."""
    mean, square, deviations = np.zeros(D), np.zeros(D), []
    for n, row in enumerate(rows):
        mean = (n * mean + row) / (n + 1)
        square = (n * square + row**2) / (n + 1)
        deviations.append(row - mean)  # the mean includes the row
        if len(deviations) > K:
            deviations.pop(0)
    return mean, square - mean**2, deviations


def cyclic(deviations, T, K):
    """Put the last deviations of T rows into a buffer of K; those that are missing are zeros."""
    buffer = np.zeros((K, D))
    for number, deviation in enumerate(reversed(deviations)):
        buffer[(T - 1 - number) % K] = deviation
    return buffer


@pytest.mark.parametrize("K", [1, 2, 4])
@pytest.mark.parametrize("T", [1, 2, 3, 4, 5, 60])
def test_swag_equals_the_algorithm_of_the_paper(rows, T, K):
    model = SWAG(n_components=K).fit(rows[:T])
    mean, variances, deviations = slow_swag(rows[:T], K)
    divisor = 2 * (K - 1) if K > 1 else 2
    covariance = np.diag(variances) / 2
    for deviation in deviations:
        covariance += np.outer(deviation, deviation) / divisor
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-12)
    np.testing.assert_allclose(model.get_covariance(), covariance, rtol=1e-11, atol=1e-11)
    found = model.components_ * np.sqrt(divisor)
    np.testing.assert_allclose(found, cyclic(deviations, T, K), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(model.noise_variance_, variances / 2, rtol=1e-11, atol=1e-12)


# Blocks of one row, of fewer than K, of K and of more; K = 3.
@pytest.mark.parametrize("blocks", [[1] * T, [2] * 30, [3] * 20, [T], [1, 2, 30, 1, 4, 20, 2]])
def test_results_do_not_depend_on_blocks(rows, blocks):
    assert sum(blocks) == T
    model = SWAG(n_components=3)
    for block in np.split(rows, np.cumsum(blocks)[:-1]):
        model.partial_fit(block)
    mean, variances, deviations = slow_swag(rows, 3)
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-12)
    np.testing.assert_allclose(model.noise_variance_, variances / 2, rtol=1e-11)
    np.testing.assert_allclose(model.components_ * 2, deviations, rtol=1e-10)  # sqrt(2 (3 - 1))


def test_two_rows_by_hand():
    # The mean of (0, 0) and (2, 6) is (1, 3); the deviations are (0, 0) and (1, 3), and the
    # variances 1 and 9. With K = 1 the divisor is 2.
    model = SWAG(n_components=1).fit([[0.0, 0.0], [2.0, 6.0]])
    np.testing.assert_allclose(model.get_covariance(), [[0.5 + 0.5, 1.5], [1.5, 4.5 + 4.5]])


def test_a_large_offset_leaves_six_digits_of_the_covariance(rows):
    # The spacing of numbers at 1e8 is 1e-8, the deviations are of the size of 10.
    model = SWAG(n_components=2)
    for row in rows:
        model.partial_fit(row[None, :] + 1e8)
    expected = SWAG(n_components=2).fit(rows).get_covariance()
    error = np.abs(model.get_covariance() - expected).max()
    assert error < 1e-6 * np.abs(expected).max()


def test_as_many_deviations_as_columns_are_refused(rows):
    with pytest.raises(ValueError, match="n_components=5"):
        SWAG(n_components=D).fit(rows)


@pytest.mark.parametrize("block", [1, 7, T])
def test_swag_diagonal_is_the_diagonal_control_bit_for_bit(rows, block):
    models = SWAGDiagonal(), Diagonal()
    for model in models:
        for start in range(0, T, block):
            model.partial_fit(rows[start : start + block])
    ours, control = (model.gaussian() for model in models)
    assert np.array_equal(ours.mean, control.mean)
    assert np.array_equal(ours.noise, control.noise)
    assert ours.rank == control.rank == 0
    np.testing.assert_allclose(ours.noise, rows.var(axis=0), rtol=1e-12)


def test_the_noise_of_swag_is_half_of_that_of_swag_diagonal(rows):
    swag, diagonal = SWAG(n_components=3).fit(rows), SWAGDiagonal().fit(rows)
    np.testing.assert_allclose(swag.noise_variance_, diagonal.noise_variance_ / 2, rtol=1e-13)
    np.testing.assert_allclose(swag.mean_, diagonal.mean_, rtol=1e-13)


def test_deviations_of_float32_rows_are_stored_in_float32(rows):
    single = rows.astype(np.float32)
    for block in (1, 7, T):
        model = SWAG(n_components=3)
        for start in range(0, T, block):
            model.partial_fit(single[start : start + block])
        assert model._state.factors.dtype == np.float32
        mean, variances, deviations = slow_swag(single.astype(float), 3)
        np.testing.assert_allclose(model.mean_, mean, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(model.noise_variance_, variances / 2, rtol=1e-5)
        np.testing.assert_allclose(model.components_ * 2, deviations, rtol=1e-5, atol=1e-5)
