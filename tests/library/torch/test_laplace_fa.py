"""Tests of Laplace's approximation for any network against dense matrices."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
import torch
from scipy.special import softmax
from scipy.stats import norm
from torch import nn
from torch.func import functional_call, jacrev
from torch.utils.data import DataLoader, TensorDataset

from onlinefa.serialization import CannotRestore
from onlinefa.torch import LaplaceFA, MultiPosterior, NotFitted

N = 30
GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(N, 2, generator=GENERATOR, dtype=torch.float64)
CLASSES = torch.randint(3, (N,), generator=GENERATOR)
TARGETS = torch.randn(N, 1, generator=GENERATOR, dtype=torch.float64)
ASKED = torch.randn(5, 2, generator=GENERATOR, dtype=torch.float64)


def make_network(outputs=1):
    torch.manual_seed(0)
    layers = nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, outputs)
    return nn.Sequential(*layers).double()


def jacobian(model, inputs):
    """Return the derivatives of the outputs, of shape (n, outputs, weights)."""
    weights = {name: each.detach() for name, each in model.named_parameters()}
    found = jacrev(lambda w: functional_call(model, w, (inputs,)))(weights)
    return torch.cat([found[name].flatten(start_dim=2) for name in weights], dim=2)


def dense_precision(model, prior, noise=1.0, classes=False):
    """Return the prior's precision plus the Gauss-Newton matrix, observation by observation."""
    J = jacobian(model, X)
    with torch.no_grad():
        p = torch.softmax(model(X), dim=1)
    total = prior * torch.eye(J.shape[2], dtype=torch.float64)
    for one, own in zip(J, p, strict=True):
        hessian = torch.diag(own) - torch.outer(own, own)
        total += one.T @ (hessian if classes else torch.eye(len(one)).double() / noise) @ one
    return total


def everything(model):
    return sum(each.numel() for each in model.parameters())


# -- the precision -----------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [7, N])
def test_with_all_factors_a_regression_has_the_dense_precision(batch):
    model = make_network()
    loader = DataLoader(TensorDataset(X, TARGETS), batch_size=batch)
    posterior = LaplaceFA(model, "regression", everything(model), prior_precision=0.5, noise=0.1)
    found = posterior.fit(loader, chunk_size=4).gaussian()
    expected = dense_precision(model, 0.5, 0.1)
    torch.testing.assert_close(found.precision(), expected)
    weights = nn.utils.parameters_to_vector(model.parameters())
    torch.testing.assert_close(found.mean, weights.detach())


def test_the_information_of_classes_is_right_on_average():
    """The mean over random signs is compared in units of its standard error."""
    model = make_network(outputs=3)
    drawn = []
    for seed in range(300):
        posterior = LaplaceFA(model, "classification", everything(model), prior_precision=1.0)
        posterior.fit([(X, CLASSES)], random_state=seed)
        drawn.append(posterior.gaussian().precision())
    drawn = torch.stack(drawn)
    expected = dense_precision(model, 1.0, classes=True)
    error = drawn.std(dim=0) / math.sqrt(len(drawn))
    off = (drawn.mean(dim=0) - expected).abs() / (error + 1e-9)
    assert off.max() < 5
    assert 0.6 < off.mean() < 1.0  # the mean of |z| is 0.8


def test_one_logit_equals_two_classes():
    model = make_network()
    both = nn.Sequential(model, nn.Linear(1, 2, bias=False)).double()
    both[1].weight.data = torch.tensor([[-0.5], [0.5]], dtype=torch.float64)
    both[1].requires_grad_(False)
    labels = (CLASSES > 0).long()
    options = {"n_components": everything(model), "prior_precision": 1.0}
    one = LaplaceFA(model, "classification", **options).fit([(X, labels)], random_state=0)
    p = torch.sigmoid(model(X)).detach()
    J = jacobian(model, X)[:, 0]
    expected = torch.eye(J.shape[1]).double() + (J * p * (1 - p)).T @ J
    torch.testing.assert_close(one.gaussian().precision(), expected)
    two = LaplaceFA(both, "classification", **options).fit([(X, labels)], random_state=0)
    assert two.log_evidence(1.0) == pytest.approx(one.log_evidence(1.0), rel=0.05)


