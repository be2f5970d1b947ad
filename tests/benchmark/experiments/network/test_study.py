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
from onlinefa_benchmark.experiments.network import study as studies
from onlinefa_benchmark.experiments.network import trained_networks
from onlinefa_benchmark.experiments.network.hyperparameters import Hyperparameters
from onlinefa_benchmark.experiments.network.study import EvidenceStudy, ValidationStudy
from onlinefa_benchmark.experiments.network.trained_networks import (
    EvidenceNetworks,
    HeteroscedasticNetworks,
    Rows,
    UpdatedNetworks,
)
from onlinefa_benchmark.models import evidence
from onlinefa_benchmark.models.evidence import trace_updates
from onlinefa_benchmark.models.likelihoods import Gaussian, HeteroscedasticGaussian
from onlinefa_benchmark.models.mode_search import find_mode
from onlinefa_benchmark.posteriors.base import GaussianFunctions


class FakePosterior:
    """A posterior with a given error for each candidate, or an exception instead of it.

    The larger the error, the smaller is the likelihood of the validation part.
    """

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
        mean = VALIDATION.y + answer if rows == 14 else np.zeros(len(task.inputs))
        return GaussianFunctions(mean, np.ones(len(task.inputs))), 1.0


WHOLE = table_of(24)
LEARNED, VALIDATION = Rows(WHOLE.X[:14], WHOLE.y[:14]), Rows(WHOLE.X[14:19], WHOLE.y[14:19])
SHARED = {
    "asked": WHOLE.X[19:],
    "random": RANDOM,
    "measure": lambda predicted, additional: {
        ("one", ()): 1.5,
        ("many", (3,)): float(predicted.sds[0, 0] ** 2),
    },
    "contracts": {"one": "a sum", "many": "in metres"},
}


def updated(table):
    return UpdatedNetworks(table=table, training=QUICK, random=RANDOM, numbers=[0, 1, 2, 4])


@pytest.fixture
def study():
    search, networks = updated(LEARNED), updated(Rows(WHOLE.X[:19], WHOLE.y[:19]))
    return ValidationStudy(**SHARED, search=search, validation=VALIDATION, networks=networks)


@pytest.fixture
def evidence_study():
    table = Rows(WHOLE.X[:19], WHOLE.y[:19])
    networks = EvidenceNetworks(table=table, training=QUICK, random=RANDOM, iterations=500)
    return EvidenceStudy(**SHARED, networks=networks)


def run_study(one, study):
    return list(studies.run_study(one, study, context_of(one)))


def run_fake(monkeypatch, study, fake):
    monkeypatch.setattr(studies, "build_posterior", lambda cell, context: fake)
    return run_study(cell(), study)


def test_the_candidate_with_the_smallest_loss_is_trained_on_all_rows(monkeypatch, study):
    fake = FakePosterior({0: 3.0, 1: 0.5, 2: 0.7, 3: 9.0})
    found = run_fake(monkeypatch, study, fake)
    tried, best = study.search.hyperparameters[1], study.final.hyperparameters[1]
    # All on 14 rows, with predictions of the 5 validation rows; then one on 19 rows, with
    # predictions of the 5 test rows.
    assert fake.asked == [(0, 14, 5), (1, 14, 5), (2, 14, 5), (3, 14, 5), (1, 19, 5)]
    values = values_of(found)
    variance = 1 + tried.noise  # of the fake posterior and the noise
    expected = (0.5**2 / variance + log(2 * np.pi * variance)) / 2
    assert values["validation_loss"] == pytest.approx(expected)
    assert values["chosen_noise"] == best.noise
    # The fake posterior has a variance of one.
    assert values["many", 3] == pytest.approx(1 + best.noise)
    assert values["chosen_precision"] == best.precision
    assert {one.status for one in found} == {"ok"}
    assert {one.seconds for one in found} == {5.0}  # the search is part of the cost
    contracts = {one.metric: one.contract for one in found}
    assert (contracts["one"], contracts["many"]) == ("a sum", "in metres")


@pytest.mark.parametrize(
    "divergence", [WalkDiverged("too fast"), FitDiverged("no fit"), NotFinite("NaN")]
)
def test_a_candidate_that_cannot_be_fitted_is_skipped(monkeypatch, study, divergence):
    fake = FakePosterior({0: divergence, 1: float("nan"), 2: 0.7, 3: 0.9})
    run_fake(monkeypatch, study, fake)
    assert fake.asked[-1] == (2, 19, 5)


def test_a_candidate_that_diverges_on_all_rows_is_replaced_by_the_next_best(monkeypatch, study):
    fake = FakePosterior({0: 3.0, 1: 0.5, 2: 0.7, 3: 9.0}, {1: WalkDiverged("too fast")})
    found = run_fake(monkeypatch, study, fake)
    assert values_of(found)["chosen_precision"] == study.final.hyperparameters[2].precision
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


# -- noise of each input ---------------------------------------------------------------------------


