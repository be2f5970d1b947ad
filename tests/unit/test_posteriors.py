"""Posteriors of a network against independent computations of the same."""

from __future__ import annotations

from functools import partial
from math import sqrt

import numpy as np
import pytest
import tiny_networks
import torch
from torch import nn

from onlinefa import posteriors
from onlinefa.experiments.gp_task import GPTask, Training
from onlinefa.models.covariance import NeuralNetwork
from onlinefa.models.gaussian_process import GaussianProcess, most_likely
from onlinefa.models.likelihoods import Gaussian
from onlinefa.models.network import NetworkPosterior
from onlinefa.models.scaling import with_one
from onlinefa.posteriors._walked import OneWalk
from onlinefa.posteriors.base import GaussianFunctions, SampledFunctions
from onlinefa.posteriors.laplace import Laplace
from onlinefa.posteriors.nuts import _energy
from onlinefa.randomness import generator

TRAINING = Training(iterations=2000, learning_rate=0.3, batch=5, warm_up=1, epochs=4, every=3)


def task_of(width, rows=20, noise=0.05, prior=None, training=TRAINING):
    random = np.random.default_rng(0)
    X = with_one(random.uniform(-2, 2, size=(rows, 1)))
    y = np.sin(2 * X[:, 0]) + 0.1 * random.normal(size=rows)
    prior = prior or NeuralNetwork(1.5, 1.5, 0.5)
    network = NetworkPosterior(X, y, prior, Gaussian(noise), width)
    process = GaussianProcess(X, y, prior, noise)
    asked = with_one(np.linspace(-3, 3, 9)[:, None])
    random = partial(generator, 1, "gp", "test", 0)
    return GPTask(
        network, asked, 2, 50, random, training, process,
        lambda covariance: most_likely(X, y, covariance, random("model")),
    )  # fmt: skip


@pytest.fixture(scope="module")
def task():
    return task_of(8)


