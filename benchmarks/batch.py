"""Maximum likelihood at growing T: one pass of `BatchML`, and a fit of scikit-learn for each T."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.decomposition import FactorAnalysis

from benchmarks.clock import in_child
from onlinefa import BatchML
from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.models.factor_model import generate
from onlinefa_benchmark.storage.peak_memory import peak_bytes, reset_peak

K = 10
BLOCK = 1000
SIZES = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
OURS, THEIRS = "onlinefa, one pass", "scikit-learn, lapack"


def measure(full: bool) -> list[dict[str, Any]]:
    """Measure the seconds, memory and likelihoods of both methods."""
    D, sizes = (1000, SIZES) if full else (200, SIZES[:7])
    ours = in_child("batch", OURS, str(D), str(sizes[-1]))
    theirs = in_child("batch", THEIRS, str(D), str(SIZES[6]))  # the largest sizes take hours
    for row in (*ours, *theirs):
        print(
            f"{row['implementation']}, T = {row['T']}: {row['seconds']:.1f} s so far, "
            f"log-likelihood {row['likelihood']:.4f}, {row['megabytes']:.0f} MB",
            flush=True,
        )
    ratio = theirs[-1]["seconds"] / ours[-1]["seconds"]
    print(
        f"all up to T = {ours[-1]['T']} compared with all up to T = {theirs[-1]['T']}: "
        f"{ratio:.1f} times as fast"
    )
    better = [a["likelihood"] - b["likelihood"] for a, b in zip(ours, theirs, strict=False)]
    print(f"log-likelihood per row: higher by {min(better):.2g} to {max(better):.2g}")
    return ours + theirs


def child(implementation: str, dimension: str, largest: str) -> None:
    """Measure all sizes up to the largest, one after the other; print a line of JSON for each."""
    D, sizes = int(dimension), [T for T in SIZES if int(largest) >= T]
    truth = generate(D, K, (1, 10), np.random.default_rng(0))
    fit = _one_pass() if implementation == OURS else _from_all_rows
    list(_blocks(truth, 10))
    BatchML(1).fit(np.random.default_rng(0).normal(size=(50, 4))).gaussian()  # imports
    reset_peak()
    before, spent = peak_bytes(), 0.0
    for T in sizes:
        seconds, gaussian = fit(truth, T)
        spent += seconds
        megabytes = (peak_bytes() - before) / 1e6
        likelihood = sum(float(np.sum(gaussian.log_prob(rows))) for rows in _blocks(truth, T)) / T
        row = {
            "implementation": implementation,
            "D": D,
            "T": T,
            "seconds": spent,
            "likelihood": likelihood,
            "megabytes": megabytes,
        }
        print(json.dumps(row), flush=True)


def _blocks(truth: LowRankGaussian, T: int) -> Iterator[np.ndarray]:
    """Yield the first T rows of a reproducible stream, block by block."""
    random = np.random.default_rng(1)
    for start in range(0, T, BLOCK):
        yield truth.sample(BLOCK, random)[: T - start]


def _one_pass() -> Callable[[LowRankGaussian, int], tuple[float, LowRankGaussian]]:
    """Return a function that continues one fit to T rows."""
    model, seen = BatchML(K), 0

    def fit(truth: LowRankGaussian, T: int) -> tuple[float, LowRankGaussian]:
        nonlocal seen
        seconds = 0.0
        for number, rows in enumerate(_blocks(truth, T)):
            new = rows[max(seen - number * BLOCK, 0) :]
            if len(new):
                start = perf_counter()
                model.partial_fit(new)
                seconds += perf_counter() - start
        seen, start = T, perf_counter()
        gaussian = model.gaussian()
        return seconds + perf_counter() - start, gaussian

    return fit


def _from_all_rows(truth: LowRankGaussian, T: int) -> tuple[float, LowRankGaussian]:
    """Fit scikit-learn's model to T rows."""
    rows = np.concatenate(list(_blocks(truth, T)))
    start = perf_counter()
    model = FactorAnalysis(K, svd_method="lapack").fit(rows)
    seconds = perf_counter() - start
    return seconds, LowRankGaussian(model.mean_, model.components_.T, model.noise_variance_)
