"""Tests of posteriors over the weights of PyTorch networks, with every estimator."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import torch
from support.library_estimators import NAMES, make_estimator
from threadpoolctl import threadpool_limits
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from onlinefa import SWAG, Diagonal, OnlineEM, RecursiveEM
from onlinefa.serialization import CannotRestore
from onlinefa.torch import NetworkChanged, TooFewUpdates, WeightPosterior

K, T = 2, 60
SHORT = {"warm_up": 10, "block_size": 20}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Use one thread: networks as small as these are slower with several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield
    torch.set_num_threads(before)


def estimator(name):
    return make_estimator(name, SHORT, n_components=K, random_state=0)


def network(*layers, dtype=torch.float32):
    torch.manual_seed(0)
    layers = layers or (nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    return nn.Sequential(*layers).to(dtype)


def random_walk(dimension, steps=T, seed=0):
    """Return correlated weights with nonzero means, in float32 as the networks are."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(K, dimension))
    noise = random.normal(size=(steps, dimension))
    return (2 + random.normal(size=(steps, K)) @ factors + noise).astype(np.float32)


def take(posterior, rows):
    """Set the model to each row of weights in turn, and update the posterior."""
    for row in rows:
        parameters = posterior.model.parameters()
        weights = torch.tensor(row, dtype=next(posterior.model.parameters()).dtype)
        vector_to_parameters(weights, (each for each in parameters if each.requires_grad))
        posterior.update()


def attached(estimator, model=None, steps=T):
    posterior = WeightPosterior(model or network(), estimator)
    walking = [each for each in posterior.model.parameters() if each.requires_grad]
    rows = random_walk(sum(each.numel() for each in walking), steps)
    take(posterior, rows)
    return posterior, rows


def weights_of(model):
    return parameters_to_vector(model.parameters()).detach().double().numpy()


def assert_same_bits(one, two):
    for name in ("mean", "factors", "noise"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("name", NAMES)
class TestEveryEstimator:
    def test_each_update_learns_from_one_vector_of_weights(self, name):
        posterior, rows = attached(estimator(name))
        alone = estimator(name)
        for row in rows:
            alone.partial_fit(torch.tensor(row[None]))
        assert posterior.updates == T
        assert_same_bits(posterior.gaussian(), alone.gaussian())

    def test_the_mean_is_the_average_of_the_walk(self, name):
        posterior, rows = attached(estimator(name))
        found = weights_of(posterior.average())
        np.testing.assert_allclose(found, rows.astype(float).mean(axis=0), rtol=1e-5, atol=1e-5)

    # In the warm-up, and in the middle of a block.
    @pytest.mark.parametrize("interrupted", [5, 37])
    def test_a_restored_posterior_continues_bit_for_bit(self, name, interrupted):
        posterior, rows = attached(estimator(name), steps=T)
        before = WeightPosterior(network(), estimator(name))
        take(before, rows[:interrupted])
        file = io.BytesIO()
        torch.save(before.state_dict(), file)
        file.seek(0)
        after = WeightPosterior(network(), estimator(name))
        after.load_state_dict(torch.load(file, weights_only=True))
        assert after.updates == interrupted
        take(after, rows[interrupted:])
        assert_same_bits(after.gaussian(), posterior.gaussian())


@pytest.mark.slow
def test_draws_of_swag_have_its_covariance():
    """The weights of a linear network are its outputs at the unit vectors."""
    D, samples = 5, 4000
    posterior, rows = attached(SWAG(n_components=3), nn.Linear(D, 1, bias=False))
    rows = rows.astype(float)
    means = np.cumsum(rows, axis=0) / np.arange(1, T + 1)[:, None]
    deviations = (rows - means)[-3:]
    covariance = np.diag(rows.var(axis=0)) / 2 + deviations.T @ deviations / (2 * (3 - 1))
    draws = posterior.predict(torch.eye(D), samples, random_state=1)[:, :, 0].double().numpy()
    variances = np.diag(covariance)
    error = np.sqrt((np.outer(variances, variances) + covariance**2) / samples)
    assert np.all(np.abs(np.cov(draws.T) - covariance) < 4 * error)
    off = np.abs(draws.mean(axis=0) - rows.mean(axis=0))
    assert np.all(off < 4 * np.sqrt(variances / samples))


def test_predictions_are_outputs_of_sampled_networks(monkeypatch):
    model = network(nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 1))
    posterior, _ = attached(SWAG(n_components=K), model)
    inputs, random = torch.randn(7, 2), np.random.default_rng(4)
    networks = [posterior.sample(random) for _ in range(5)]
    with torch.no_grad():
        expected = torch.stack([each(inputs) for each in networks])
    copies, deepcopy = [], copy.deepcopy
    monkeypatch.setattr(copy, "deepcopy", lambda *given: copies.append(0) or deepcopy(*given))
    found = posterior.predict(inputs, samples=5, random_state=np.random.default_rng(4))
    assert torch.equal(found, expected)
    assert not copies
    assert not found.requires_grad
    assert not any(each.training for each in networks)
    assert len(torch.unique(found[:, 0])) == 5


