"""Large D: time and memory, and the speed compared with that of a plain copy."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from benchmarks.clock import CORES, best_of, copy_bandwidth, in_child
from onlinefa import LowRankGaussian, OnlineEM, OnlineSGA, RecursiveEM
from onlinefa_benchmark.models.distances import DISTANCES, compare
from onlinefa_benchmark.storage.peak_memory import peak_bytes, reset_peak

K = 10
ROWS = 32
# Numbers per column that an update reads or writes: the factors (and for EM the statistics A), the
# mean, the noise and its statistic are read and written; the row is read.
TOUCHED = {"online EM": 4 * K + 2 * 3 + 1, "online SGA": 2 * K + 2 * 3 + 1}


def measure(full: bool) -> list[dict[str, Any]]:
    """Measure updates and distances for growing D."""
    found = []
    for D in (10**2, 10**3, 10**4, 10**5, 10**6, *([10**7] if full else [])):
        for algorithm in ("online EM", "online SGA", "recursive EM"):
            [row] = in_child("large", algorithm, str(D))
            found.append(row)
            speed, copies = _speed(row, ""), row["copies"]
            print(f"D = {D:>8}, {algorithm}: {speed}, {copies:.1f} copies of D x K", flush=True)
            if "seconds_on_all" in row:
                print(f"{'':14}on {CORES} cores: {_speed(row, '_on_all')}", flush=True)
        [row] = in_child("large", "distances", str(D))
        found.append(row)
        print(
            f"D = {D:>8}, relative Frobenius, KL and 2-Wasserstein: {row['seconds']:.2f} s, "
            f"{row['copies']:.1f} copies of D x K",
            flush=True,
        )
    return found


def _speed(row: dict[str, Any], cores: str) -> str:
    of_copy = f", {row['of_copy' + cores]:.2f} of the speed of a copy" if "of_copy" in row else ""
    return f"{row['seconds' + cores] * 1e6:.0f} us per observation{of_copy}"


def child(algorithm: str, dimension: str) -> None:
    """Measure one algorithm, or distances, and print JSON."""
    measure_one = _distances if algorithm == "distances" else _updates
    D = int(dimension)
    print(json.dumps({"algorithm": algorithm, "D": D} | measure_one(algorithm, D)))


def _distances(_: str, D: int) -> dict[str, Any]:
    """Measure all distances of two Gaussians, in float64."""
    random = np.random.default_rng(0)
    factors = random.standard_normal((D, K))
    truth = LowRankGaussian(np.zeros(D), factors, np.ones(D))
    estimate = LowRankGaussian(np.zeros(D), 0.9 * factors, random.uniform(0.9, 1.1, D))
    reset_peak()
    before = peak_bytes()
    seconds = best_of(1, lambda: compare(truth, estimate, DISTANCES))
    return {"seconds": seconds, "copies": (peak_bytes() - before) / factors.nbytes}


def _updates(algorithm: str, D: int) -> dict[str, Any]:
    """Measure the updates of an algorithm, in float32."""
    random = np.random.default_rng(0)
    factors = random.standard_normal((D, K), dtype=np.float32) / np.float32(np.sqrt(D))
    rows = random.standard_normal((ROWS, D), dtype=np.float32)
    model = {
        "online EM": lambda: OnlineEM(K, warm_up=ROWS, init_factors=factors),
        "online SGA": lambda: OnlineSGA(K, warm_up=0, init_factors=factors, learning_rate=1e-6),
        "recursive EM": lambda: RecursiveEM(K, block_size=ROWS, warm_up=ROWS),
    }[algorithm]()
    # The memory of numba, scikit-learn and BLAS does not depend on D: load them first.
    type(model)(K, warm_up=2).fit(random.standard_normal((40, 20), dtype=np.float32))
    reset_peak()
    before = peak_bytes() - factors.nbytes
    model.fit(rows)
    if algorithm == "recursive EM":  # the first blocks take more steps than all others
        model._state.learner.rows = 1e6
    seconds = _seconds(model, rows, threads=1)
    measured = {"seconds": seconds, "copies": (peak_bytes() - before) / factors.nbytes}
    if algorithm not in TOUCHED:
        return measured
    touched = TOUCHED[algorithm] * D * rows.itemsize
    measured["of_copy"] = touched / seconds / copy_bandwidth(1)
    if D >= 10**5:
        on_all = _seconds(model, rows, CORES)
        measured["seconds_on_all"] = on_all
        measured["of_copy_on_all"] = touched / on_all / copy_bandwidth(CORES)
    return measured


def _seconds(model: Any, rows: np.ndarray, threads: int) -> float:
    """Return the seconds per observation."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    repetitions = 7 if rows.shape[1] > 10**6 else 25
    return best_of(repetitions, lambda: model.partial_fit(rows)) / len(rows)