@pytest.mark.parametrize("is_larger", [True, False])
def test_the_log_variance_has_a_spread_only_if_its_evidence_is_larger(monkeypatch, is_larger):
    """Without spread, the networks are those with constant noise."""
    shared = {"table": Rows(WHOLE.X[:19], WHOLE.y[:19]), "training": QUICK, "random": RANDOM}
    (constant,) = EvidenceNetworks(**shared, iterations=20).stages
    evidence = trained_networks.log_evidence

    def change_evidence(network, theta):
        varies = isinstance(network.likelihood, HeteroscedasticGaussian) and (
            network.likelihood.spread > 0
        )
        return evidence(network, theta) + varies * (1e6 if is_larger else -1e6)

    monkeypatch.setattr(trained_networks, "log_evidence", change_evidence)
    (found,) = HeteroscedasticNetworks(**shared, iterations=20).stages
    if is_larger:
        assert found.network.likelihood.spread > 0
        return
    assert found.network.likelihood.spread == 0
    assert found.log_evidence == pytest.approx(constant.log_evidence)
    outputs = found.network.functions(found.thetas, found.network.X)
    means = constant.network.functions(constant.thetas, found.network.X)
    np.testing.assert_allclose(outputs[..., 0], means, atol=1e-4)


def test_the_evidence_of_trained_networks_is_that_of_their_modes(evidence_study):
    (stage,) = evidence_study.networks.stages
    of_modes = [evidence.log_evidence(stage.network, theta) for theta in stage.thetas]
    assert stage.log_evidence == pytest.approx(np.mean(of_modes))


@pytest.mark.parametrize(
    "algorithm", ["map", "swag", "laplace", "laplace_all", "laplace_fa", "mean_field", "mc_dropout"]
)
def test_posteriors_predict_with_the_noise_of_each_input(algorithm):
    table = Rows(WHOLE.X[:19], WHOLE.y[:19])
    networks = HeteroscedasticNetworks(table=table, training=QUICK, random=RANDOM, iterations=20)
    seen = []

    def measure(predicted, additional):
        seen.append(predicted)
        return {("one", ()): 1.5}

    study = EvidenceStudy(**{**SHARED, "measure": measure}, networks=networks)
    found = run_study(cell(algorithm, noise="heteroscedastic"), study)
    assert {one.status for one in found if one.metric == "one"} == {"ok"}
    (chosen,) = networks.hyperparameters
    assert values_of(found)["chosen_spread"] == chosen.spread
    (predicted,) = seen
    assert predicted.means.shape == predicted.sds.shape
    varies = np.ptp(predicted.sds, axis=1) > 0  # between inputs
    assert varies.all() if chosen.spread else not varies.any()


# -- candidates ------------------------------------------------------------------------------------


def test_candidates_are_networks_after_some_updates_of_prior_and_noise(study):
    networks = study.final
    network = networks.posterior(Hyperparameters(1.0, 0.3), Gaussian(0.3))
    stages = list(trace_updates(network, networks.draw_starts(network.dimension), 5))
    assert stages[0].network.likelihood.noise == 0.3
    for found, number in zip(networks.stages, [0, 1, 2, 4], strict=True):
        np.testing.assert_array_equal(found.thetas, stages[number].thetas)
        assert found.network.likelihood.noise == stages[number].network.likelihood.noise


def test_the_last_update_stands_for_those_that_are_not_made(study, monkeypatch):
    monkeypatch.setattr(evidence, "_TOLERANCE", np.inf)  # the updates end with the first stage
    assert {one.noise for one in study.final.hyperparameters} == {0.3}


def test_the_prior_variances_of_a_units_weights_sum_to_the_inverse_precision():
    prior = Hyperparameters(4.0, 0.1).prior(inputs=5)
    assert 5 * prior.sigma_w**2 == pytest.approx(1 / 4)
    assert prior.omega == prior.sigma_b == pytest.approx(1 / 2)


# -- evidence --------------------------------------------------------------------------------------


def test_evidence_has_one_candidate_that_is_measured_with_its_noise(evidence_study):
    found = run_study(cell("map", noise="evidence"), evidence_study)
    (chosen,) = evidence_study.final.hyperparameters
    values = values_of(found)
    assert values["chosen_noise"] == chosen.noise
    assert values["many", 3] == pytest.approx(chosen.noise)
    assert values["chosen_precision"] == chosen.precision
    assert "validation_loss" not in values
    assert {one.status for one in found} == {"ok"}


def test_the_networks_of_evidence_have_the_chosen_prior_and_noise(evidence_study):
    networks = evidence_study.final
    (member,), (chosen,) = networks.networks.members, networks.hyperparameters
    assert member.likelihood.noise == chosen.noise
    assert vars(member.prior) == pytest.approx(vars(chosen.prior(inputs=3)))
    assert networks.modes.shape == (1, QUICK.runs, member.dimension)
    assert networks.walks.shape == (1, QUICK.runs, QUICK.walk, member.dimension)


def test_the_distance_from_a_mode_is_a_difference_of_energies(evidence_study, study):
    assert evidence_study.final.energy_excesses == pytest.approx([0], abs=1e-3)
    short = study.final  # after thirty iterations with each prior and noise
    for member, modes, excess in zip(
        short.networks.members, short.modes, short.energy_excesses, strict=True
    ):
        mode = find_mode(member, modes[0], 2000).theta
        energies = [float(member.energy(member.tensor(at))) for at in (modes[0], mode)]
        assert 0 <= excess <= energies[0] - energies[1] + 1e-6


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
