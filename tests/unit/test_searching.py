"""Hyperparameters are chosen on a validation part; the test part is for the test."""

from __future__ import annotations

import copy
from math import e, exp, log
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.datasets import load_digits
from tiny_networks import RANDOM, TRAINING, table_of

from onlinefa import data, results
from onlinefa.cell import Cell
from onlinefa.estimators.base import FitDiverged
from onlinefa.experiments import digits, network, network_task, searching
from onlinefa.experiments.network_task import Candidate, Table, Training, Trainings
from onlinefa.gaussian import NotFinite
from onlinefa.models.likelihoods import Gaussian
from onlinefa.models.sgd_walk import WalkDiverged
from onlinefa.posteriors.base import GaussianFunctions, SampledFunctions
from onlinefa.provenance import Provenance
from onlinefa.validation import ConfigError, validate

QUICK = Training(**vars(TRAINING) | {"candidates": 4, "runs": 2, "steps": 12, "walk": 9})


def cell(algorithm="map", seed=0, experiment="network", training=QUICK, **settings):
    axes = {"dataset": "yacht", "width": 3, "D": 13, "K": 2, "algorithm": algorithm}
    parameters = {
        "root_seed": 1, "settings": settings, "training": vars(training), "samples": 5,
    }  # fmt: skip
    return Cell(experiment, axes, seed, parameters)


# -- the choice --------------------------------------------------------------------------------


class Fake:
    """A posterior with a given loss for each candidate, or an error instead of it."""

    def __init__(self, losses, with_all_rows=None):
        self.losses, self.with_all_rows = losses, with_all_rows or {}
        self.asked = []

    def prepare(self, tasks):
        assert [task.number for task in tasks] == list(range(len(self.losses)))

    def timed(self, task):
        rows = len(task.network.y)
        self.asked.append((task.number, rows, len(task.inputs)))
        answer = (self.losses if rows == 14 else self.with_all_rows).get(task.number, 0.0)
        if isinstance(answer, Exception):
            raise answer
        return GaussianFunctions(np.full(len(task.inputs), answer), np.ones(len(task.inputs))), 1.0


@pytest.fixture
def study():
    whole = table_of(24)
    return searching.Study(
        learned=Table(whole.X[:14], whole.y[:14]),
        held_back=Table(whole.X[14:19], whole.y[14:19]),
        asked=whole.X[19:],
        training=QUICK,
        random=RANDOM,
        likelihood=Gaussian,
        loss=lambda functions, targets, noise: float(functions.mean[0]),
        measure=lambda functions, noise: {"one": 1.5, "many[3]": noise},
        contracts={"one": "a sum", "many": "in metres"},
        device="cpu",
    )


def measured(monkeypatch, study, fake):
    monkeypatch.setattr(searching, "posterior_of", lambda cell: fake)
    return list(searching.run_study(cell(), study))


def values_of(measurements):
    return {one.metric: one.value for one in measurements}


def test_the_candidate_with_the_smallest_loss_is_trained_on_all_rows(monkeypatch, study):
    fake = Fake({0: 3.0, 1: 0.5, 2: 0.7, 3: 9.0})
    found = measured(monkeypatch, study, fake)
    best = study.candidates[1]
    # On 14 rows all of them, asked for the 5 held back; then one on 19, asked for the test.
    assert fake.asked == [(0, 14, 5), (1, 14, 5), (2, 14, 5), (3, 14, 5), (1, 19, 5)]
    values = values_of(found)
    assert values["validation_loss"] == 0.5
    assert values["many[3]"] == values["chosen_noise"] == best.noise
    assert (values["chosen_share"], values["chosen_precision"]) == (best.share, best.precision)
    assert {one.status for one in found} == {"ok"}
    assert {one.seconds for one in found} == {5.0}  # the search is part of what it costs
    contracts = {one.metric: one.contract for one in found}
    assert (contracts["one"], contracts["many[3]"]) == ("a sum", "in metres")


@pytest.mark.parametrize(
    "divergence", [WalkDiverged("too fast"), FitDiverged("no fit"), NotFinite("NaN")]
)
def test_a_candidate_that_cannot_be_fitted_is_passed_over(monkeypatch, study, divergence):
    fake = Fake({0: divergence, 1: float("nan"), 2: 0.7, 3: 0.9})
    found = measured(monkeypatch, study, fake)
    assert values_of(found)["validation_loss"] == 0.7
    assert fake.asked[-1] == (2, 19, 5)


