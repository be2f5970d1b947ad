"""Tests of predictions: kinds of inputs, probabilities, moments, mixtures, selected parameters."""

from __future__ import annotations

import copy
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from onlinefa import SWAG, Diagonal, ShrunkEM
from onlinefa.torch import MultiPosterior, WeightPosterior

SAMPLES = 7


def make_network(*layers):
    torch.manual_seed(0)
    return nn.Sequential(*(layers or (nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3))))


def walk(posterior, steps=12, seed=0):
    """Update the posterior along random weights, and return it."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        with torch.no_grad():
            for parameter in posterior.model.parameters():
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.add_(0.1 * noise.to(parameter))
        posterior.update()
    return posterior


def attached(model=None, estimator=None, **options):
    model = make_network() if model is None else model
    return walk(WeightPosterior(model, estimator or SWAG(n_components=2), **options))


INPUTS = torch.randn(10, 2, generator=torch.Generator().manual_seed(1))


# -- kinds of inputs ---------------------------------------------------------------------------


def test_a_loader_gives_the_outputs_of_all_its_rows():
    posterior = attached()
    expected = posterior.predict(INPUTS, SAMPLES, random_state=0)
    targets = torch.zeros(len(INPUTS))
    loader = DataLoader(TensorDataset(INPUTS, targets), batch_size=4)
    for batches in (loader, list(loader), list(INPUTS.split(3))):
        found = posterior.predict(batches, SAMPLES, random_state=0)
        torch.testing.assert_close(found, expected)


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)

    def forward(self, first, second=None):
        return SimpleNamespace(logits=self.linear(first) + second)


def test_several_inputs_and_keywords_and_logits():
    torch.manual_seed(0)
    posterior = attached(TwoInputs())
    second = torch.ones(len(INPUTS), 1)
    expected = posterior.predict((INPUTS, second), SAMPLES, random_state=0)
    assert expected.shape == (SAMPLES, 10, 3)
    named = {"first": INPUTS, "second": second}
    halves = [
        {name: value[rows] for name, value in named.items()} for rows in (range(5), range(5, 10))
    ]
    for inputs in (named, halves, [((INPUTS, second), "targets")]):
        found = posterior.predict(inputs, SAMPLES, random_state=0)
        torch.testing.assert_close(found, expected)


def test_inputs_that_networks_would_see_in_different_orders_are_refused():
    posterior = attached()
    shuffled = DataLoader(TensorDataset(INPUTS), batch_size=4, shuffle=True)
    with pytest.raises(ValueError, match=r"^inputs is shuffled.*shuffle=False$"):
        posterior.predict(shuffled)
    with pytest.raises(ValueError, match=r"^inputs can be read only once"):
        posterior.predict(iter([INPUTS]))
    with pytest.raises(TypeError, match=r"^inputs is a int"):
        posterior.predict(3)


# -- summaries of predictions ------------------------------------------------------------------


def test_probabilities_are_averages_over_networks():
    posterior = attached()
    outputs = posterior.predict(INPUTS, SAMPLES, random_state=0)
    found = posterior.predict_proba(INPUTS, SAMPLES, random_state=0)
    torch.testing.assert_close(found, torch.softmax(outputs, dim=2).mean(dim=0))
    torch.testing.assert_close(found.sum(dim=1), torch.ones(10))


@pytest.mark.parametrize("flat", [False, True])
def test_one_output_is_the_logit_of_the_second_class(flat):
    layers = [nn.Linear(2, 1)] + ([nn.Flatten(0)] if flat else [])
    posterior = attached(make_network(*layers))
    outputs = posterior.predict(INPUTS, SAMPLES, random_state=0).reshape(SAMPLES, 10)
    found = posterior.predict_proba(INPUTS, SAMPLES, random_state=0)
    assert found.shape == (10, 2)
    torch.testing.assert_close(found[:, 1], torch.sigmoid(outputs).mean(dim=0))


def test_moments_are_those_of_the_outputs():
    posterior = attached()
    outputs = posterior.predict(INPUTS, SAMPLES, random_state=0)
    mean, variance = posterior.predict_moments(INPUTS, SAMPLES, random_state=0)
    torch.testing.assert_close(mean, outputs.mean(dim=0))
    torch.testing.assert_close(variance, outputs.var(dim=0, unbiased=False))


def test_the_scale_multiplies_the_covariance():
    """The outputs of a linear network are linear in its weights."""
    posterior = attached(make_network(nn.Linear(2, 3)))
    full = posterior.predict(INPUTS, SAMPLES, random_state=0)
    half = posterior.predict(INPUTS, SAMPLES, random_state=0, scale=0.25)
    with torch.no_grad():
        mean = posterior.average()(INPUTS)
    torch.testing.assert_close(half - mean, (full - mean) / 2, atol=1e-5, rtol=1e-4)
    drawn = posterior.sample(0, scale=0)
    for one, two in zip(drawn.parameters(), posterior.average().parameters(), strict=True):
        torch.testing.assert_close(one, two)
    with pytest.raises(ValueError, match=r"^scale=-1 must not be negative$"):
        posterior.predict(INPUTS, scale=-1)


def test_a_generator_of_pytorch_is_a_source_of_random_numbers():
    posterior = attached()
    one, two = (torch.Generator().manual_seed(3) for _ in range(2))
    first = posterior.predict(INPUTS, 2, one)
    assert torch.equal(first, posterior.predict(INPUTS, 2, two))
    assert not torch.equal(first, posterior.predict(INPUTS, 2, one))


def test_the_log_density_is_that_of_the_weights():
    """The diagonal Gaussian is a product of normal densities."""
    posterior = attached(estimator=Diagonal())
    gaussian = posterior.gaussian().to_numpy()
    weights = nn.utils.parameters_to_vector(posterior.model.parameters()).detach().double().numpy()
    z = (weights - gaussian.mean) / np.sqrt(gaussian.noise)
    expected = -0.5 * np.sum(z**2 + np.log(2 * math.pi * gaussian.noise))
    assert posterior.log_prob() == pytest.approx(expected)
    assert posterior.log_prob(posterior.average()) > posterior.log_prob()


def test_the_description_names_network_estimator_and_updates():
    assert repr(attached()) == (
        "WeightPosterior(Sequential with 27 weights, SWAG(n_components=2), updates=12)"
    )


# -- mixtures ----------------------------------------------------------------------------------


def test_a_mixture_draws_equally_many_networks_from_each_posterior():
    posteriors = [
        walk(WeightPosterior(make_network(), SWAG(n_components=2)), seed=seed) for seed in range(3)
    ]
    mixture, random = MultiPosterior(posteriors), np.random.default_rng(2)
    found = mixture.predict(INPUTS, samples=11, random_state=2)
    expected = [
        each.predict(INPUTS, number, random)
        for each, number in zip(posteriors, [4, 4, 3], strict=True)
    ]
    assert torch.equal(found, torch.cat(expected))
    probabilities = mixture.predict_proba(INPUTS, samples=11, random_state=2)
    torch.testing.assert_close(probabilities, torch.softmax(found, dim=2).mean(dim=0))
    assert mixture.predict(INPUTS, samples=2, random_state=0).shape == (2, 10, 3)
    with pytest.raises(ValueError, match=r"^posteriors is empty$"):
        MultiPosterior([])
    with pytest.raises(TypeError, match=r"^posteriors has a Linear, which is not a posterior$"):
        MultiPosterior([nn.Linear(1, 1)])


# -- selected parameters -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "select",
    [
        lambda model: "2",
        lambda model: "2.*",
        lambda model: ["2.weight", "2.bias"],
        lambda model: model[2],
        lambda model: [model[2].bias, model[2].weight],
    ],
)
def test_a_posterior_of_the_last_layer(select):
    model = make_network()
    posterior = attached(model, parameters=select(model))
    assert posterior.gaussian().dimension == 4 * 3 + 3
    drawn = posterior.sample(0)
    assert torch.equal(drawn[0].weight, model[0].weight)
    assert not torch.equal(drawn[2].weight, model[2].weight)
    restored = WeightPosterior(make_network(), SWAG(n_components=2), parameters="2")
    restored.load_state_dict(posterior.state_dict())
    assert np.array_equal(restored.gaussian().mean, posterior.gaussian().mean)


def test_a_selection_without_parameters_is_refused():
    model = make_network()
    for selection, complaint in [
        ("3.weight", "parameters: no parameter is called '3.weight' .there are 0.weight, 0.bias"),
        (nn.Linear(1, 1), "parameters: this Linear has no parameters of the model"),
        (model[1], "parameters: this Tanh has no parameters of the model"),
        (3.0, "'float' object is not iterable"),
        ([3.0], "parameters: expected names, patterns, modules or parameters, got 3.0"),
    ]:
        with pytest.raises((ValueError, TypeError), match=f"^{complaint}"):
            WeightPosterior(model, Diagonal(), parameters=selection)


# -- normalisation layers ----------------------------------------------------------------------


class Pretrained(nn.Module):
    """A frozen body whose batch normalisation stays in evaluation mode, and a head."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        self.head = nn.Linear(3, 1)
        self.body[1].running_mean.fill_(5.0)
        self.body[1].running_var.fill_(0.01)
        self.body.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.body.eval()
        return self

    def forward(self, x):
        return self.head(self.body(x))


