"""Tests that hyperparameters are selected on the validation part and measured on the test part."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from support.contexts import context_of
from support.network_cells import QUICK, cell, values_of
from support.tiny_networks import RANDOM, table_of

from onlinefa.estimators.base import FitDiverged
from onlinefa.gaussian import NotFinite
from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.experiments.network import model_selection, task
from onlinefa_benchmark.experiments.network.task import (
    Candidate,
    NetworkTraining,
    Rows,
    TrainedNetworks,
)
from onlinefa_benchmark.models.likelihoods import Gaussian
from onlinefa_benchmark.posteriors.base import GaussianFunctions


class FakePosterior:
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
    return model_selection.Study(
        learned=Rows(whole.X[:14], whole.y[:14]),
        validation=Rows(whole.X[14:19], whole.y[14:19]),
        asked=whole.X[19:],
        training=QUICK,
        random=RANDOM,
        likelihood=Gaussian,
        loss=lambda functions, targets, noise: float(functions.mean[0]),
        measure=lambda functions, noise, additional: {("one", ()): 1.5, ("many", (3,)): noise},
        contracts={"one": "a sum", "many": "in metres"},
        device="cpu",
    )


def run_study(one, study):
    return list(model_selection.run_study(one, study, context_of(one)))


def run_fake(monkeypatch, study, fake):
    monkeypatch.setattr(model_selection, "build_posterior", lambda cell, context: fake)
    return run_study(cell(), study)


def test_the_candidate_with_the_smallest_loss_is_trained_on_all_rows(monkeypatch, study):
    fake = FakePosterior({0: 3.0, 1: 0.5, 2: 0.7, 3: 9.0})
    found = run_fake(monkeypatch, study, fake)
    best = study.candidates[1]
    # All on 14 rows, with predictions of the 5 validation rows; then one on 19 rows, with
    # predictions of the 5 test rows.
    assert fake.asked == [(0, 14, 5), (1, 14, 5), (2, 14, 5), (3, 14, 5), (1, 19, 5)]
    values = values_of(found)
    assert values["validation_loss"] == 0.5
    assert values["many", 3] == values["chosen_noise"] == best.noise
    assert (values["chosen_share"], values["chosen_precision"]) == (best.share, best.precision)
    assert {one.status for one in found} == {"ok"}
    assert {one.seconds for one in found} == {5.0}  # the search is part of the cost
    contracts = {one.metric: one.contract for one in found}
    assert (contracts["one"], contracts["many"]) == ("a sum", "in metres")


@pytest.mark.parametrize(
    "divergence", [WalkDiverged("too fast"), FitDiverged("no fit"), NotFinite("NaN")]
)
def test_a_candidate_that_cannot_be_fitted_is_skipped(monkeypatch, study, divergence):
    fake = FakePosterior({0: divergence, 1: float("nan"), 2: 0.7, 3: 0.9})
    found = run_fake(monkeypatch, study, fake)
    assert values_of(found)["validation_loss"] == 0.7
    assert fake.asked[-1] == (2, 19, 5)


def test_a_candidate_that_diverges_on_all_rows_is_replaced_by_the_next_best(monkeypatch, study):
    fake = FakePosterior({0: 3.0, 1: 0.5, 2: 0.7, 3: 9.0}, {1: WalkDiverged("too fast")})
    found = run_fake(monkeypatch, study, fake)
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
def test_every_metric_is_diverged_if_no_candidate_can_be_fitted(
    monkeypatch, study, losses, with_all_rows, reason
):
    found = run_fake(monkeypatch, study, FakePosterior(losses, with_all_rows))
    assert [(one.metric, one.contract) for one in found] == [
        ("one", "a sum"),
        ("many", "in metres"),
    ]
    assert {(one.value, one.status) for one in found} == {(None, "diverged")}
    assert all(reason in one.message for one in found)


# -- candidates ------------------------------------------------------------------------------------


def slices_of(values, low, high, number):
    """Return the slice of each value, of equal slices on a logarithmic scale."""
    return sorted(int(number * log(value / low) / log(high / low)) for value in values)


def test_each_slice_of_every_range_has_one_candidate(study):
    found = study.candidates
    everywhere = list(range(4))
    assert slices_of([one.share for one in found], 0.15, 1.0, 4) == everywhere
    assert slices_of([one.precision for one in found], 0.1, 3.0, 4) == everywhere
    # Noise is a multiple of the error of a network with the same prior on validation rows.
    first = [Candidate(one.share, one.precision, 0.1) for one in found]
    one_run = NetworkTraining(**vars(QUICK) | {"runs": 1})
    trained = TrainedNetworks(study.learned, first, one_run, RANDOM, Gaussian, "cpu")
    factors = []
    for one, member, mode in zip(found, trained.networks.members, trained.modes, strict=True):
        errors = member.functions(mode, study.validation.X)[0] - study.validation.y
        factors.append(one.noise / np.mean(errors**2))
    assert slices_of(factors, 0.3, 1.5, 4) == everywhere


def test_noise_has_a_lower_bound(study, monkeypatch):
    monkeypatch.setattr(task, "_NOISES", (1e-30, 1e-29))
    assert {one.noise for one in study.candidates} == {1e-4}


def test_the_prior_variances_of_a_units_weights_sum_to_the_inverse_precision():
    prior = Candidate(0.3, 4.0, 0.1).prior(inputs=5)
    assert 5 * prior.sigma_w**2 == pytest.approx(1 / 4)
    assert prior.omega == prior.sigma_b == pytest.approx(1 / 2)


# -- variational inference -------------------------------------------------------------------------


def test_a_candidate_that_variational_inference_cannot_fit_is_skipped(study):
    modes = study.search.modes.copy()
    modes[1] = np.nan
    vars(study.search)["modes"] = modes
    found = run_study(cell("vifa", steps=5), study)
    assert {measurement.status for measurement in found} == {"ok"}


def test_variational_inference_that_diverges_has_the_status_diverged(study):
    found = run_study(cell("vifa", steps=200, learning_rate=1e6), study)
    assert {measurement.status for measurement in found} == {"diverged"}
