"""Tests of docs/conformance.md: its numbers, its statements and the row of this package."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from conformance import paper
from conformance.adapters import ours
from conformance.comparison import compare
from conformance.page import render
from conformance.walk import LAYERS, WALKS

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = json.loads((DOCS / "conformance" / "results.json").read_text())


def test_the_page_is_rendered_from_the_results():
    assert render(RESULTS) == (DOCS / "conformance.md").read_text()


def test_the_example_of_the_formula():
    assert doctest.testmod(paper) == (0, 3)


@pytest.mark.parametrize("walk", WALKS)
def test_our_closed_form_is_that_of_the_paper(walk):
    rows = walk.generate()
    mean, covariance = paper.compute_moments(rows, walk.columns)
    gaussian = ours.learn(rows, walk.columns).gaussian().to_numpy()
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(gaussian.mean, mean, rtol=1e-6)
    own = gaussian.covariance() / np.outer(scale, scale)
    np.testing.assert_allclose(own, covariance / np.outer(scale, scale), rtol=0, atol=1e-6)


@pytest.mark.parametrize("walk", WALKS)
def test_our_sampled_networks_have_the_distribution_of_the_paper(walk):
    rows, n = walk.generate(), 2000
    mean, C = paper.compute_moments(rows, walk.columns)
    draws = ours.draw_weights(rows, walk.columns, n)
    # n times the squared Mahalanobis distance of an average of n draws is chi-squared.
    error = draws.mean(axis=0, dtype=np.float64) - mean
    assert n * error @ np.linalg.solve(C, error) < chi2.isf(1e-6, len(mean))
    # Trace and covariance between layers are averages of quadratic forms x'Wx of Gaussian x, whose
    # expectation is tr(WC) = 1 and whose variance is 2 tr((WC)^2). Five standard errors of the
    # average of n are exceeded with a probability of about 6e-7.
    P = C.copy()
    P[: LAYERS[0], : LAYERS[0]] = P[LAYERS[0] :, LAYERS[0] :] = 0
    estimates = compare(draws, rows, walk.columns)
    for name, W in {"trace": np.eye(len(C)) / np.trace(C), "between": P / np.sum(P**2)}.items():
        assert np.trace(W @ C) == pytest.approx(1)
        standard_error = np.sqrt(2 * np.trace(W @ C @ W @ C) / n)
        assert abs(estimates[name].value - 1) < 5 * standard_error
        assert estimates[name].error == pytest.approx(standard_error, rel=0.2)


def row(package, options, steps):
    (found,) = (
        each
        for each in RESULTS["rows"]
        if (each["package"], each["options"], each["steps"]) == (package, options, steps)
    )
    return found


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize(
    ("package", "options", "trace", "between"),
    [
        ("onlinefa", "default", 1, 1),
        ("swa-gaussian", "`cov=True`", 2, 2),
        ("swa-gaussian", "`cov=True, scale=0.5`", 1, 1),
        ("swa-gaussian", "`cov=True, scale=0.5, block=True`", 0.5, 0),
        ("torch-uncertainty", "default", 2, 0),
        ("torch-uncertainty", "`scale=0.5`", 1, 0),
    ],
)
def test_the_factors_that_the_page_states(package, options, trace, between, walk):
    found = row(package, options, walk.steps)
    for name, expected in {"mean": 0, "trace": trace, "between": between}.items():
        assert abs(found[name]["value"] - expected) < 4 * found[name]["error"]


@pytest.mark.parametrize("walk", WALKS)
def test_the_moments_of_lightning_uq_box_that_the_page_states(walk):
    rows, T, K = walk.generate().astype(np.float64), walk.steps, walk.columns
    _, covariance = paper.compute_moments(rows, K)
    block = slice(LAYERS[0]), slice(LAYERS[0], None)
    for options, initial in {
        "default": rows[0],
        "buffers of the mean set to zero": np.zeros(len(rows[0])),
    }.items():
        means = (initial + np.cumsum(rows, axis=0)) / np.arange(1, T + 1)[:, None]
        variances = np.maximum((rows**2).mean(axis=0) - means[-1] ** 2, 0)
        deviations = (rows[1:] - means[:-1])[-K:].T
        C = np.diag(variances) / 2 + deviations @ deviations.T / (2 * (K - 1))
        shift = (means[-1] - rows.mean(axis=0)) / rows.std(axis=0)
        expected = {
            "mean": np.sqrt(np.mean(shift**2)),
            "trace": np.trace(C) / np.trace(covariance),
            "between": np.sum(C[block] * covariance[block]) / np.sum(covariance[block] ** 2),
        }
        found = row("lightning-uq-box", options, T)
        for name, value in expected.items():
            assert abs(found[name]["value"] - value) < 4 * found[name]["error"]
