"""Tests of the compiled loops against NumPy, and of columns divided among threads."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import njit

from onlinefa import FitDiverged, OnlineEM, OnlineSGA, StepwiseEM
from onlinefa.kernels import columns
from onlinefa.kernels.barrier import new_barrier, wait
from onlinefa.kernels.online_sga import _grow
from onlinefa.kernels.products import add_weighted, combine

BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SIZES = pytest.mark.parametrize("K", [*range(1, 12), 13, 20])


@BOTH
@pytest.mark.parametrize("largest", [1e-9, 0.031, 0.5, 80])
def test_noise_grows_by_an_exponential(dtype, largest):
    random = np.random.default_rng(0)
    step = random.uniform(-largest, largest, 700).astype(dtype)
    noise = random.uniform(0.5, 2, 700).astype(dtype)
    exact = noise * np.exp(step.astype(np.longdouble))
    assert _grow(noise, step)
    assert np.max(np.abs(noise / exact - 1)) < 1.5 * np.finfo(dtype).eps


@BOTH
@pytest.mark.parametrize("step", [np.nan, np.inf, -np.inf, 1e30, -1e30, 800, -800])
def test_steps_to_zero_or_non_finite_noise_are_reported(dtype, step):
    noise, steps = np.ones(40, dtype), np.zeros(40, dtype)
    steps[17] = step
    assert not _grow(noise, steps)
    np.testing.assert_array_equal(np.delete(noise, 17), 1)


@SIZES
@BOTH
def test_combine_is_a_product_of_matrices(K, dtype):
    random = np.random.default_rng(K)
    weights, matrix = random.normal(size=(K, K)), random.normal(size=(K, 40)).astype(dtype)
    out = np.full((K, 50), 7, dtype)
    out[:, 11:44] = np.nan  # previous content must not matter
    combine(weights, matrix, 5, 38, out, 11)
    tolerance = 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(
        out[:, 11:44], weights @ matrix[:, 5:38], rtol=tolerance, atol=K * tolerance
    )
    assert (out[:, :11] == 7).all()
    assert (out[:, 44:] == 7).all()


@SIZES
@BOTH
def test_weighted_products_of_rows(K, dtype):
    random = np.random.default_rng(K)
    F, y = random.normal(size=(K, 40)).astype(dtype), random.normal(size=33).astype(dtype)
    weight, before = random.uniform(1, 2, 33).astype(dtype), random.normal(size=(K + 1, K))
    sums = before.copy()
    add_weighted(F, y, weight, 5, 38, sums)
    f = F[:, 5:38].astype(float)
    added = np.vstack([np.tril((f * weight) @ f.T), (f * weight) @ y])
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(sums, before + added, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("model", [OnlineSGA, OnlineEM, StepwiseEM])
@BOTH
def test_results_do_not_depend_on_the_number_of_threads(model, dtype, monkeypatch):
    # There are many chunks, and the last is not full.
    monkeypatch.setattr(columns, "_COLUMNS_PER_THREAD", columns.CHUNK)
    D = 4 * columns.CHUNK + 700
    rows = np.random.default_rng(0).normal(size=(30, D)).astype(dtype)
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        assert columns.count_threads(D) == threads
        found.append(model(3, warm_up=3, random_state=0).fit(rows).gaussian())
    for other in found[1:]:
        np.testing.assert_array_equal(other.mean, found[0].mean)
        np.testing.assert_array_equal(other.factors, found[0].factors)
        np.testing.assert_array_equal(other.noise, found[0].noise)


@pytest.mark.parametrize(
    ("model", "too_large"),
    [
        (OnlineSGA(2, warm_up=3, random_state=0), 1e40),  # psi is infinite, for one thread only
        (OnlineEM(2, warm_up=3, random_state=0), 1e160),  # F'F / psi is not a number, for all
    ],
)
@pytest.mark.parametrize("column", [0, -1])
def test_a_divergence_is_reported_equally_for_any_number_of_threads(
    model, too_large, column, monkeypatch
):
    monkeypatch.setattr(columns, "_COLUMNS_PER_THREAD", columns.CHUNK)
    rows = np.random.default_rng(0).normal(size=(30, 3 * columns.CHUNK))
    rows[20, column] = too_large
    messages = []
    for threads in (1, 2, 3):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        with pytest.raises(FitDiverged) as divergence:
            model.fit(rows)
        messages.append(str(divergence.value))
    assert messages[1:] == messages[:1] * 2


@pytest.fixture
def three_threads(monkeypatch):
    """Return a number of columns that is divided among three threads."""
    monkeypatch.setattr(columns, "_COLUMNS_PER_THREAD", columns.CHUNK)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    return 3 * columns.CHUNK


def test_the_barrier_waits_for_all_threads(three_threads):
    arrivals, missing = [0, 0, 0], []

    def absorb(share):
        for n in range(50):
            arrivals[share.thread] += 1
            wait(share.barrier, share.thread, True)
            missing.append(min(arrivals) <= n)
        return 50

    assert columns.run_in_threads(three_threads, absorb) == 50
    assert missing == [False] * 150


def test_a_failure_of_one_thread_is_reported_to_all_at_that_barrier(three_threads):
    failures = []

    def absorb(share):
        for n in range(50):
            if not wait(share.barrier, share.thread, (share.thread, n) != (1, 30)):
                failures.append(n)
                return n
        return 50

    assert columns.run_in_threads(three_threads, absorb) == 30
    assert failures == [30, 30, 30]


def test_an_exception_in_a_thread_releases_the_others(three_threads):
    released = []

    def absorb(share):
        if share.thread == 2:
            raise MemoryError("nothing left")
        released.append(not wait(share.barrier, share.thread, True))
        return 0

    with pytest.raises(MemoryError, match="nothing left"):
        columns.run_in_threads(three_threads, absorb)
    assert released == [True, True]


def test_the_barrier_orders_writes_before_reads():
    """Writes must be visible even if the processor reorders them or the compiler uses registers."""
    compiled = njit(wait.py_func)
    compiled(new_barrier(1), 0, True)
    [code] = compiled.inspect_llvm().values()
    assert re.search(r"store atomic .* release", code)
    assert len(re.findall(r"load atomic .* acquire", code)) >= 3


def test_few_columns_are_processed_by_one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert columns.count_threads(1000) == 1
    assert columns.count_threads(10**7) == 8
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert columns.count_threads(10**9) >= 1
