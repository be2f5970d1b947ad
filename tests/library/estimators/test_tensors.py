"""Tests that estimators give the same results on tensors as on arrays, without host copies."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from support.library_estimators import NAMES, make_estimator
from torch.utils._python_dispatch import TorchDispatchMode

from onlinefa import SWAG, FitDiverged, LowRankGaussian, OnlineEM, RecursiveEM, ShrunkEM
from onlinefa.serialization import restore, save

D, K, T = 12, 3, 437
SHORT = {"warm_up": 50, "block_size": 60, "random_state": 0}
ACCEPTING = [name for name in NAMES if make_estimator(name, {}, n_components=K).accepts_tensors]


def estimator(name):
    return make_estimator(name, SHORT, n_components=K)


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    signal = random.normal(size=(T, K)) @ random.normal(size=(K, D))
    return signal + random.normal(size=(T, D)) + random.normal(size=D)


def assert_close(found, expected, tolerance):
    scale = np.abs(expected.covariance()).max()
    np.testing.assert_allclose(found.mean, expected.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.covariance(), expected.covariance(), atol=tolerance * scale)


def test_the_estimators_that_are_matrix_products_accept_tensors():
    assert set(ACCEPTING) == {"diagonal", "recursive_em", "shrunk_em", "swag", "swag_diagonal"}


@pytest.mark.parametrize("name", ACCEPTING)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 2e-4)])
def test_a_fit_to_tensors_equals_a_fit_to_arrays(name, dtype, tolerance, rows):
    expected = estimator(name).fit(rows)
    found = estimator(name)
    for part in torch.tensor(rows, dtype=dtype).split(101):
        found.partial_fit(part)
        found.gaussian()  # reading a result must not change later ones
    assert found.n_samples_seen_ == T
    assert found.components_.dtype == (dtype if found.single_precision else torch.float64)
    assert_close(found.gaussian().to_numpy(), expected.gaussian(), tolerance)


@pytest.mark.parametrize("name", ACCEPTING)
def test_results_are_tensors(name, rows):
    tensors = torch.tensor(rows)
    model, same = estimator(name).fit(tensors), estimator(name).fit(rows)
    for method in ("score_samples", "transform"):
        found, expected = getattr(model, method)(tensors), getattr(same, method)(rows)
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found.abs(), np.abs(expected), rtol=1e-7, atol=1e-7)
    assert model.score(tensors) == pytest.approx(same.score(rows))
    for values in (model.mean_, model.noise_variance_, model.get_covariance(), model.sample(3, 0)):
        assert isinstance(values, torch.Tensor)
    torch.testing.assert_close(
        model.get_precision() @ model.get_covariance(), torch.eye(D, dtype=torch.float64)
    )


class NoHostCopies(TorchDispatchMode):
    """Count values that are read from tensors, and refuse copies of tensors to another device."""

    def __init__(self):
        super().__init__()
        self.read = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = str(function)
        if "_local_scalar_dense" in name:
            self.read += 1
        assert "_to_copy" not in name or (kwargs or {}).get("device") in (None, args[0].device)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", ACCEPTING)
def test_no_tensor_is_copied_to_the_host(name, rows, monkeypatch):
    """Only single numbers are read: whether the rows are finite, and whether results are."""
    tensors = torch.tensor(rows, dtype=torch.float32)
    model = estimator(name).fit(tensors[:60])

    def refuse(self, *args, **kwargs):
        raise AssertionError("a tensor was copied to the host")

    for method in ("numpy", "cpu", "tolist", "__array__"):
        monkeypatch.setattr(torch.Tensor, method, refuse)
    with NoHostCopies() as watched:
        model.partial_fit(tensors[60:])
        # Shrunk EM asks once more for each block, before it decomposes its factors.
        blocks = (T - 60) // SHORT["block_size"] if name == "shrunk_em" else 0
        assert watched.read <= 1 + blocks
        model.gaussian().sample(5, torch.Generator().manual_seed(0))


def test_draws_from_tensors_have_the_covariance_of_the_gaussian():
    random = np.random.default_rng(0)
    gaussian = LowRankGaussian(*(random.uniform(1, 2, size) for size in (4, (4, 2), 4)))
    tensors = LowRankGaussian(*map(torch.tensor, (gaussian.mean, gaussian.factors, gaussian.noise)))
    n = 20_000
    draws = tensors.sample(n, 0).numpy()
    covariance = gaussian.covariance()
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / n)
    assert np.all(np.abs(np.cov(draws.T) - covariance) < 4.5 * error)
    assert np.all(
        np.abs(draws.mean(axis=0) - gaussian.mean) < 4.5 * np.sqrt(np.diag(covariance) / n)
    )
    assert torch.equal(tensors.sample(2, 5), tensors.sample(2, 5))
    assert torch.equal(
        tensors.sample(2, np.random.default_rng(1)), tensors.sample(2, np.random.default_rng(1))
    )


def test_distances_of_tensors_are_those_of_arrays():
    random = np.random.default_rng(0)
    pair = [
        LowRankGaussian(*(random.uniform(1, 2, size) for size in (4, (4, 2), 4))) for _ in range(2)
    ]
    tensors = [LowRankGaussian(*map(torch.tensor, (g.mean, g.factors, g.noise))) for g in pair]
    for distance in ("relative_frobenius", "relative_mean_distance", "kl", "wasserstein2"):
        expected = getattr(pair[0], distance)(pair[1])
        assert getattr(tensors[0], distance)(tensors[1]) == pytest.approx(expected)
    np.testing.assert_allclose(
        tensors[0].principal_angles(tensors[1]), pair[0].principal_angles(pair[1])
    )
    assert tensors[0].to_numpy().kl(pair[0]) == pytest.approx(0)


# -- mixed and invalid rows --------------------------------------------------------------------


def test_other_estimators_convert_tensors(rows):
    found = OnlineEM(K, random_state=0).fit(torch.tensor(rows)).gaussian()
    assert isinstance(found.mean, np.ndarray)
    assert np.array_equal(found.factors, OnlineEM(K, random_state=0).fit(rows).gaussian().factors)


def test_later_rows_are_converted_to_the_kind_of_the_first(rows):
    expected = estimator("recursive_em").fit(torch.tensor(rows)).gaussian()
    first = estimator("recursive_em").fit(torch.tensor(rows[:100]))
    found = first.partial_fit(rows[100:]).gaussian()
    assert torch.equal(found.factors, expected.factors)
    arrays = estimator("recursive_em").fit(rows[:100]).partial_fit(torch.tensor(rows[100:]))
    assert isinstance(arrays.mean_, np.ndarray)


def test_a_new_fit_forgets_the_kind_of_earlier_rows(rows):
    """An estimator is fitted to arrays, to tensors of another type and number of columns, back."""
    model = estimator("recursive_em")
    for X in (rows, torch.tensor(rows[:, :7], dtype=torch.float32), torch.tensor(rows), rows):
        found, expected = model.fit(X).gaussian(), estimator("recursive_em").fit(X).gaussian()
        assert type(found.mean) is type(expected.mean)
        assert found.mean.dtype == expected.mean.dtype
        assert (found.factors == expected.factors).all()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda X: X[0], r"X has shape \(12,\), expected rows and columns"),
        (lambda X: X[:0], r"X has shape \(0, 12\), expected rows and columns"),
        (lambda X: X[:, :5], r"X has 5 columns, expected 12"),
        (lambda X: X / 0, r"X contains NaN or infinity"),
    ],
)
def test_invalid_tensors_are_refused(change, complaint, rows):
    tensors = torch.tensor(rows)
    model = estimator("swag").fit(tensors)
    before = model.gaussian().factors.clone()
    with pytest.raises(ValueError, match=f"^{complaint}$"):
        model.partial_fit(change(tensors))
    assert torch.equal(model.gaussian().factors, before)
    if "columns, expected 12" not in complaint:
        with pytest.raises(ValueError, match=f"^{complaint}$"):
            SWAG(K).fit(change(tensors))


def test_a_fit_that_diverges_is_reported():
    with pytest.raises(FitDiverged, match=r"has no finite estimate after 60 observations"):
        RecursiveEM(1, warm_up=20, block_size=20).fit(
            1e200 * torch.randn(60, 4).double()
        ).gaussian()


# -- saving ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ACCEPTING)
def test_a_restored_fit_continues_to_the_bit(name, rows):
    tensors = torch.tensor(rows, dtype=torch.float32)
    whole = estimator(name).fit(tensors[:130]).partial_fit(tensors[130:])
    interrupted = estimator(name).fit(tensors[:130])
    restored = estimator(name)
    restore(restored, save(interrupted), like=tensors)
    pickled = pickle.loads(pickle.dumps(interrupted))
    for model in (restored, pickled):
        found = model.partial_fit(tensors[130:]).gaussian()
        for part in ("mean", "factors", "noise"):
            assert torch.equal(getattr(found, part), getattr(whole.gaussian(), part))
    arrays = estimator(name)
    restore(arrays, save(interrupted))
    assert isinstance(arrays.partial_fit(rows[130:]).mean_, np.ndarray)


@pytest.mark.parametrize("estimator", [RecursiveEM, ShrunkEM])
def test_an_overflow_is_a_divergence(estimator):
    """The squares of these rows are infinite."""
    rows = torch.randn(200, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with pytest.raises(FitDiverged):
        estimator(2).fit(1e200 * rows).gaussian()