def test_one_that_cannot_be_fitted_with_all_rows_gives_way_to_the_next_best(monkeypatch, study):
    fake = Fake({0: 3.0, 1: 0.5, 2: 0.7, 3: 9.0}, {1: WalkDiverged("too fast")})
    found = measured(monkeypatch, study, fake)
    assert values_of(found)["validation_loss"] == 0.7
    assert fake.asked[-2:] == [(1, 19, 5), (2, 19, 5)]


@pytest.mark.parametrize(
    ("losses", "with_all_rows", "reason"),
    [
        (dict.fromkeys(range(4), WalkDiverged("too fast")), {}, "none of the candidates could be"),
        (dict.fromkeys(range(4), float("nan")), {}, "none of the candidates could be"),
        (dict.fromkeys(range(4), 1.0), dict.fromkeys(range(4), FitDiverged("no fit")), "no fit"),
    ],
)
def test_where_none_is_left_every_metric_says_so(monkeypatch, study, losses, with_all_rows, reason):
    found = measured(monkeypatch, study, Fake(losses, with_all_rows))
    assert [(one.metric, one.contract) for one in found] == [
        ("one", "a sum"),
        ("many", "in metres"),
    ]
    assert {(one.value, one.status) for one in found} == {(None, "diverged")}
    assert all(reason in one.message for one in found)


# -- candidates --------------------------------------------------------------------------------


def slices_of(values, low, high, number):
    """The slice, of equal ones on a logarithmic scale, that each is in."""
    return sorted(int(number * log(value / low) / log(high / low)) for value in values)


def test_candidates_are_one_in_each_slice_of_every_range(study):
    found = study.candidates
    everywhere = list(range(4))
    assert slices_of([one.share for one in found], 0.15, 1.0, 4) == everywhere
    assert slices_of([one.precision for one in found], 0.1, 3.0, 4) == everywhere
    # Noise is a multiple of the error that a network with the same prior makes on validation rows.
    first = [Candidate(one.share, one.precision, 0.1) for one in found]
    one_run = Training(**vars(QUICK) | {"runs": 1})
    trained = Trainings(study.learned, first, one_run, RANDOM, Gaussian, "cpu")
    factors = []
    for one, member, mode in zip(found, trained.networks.members, trained.modes, strict=True):
        errors = member.functions(mode, study.held_back.X)[0] - study.held_back.y
        factors.append(one.noise / np.mean(errors**2))
    assert slices_of(factors, 0.3, 1.5, 4) == everywhere


def test_noise_is_never_nothing(study, monkeypatch):
    monkeypatch.setattr(network_task, "_NOISES", (1e-30, 1e-29))
    assert {one.noise for one in study.candidates} == {1e-4}


def test_weights_that_lead_to_a_unit_have_one_over_the_precision_together():
    prior = Candidate(0.3, 4.0, 0.1).prior(inputs=5)
    assert 5 * prior.sigma_w**2 == pytest.approx(1 / 4)
    assert prior.omega == prior.sigma_b == pytest.approx(1 / 2)


# -- tables ------------------------------------------------------------------------------------

N = 50


@pytest.fixture
def made_up(monkeypatch):
    """A table with distinct numbers, to be changed by tests."""
    random = np.random.default_rng(3)
    X = random.normal(size=(N, 2))
    values = {"X": X, "y": np.sin(X[:, 0]) + 0.1 * random.normal(size=N)}
    monkeypatch.setattr(data, "read", lambda name, folder: (values["X"], values["y"]))
    network._study.cache_clear()
    yield values
    network._study.cache_clear()


def split(seed=0):
    network._study.cache_clear()
    return network._study("yacht", seed, 1, QUICK, "cpu", Path())


def rows_of(values, X):
    """Which rows of the table have been standardised to these: their order is left as it was."""
    whole = split()
    everything = np.concatenate([whole.learned.X, whole.held_back.X, whole.asked])[:, 0]
    slope, shift = np.polyfit(np.sort(everything), np.sort(values["X"][:, 0]), 1)
    away = np.abs(slope * X[:, :1] + shift - values["X"][:, 0])
    assert away.min(axis=1).max() < 1e-9
    return set(away.argmin(axis=1).tolist())


def test_no_row_is_in_two_parts_and_none_is_left_out(made_up):
    study = split()
    parts = [rows_of(made_up, X) for X in (study.asked, study.held_back.X, study.learned.X)]
    assert [len(part) for part in parts] == [5, 9, 36]
    assert set.union(*parts) == set(range(N))
    assert len(study.final.table.y) == 45
    np.testing.assert_array_equal(study.final.table.X[:36], study.learned.X)
    np.testing.assert_array_equal(study.final.table.X[36:], study.held_back.X)


