"""Chapter 5's experiment: the generator, the stream, the pairing, what a cell yields."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from onlinefa import estimators
from onlinefa.cell import Cell
from onlinefa.experiments import synthetic
from onlinefa.models.factor_model import generate
from onlinefa.randomness import generator


def cell(algorithm, T=(50, 300), seed=0, spectrum=(1, 10), D=8, K=2, **settings):
    low, high = spectrum
    axes = {"algorithm": algorithm, "D": D, "K": K, "spectrum": f"{low}-{high}"}
    parameters = {
        "dataset": "algorithm_3", "root_seed": 1, "spectrum": list(spectrum), "T": list(T),
        "settings": settings,
    }  # fmt: skip
    return Cell("synthetic", axes, seed, parameters)


def test_algorithm_3_scales_the_rows_of_orthonormal_eigenvectors():
    D, K = 40, 5
    model = generate(D, K, (4, 9), np.random.default_rng(0))
    # The same draws in the same order, followed through by hand.
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


def test_random_numbers_are_named_by_purpose_and_not_by_algorithm():
    def first(*words):
        return generator(*words).standard_normal()

    words = (1, "synthetic", "D~5", 0, "data")
    assert first(*words) == first(*words)
    others = [(2, *words[1:]), (*words[:3], 1, "data"), (*words[:4], "init"),
              (1, "linear", *words[2:]), (1, "synthetic", "D~6", 0, "data")]  # fmt: skip
    assert len({first(*words), *(first(*other) for other in others)}) == 6


def test_algorithms_of_one_seed_see_the_same_everything(monkeypatch):
    seen = {}

    def record(name, settings, **offered):
        seen[name] = {"init": offered["init_factors"], "rows": []}

        class Recorder:
            def partial_fit(self, rows):
                seen[name]["rows"].append(rows)

            def gaussian(self):
                return generate(8, 2, (1, 10), np.random.default_rng(0))

        return Recorder()

    monkeypatch.setattr(synthetic, "import_and_compile", lambda cell: None)
    monkeypatch.setattr(estimators, "build", record)
    for algorithm in ("online_em", "batch_svd"):
        list(synthetic.run(cell(algorithm), Path()))
    list(synthetic.run(cell("diagonal", seed=1), Path()))
    one, two, other = (seen[name] for name in ("online_em", "batch_svd", "diagonal"))
    assert np.array_equal(one["init"], two["init"])
    assert np.array_equal(np.vstack(one["rows"]), np.vstack(two["rows"]))
    assert len(np.vstack(one["rows"])) == 300
    assert not np.array_equal(one["init"], other["init"])
    assert not np.array_equal(np.vstack(one["rows"]), np.vstack(other["rows"]))


@pytest.mark.parametrize("algorithm", ["online_em", "online_sga", "batch_svd", "batch_ml"])
def test_a_cell_measures_every_metric_at_every_sample_size(algorithm):
    measurements = list(synthetic.run(cell(algorithm), Path()))
    assert [(m.step, m.metric) for m in measurements] == [
        (T, metric) for T in (50, 300) for metric in dict.fromkeys(m.metric for m in measurements)
    ]
    assert {m.metric for m in measurements} == set(synthetic.METRICS)
    assert all(m.status == "ok" for m in measurements)
    assert all(np.isfinite(m.value) for m in measurements)


def test_more_samples_bring_maximum_likelihood_to_the_truth():
    values = {m.step: m.value for m in synthetic.run(cell("batch_ml", T=(100, 20000)), Path())
              if m.metric == "relative_frobenius"}  # fmt: skip
    # 200 times the samples: a fourteenth of the error, give or take.
    assert values[20000] < values[100] / 5


def test_a_diverging_fit_is_recorded_as_diverged(caplog):
    measurements = list(
        synthetic.run(cell("online_sga", spectrum=(1, 10000), learning_rate=1e9), Path())
    )
    assert {m.step for m in measurements} == {50, 300}
    at_the_end = [m for m in measurements if m.step == 300]
    assert {m.metric for m in at_the_end} == set(synthetic.METRICS)
    assert all(m.status == "diverged" and m.value is None for m in at_the_end)
    assert all("diverged" in m.message for m in at_the_end)
    assert "diverged" in caplog.text


def test_what_is_not_defined_is_said_to_be_undefined():
    # After one row the diagonal control has no variance, and so no density; it never has factors.
    statuses = {m.metric: m.status for m in synthetic.run(cell("diagonal", T=(1,)), Path())}
    undefined = {metric for metric, status in statuses.items() if status == "undefined"}
    assert undefined == {
        "kl_truth_estimate", "kl_estimate_truth", "held_out_log_likelihood",
        "largest_principal_angle",
    }  # fmt: skip


MEMORY = """
import sys
sys.path.insert(0, sys.argv[1])
from test_synthetic import cell
from pathlib import Path
from onlinefa.experiments import synthetic
from onlinefa.provenance import Provenance
next(iter(synthetic.run(cell("online_em", T=(100,), D=1000, K=10), Path())))
provenance = Provenance()
before = provenance.peak_memory_mb()
list(synthetic.run(cell("online_em", T=(30000,), D=1000, K=10), Path()))
print(before, provenance.peak_memory_mb())
"""


def test_an_online_fit_never_holds_the_stream(request):
    # 30,000 rows of 1000 columns are 240 MB; a block is 8 MB. The same cell with 100 rows has
    # run before, so that what is left is what grows with the stream.
    printed = subprocess.run(
        [sys.executable, "-c", MEMORY, str(request.path.parent)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    before, peak = map(float, printed.split())
    assert peak < 500
    assert peak - before < 120