# -- the evidence ------------------------------------------------------------------------------


def test_the_evidence_of_a_linear_model_is_exact():
    """At its mode, the marginal likelihood of a linear regression is a Gaussian density."""
    prior, noise = 0.7, 0.3
    X1 = torch.cat([X, torch.ones(N, 1)], dim=1)
    A = X1.T @ X1 / noise + prior * torch.eye(3)
    mode = torch.linalg.solve(A, X1.T @ TARGETS / noise)[:, 0]
    model = nn.Linear(2, 1).double()
    model.weight.data, model.bias.data = mode[None, :2], mode[2:]
    posterior = LaplaceFA(model, "regression", 3, prior_precision=prior, noise=noise)
    posterior.fit([(X, TARGETS)])
    covariance = X1 @ X1.T / prior + noise * torch.eye(N)
    marginal = torch.distributions.MultivariateNormal(torch.zeros(N).double(), covariance)
    expected = float(marginal.log_prob(TARGETS[:, 0]))
    assert posterior.log_evidence(prior, noise) == pytest.approx(expected)


def test_prior_and_noise_maximise_the_evidence():
    posterior = LaplaceFA(make_network(), "regression", 5).fit([(X, TARGETS)])
    best = posterior.log_evidence(posterior.prior_precision_, posterior.noise_)
    for factor in (0.9, 1.1):
        assert posterior.log_evidence(posterior.prior_precision_ * factor, posterior.noise_) < best
        assert posterior.log_evidence(posterior.prior_precision_, posterior.noise_ * factor) < best
    fixed = LaplaceFA(make_network(), "regression", 5, noise=2.0).fit([(X, TARGETS)])
    assert fixed.noise_ == 2.0
    assert fixed.log_evidence(fixed.prior_precision_ * 1.1, 2.0) < fixed.log_evidence(
        fixed.prior_precision_, 2.0
    )


# -- predictions -------------------------------------------------------------------------------


def fitted(outputs=1, **options):
    likelihood = "regression" if outputs == 1 else "classification"
    model = make_network(outputs)
    settings = {"n_components": 5, "prior_precision": 1.0, "noise": 0.5} | options
    targets = TARGETS if outputs == 1 else CLASSES
    return LaplaceFA(model, likelihood, **settings).fit([(X, targets)], random_state=0)


def test_linearised_predictions_have_the_moments_of_the_linear_model():
    posterior = fitted()
    mean, variance = posterior.predict_moments(ASKED, samples=4000, random_state=0)
    with torch.no_grad():
        expected = posterior.model(ASKED)
    J = jacobian(posterior.model, ASKED)[:, 0]
    variances = posterior.gaussian().variances_along(J)[:, None]
    assert torch.all((mean - expected).abs() < 4 * torch.sqrt(variances / 4000))
    assert torch.all((variance / variances - 1).abs() < 4 * math.sqrt(2 / 4000))


def test_sampled_predictions_are_those_of_networks():
    posterior = fitted(linearised=False)
    found = posterior.predict(ASKED, 3, random_state=np.random.default_rng(0))
    random = np.random.default_rng(0)
    for output in found:
        row = posterior.gaussian().sample(1, random)[0]
        network = make_network()
        nn.utils.vector_to_parameters(row, network.parameters())
        torch.testing.assert_close(output, network(ASKED).detach())


def test_probabilities_and_mixtures():
    posterior = fitted(outputs=3)
    probabilities = posterior.predict_proba(ASKED, 20, random_state=0)
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(5).double())
    mixture = MultiPosterior([posterior, fitted(outputs=3)])
    assert mixture.predict(ASKED, 6, random_state=0).shape == (6, 5, 3)
    torch.testing.assert_close(
        posterior.predict(ASKED, 3, scale=0.0)[0], posterior.model(ASKED).detach()
    )