def test_the_model_itself_is_not_changed():
    posterior, rows = attached(SWAG(n_components=K))
    model, inputs = posterior.model, torch.randn(4, 2)
    model(inputs).sum().backward()
    gradients = [each.grad.clone() for each in model.parameters()]
    sampled = posterior.sample(0)
    posterior.predict(inputs, 3)
    np.testing.assert_array_equal(weights_of(model), rows[-1])
    assert model.training
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert torch.equal(parameter.grad, gradient)
    before = weights_of(sampled)
    take(posterior, rows[:1])
    np.testing.assert_array_equal(weights_of(sampled), before)
    assert all(each.requires_grad for each in sampled.parameters())


def test_an_estimator_can_be_used_for_several_posteriors():
    shared = Diagonal()
    one, _ = attached(shared)
    two = WeightPosterior(network(), shared)
    assert (one.updates, two.updates) == (T, 0)


# -- batch normalisation -----------------------------------------------------------------------


def normalised():
    return network(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, 1))


@pytest.fixture(scope="module")
def batches():
    torch.manual_seed(1)
    return [(torch.randn(8, 2) + 1, torch.randn(8)) for _ in range(3)]


@pytest.mark.parametrize("draw", [lambda p, b: p.sample(3, b), lambda p, b: p.average(b)])
def test_batch_norm_statistics_are_recomputed(draw, batches):
    posterior, _ = attached(SWAG(n_components=K), normalised())
    posterior.model(batches[0][0] + 9)
    own = copy.deepcopy(posterior.model[1].state_dict())
    drawn = draw(posterior, batches)
    with torch.no_grad():
        hidden = [drawn[0](inputs) for inputs, _ in batches]
    mean = torch.stack([each.mean(dim=0) for each in hidden]).mean(dim=0)
    variance = torch.stack([each.var(dim=0) for each in hidden]).mean(dim=0)
    torch.testing.assert_close(drawn[1].running_mean, mean)
    torch.testing.assert_close(drawn[1].running_var, variance)
    assert drawn[1].momentum == 0.1
    assert not drawn.training
    for name, value in posterior.model[1].state_dict().items():
        assert torch.equal(value, own[name])


def test_every_prediction_has_its_own_batch_norm_statistics(batches):
    posterior, _ = attached(SWAG(n_components=K), normalised())
    inputs, random = torch.randn(5, 2), np.random.default_rng(0)
    found = posterior.predict(inputs, 3, random_state=0, batches=batches)
    with torch.no_grad():
        expected = [posterior.sample(random, batches)(inputs) for _ in range(3)]
    assert torch.equal(found, torch.stack(expected))


def test_batch_norm_statistics_require_batches(batches):
    posterior, _ = attached(SWAG(n_components=K), normalised())
    for ask in (posterior.sample, posterior.average, lambda: posterior.predict(torch.ones(1, 2))):
        with pytest.raises(ValueError, match=r"^the model has batch norm.*pass batches=.*$"):
            ask()
    with pytest.raises(ValueError, match=r"^batches has no batch \(left\).*$"):
        posterior.predict(torch.ones(1, 2), 2, batches=iter(batches))
    without = network(nn.Linear(2, 3), nn.BatchNorm1d(3, track_running_stats=False))
    posterior, _ = attached(SWAG(n_components=K), without)
    posterior.sample()


