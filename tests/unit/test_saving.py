"""What is saved is plain, and an estimator that is restored goes on as if nothing had happened."""

from __future__ import annotations

import json

import numpy as np
import pytest

from onlinefa import SWAG, BatchSVD, FitDiverged, OnlineEM, OnlineSGA, RecursiveEM, estimators
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import LowRankGaussian
from onlinefa.saving import CannotRestore, restore, save

D, K, T = 6, 2, 90
SHORT = {"warm_up": 20, "block_size": 30}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    return random.normal(size=(T, K)) @ random.normal(size=(K, D)) + random.normal(size=(T, D)) + 3


def make(name):
    known = estimators.default_settings(name)
    settings = {key: value for key, value in SHORT.items() if key in known}
    return estimators.build(name, settings, n_components=K, random_state=0)


def assert_same_bits(one, two):
    for name in ("mean", "factors", "noise"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def through_a_file(saved, folder):
    """As a format without objects would have it: JSON, and NumPy's files for the arrays."""
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
@pytest.mark.parametrize("name", estimators.names())
def test_what_is_restored_goes_on_to_the_same_bits(name, dtype, interrupted, rows, tmp_path):
    rows = rows.astype(dtype)
    model, other = make(name).partial_fit(rows[:interrupted]), make(name)
    other.fit(rows[::-1])  # what was learned before is forgotten
    restore(other, through_a_file(save(model), tmp_path))
    assert other.n_samples_seen_ == interrupted
    assert_same_bits(other.gaussian(), model.gaussian())
    for start in range(interrupted, T, 11):
        model.partial_fit(rows[start : start + 11])
        other.partial_fit(rows[start : start + 11])
    assert_same_bits(other.gaussian(), model.gaussian())


def test_models_side_by_side_are_restored_each(rows, tmp_path):
    model, other = (RecursiveEM("auto", **SHORT, random_state=0) for _ in range(2))
    restore(other, through_a_file(save(model.fit(rows[:60])), tmp_path))
    assert_same_bits(
        other.partial_fit(rows[60:]).gaussian(), model.partial_fit(rows[60:]).gaussian()
    )


def test_later_rows_do_not_change_what_was_saved(rows):
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


def test_an_estimator_that_has_seen_nothing_is_restored_as_such(rows):
    model = make("shrunk_em").fit(rows)
    restore(model, save(make("shrunk_em")))
    assert not hasattr(model, "n_samples_seen_")
    assert_same_bits(model.partial_fit(rows).gaussian(), make("shrunk_em").fit(rows).gaussian())


class Wandering(FactorEstimator):
    """Adds random numbers to its mean, from generators that it keeps."""

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


def test_generators_go_on_where_they_were(rows, tmp_path):
    model, other = Wandering().fit(rows[:, :5]), Wandering()
    restore(other, through_a_file(save(model), tmp_path))
    assert isinstance(other._state.random, tuple)
    for _ in range(3):
        assert_same_bits(
            other.partial_fit(rows[:, :5]).gaussian(), model.partial_fit(rows[:, :5]).gaussian()
        )


def test_what_no_format_has_is_not_saved(rows):
    model = Wandering().fit(rows)
    model._state.seen["sums"].append(print)
    with pytest.raises(
        TypeError, match=r"^the state.seen.sums\[2\] is a builtin_function_or_method"
    ):
        save(model)


def test_nothing_is_left_to_save_after_a_divergence(rows):
    model = OnlineSGA(n_components=K, learning_rate=1e6, warm_up=1, random_state=0)
    with pytest.raises(FitDiverged):
        model.fit(rows)
    with pytest.raises(FitDiverged, match="diverged at observation"):
        save(model)


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (SWAG(n_components=K), "saved was OnlineEM, this is SWAG"),
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
def test_the_state_of_another_is_refused_and_changes_nothing(other, complaint, rows):
    saved = save(make("online_em").fit(rows))
    other.fit(rows[:50])
    before = other.gaussian()
    with pytest.raises(CannotRestore, match=f"^{complaint}$"):
        restore(other, saved)
    assert_same_bits(other.gaussian(), before)
    assert other.n_samples_seen_ == 50


def test_settings_that_are_no_plain_values_have_done_their_work(rows):
    factors = np.linalg.qr(np.random.default_rng(0).normal(size=(D, K)))[0]
    model = OnlineEM(n_components=np.int64(K), init_factors=factors).fit(rows)
    other = OnlineEM(n_components=K)
    restore(other, save(model))
    assert_same_bits(other.gaussian(), model.gaussian())
    # Batch SVD draws whenever it is asked for a result.
    svd, again = (BatchSVD(n_components=K, random_state=np.random.RandomState(s)) for s in (1, 2))
    restore(again, save(svd.fit(rows)))
    assert_same_bits(again.gaussian(), svd.gaussian())


def test_the_state_of_another_version_is_refused(rows):
    model = make("online_em").fit(rows)
    before, saved = model.gaussian(), save(model)
    del saved["state"]["values"]["psi"]
    with pytest.raises(CannotRestore, match=r"^the state.psi was not saved: by another version\?$"):
        restore(model, saved)
    saved["state"]["class"] = "Older"
    with pytest.raises(CannotRestore, match=r"^the state was saved as a Older, and is a _State"):
        restore(model, saved)
    with pytest.raises(CannotRestore, match="this is not what an estimator was saved as"):
        restore(model, {"state": None})
    assert_same_bits(model.gaussian(), before)
