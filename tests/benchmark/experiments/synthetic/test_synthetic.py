"""Tests of chapter 5: models, streams of observations, and measurements of a cell."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from support.contexts import context_of, run

from onlinefa_benchmark import metrics
from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.context import Context
from onlinefa_benchmark.execution.fit import compute, new_context
from onlinefa_benchmark.experiments.synthetic.computation import COMPONENT_METRICS, METRICS
from onlinefa_benchmark.models.factor_model import generate
from onlinefa_benchmark.randomness import generator


def cell(algorithm, T=(50, 300), seed=0, spectrum=(1, 10), experiment="synthetic", **settings):
    low, high = spectrum
    axes = {"algorithm": algorithm, "D": 8, "K": 2, "spectrum": f"{low}-{high}"}
    parameters = {
        "dataset": "algorithm_3",
        "root_seed": 1,
        "spectrum": list(spectrum),
        "T": list(T),
        "settings": settings,
    }
    return Cell(experiment, axes, seed, parameters)


def test_algorithm_3_scales_the_rows_of_orthonormal_eigenvectors():
    D, K = 40, 5
    model = generate(D, K, (4, 9), np.random.default_rng(0))
    # Repeat the draws in the same order.
    random = np.random.default_rng(0)
    mean, A = random.standard_normal(D), random.standard_normal((D, D))
    s2 = random.uniform(4, 9, D)
    np.testing.assert_array_equal(model.mean, mean)
    V = model.factors / np.sqrt(s2)[:, None]
    np.testing.assert_allclose(V.T @ V, np.eye(K), atol=1e-12)
    M = A @ A.T
    top = np.linalg.eigvalsh(M)[-K:]
    np.testing.assert_allclose(V.T @ M @ V, np.diag(top), atol=1e-9)
    assert model.noise.min() >= 0
    assert model.noise.max() <= s2.max()


def test_the_stream_does_not_depend_on_its_blocks():
    model = generate(5, 2, (1, 10), np.random.default_rng(0))
    whole = model.sample(30, np.random.default_rng(1))
    random = np.random.default_rng(1)
    parts = np.vstack([model.sample(n, random) for n in (1, 4, 25)])
    np.testing.assert_allclose(whole, parts, rtol=1e-12, atol=1e-12)


def test_random_numbers_depend_on_the_role_and_not_on_the_algorithm():
    def first(*words):
        return generator(*words).standard_normal()

    words = (1, "synthetic", "D~5", 0, "data")
    assert first(*words) == first(*words)
    others = [
        (2, *words[1:]),
        (*words[:3], 1, "data"),
        (*words[:4], "init"),
        (1, "linear", *words[2:]),
        (1, "synthetic", "D~6", 0, "data"),
    ]
    assert len({first(*words), *(first(*other) for other in others)}) == 6


def recorder(seen):
    """Return an algorithm that records its arguments in a dict."""

    class Recorder:
        def __init__(self, n_components=1, *, init_factors=None, random_state=None):
            seen.update(init=init_factors, random_state=random_state, rows=[])

        def partial_fit(self, rows):
            seen["rows"].append(rows)

        def gaussian(self):
            return generate(8, 2, (1, 10), np.random.default_rng(0))

    return Recorder


def test_algorithms_of_one_seed_get_the_same_observations_and_initial_factors():
    one, two, other = {}, {}, {}
    for seen, algorithm, seed in ((one, "online_em", 0), (two, "swag", 0), (other, "diagonal", 1)):
        run(cell(algorithm, seed=seed), Context(recorder(seen)))
    assert np.array_equal(one["init"], two["init"])
    assert one["random_state"] == two["random_state"]
    assert np.array_equal(np.vstack(one["rows"]), np.vstack(two["rows"]))
    assert len(np.vstack(one["rows"])) == 300
    assert not np.array_equal(one["init"], other["init"])
    assert one["random_state"] != other["random_state"]
    assert not np.array_equal(np.vstack(one["rows"]), np.vstack(other["rows"]))


@pytest.mark.parametrize("algorithm", ["online_em", "online_sga", "batch_svd", "batch_ml"])
def test_a_cell_measures_every_metric_at_every_sample_size(algorithm):
    measurements = run(cell(algorithm))
    assert [(m.step, m.metric) for m in measurements] == [
        (T, metric) for T in (50, 300) for metric in dict.fromkeys(m.metric for m in measurements)
    ]
    assert {m.metric for m in measurements} == set(METRICS)
    assert all(m.status == "ok" for m in measurements)
    assert all(np.isfinite(m.value) for m in measurements)
    assert {(m.i, m.j) for m in measurements} == {(None, None)}


def test_the_error_of_maximum_likelihood_decreases_with_more_samples():
    measurements = run(cell("batch_ml", T=(100, 20000)))
    values = {m.step: m.value for m in measurements if m.metric == "relative_frobenius"}
    # 200 times the samples: about a fourteenth of the error.
    assert values[20000] < values[100] / 5


def test_a_diverging_fit_is_recorded_as_diverged(caplog):
    measurements = run(cell("online_sga", spectrum=(1, 10000), learning_rate=1e9))
    assert {m.step for m in measurements} == {50, 300}
    at_the_end = [m for m in measurements if m.step == 300]
    assert {m.metric for m in at_the_end} == set(METRICS)
    assert all(m.status == "diverged" and m.value is None for m in at_the_end)
    assert all("diverged" in m.message for m in at_the_end)
    assert "diverged" in caplog.text


def test_metrics_that_are_not_defined_have_the_status_undefined():
    # After one row the diagonal control has no variance, and so no density; it never has factors.
    statuses = {m.metric: m.status for m in run(cell("diagonal", T=(1,)))}
    undefined = {metric for metric, status in statuses.items() if status == "undefined"}
    assert undefined == {
        "kl_truth_estimate",
        "kl_estimate_truth",
        "held_out_log_likelihood",
        "largest_principal_angle",
    }


def test_only_the_components_experiment_measures_the_number_of_factors():
    found = run(cell("online_em", experiment="components"))
    assert {m.metric for m in found} == {*METRICS, *COMPONENT_METRICS}
    values = {m.metric: m.value for m in found if m.step == 300}
    assert [values[name] for name in COMPONENT_METRICS] == [2, 0, 1]


METRIC = """
import numpy as np
from onlinefa_benchmark.metrics.base import AdditionalMetric