# -- parameters of all kinds -------------------------------------------------------------------

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("dtype", "learned"),
    [
        (torch.bfloat16, np.float32),
        (torch.float16, np.float32),
        (torch.float32, np.float32),
        (torch.float64, np.float64),
    ],
)
def test_draws_have_the_types_of_the_model(dtype, learned, device):
    model = network(nn.Linear(2, 1), dtype=dtype).to(device)
    posterior = WeightPosterior(model, OnlineEM(n_components=K, warm_up=10, random_state=0))
    rows = np.linspace(1, 2, 30)[:, None] * [1, 2, 3]
    seen = []
    for row in torch.tensor(rows, dtype=dtype, device=device):
        vector_to_parameters(row, model.parameters())
        posterior.update()
        seen.append(row.double().cpu().numpy())
    assert posterior.estimator._kind.dtype == learned
    precision = torch.finfo(torch.float32 if learned == np.float32 else torch.float64).eps
    np.testing.assert_allclose(
        posterior.gaussian().mean, np.mean(seen, axis=0), rtol=30 * precision
    )
    for drawn in (posterior.sample(0), posterior.average()):
        assert {each.dtype for each in drawn.parameters()} == {dtype}
        assert {each.device for each in drawn.parameters()} == {model[0].weight.device}
    inputs = torch.ones(4, 2, dtype=dtype, device=device)
    found = posterior.predict(inputs, 3)
    assert (found.shape, found.dtype, found.device) == ((3, 4, 1), dtype, inputs.device)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(2, 3), nn.Linear(3, 2)
        self.again = nn.Linear(2, 3)
        self.again.weight = self.encoder.weight

    def forward(self, x):
        return self.again(self.decoder(self.encoder(x)))


def test_tied_weights_count_once():
    posterior, rows = attached(Diagonal(), Tied())
    assert posterior.gaussian().dimension == rows.shape[1] == 2 * 3 + 3 + 3 * 2 + 2 + 3
    drawn = posterior.sample(0)
    assert drawn.again.weight is drawn.encoder.weight
    assert drawn.again.weight is not posterior.model.again.weight
    assert not torch.equal(drawn.encoder.weight, posterior.model.encoder.weight)


def test_frozen_parameters_are_not_sampled():
    model = network()
    model[0].weight.requires_grad_(False)
    posterior, rows = attached(Diagonal(), model)
    assert posterior.gaussian().dimension == rows.shape[1] == 3 + 3 + 1
    model[0].weight.fill_(7.0)
    assert torch.equal(posterior.sample(0)[0].weight, model[0].weight)
    assert not torch.equal(posterior.sample(0)[0].bias, model[0].bias)
    model.requires_grad_(False)  # as for an evaluation; the trained parameters are already known
    posterior.update()
    assert posterior.updates == T + 1


@pytest.mark.slow
def test_the_number_of_factors_can_be_estimated():
    settings = {"block_size": 20, "warm_up": 20}
    posterior, _ = attached(RecursiveEM("auto", **settings))
    assert posterior.predict(torch.ones(3, 2), 2).shape == (2, 3, 1)


# -- mistakes ----------------------------------------------------------------------------------


def widen(model):
    model[0] = nn.Linear(2, 4)


def cut(model):
    model[2] = nn.Identity()


def lengthen(model):
    model.append(nn.Linear(1, 1))


def thaw(model):
    model[0].bias.requires_grad_()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (widen, r"parameter '0.weight' had shape \(3, 2\), now it has \(4, 2\)"),
        (cut, "parameter '2.weight' was removed from the network"),
        (lengthen, "parameter '3.weight' was added: attach a new posterior"),
        (thaw, "parameter '0.bias' was frozen, now it is trained: attach a new posterior"),
    ],
)
def test_a_network_that_has_changed_is_refused(change, complaint):
    model = network()
    model[0].bias.requires_grad_(False)
    posterior, _ = attached(Diagonal(), model)
    change(model)
    for ask in (posterior.update, posterior.sample, posterior.average):
        with pytest.raises(NetworkChanged, match=f"^{complaint}$"):
            ask()
    assert posterior.updates == T


def test_a_walk_that_is_too_short_is_refused():
    posterior = WeightPosterior(network(), SWAG(n_components=4))
    inputs = torch.ones(1, 2)
    for ask in (posterior.sample, posterior.average, posterior.gaussian):
        with pytest.raises(TooFewUpdates, match=r"^there was no update: call update\(\)"):
            ask()
    take(posterior, random_walk(13, 3))
    for ask in (posterior.sample, posterior.gaussian, lambda: posterior.predict(inputs)):
        with pytest.raises(TooFewUpdates, match=r"^n_components=4 needs .* there were 3$"):
            ask()
    posterior.average()
    posterior.update()
    posterior.sample()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_named(bad):
    posterior, _ = attached(SWAG(n_components=K))
    before = posterior.gaussian()
    with torch.no_grad():
        posterior.model[2].weight[0, 1] = bad
    with pytest.raises(ValueError, match=r"^parameter '2.weight' has NaN or infinite weights$"):
        posterior.update()
    assert posterior.updates == T
    assert_same_bits(posterior.gaussian(), before)