def test_statistics_of_a_frozen_layer_are_kept():
    torch.manual_seed(0)
    model = Pretrained()
    posterior = WeightPosterior(model, SWAG(n_components=2))
    model.train()
    walk(posterior)
    before = copy.deepcopy(model.body[1].state_dict())
    drawn = posterior.sample(0)
    with torch.no_grad():
        expected = drawn(INPUTS)
    for batches in (None, [INPUTS]):
        found = posterior.predict(INPUTS, 1, random_state=0, batches=batches)
        torch.testing.assert_close(found[0], expected)
    for name, value in before.items():
        assert torch.equal(drawn.body[1].state_dict()[name], value)
        assert torch.equal(model.body[1].state_dict()[name], value)


def test_only_the_layers_that_are_trained_get_new_statistics():
    model = make_network(
        nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)
    )
    model[1].eval()
    posterior = attached(model)
    drawn = posterior.sample(0, batches=[INPUTS])
    assert torch.equal(drawn[1].running_mean, model[1].running_mean)
    with torch.no_grad():
        hidden = drawn[2](drawn[1](drawn[0](INPUTS)))
    torch.testing.assert_close(drawn[3].running_mean, hidden.mean(dim=0))
    assert [layer.training for layer in model] == [True, False, True, True, True]
    assert [layer.momentum for layer in (model[1], model[3])] == [0.1, 0.1]


