"""Tests that saved states are plain data, and that restored estimators continue identically."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.library_estimators import NAMES, make_estimator

from onlinefa import SWAG, BatchSVD, FitDiverged, OnlineEM, OnlineSGA, RecursiveEM
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import LowRankGaussian
from onlinefa.serialization import CannotRestore, restore, save

D, K, T = 6, 2, 90
SHORT = {"warm_up": 20, "block_size": 30}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    return random.normal(size=(T, K)) @ random.normal(size=(K, D)) + random.normal(size=(T, D)) + 3


def make(name):
    return make_estimator(name, SHORT, n_components=K, random_state=0)


def assert_same_bits(one, two):
    for name in ("mean", "factors", "noise"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def round_trip_through_files(saved, folder):
    """Write a state as JSON and its arrays as NumPy files, and read both again."""
    arrays = []

    def number(array):
        assert isinstance(array, np.ndarray)
        arrays.append(array)
        return {"array": len(arrays) - 1}

    text = json.dumps(saved, default=number)
    np.savez(folder / "arrays.npz", *arrays)
    with np.load(folder / "arrays.npz", allow_pickle=False) as kept:
        return json.loads(
            text, object_hook=lambda d: kept[f"arr_{d['array']}"] if "array" in d else d
        )


# In the warm-up, at its end, in the middle of a block, after a block.
@pytest.mark.parametrize(
    ("interrupted", "dtype"),
    [(7, np.float32), (20, np.float64), (33, np.float32), (50, np.float64)],
)
@pytest.mark.parametrize("name", NAMES)
def test_a_restored_estimator_continues_bit_for_bit(name, dtype, interrupted, rows, tmp_path):
    rows = rows.astype(dtype)
    model, other = make(name).partial_fit(rows[:interrupted]), make(name)
    other.fit(rows[::-1])  # restoring replaces the earlier fit
    restore(other, round_trip_through_files(save(model), tmp_path))
    assert other.n_samples_seen_ == interrupted
    assert_same_bits(other.gaussian(), model.gaussian())
    for start in range(interrupted, T, 11):
        model.partial_fit(rows[start : start + 11])
        other.partial_fit(rows[start : start + 11])
    assert_same_bits(other.gaussian(), model.gaussian())


def test_all_candidate_models_are_restored(rows, tmp_path):
    model, other = (RecursiveEM("auto", **SHORT) for _ in range(2))
    restore(other, round_trip_through_files(save(model.fit(rows[:60])), tmp_path))
    assert_same_bits(
        other.partial_fit(rows[60:]).gaussian(), model.partial_fit(rows[60:]).gaussian()
    )


def test_later_rows_do_not_change_a_saved_state(rows):
    model = make("online_em").fit(rows[:40])
    before, saved = model.gaussian(), save(model)
    model.partial_fit(rows[40:])
    other = make("online_em")
    restore(other, saved)
    assert_same_bits(other.gaussian(), before)
    other.partial_fit(rows[:40])
    third = make("online_em")
    restore(third, saved)
    assert_same_bits(third.gaussian(), before)


def test_an_unfitted_estimator_is_restored_as_unfitted(rows):
    model = make("shrunk_em").fit(rows)
    restore(model, save(make("shrunk_em")))
    assert not hasattr(model, "n_samples_seen_")
    assert_same_bits(model.partial_fit(rows).gaussian(), make("shrunk_em").fit(rows).gaussian())


class Wandering(FactorEstimator):
    """An estimator that adds random numbers from its own generators to its mean."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def _start(self, D):
        return WanderingState(D)


class WanderingState:
    def __init__(self, D):
        self.count, self.mean = 0, np.zeros(D)
        self.random = np.random.default_rng(5), np.random.RandomState(5)
        self.seen = {"sums": [0.0]}

    def absorb(self, X):
        self.count += len(X)
        self.seen["sums"].append(float(X.sum()))
        for random in self.random:
            self.mean = self.mean + random.normal(size=len(self.mean))  # odd: RandomState keeps one

    def estimate(self):
        return LowRankGaussian(
            self.mean + sum(self.seen["sums"]), np.zeros((len(self.mean), 0)), self.mean**2
        )


def test_random_generators_are_restored(rows, tmp_path):
    model, other = Wandering().fit(rows[:, :5]), Wandering()
    restore(other, round_trip_through_files(save(model), tmp_path))
    assert isinstance(other._state.random, tuple)
    for _ in range(3):
        assert_same_bits(
            other.partial_fit(rows[:, :5]).gaussian(), model.partial_fit(rows[:, :5]).gaussian()
        )


def test_values_that_cannot_be_serialized_are_refused(rows):
    model = Wandering().fit(rows)
    model._state.seen["sums"].append(print)
    with pytest.raises(
        TypeError, match=r"^the state.seen.sums\[2\] is a builtin_function_or_method"
    ):
        save(model)


def test_a_diverged_estimator_cannot_be_saved(rows):
    model = OnlineSGA(n_components=K, learning_rate=1e6, warm_up=1, random_state=0)
    with pytest.raises(FitDiverged):
        model.fit(rows)
    with pytest.raises(FitDiverged, match="diverged at observation"):
        save(model)


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (SWAG(n_components=K), "the saved estimator is OnlineEM, this one is SWAG"),
        (
            OnlineEM(n_components=3, warm_up=20, random_state=0),
            "OnlineEM was saved with n_components=2, this one has n_components=3",
        ),
        (
            OnlineEM(n_components=K, warm_up=21, random_state=0),
            "OnlineEM was saved with warm_up=20, this one has warm_up=21",
        ),
    ],
)
def test_the_state_of_another_estimator_is_refused_and_changes_nothing(other, complaint, rows):
    saved = save(make("online_em").fit(rows))
    other.fit(rows[:50])
    before = other.gaussian()
    with pytest.raises(CannotRestore, match=f"^{complaint}$"):
        restore(other, saved)
    assert_same_bits(other.gaussian(), before)
    assert other.n_samples_seen_ == 50


def test_settings_that_are_not_plain_values_need_not_match(rows):
    factors = np.linalg.qr(np.random.default_rng(0).normal(size=(D, K)))[0]
    model = OnlineEM(n_components=np.int64(K), init_factors=factors).fit(rows)
    other = OnlineEM(n_components=K)
    restore(other, save(model))
    assert_same_bits(other.gaussian(), model.gaussian())
    # Batch SVD draws random numbers whenever a result is computed.
    svd, again = (BatchSVD(n_components=K, random_state=np.random.RandomState(s)) for s in (1, 2))
    restore(again, save(svd.fit(rows)))
    assert_same_bits(again.gaussian(), svd.gaussian())


def test_the_state_of_another_version_is_refused(rows):
    model = make("online_em").fit(rows)
    before, saved = model.gaussian(), save(model)
    del saved["state"]["values"]["psi"]
    with pytest.raises(
        CannotRestore, match=r"^the state.psi was not saved: another version of onlinefa\?$"
    ):
        restore(model, saved)
    saved["state"]["class"] = "Older"
    with pytest.raises(CannotRestore, match=r"^the state was saved as Older, here it is _State"):
        restore(model, saved)
    with pytest.raises(CannotRestore, match="this is not a saved estimator"):
        restore(model, {"state": None})
    assert_same_bits(model.gaussian(), before)