def test_what_is_learned_from_has_no_mean_and_a_standard_deviation_of_one(made_up):
    table = split().final.table
    for column in (table.X[:, 0], table.X[:, 1], table.y):
        assert (column.mean(), column.std()) == pytest.approx((0, 1), abs=1e-12)
    np.testing.assert_array_equal(table.X[:, 2], 1)


def test_nothing_that_is_learned_depends_on_the_test(made_up):
    def learned():
        study = split()
        return [vars(one) for one in study.candidates], study.search.modes, study.final.walks

    before = learned()
    tested = list(rows_of(made_up, split().asked))
    made_up["y"] = made_up["y"].copy()
    made_up["y"][tested] += 1000
    made_up["X"] = made_up["X"].copy()
    made_up["X"][tested] *= -3
    after = learned()
    assert after[0] == before[0]
    for found, expected in zip(after[1:], before[1:], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_seed_is_a_split(made_up):
    same, again, other = split(0), split(0), split(1)
    np.testing.assert_array_equal(same.asked, again.asked)
    assert not np.allclose(same.asked, other.asked)


def test_all_algorithms_choose_between_the_same_networks(made_up, monkeypatch):
    seen = []
    drawn = searching.draw_candidates

    def draw(*told):
        seen.append(drawn(*told))
        return seen[-1]

    monkeypatch.setattr(searching, "draw_candidates", draw)
    results_of = {
        name: list(network.run(cell(name), Path())) for name in ("map", "swag", "laplace")
    }
    assert len(seen) == 1  # the split is kept, and its networks with it
    for measurements in results_of.values():
        values = values_of(measurements)
        chosen = (values["chosen_share"], values["chosen_precision"], values["chosen_noise"])
        assert chosen in [(one.share, one.precision, one.noise) for one in seen[0]]


def test_metrics_are_in_the_units_of_the_table(made_up):
    """Eight times the targets, which no bit of a standardised one notices."""
    before = values_of(network.run(cell("swag"), Path()))
    made_up["y"] = 8 * made_up["y"]
    network._study.cache_clear()
    after = values_of(network.run(cell("swag"), Path()))
    for metric, value in before.items():
        expected = {"test_rmse": 8 * value, "test_crps": 8 * value, "test_nll": value + log(8)}
        assert after[metric] == pytest.approx(expected.get(metric, value), rel=1e-12)


def test_metrics_of_one_gaussian_by_hand():
    """Means 0 and 2, a variance of 3 + 1, and targets that are a standard deviation above."""
    known = GaussianFunctions(np.array([0.0, 2.0]), np.sqrt([3.0, 3.0]))
    found = network.measure(known, 1.0, np.array([2.0, 4.0]), unit=10.0)
    assert found["test_rmse"] == pytest.approx(20)
    assert found["test_nll"] == pytest.approx(log(20) + log(2 * np.pi) / 2 + 1 / 2)
    # Phi(1) = 0.8413: within the central 90 per cent, but not within half.
    assert [found[f"coverage_{share}"] for share in (50, 90, 95)] == [0, 1, 1]
    assert [found[f"calibration[{level}]"] for level in (5, 80, 85, 95)] == [0, 0, 1, 1]
    bare = {metric.partition("[")[0] for metric in found}
    assert bare == set(network.CONTRACTS)


def test_contracts_and_numbers_of_networks_are_stored(made_up):
    for algorithm, networks in (("swag", 5), ("map", 1), ("laplace_all", 0)):
        one = cell(algorithm)
        rows = results.table_of(one, "d" * 32, network.run(one, Path()), Provenance())
        stored = rows.to_pandas().set_index("metric")
        assert set(stored["networks"]) == {networks}
        assert stored.loc["test_nll", "contract"] == "mean over held-out points, y in its own units"
        assert stored.loc["calibration[5]", "contract"] == "share of held-out points"


# -- digits ------------------------------------------------------------------------------------


def test_digits_are_in_three_parts_and_the_test_is_there_twice():
    study = digits._study(0, 1, QUICK, "cpu")
    images, labels = load_digits(return_X_y=True)
    order = RANDOM.func(1, "digits", "digits", 0, "held_out").permutation(len(labels))
    tested, rest = order[:359], order[359:]
    assert (len(study.held_back.y), len(study.learned.y)) == (287, 1151)
    learned_from = np.concatenate([study.held_back.y, study.learned.y])
    np.testing.assert_array_equal(learned_from, labels[rest])
    mean, sd = images[rest].mean(), images[rest].std()
    shown = sd * study.asked[:, :-1] + mean
    np.testing.assert_allclose(shown[:359], images[tested], atol=1e-9)
    for image, turned in zip(images[tested][:20], shown[359:], strict=False):
        expected = np.rot90(image.reshape(8, 8))
        np.testing.assert_allclose(turned.reshape(8, 8), expected, atol=1e-9)
        # A quarter to the left: the right column, from top to bottom, is the top row.
        np.testing.assert_allclose(turned[:8], image.reshape(8, 8)[:, 7], atol=1e-9)


def test_metrics_of_classes_by_hand():
    """Two networks, two images and the same turned, three classes; all logits are log p."""
    sure, unsure, flat = [0.98, 0.01, 0.01], [0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]
    turned = [0.6, 0.2, 0.2]
    draws = np.log([[sure, unsure, flat, turned], [unsure, unsure, flat, turned]])
    draws[1] += 7  # which no probability notices
    found = digits.measure(SampledFunctions(draws), 0.1, np.array([0, 1]))
    first = (0.98 + 0.5) / 2  # probabilities are averaged, not their logarithms
    assert found["accuracy"] == 1 / 2
    assert found["class_nll"] == pytest.approx(-(log(first) + log(0.25)) / 2)
    assert found["calibration_error"] == pytest.approx((abs(first - 1) + abs(0.5 - 0)) / 2)
    of_turned = -(0.6 * log(0.6) + 0.4 * log(0.2))
    assert found["rotated_entropy"] == pytest.approx((log(3) + of_turned) / 2)
    # Entropies are 0.77 and 1.04 against 1.10 and 0.95: three of four pairs are in order.
    assert found["rotated_auroc"] == 3 / 4
    shares = [found[f"bin_share[{i}]"] for i in range(10)]
    assert shares == [0, 0, 0, 0, 1 / 2, 0, 0, 1 / 2, 0, 0]
    assert found["confidence[7]"] == pytest.approx(first)
    assert (found["bin_accuracy[7]"], found["bin_accuracy[4]"]) == (1, 0)
    assert "confidence[0]" not in found
    assert {metric.partition("[")[0] for metric in found} == set(digits.CONTRACTS)


def test_probabilities_are_averaged_without_overflow():
    logits = np.array([[[1000.0, 0.0]], [[0.0, 1.0]]])
    found = np.exp(digits.log_probabilities(SampledFunctions(logits)))
    np.testing.assert_allclose(found, [[(1 + 1 / (1 + e)) / 2, exp(1) / (1 + e) / 2]])


def test_digits_from_images_to_metrics():
    training = Training(**vars(QUICK) | {"width": 12, "candidates": 2, "steps": 200})
    one = cell("laplace_diagonal", experiment="digits", training=training)
    found = list(digits.run(one, Path()))
    assert {one.networks for one in found} == {5}
    values = values_of(found)
    assert sum(values[f"bin_share[{i}]"] for i in range(10)) == pytest.approx(1)
    assert values["accuracy"] > 0.5  # a guess is right once in ten times


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"K": 401, "walk": 1000}, "401 must be below every D, and yacht has 401 weights"),
        ({"batch": 222}, "yacht has 221 rows to learn from, fewer than a batch (222)"),
    ],
)
def test_networks_that_cannot_be_trained_are_refused(changes, complaint):
    default = yaml.safe_load((Path(__file__).parents[2] / "config/config.yaml").read_text())
    with pytest.raises(ConfigError) as error:
        validate(copy.deepcopy(default) | {"network": default["network"] | changes})
    (line,) = str(error.value).splitlines()
    assert "network." in line
    assert complaint in line


def test_a_candidate_that_variational_inference_cannot_fit_is_passed_over(study):
    modes = study.search.modes.copy()
    modes[1] = np.nan
    vars(study.search)["modes"] = modes
    found = list(searching.run_study(cell("vifa", steps=5), study))
    assert {measurement.status for measurement in found} == {"ok"}


def test_variational_inference_that_diverges_is_a_status(study):
    found = list(searching.run_study(cell("vifa", steps=200, learning_rate=1e6), study))
    assert {measurement.status for measurement in found} == {"diverged"}


def test_classes_have_no_noise():
    found = list(digits.run(cell("map", experiment="digits"), Path()))
    assert "chosen_noise" not in {measurement.metric for measurement in found}