@pytest.fixture(scope="module")
def laplace_torch():
    """laplace-torch imports torchvision, which beside a PyTorch without CUDA does not find its own
    compiled functions. They are not needed here; it is enough that they have names."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    from laplace import Laplace

    yield Laplace
    del library


class InLayers(nn.Module):
    """The network in the layers that laplace-torch knows, with the prior N(0, I)."""

    def __init__(self, network, theta):
        super().__init__()
        self.prior = network.prior
        self.hidden = nn.Linear(network.X.shape[1], network.width, bias=False)
        outputs = network.likelihood.outputs
        self.output = nn.Linear(network.width + 1, outputs, bias=False)
        self.to(torch.float64)
        below, above = np.split(theta, [network.last_layer])
        in_its_order = np.concatenate([below, above.reshape(-1, outputs).T.ravel()])
        nn.utils.vector_to_parameters(torch.from_numpy(in_its_order), self.parameters())

    def forward(self, X):
        hidden = torch.erf(self.hidden(self.prior.sigma_w * X))
        above = self.prior.omega / sqrt(hidden.shape[-1]) * hidden
        bias = self.prior.sigma_b * torch.ones_like(hidden[..., :1])
        return self.output(torch.cat([above, bias], dim=-1))


@pytest.mark.parametrize(("name", "weights"), [("laplace", "last_layer"), ("laplace_all", "all")])
def test_laplace_is_that_of_laplace_torch(name, weights, task, laplace_torch):
    network = task.network
    table = torch.utils.data.TensorDataset(
        torch.from_numpy(network.X), torch.from_numpy(network.y)[:, None]
    )
    oracle = laplace_torch(
        InLayers(network, task.mode), "regression", subset_of_weights=weights,
        hessian_structure="full", sigma_noise=sqrt(network.likelihood.noise), prior_precision=1.0,
    )  # fmt: skip
    oracle.fit(torch.utils.data.DataLoader(table, batch_size=len(network.y)))
    mean, variance = oracle(torch.from_numpy(task.inputs), pred_type="glm")
    found = posteriors.build(name, {}).functions(task)
    np.testing.assert_allclose(found.mean, mean.detach().numpy()[:, 0], rtol=1e-9)
    np.testing.assert_allclose(found.sd**2, variance.detach().numpy()[:, 0, 0], rtol=1e-5)


@pytest.mark.parametrize(("name", "weights"), [("laplace", "last_layer"), ("laplace_all", "all")])
def test_laplace_of_classes_is_that_of_laplace_torch(name, weights, laplace_torch):
    """Its precision, with the weights of each class one after the other."""
    task = tiny_networks.task_of(tiny_networks.trainings_of(classes=3))
    network, first = task.network, task.network.last_layer if name == "laplace" else 0
    table = torch.utils.data.TensorDataset(torch.from_numpy(network.X), torch.from_numpy(network.y))
    oracle = laplace_torch(
        InLayers(network, task.mode), "classification", subset_of_weights=weights,
        hessian_structure="full", prior_precision=1.0,
    )  # fmt: skip
    oracle.fit(torch.utils.data.DataLoader(table, batch_size=len(network.y)))
    A = network.curvature_rows(task.mode, network.X, first)
    below, above = np.split(np.arange(A.shape[1]), [network.last_layer - first])
    A = A[:, np.concatenate([below, above.reshape(-1, 3).T.ravel()])]
    expected = oracle.posterior_precision.detach().numpy()
    np.testing.assert_allclose(np.eye(len(expected)) + A.T @ A, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["laplace", "laplace_all", "laplace_diagonal"])
def test_functions_of_classes_have_the_covariance_of_the_linearised_network(name):
    """Within four and a half standard errors of a covariance from so many draws."""
    n = 20_000
    task = tiny_networks.task_of(tiny_networks.trainings_of(classes=3), samples=n, asked=2)
    network, first = task.network, task.network.last_layer if name == "laplace" else 0
    J = network.jacobian(task.mode, task.inputs, first).reshape(6, -1)
    A = network.curvature_rows(task.mode, network.X, first)
    precision = np.eye(A.shape[1]) + A.T @ A
    if name == "laplace_diagonal":
        precision = np.diag(np.diag(precision))
    S = J @ np.linalg.solve(precision, J.T)
    values = posteriors.build(name, {}).functions(task).values
    assert values.shape == (n, 2, 3)
    moves = (values - network.functions(task.mode[None], task.inputs)).reshape(n, 6)
    error = np.sqrt((np.outer(np.diag(S), np.diag(S)) + S**2) / n)
    assert np.all(np.abs(moves.T @ moves / n - S) < 4.5 * error)


def test_laplace_with_a_diagonal_is_that_of_laplace_torch(task, laplace_torch):
    network = task.network
    table = torch.utils.data.TensorDataset(
        torch.from_numpy(network.X), torch.from_numpy(network.y)[:, None]
    )
    oracle = laplace_torch(
        InLayers(network, task.mode), "regression", subset_of_weights="all",
        hessian_structure="diag", sigma_noise=sqrt(network.likelihood.noise), prior_precision=1.0,
    )  # fmt: skip
    oracle.fit(torch.utils.data.DataLoader(table, batch_size=len(network.y)))
    A = network.curvature_rows(task.mode, network.X)
    expected = oracle.posterior_precision.detach().numpy()
    np.testing.assert_allclose(1 + np.sum(A**2, axis=0), expected, rtol=1e-5)
    _, variance = oracle(torch.from_numpy(task.inputs), pred_type="glm")
    found = posteriors.build("laplace_diagonal", {}).functions(task)
    np.testing.assert_allclose(found.sd**2, variance.detach().numpy()[:, 0, 0], rtol=1e-5)


@pytest.mark.parametrize("rows", [3, 8, 20])
def test_laplace_is_the_same_by_the_smaller_matrix(rows):
    """Fewer rows than weights, as many, and more."""
    random = np.random.default_rng(0)
    A, J = random.normal(size=(rows, 8)), random.normal(size=(5, 8))
    expected = np.diag(J @ np.linalg.inv(np.eye(8) + A.T @ A) @ J.T)
    np.testing.assert_allclose(Laplace._variances(A, J), expected, rtol=1e-9)


def test_the_mode_has_no_spread_and_an_ensemble_has_some(task):
    mode = posteriors.build("map", {}).functions(task)
    np.testing.assert_array_equal(mode.sd, 0)
    ensemble = posteriors.build("ensemble", {"members": 3}).functions(task)
    assert ensemble.values.shape == (3, 9)
    np.testing.assert_array_equal(ensemble.values[0], mode.mean)
    assert ensemble.sd.max() > 0


def test_the_process_and_its_features(task):
    mean, variance = task.process.predict(task.inputs)
    exact = posteriors.build("gaussian_process", {}).functions(task)
    np.testing.assert_allclose(exact.mean, mean)
    np.testing.assert_allclose(exact.sd**2, variance)
    # As many landmarks as there are rows: exact, with the variance that they leave out added.
    wide = task_of(20)
    nystrom = posteriors.build("nystrom", {}).functions(wide)
    np.testing.assert_allclose(nystrom.mean, mean, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(nystrom.sd, exact.sd, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", ["random_features", "fourier_features"])
def test_many_random_features_are_close_to_their_process(name):
    task = task_of(2001)
    posterior = posteriors.build(name, {})
    mean, variance = posterior.truth(task).predict(task.inputs)
    found = posterior.functions(task)
    assert np.max(np.abs(found.mean - mean) / np.sqrt(variance)) < 0.5
    np.testing.assert_allclose(found.sd, np.sqrt(variance), rtol=0.2)


def test_what_jax_differentiates_is_the_energy(task):
    import jax

    jax.config.update("jax_enable_x64", True)
    theta = np.random.default_rng(1).normal(size=task.network.dimension)
    expected = float(task.network.energy(torch.from_numpy(theta)))
    assert float(_energy(task.network)(theta)) == pytest.approx(expected, rel=1e-12)


def test_nuts_draws_from_the_posterior():
    """Held against the prior's draws, weighted by how well they explain the table."""
    task = task_of(2, rows=6, noise=0.5)
    settings = {"chains": 2, "warm_up": 300, "draws": 700, "tree_depth": 8}
    found = posteriors.build("nuts", settings).functions(task)
    assert found.doubt == ""
    assert found.diagnostics["r_hat"] < 1.05
    thetas = np.random.default_rng(2).normal(size=(200_000, task.network.dimension))
    errors = task.network.y - task.network.functions(thetas, task.network.X)
    weights = np.exp(-np.sum(errors**2, axis=1) / (2 * 0.5))
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 2500
    values = task.network.functions(thetas, task.inputs)
    mean = weights @ values
    sd = np.sqrt(weights @ (values - mean) ** 2)
    error = 4 * sd / np.sqrt(found.diagnostics["effective_sample_size"])
    assert np.all(np.abs(found.mean - mean) < error)
    np.testing.assert_allclose(found.sd, sd, rtol=0.15)


