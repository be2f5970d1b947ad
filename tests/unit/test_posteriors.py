"""Posteriors of a network against independent computations of the same."""

from __future__ import annotations

from functools import partial
from math import sqrt

import numpy as np
import pytest
import torch
from torch import nn

from onlinefa import posteriors
from onlinefa.experiments.gp_task import GPTask, Training
from onlinefa.models.covariance import NeuralNetwork
from onlinefa.models.gaussian_process import GaussianProcess, most_likely
from onlinefa.models.likelihoods import Gaussian
from onlinefa.models.network import NetworkPosterior
from onlinefa.models.scaling import with_one
from onlinefa.posteriors.base import GaussianFunctions, SampledFunctions
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
        self.output = nn.Linear(network.width + 1, 1, bias=False)
        self.to(torch.float64)
        nn.utils.vector_to_parameters(torch.from_numpy(theta), self.parameters())

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
    settings = {"chains": 2, "warm_up": 400, "draws": 1500, "tree_depth": 8}
    found = posteriors.build("nuts", settings).functions(task)
    assert found.doubt == ""
    assert found.diagnostics["r_hat"] < 1.05
    thetas = np.random.default_rng(2).normal(size=(400_000, task.network.dimension))
    errors = task.network.y - task.network.functions(thetas, task.network.X)
    weights = np.exp(-np.sum(errors**2, axis=1) / (2 * 0.5))
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 5000
    values = task.network.functions(thetas, task.inputs)
    mean = weights @ values
    sd = np.sqrt(weights @ (values - mean) ** 2)
    error = 4 * sd / np.sqrt(found.diagnostics["effective_sample_size"])
    assert np.all(np.abs(found.mean - mean) < error)
    np.testing.assert_allclose(found.sd, sd, rtol=0.1)


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