def test_more_factors_than_weights_are_refused_by_the_estimator():
    with pytest.raises(ValueError, match="n_components=3 must be smaller"):
        attached(SWAG(n_components=3), network(nn.Linear(2, 1)))


def test_invalid_models_and_arguments_are_refused():
    with pytest.raises(ValueError, match="no parameter that requires a gradient"):
        WeightPosterior(nn.Tanh(), Diagonal())
    with pytest.raises(ValueError, match=r"^parameter 'weight' is torch.complex64"):
        WeightPosterior(nn.Linear(2, 1, dtype=torch.complex64), Diagonal())
    posterior, _ = attached(Diagonal())
    with pytest.raises(ValueError, match="samples=0 must be at least 1"):
        posterior.predict(torch.ones(1, 2), samples=0)
    recurrent, _ = attached(Diagonal(), nn.GRU(1, 1))
    with pytest.raises(TypeError, match="output is a tuple: neither a tensor"):
        recurrent.predict(torch.ones(3, 1))


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (
            network(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)),
            r"parameter '0.weight' was saved with shape \(3, 2\), here it has shape \(4, 2\)",
        ),
        (
            network(nn.Linear(2, 3), nn.Tanh()),
            "parameter '2.weight' of the saved network is not in this one",
        ),
        (
            network(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1), nn.Linear(1, 1)),
            "parameter '3.weight' is not in the saved network",
        ),
    ],
)
def test_the_state_of_another_network_is_refused(model, complaint):
    saved = attached(SWAG(n_components=K))[0].state_dict()
    with pytest.raises(CannotRestore, match=f"^{complaint}$"):
        WeightPosterior(model, SWAG(n_components=K)).load_state_dict(saved)


def test_the_state_of_another_estimator_is_refused():
    saved = attached(SWAG(n_components=K))[0].state_dict()
    posterior, _ = attached(Diagonal())
    before = posterior.gaussian()
    with pytest.raises(CannotRestore, match=r"^the saved estimator is SWAG, this one is Diagonal$"):
        posterior.load_state_dict(saved)
    with pytest.raises(CannotRestore, match="n_components=2, this one has n_components=3"):
        WeightPosterior(network(), SWAG(n_components=3)).load_state_dict(saved)
    with pytest.raises(CannotRestore, match="not the state_dict of a WeightPosterior"):
        posterior.load_state_dict(posterior.model.state_dict())
    assert_same_bits(posterior.gaussian(), before)


WITHOUT_PYTORCH = """
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, Nowhere())
from onlinefa import SWAG
assert "torch" not in sys.modules
from onlinefa.torch import WeightPosterior
"""


@pytest.mark.slow
def test_without_pytorch_the_error_is_one_line():
    answer = subprocess.run([sys.executable, "-c", WITHOUT_PYTORCH], capture_output=True, text=True)
    last = answer.stderr.splitlines()[-1]
    needed = "onlinefa.torch needs PyTorch: pip install 'onlinefa[torch]'"
    assert last == f"ModuleNotFoundError: {needed}"


# -- memory ------------------------------------------------------------------------------------


def test_a_posterior_needs_no_more_memory_than_its_estimator():
    """Only NumPy's memory is measured; PyTorch's is a row and a copy of the model for samples."""
    D, many = 200_000, 10
    factors = np.random.default_rng(0).standard_normal((D, many), dtype=np.float32) / 500
    estimator = OnlineEM(n_components=many, init_factors=factors)
    posterior, _ = attached(estimator, nn.Linear(D // 100, 100, bias=False), steps=many)
    inputs = torch.ones(1, D // 100)
    tracemalloc.start()
    try:
        for _ in range(5):
            posterior.update()
        assert tracemalloc.get_traced_memory()[1] < D  # an eighth of a vector of doubles
        posterior.gaussian()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        posterior.predict(inputs, samples=3)
        # The normal numbers, their sum with the factors' part, and the standard deviations.
        assert tracemalloc.get_traced_memory()[1] - before < 4 * D * 8 < factors.nbytes
    finally:
        tracemalloc.stop()