def measure(truth, estimate):
    return np.trace(estimate.covariance()) / np.trace(truth.covariance())

METRIC = AdditionalMetric("share of the total variance", measure, best="one")
"""


@pytest.fixture
def additional_metric(tmp_path, monkeypatch):
    """Add a metric, as if its file were in the folder of metrics."""
    (tmp_path / "total_variance.py").write_text(METRIC)
    monkeypatch.setattr(metrics, "__path__", [*metrics.__path__, str(tmp_path)])
    yield "total_variance"
    sys.modules.pop(metrics.module_of("total_variance"), None)
    vars(metrics).pop("total_variance", None)


@pytest.mark.parametrize("experiment", ["synthetic", "change"])
def test_a_metric_that_the_configuration_adds_is_measured(additional_metric, tmp_path, experiment):
    plain = cell("batch_ml", T=(50, 2000), experiment=experiment)
    plain = Cell(experiment, plain.axes, 0, plain.parameters | {"change_at": 1000})
    with_metric = Cell(
        experiment, plain.axes, 0, plain.parameters | {"metrics": [additional_metric]}
    )
    assert additional_metric in metrics.names()
    (found,) = compute([with_metric], new_context([with_metric], tmp_path))
    added = {m.step: m.value for m in found if m.metric == additional_metric}
    assert added.keys() == {50, 2000}
    if experiment == "synthetic":
        assert added[2000] == pytest.approx(1, abs=0.1)
    (without,) = compute([plain], new_context([plain], tmp_path))
    others = [m for m in found if m.metric != additional_metric]
    assert [(m.step, m.metric, m.value) for m in others] == [
        (m.step, m.metric, m.value) for m in without
    ]


def test_an_additional_metric_of_a_diverged_fit_is_diverged(additional_metric):
    one = cell("online_sga", spectrum=(1, 10000), learning_rate=1e9)
    context = context_of(one, metrics={additional_metric: lambda truth, estimate: 1.0})
    statuses = {m.metric: m.status for m in run(one, context) if m.step == 300}
    assert statuses[additional_metric] == "diverged"


MEMORY = """
from onlinefa_benchmark import algorithms
from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.context import Context
from onlinefa_benchmark.experiments.synthetic import computation
from onlinefa_benchmark.storage.provenance import Provenance

def run(T):
    axes = {"algorithm": "online_em", "D": 1000, "K": 10, "spectrum": "1-10"}
    parameters = {"dataset": "algorithm_3", "root_seed": 1, "spectrum": [1, 10], "T": [T]}
    cell = Cell("synthetic", axes, 0, parameters | {"settings": {}})
    list(computation.run(cell, Context(algorithms.load("online_em"))))

run(100)
provenance = Provenance()
before = provenance.peak_memory_mb()
run(30000)
print(before, provenance.peak_memory_mb())
"""


@pytest.mark.slow
def test_the_memory_of_an_online_fit_does_not_grow_with_the_stream():
    # 30,000 rows of 1000 columns are 240 MB; a block is 8 MB. The same cell with 100 rows runs
    # first, so that only growth with the stream is measured.
    command = [sys.executable, "-c", MEMORY]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, peak = map(float, printed.split())
    assert peak < 500
    assert peak - before < 120