def test_chains_that_do_not_agree_are_no_reference(task):
    settings = {"chains": 2, "warm_up": 1, "draws": 4, "tree_depth": 1}
    found = posteriors.build("nuts", settings).functions(task)
    assert "R-hat is" in found.doubt


def test_a_mixture_of_functions_is_as_likely_as_its_parts_on_average():
    values, y = np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([0.5, 3.0])
    parts = [GaussianFunctions(row, np.zeros(2)).targets(0.3).log_density(y) for row in values]
    expected = np.log(np.mean(np.exp(parts), axis=0))
    np.testing.assert_allclose(SampledFunctions(values).targets(0.3).log_density(y), expected)


def test_a_walk_is_observed_after_the_warm_up_every_few_steps(task):
    """Four steps an epoch, an epoch of warm-up, then every third of twelve steps."""
    rate = 0.3 * 2 / task.network.curvature(task.mode)
    all_steps = np.concatenate(list(task.network.walk(task.mode, rate, 5, 4, task.random("data"))))
    rows = np.concatenate(list(task.walk()))
    np.testing.assert_array_equal(rows, all_steps[4:][2::3])
    np.testing.assert_array_equal(np.concatenate(list(task.steps(0))), rows)


# -- what follows SGD, and what every posterior owes -------------------------------------------