def test_statistics_are_collected_if_updates_happen_in_evaluation_mode():
    """The layer is in evaluation mode in every update, but its statistics have changed."""
    model = make_network(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    posterior = WeightPosterior(model, SWAG(n_components=2))
    model(INPUTS)
    model.eval()
    walk(posterior)
    with pytest.raises(ValueError, match=r"^the model has batch normalisation"):
        posterior.predict(INPUTS)
    restored = WeightPosterior(copy.deepcopy(model), SWAG(n_components=2))
    restored.load_state_dict(posterior.state_dict())
    with pytest.raises(ValueError, match=r"^the model has batch normalisation"):
        restored.predict(INPUTS)


def test_instance_normalisation_with_running_statistics():
    model = make_network(
        nn.Conv1d(1, 2, 1), nn.InstanceNorm1d(2, track_running_stats=True), nn.Flatten()
    )
    posterior = attached(model)
    batches = list(torch.randn(3, 5, 1, 6))
    drawn = posterior.sample(0, batches=batches)
    with torch.no_grad():
        hidden = [drawn[0](batch) for batch in batches]
    expected = torch.stack([each.mean(dim=(0, 2)) for each in hidden]).mean(dim=0)
    torch.testing.assert_close(drawn[1].running_mean, expected)


def test_the_modes_of_a_model_survive_an_error():
    model = make_network(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    posterior = attached(model)
    with pytest.raises(RuntimeError):
        posterior.predict(INPUTS, batches=[torch.ones(4, 5)])
    assert model.training
    assert model[1].training
    assert model[1].momentum == 0.1


# -- wrappers ----------------------------------------------------------------------------------


def test_a_state_is_restored_without_the_prefix_of_a_wrapper():
    plain = attached()
    for wrap in (nn.DataParallel, torch.compile):
        wrapped = WeightPosterior(wrap(make_network()), SWAG(n_components=2))
        assert "0.weight" in wrapped.state_dict()["parameters"]
        wrapped.load_state_dict(plain.state_dict())
        found = wrapped.predict(INPUTS, SAMPLES, random_state=0)
        assert torch.equal(found, plain.predict(INPUTS, SAMPLES, random_state=0))
        assert type(wrapped.sample(0)) is nn.Sequential


# -- mistakes ----------------------------------------------------------------------------------


def test_mistakes_are_named_when_the_posterior_is_attached():
    model, empty = make_network(), nn.Linear(2, 1, device="meta")
    for arguments, kind, complaint in [
        ((model, SWAG), TypeError, r"estimator is the class SWAG: pass an instance"),
        ((SWAG(), model), TypeError, r"model and estimator are swapped"),
        ((3, SWAG()), TypeError, r"model is a int, not a torch.nn.Module"),
        ((model, "swag"), TypeError, r"estimator is a str, not one of this package"),
        ((empty, SWAG()), ValueError, r"parameter 'weight' is on the meta device"),
    ]:
        with pytest.raises(kind, match=f"^{complaint}"):
            WeightPosterior(*arguments)


def test_a_model_that_cannot_be_copied_still_predicts():
    model = make_network()
    model.unpicklable = (number for number in range(3))
    posterior = attached(model, ShrunkEM(n_components=1, warm_up=5, block_size=5))
    assert posterior.predict(INPUTS, 3).shape == (3, 10, 3)
    with pytest.raises(ValueError, match=r"^the model cannot be copied, use predict\(\)"):
        posterior.sample()


def test_averages_of_half_precision_are_computed_in_single_precision():
    model = make_network(nn.Linear(2, 3)).bfloat16()
    posterior = attached(model)
    inputs = INPUTS.bfloat16()
    probabilities = posterior.predict_proba(inputs, 500, random_state=0)
    assert probabilities.dtype == torch.float32
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(len(inputs)))
    outputs = posterior.predict(inputs, 500, random_state=0).float()
    moments = posterior.predict_moments(inputs, 500, random_state=0)
    torch.testing.assert_close(moments.mean, outputs.mean(dim=0))
    torch.testing.assert_close(moments.variance, outputs.var(dim=0, correction=0))
