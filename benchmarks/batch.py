"""Batch estimates at growing T: one pass of `batch_ml` against a fit of scikit-learn for each T."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from sklearn.decomposition import FactorAnalysis
from threadpoolctl import threadpool_limits

from onlinefa import BatchML
from onlinefa.models.factor_model import generate

K = 10
SIZES = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]


def measure(full: bool) -> list[dict[str, Any]]:
    D, sizes = (1000, SIZES) if full else (200, SIZES[:7])
    rows = generate(D, K, (1, 10), np.random.default_rng(0)).sample(sizes[-1], 1)
    found: list[dict[str, Any]] = []
    with threadpool_limits(1):
        model, seen, spent = BatchML(K), 0, 0.0
        for T in sizes:
            start = perf_counter()
            model.partial_fit(rows[seen:T]).gaussian()
            spent, seen = spent + perf_counter() - start, T
            found.append(_row("onlinefa, one pass", D, T, spent, model.score(rows[:T])))
        spent = 0.0
        for T in sizes:
            start = perf_counter()
            fit = FactorAnalysis(K, svd_method="lapack").fit(rows[:T])
            spent += perf_counter() - start
            found.append(_row("scikit-learn, lapack", D, T, spent, fit.score(rows[:T])))
    ours, theirs = found[len(sizes) - 1], found[-1]
    print(f"all {len(sizes)} sizes: {ours['seconds']:.1f} s against {theirs['seconds']:.1f} s, "
          f"{theirs['seconds'] / ours['seconds']:.1f} times as fast")  # fmt: skip
    better = [a["likelihood"] - b["likelihood"] for a, b in
              zip(found[: len(sizes)], found[len(sizes) :], strict=True)]  # fmt: skip
    print(f"log-likelihood a row: higher by {min(better):.2g} to {max(better):.2g}")
    return found


def _row(who: str, D: int, T: int, seconds: float, likelihood: float) -> dict[str, Any]:
    print(f"{who}, T = {T}: {seconds:.1f} s so far, log-likelihood {likelihood:.4f}", flush=True)
    return {"who": who, "D": D, "T": T, "seconds": seconds, "likelihood": likelihood}