@pytest.fixture(scope="module")
def trainings():
    return tiny_networks.trainings_of()


def test_swa_is_the_network_in_the_middle_of_the_walk(trainings):
    task = tiny_networks.task_of(trainings)
    middle = trainings.walks[0, 0].astype(float).mean(axis=0)
    found = posteriors.build("swa", {}).functions(task)
    expected = task.network.functions(middle[None], task.inputs)
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    assert np.all(found.sd == 0)


def test_a_mixture_has_as_many_networks_of_one_run_as_of_another(monkeypatch):
    """The walk of run r stays within a hair of 100 r."""
    task = tiny_networks.task_of(tiny_networks.trainings_of(), samples=20)
    D = task.network.dimension
    random = np.random.default_rng(0)
    walks = [100 * run + 1e-3 * random.normal(size=(60, D)) for run in range(5)]
    monkeypatch.setattr(type(task), "walk", lambda self, run=0: [walks[run]])
    monkeypatch.setattr(NetworkPosterior, "functions", lambda self, thetas, inputs: thetas)
    for name, runs, counts in (("multiswag", 5, [4] * 5), ("multi_fa", 3, [7, 7, 6])):
        thetas = posteriors.build(name, {"runs": runs}).functions(task).values
        assert thetas.shape == (20, D)
        of_run = np.rint(thetas / 100).astype(int)
        assert (of_run == of_run[:, :1]).all()
        assert list(np.bincount(of_run[:, 0])) == counts


@pytest.mark.parametrize(
    ("mixture", "estimator"),
    [("multiswag", "swag"), ("multi_online_em", "online_em"), ("multi_fa", "recursive_em")],
)
def test_a_mixture_of_one_run_is_the_gaussian_of_that_run(mixture, estimator, trainings):
    task = tiny_networks.task_of(trainings)
    one = OneWalk(estimator, {}).functions(task)
    np.testing.assert_array_equal(
        posteriors.build(mixture, {"runs": 1}).functions(task).values, one.values
    )


def test_more_runs_than_were_trained_are_refused(trainings):
    with pytest.raises(ValueError, match="6 networks are asked for, and there are runs: 5"):
        posteriors.build("multiswag", {"runs": 6}).functions(tiny_networks.task_of(trainings))


SETTINGS = {"mean_field": {"steps": 20}, "vifa": {"steps": 20}}
ONE_FOR_ALL = {"map": 1, "swa": 1, "ensemble": 5}
IN_CLOSED_FORM = ("laplace", "laplace_all", "laplace_diagonal")


@pytest.mark.parametrize("name", [n for n in posteriors.names() if not posteriors.is_reference(n)])
@pytest.mark.parametrize("classes", [None, 3])
def test_every_posterior_has_functions_of_numbers_and_of_classes(name, classes):
    task = tiny_networks.task_of(tiny_networks.trainings_of(classes))
    posterior = posteriors.build(name, SETTINGS.get(name, {}))
    found, seconds = posterior.timed(task)
    assert np.shape(found.mean) == np.shape(found.sd) == ((7, 3) if classes else (7,))
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.sd).all()
    assert seconds >= 0
    closed = name in IN_CLOSED_FORM and not classes
    assert found.networks == (0 if closed else ONE_FOR_ALL.get(name, task.samples))
    again = posteriors.build(name, SETTINGS.get(name, {})).functions(task)
    np.testing.assert_array_equal(again.mean, found.mean)
    np.testing.assert_array_equal(again.sd, found.sd)
