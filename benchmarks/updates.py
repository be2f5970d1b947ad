"""Updates with single observations: this package, literal NumPy and eager PyTorch."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.decomposition import IncrementalPCA

from benchmarks.clock import best_of, best_of_each
from benchmarks.literal import algorithm_1, algorithm_2
from onlinefa import OnlineEM, OnlineSGA, RecursiveEM, ShrunkEM
from onlinefa.torch import batched

Work = Callable[[], object]
K, WARM_UP, TRIALS = 10, 100, 10
ROWS = {100: 4000, 1000: 1000}  # numbers of rows, by D


def sample(D: int, n: int) -> np.ndarray:
    """Draw rows from a factor model."""
    random = np.random.default_rng(0)
    factors = 0.3 * random.normal(size=(K, D))
    return random.normal(size=(n, K)) @ factors + random.normal(size=(n, D))


def measure(full: bool) -> list[dict[str, Any]]:
    """Measure the seconds per update, on one core, in float64."""
    torch.set_num_threads(1)
    found = []
    for D, n in ROWS.items():
        rows = sample(D, n + WARM_UP)
        for algorithm in ("online EM", "online SGA"):
            few = rows[: n // 4]
            works = {
                "onlinefa": _ours(algorithm, rows[: WARM_UP + 1], few),
                "literal NumPy": _literal(algorithm, few),
                "eager PyTorch": _eager(algorithm, few, 1),
                "eager PyTorch, ten trials, each": _eager(algorithm, few, TRIALS),
            }
            times = {name: time / len(few) for name, time in best_of_each(9, works).items()}
            times["eager PyTorch, ten trials, each"] /= TRIALS
            found += [_row(algorithm, name, D, time) for name, time in times.items()]
            ratios = {name: times[name] / times["onlinefa"] for name in list(times)[1:]}
            slower = ", ".join(f"{ratio:.1f} ({name})" for name, ratio in ratios.items())
            print(f"D = {D}, {algorithm}: {times['onlinefa'] * 1e6:.1f} us; slower by {slower}")
        for algorithm, model in {
            "recursive EM": RecursiveEM(K),
            "shrunk EM": ShrunkEM(K),
            "scikit-learn IncrementalPCA": IncrementalPCA(K),
        }.items():
            many = sample(D, 10 * n)
            model.partial_fit(many)  # past the first blocks, which take more steps
            blocks = [many[i : i + 100] for i in range(0, 1000, 100)]
            time = best_of(3, lambda: [model.partial_fit(block) for block in blocks]) / 1000  # noqa: B023
            package = "scikit-learn" if "scikit" in algorithm else "onlinefa"
            found.append(_row(algorithm, package, D, time))
            print(f"D = {D}, {algorithm}: {time * 1e6:.1f} us per observation, in blocks of 100")
    return found


def _row(algorithm: str, implementation: str, D: int, seconds: float) -> dict[str, Any]:
    return {
        "algorithm": algorithm,
        "implementation": implementation,
        "D": D,
        "seconds": seconds,
    }


def _ours(algorithm: str, first: np.ndarray, rows: np.ndarray) -> Work:
    model = {"online EM": OnlineEM, "online SGA": OnlineSGA}[algorithm](K, random_state=0)
    model.fit(first)
    return lambda: model.partial_fit(rows)


def _literal(algorithm: str, rows: np.ndarray) -> Work:
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(rows.shape[1], K)))[0]
    path = (
        (lambda: algorithm_2(rows, Q, 1))
        if algorithm == "online EM"
        else (lambda: algorithm_1(rows, Q, 1, 0.001))
    )
    return lambda: deque(path(), maxlen=1)


def _eager(algorithm: str, rows: np.ndarray, trials: int) -> Work:
    Q = torch.linalg.qr(torch.randn(trials, rows.shape[1], K, dtype=torch.float64))[0]
    X = torch.tensor(rows).expand(trials, -1, -1)
    model = {"online EM": batched.OnlineEM, "online SGA": batched.OnlineSGA}[algorithm](
        Q, warm_up=1
    )
    return lambda: model.partial_fit(X)


_PROGRAM = (
    "import numpy; from onlinefa import OnlineEM;"
    "OnlineEM(3).fit(numpy.random.default_rng(0).normal(size=(300, 20)))"
)


def measure_start(full: bool) -> list[dict[str, Any]]:
    """Measure the seconds of a new process until its first fit, with compiled code on disk."""
    found = []
    programs = {
        "import numpy": "import numpy",
        "import scikit-learn's base class": "import sklearn.base",
        "a first fit": _PROGRAM,
    }
    for name, program in programs.items():
        subprocess.run([sys.executable, "-c", program], check=True)
        seconds = best_of(3, lambda: subprocess.run([sys.executable, "-c", program], check=True))  # noqa: B023
        found.append({"program": name, "seconds": seconds})
        print(f"{name}: {seconds:.2f} s")
    return found
