"""Tests of models with given eigenvalues, and of streams whose model changes."""

from __future__ import annotations

import numpy as np
import pytest
from support.contexts import run

from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.context import Context
from onlinefa_benchmark.experiments.synthetic import computation
from onlinefa_benchmark.models.factor_model import generate, generate_with_eigenvalues

D, K, T = 100, 5, (400, 1300, 1301, 2000, 3600)


def eigenvalues(model):
    return np.linalg.eigvalsh(model.factors @ model.factors.T)


def test_eigenvalues_are_drawn_from_the_range():
    model = generate_with_eigenvalues(D, K, (4, 9), np.random.default_rng(0))
    # Repeat the draws in the same order.
    random = np.random.default_rng(0)
    mean, A = random.standard_normal(D), random.standard_normal((D, D))
    drawn = random.uniform(4, 9, size=K)
    np.testing.assert_array_equal(model.mean, mean)
    np.testing.assert_allclose(eigenvalues(model)[-K:], np.sort(drawn), rtol=1e-10)
    np.testing.assert_allclose(eigenvalues(model)[:-K], 0, atol=1e-10)
    V, M = model.factors / np.sqrt(drawn), A @ A.T  # the leading eigenvectors of A A'
    np.testing.assert_allclose(M @ V, V * np.linalg.eigvalsh(M)[-K:], atol=1e-8)
    np.testing.assert_array_equal(model.noise, random.uniform(0, drawn.max(), size=D))


def test_the_eigenvalues_of_algorithm_3_are_close_to_the_middle_of_the_range():
    """The eigenvalues are those of M = V' diag(s^2) V, with V and s^2 independent.

    With m and v the mean and variance of s^2, the mean square of their distances from m is
    tr((M - m)^2) / K: v 3 / D from the diagonal of M, v (K - 1) / D from the other entries.
    """
    m, v = 5, 8**2 / 12
    for kind, expected in ((generate, v * (K + 2) / D), (generate_with_eigenvalues, v)):
        models = [kind(D, K, (1, 9), np.random.default_rng(seed)) for seed in range(40)]
        distances = np.array([eigenvalues(model)[-K:] for model in models]) - m
        np.testing.assert_allclose(np.mean(distances**2), expected, rtol=0.25)


@pytest.fixture
def cell():
    axes = {"algorithm": "online_em", "D": 8, "K": 2, "spectrum": "1-10"}
    parameters = {
        "dataset": "eigenvalues",
        "root_seed": 1,
        "spectrum": [1, 10],
        "T": list(T),
        "settings": {},
        "change_at": 1300,
    }
    return Cell("change", axes, 0, parameters)


def test_the_model_is_replaced_right_after_change_at(cell):
    first, second = (computation.true_model(cell, role) for role in ("model", "second_model"))
    received = []

    class Recorder:
        """An estimator that always returns the first model."""

        def partial_fit(self, rows):
            received.append(rows.copy())

        def gaussian(self):
            return first

    measured = run(cell, Context(Recorder))

    assert cell.parameters["change_at"] % computation.BLOCK != 0
    random = computation.random_numbers(cell, "data")
    expected = np.vstack([first.sample(1300, random), second.sample(3600 - 1300, random)])
    np.testing.assert_allclose(np.vstack(received), expected, rtol=1e-10, atol=1e-12)
    assert max(map(len, received)) <= computation.BLOCK

    # The estimate is correct up to the change, and wrong after it.
    assert second.relative_frobenius(first) > 0.1
    errors = {m.step: m.value for m in measured if m.metric == "relative_frobenius"}
    assert errors == {
        step: (first if step <= 1300 else second).relative_frobenius(first) for step in T
    }
    changed = {m.step: m.value for m in measured if m.metric == "changed"}
    assert changed == {step: float(step > 1300) for step in T}