class Normalised(nn.Module):
    """A network with batch normalisation, dropout and two inputs."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(2, 4), nn.BatchNorm1d(4)
        self.drop, self.last = nn.Dropout(0.5), nn.Linear(4, 1)

    def forward(self, x, *, offset):
        return self.last(self.drop(self.norm(self.first(x)))) + offset


def test_networks_with_batch_normalisation_dropout_and_keywords():
    torch.manual_seed(0)
    model = Normalised().double()
    batches = [({"x": X, "offset": TARGETS}, TARGETS)]
    posterior = LaplaceFA(model, "regression", 3, parameters="last").fit(batches)
    assert posterior.gaussian().dimension == 5
    assert model.training
    assert model.norm.num_batches_tracked == 0
    inputs = {"x": ASKED, "offset": torch.zeros(5, 1).double()}
    assert posterior.predict(inputs, 3).shape == (3, 5, 1)


# -- saving and mistakes -----------------------------------------------------------------------


def test_a_restored_posterior_predicts_the_same():
    posterior, file = fitted(), io.BytesIO()
    torch.save(posterior.state_dict(), file)
    file.seek(0)
    restored = LaplaceFA(posterior.model, "regression", 5)
    restored.load_state_dict(torch.load(file, weights_only=True))
    expected = posterior.predict(ASKED, 3, random_state=0)
    assert torch.equal(restored.predict(ASKED, 3, random_state=0), expected)
    assert restored.log_evidence(1.0, 0.5) == posterior.log_evidence(1.0, 0.5)
    with pytest.raises(CannotRestore, match=r"^this is not the state_dict of a LaplaceFA$"):
        restored.load_state_dict(posterior.model.state_dict())
    with pytest.raises(CannotRestore, match=r"^parameter '2.weight' was saved with shape"):
        LaplaceFA(make_network(3), "classification").load_state_dict(posterior.state_dict())


def test_the_description_has_the_precision():
    assert repr(LaplaceFA(make_network(), "regression")).endswith("n_components=10, not fitted)")
    assert "prior_precision=1, noise=0.5" in repr(fitted())


def test_mistakes_are_named():
    model = make_network()
    for arguments, kind, complaint in [
        (("regression", model), TypeError, "model is a str"),
        ((model, "poisson"), ValueError, "likelihood='poisson' must be"),
    ]:
        with pytest.raises(kind, match=f"^{complaint}"):
            LaplaceFA(*arguments)
    with pytest.raises(ValueError, match=r"^noise=0 must be positive or 'evidence'$"):
        LaplaceFA(model, "regression", noise=0)
    posterior = LaplaceFA(model, "regression", 3)
    with pytest.raises(NotFitted, match=r"^the posterior is not fitted: call fit\(\)"):
        posterior.predict(ASKED)
    with pytest.raises(TypeError, match=r"^every batch must be a pair of inputs and a tensor"):
        posterior.fit([X])
    with pytest.raises(ValueError, match=r"^targets have shape \(30, 2\), outputs \(30, 1\)$"):
        posterior.fit([(X, X)])
    with pytest.raises(ValueError, match=r"^batches has no batch$"):
        posterior.fit([])


# -- the prior by held-out data ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_scores_of_held_out_data_equal_those_of_the_exact_predictions(kind):
    """Compare with the average density of the linearised network, by many draws of its outputs."""
    model = make_network(3 if kind == "classification" else 1)
    noise = 1.0 if kind == "classification" else 0.3
    targets = CLASSES if kind == "classification" else TARGETS
    posterior = LaplaceFA(model, kind, everything(model), prior_precision=2.0, noise=noise)
    posterior.fit([(X, targets)], random_state=0)
    held_out = [(ASKED, targets[:5])]
    found = posterior._score(held_out, 3000, 0)
    covariance = np.linalg.inv(posterior.gaussian().precision().numpy())
    J = jacobian(model, ASKED).numpy()
    draws = np.random.default_rng(1).multivariate_normal(
        np.zeros(len(covariance)), covariance, size=20_000
    )
    outputs = model(ASKED).detach().numpy() + np.einsum("sd,ncd->snc", draws, J)
    if kind == "regression":
        scale = math.sqrt(noise)
        densities = norm.pdf(targets[:5].numpy(), outputs, scale)[..., 0]
    else:
        densities = softmax(outputs, axis=2)[:, np.arange(5), targets[:5]]
    assert found == pytest.approx(np.log(densities.mean(axis=0)).sum(), abs=0.15)


def test_the_prior_with_the_best_predictions_is_chosen():
    model = make_network()
    posterior = LaplaceFA(model, "regression", everything(model), prior_precision=5.0, noise=0.1)
    posterior.fit([(X, TARGETS)], random_state=0)
    held_out = DataLoader(TensorDataset(X, model(X).detach()), batch_size=11)
    scores = {}
    for prior in (0.1, 10.0, 1e4):
        posterior.choose_prior_precision(held_out, [prior])
        scores[prior] = posterior._score(held_out, 30, 0)
    # The held-out targets are exactly the network's outputs: no uncertainty is the best.
    assert max(scores, key=scores.__getitem__) == 1e4
    assert posterior.choose_prior_precision(held_out, scores).prior_precision_ == 1e4
    assert posterior.choose_prior_precision(held_out).prior_precision_ == 1e5


def test_a_failed_choice_of_the_prior_keeps_the_old_one():
    posterior = LaplaceFA(make_network(), "regression", prior_precision=5.0, noise=0.1)
    with pytest.raises(NotFitted):
        posterior.choose_prior_precision([(X, TARGETS)])
    posterior.fit([(X, TARGETS)], random_state=0)
    for candidates in ([1.0, -1.0], [], ["evidence"]):
        with pytest.raises(ValueError, match="must be positive numbers"):
            posterior.choose_prior_precision([(X, TARGETS)], candidates)
    with pytest.raises(ValueError, match="batches has no batch"):
        posterior.choose_prior_precision([])
    with pytest.raises(ValueError, match="targets have shape"):
        posterior.choose_prior_precision([(X, TARGETS.expand(-1, 2))])
    assert posterior.prior_precision_ == 5.0


# -- limits ------------------------------------------------------------------------------------


def test_a_regression_without_errors_has_the_smallest_noise():
    model = make_network()
    posterior = LaplaceFA(model, "regression", everything(model), prior_precision=1.0)
    posterior.fit([(X, model(X).detach())], random_state=0)
    assert posterior.noise_ == pytest.approx(1e-12, rel=0.01)


def test_a_state_of_another_likelihood_or_of_more_factors_is_rejected():
    model = make_network()
    state = LaplaceFA(model, "regression", 3).fit([(X, TARGETS)], random_state=0).state_dict()
    with pytest.raises(CannotRestore, match="of a regression"):
        LaplaceFA(model, "classification", 3).load_state_dict(state)
    with pytest.raises(CannotRestore, match="3 factors, more than 2"):
        LaplaceFA(model, "regression", 2).load_state_dict(state)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"chunk_size": 0}, "chunk_size=0"), ({}, "one class for each of 30")],
)
def test_bad_arguments_of_fit(arguments, message):
    posterior = LaplaceFA(make_network(3), "classification")
    with pytest.raises(ValueError, match=message):
        posterior.fit([(X, CLASSES.repeat(2))], **arguments)


def test_a_network_that_squeezes_its_output():
    plain, squeezed = make_network(), nn.Sequential(*make_network(), nn.Flatten(0))
    found, expected = (
        LaplaceFA(model, "regression", 3, noise=1.0, prior_precision=1.0)
        .fit([(X, TARGETS)], random_state=0)
        .gaussian()
        .precision()
        for model in (squeezed, plain)
    )
    torch.testing.assert_close(found, expected)
