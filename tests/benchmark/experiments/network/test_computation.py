"""Tests of networks on tables: splits, shared networks, metrics and their units."""

from __future__ import annotations

import copy
from math import log
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.contexts import context_of, run
from support.network_cells import cell, values_of

from onlinefa_benchmark.config.validation import ConfigError, validate
from onlinefa_benchmark.context import Cache, Context
from onlinefa_benchmark.experiments.network import computation, trained_networks
from onlinefa_benchmark.experiments.network.splits import standard_split
from onlinefa_benchmark.posteriors.base import GaussianFunctions
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.provenance import Provenance

N = 50


@pytest.fixture
def table():
    """Return a table with distinct numbers, to be changed by tests."""
    random = np.random.default_rng(3)
    X = random.normal(size=(N, 2))
    return {"X": X, "y": np.sin(X[:, 0]) + 0.1 * random.normal(size=N)}


def study_of(table, seed=0, **options):
    context = Context(None, read_table=lambda name: (table["X"], table["y"]))
    return computation.make_study(cell(seed=seed, **options), context)


def run_cell(one, table, cache=None, **options):
    context = context_of(
        one,
        read_table=lambda name: (table["X"], table["y"]),
        cache=cache or Cache(),
        **options,
    )
    return run(one, context)


def rows_of(table, X):
    """Return the numbers of the table's rows that were standardised to X, in order."""
    whole = study_of(table)
    everything = np.concatenate([whole.final.table.X, whole.asked])[:, 0]
    slope, shift = np.polyfit(np.sort(everything), np.sort(table["X"][:, 0]), 1)
    away = np.abs(slope * X[:, :1] + shift - table["X"][:, 0])
    assert away.min(axis=1).max() < 1e-9
    return set(away.argmin(axis=1).tolist())


def test_every_row_is_in_exactly_one_of_three_parts(table):
    study = study_of(table)
    parts = [rows_of(table, X) for X in (study.asked, study.validation.X, study.search.table.X)]
    assert [len(part) for part in parts] == [5, 9, 36]
    assert set.union(*parts) == set(range(N))
    assert len(study.final.table.y) == 45
    np.testing.assert_array_equal(study.final.table.X[:9], study.validation.X)
    np.testing.assert_array_equal(study.final.table.X[9:], study.search.table.X)


def test_training_and_validation_rows_are_standardised_together(table):
    both = study_of(table).final.table
    for column in (both.X[:, 0], both.X[:, 1], both.y):
        assert (column.mean(), column.std()) == pytest.approx((0, 1), abs=1e-12)
    np.testing.assert_array_equal(both.X[:, 2], 1)


def test_training_does_not_depend_on_the_test_part(table):
    def learned():
        study = study_of(table)
        return study.final.hyperparameters, study.search.modes, study.final.walks

    before = learned()
    tested = list(rows_of(table, study_of(table).asked))
    table["y"] = table["y"].copy()
    table["y"][tested] += 1000
    table["X"] = table["X"].copy()
    table["X"][tested] *= -3
    after = learned()
    assert after[0] == before[0]
    for found, expected in zip(after[1:], before[1:], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_evidence_needs_no_validation_part(table):
    study = study_of(table, noise="evidence")
    assert len(study.final.table.y) == 45
    parts = [rows_of(table, X) for X in (study.asked, study.final.table.X)]
    assert parts[0] | parts[1] == set(range(N))


def test_the_test_part_of_a_standard_split_is_the_published_one(table):
    one = cell(seed=3)
    one.parameters["splits"] = "standard"
    context = Context(None, read_table=lambda name: (table["X"], table["y"]))
    study = computation.make_study(one, context)
    split, X = standard_split(N, 3), table["X"]
    mean, sd = X[split.training].mean(axis=0), X[split.training].std(axis=0)
    np.testing.assert_allclose(study.asked[:, :2], (X[split.test] - mean) / sd)


def test_a_seed_is_a_split(table):
    same, again, other = study_of(table, 0), study_of(table, 0), study_of(table, 1)
    np.testing.assert_array_equal(same.asked, again.asked)
    assert not np.allclose(same.asked, other.asked)


def test_all_algorithms_have_the_same_candidates(table):
    known = study_of(table).final.hyperparameters
    cache = Cache()
    for name in ("map", "swag", "laplace"):
        values = values_of(run_cell(cell(name), table, cache))
        chosen = (values["chosen_precision"], values["chosen_noise"])
        assert chosen in [(one.precision, one.noise) for one in known]


@pytest.fixture
def trainings(monkeypatch):
    """Record the number of rows of each training in a list."""
    counted, trace = [], trained_networks.trace_updates

    def counted_trace(network, *arguments):
        counted.append(len(network.y))
        return trace(network, *arguments)

    monkeypatch.setattr(trained_networks, "trace_updates", counted_trace)
    return counted


def test_cells_of_one_split_share_trained_networks_through_the_cache(table, trainings):
    cache = Cache()
    for algorithm in ("map", "laplace", "swag"):
        run_cell(cell(algorithm), table, cache)
    assert trainings == [36, 45]  # without the validation part, and with it
    run_cell(cell("map", seed=1), table, cache)
    assert len(trainings) == 4
    run_cell(cell("map"), table, cache)  # the cache has only the latest split
    assert len(trainings) == 6


def test_jobs_do_not_share_networks_and_have_the_same_values(table, trainings):
    one, two = (values_of(run_cell(cell("map"), table, Cache())) for _ in range(2))
    assert len(trainings) == 4
    assert one == two


def test_metrics_are_in_the_units_of_the_table(table):
    # A factor of eight changes no bit of a standardised target.
    before = values_of(run_cell(cell("swag"), table))
    table["y"] = 8 * table["y"]
    after = values_of(run_cell(cell("swag"), table))
    for metric, value in before.items():
        expected = {"test_rmse": 8 * value, "test_crps": 8 * value, "test_nll": value + log(8)}
        assert after[metric] == pytest.approx(expected.get(metric, value), rel=1e-12)


def test_metrics_of_one_gaussian_by_hand():
    # Means 0 and 2, a variance of 3 + 1, and targets that are one standard deviation above.
    known = GaussianFunctions(np.array([0.0, 2.0]), np.sqrt([3.0, 3.0]))
    bias = {"bias": lambda predicted, y: np.mean(predicted.mean - y)}
    found = computation.measure(known.targets(1.0), bias, np.array([2.0, 4.0]), unit=10.0)
    scalars = {name: value for (name, index), value in found.items() if not index}
    assert scalars["test_rmse"] == pytest.approx(20)
    assert scalars["test_nll"] == pytest.approx(log(20) + log(2 * np.pi) / 2 + 1 / 2)
    assert scalars["bias"] == -2
    # Phi(1) = 0.8413: inside the central 90 per cent, but not inside the central 50.
    assert [scalars[f"coverage_{share}"] for share in (50, 90, 95)] == [0, 1, 1]
    assert {metric for metric, _ in found} == {*computation.CONTRACTS, "bias"}


def test_a_metric_that_the_configuration_adds_is_measured_on_the_test_part(table):
    seen = []

    def score(predicted, y):
        seen.append(len(y))
        return 0.25

    found = values_of(run_cell(cell("map"), table, metrics={"score": score}))
    assert found["score"] == 0.25
    assert seen == [5]


def test_contracts_and_numbers_of_networks_are_stored(table):
    for algorithm, networks in (("swag", 5), ("map", 1), ("laplace_all", 0)):
        one = cell(algorithm)
        rows = result_file.measurement_table(one, "d" * 32, run_cell(one, table), Provenance())
        stored = rows.to_pandas()
        assert set(stored["networks"]) == {networks}
        contracts = dict(zip(stored["metric"], stored["contract"], strict=True))
        assert contracts["test_nll"] == "mean over held-out points, y in its own units"
        assert contracts["coverage_90"] == "share of held-out points"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"K": 401, "walk": 1000}, "401 must be below every D, and yacht has 401 weights"),
        ({"batch": 222}, "yacht has 221 training rows, fewer than a batch (222)"),
    ],
)
def test_untrainable_networks_are_refused(changes, complaint):
    default = yaml.safe_load((Path(__file__).parents[4] / "config/config.yaml").read_text())
    with pytest.raises(ConfigError) as error:
        validate(copy.deepcopy(default) | {"network": default["network"] | changes})
    (line,) = str(error.value).splitlines()
    assert "network." in line
    assert complaint in line
