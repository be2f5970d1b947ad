"""The contract of every registered estimator: written once, run on whatever is in the folder."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import onlinefa
from onlinefa import estimators

ALGORITHMS = estimators.names()
D, K, T = 6, 2, 230


def make(name, **settings):
    return estimators.build(name, settings, n_components=K, random_state=0)


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(7)
    return random.normal(size=(T, K)) @ random.normal(size=(K, D)) + random.normal(size=(T, D)) + 3


# No check is expected to fail. One skips itself, `check_array_api_input`, unless SCIPY_ARRAY_API is
# set: it concerns estimators that compute on other libraries' arrays, which these do not claim.
@parametrize_with_checks([estimators.load(name)() for name in ALGORITHMS])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_the_registry_knows_the_algorithms_of_chapter_5():
    assert {"online_sga", "online_em", "batch_svd", "batch_ml", "diagonal"} <= set(ALGORITHMS)
    assert onlinefa.OnlineEM is estimators.load("online_em")
    with pytest.raises(ImportError):
        from onlinefa import NoSuchEstimator  # noqa: F401


@pytest.mark.parametrize("name", ALGORITHMS)
class TestContract:
    def test_results_have_the_shapes_of_scikit_learn(self, name, rows):
        model = make(name).fit(rows)
        rank = model.gaussian().rank
        assert rank in (0, K)
        assert model.mean_.shape == (D,)
        assert model.components_.shape == (rank, D)
        assert model.noise_variance_.shape == (D,)
        assert model.n_samples_seen_ == T
        assert model.n_features_in_ == D
        assert model.sample(5, random_state=1).shape == (5, D)
        expected = model.components_.T @ model.components_ + np.diag(model.noise_variance_)
        np.testing.assert_allclose(model.get_covariance(), expected)
        assert model.score(rows) == pytest.approx(model.score_samples(rows).mean())

    def test_the_mean_is_the_sample_mean(self, name, rows):
        np.testing.assert_allclose(make(name).fit(rows).mean_, rows.mean(axis=0), rtol=1e-12)

    @pytest.mark.parametrize("block", [1, 7, 100, T])
    def test_how_rows_arrive_changes_nothing(self, name, rows, block):
        whole = make(name).fit(rows).gaussian()
        model = make(name)
        for start in range(0, T, block):
            model.partial_fit(rows[start : start + block])
        parts = model.gaussian()
        np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-10)
        # Factors are defined up to a rotation; what they mean is the covariance.
        np.testing.assert_allclose(parts.covariance(), whole.covariance(), rtol=1e-6, atol=1e-8)

    def test_asking_for_a_result_does_not_disturb_what_follows(self, name, rows):
        undisturbed = make(name).partial_fit(rows[:150]).partial_fit(rows[150:]).gaussian()
        model = make(name).partial_fit(rows[:150])
        before = model.gaussian()
        kept = before.noise.copy()
        model.partial_fit(rows[150:])
        assert np.array_equal(before.noise, kept)
        assert np.array_equal(model.gaussian().noise, undisturbed.noise)

    def test_fit_forgets(self, name, rows):
        again = make(name).fit(rows[:50] * 9).fit(rows).gaussian()
        assert np.array_equal(again.noise, make(name).fit(rows).gaussian().noise)

    @pytest.mark.parametrize(
        "bad",
        [
            pytest.param(np.full((3, D), np.nan), id="NaN"),
            pytest.param(np.full((3, D), np.inf), id="infinite"),
            pytest.param(np.zeros((3, D + 1)), id="too many columns"),
            pytest.param(np.zeros((0, D)), id="no rows"),
            pytest.param(np.zeros(D), id="one dimension"),
        ],
    )
    def test_bad_rows_are_refused_and_change_nothing(self, name, rows, bad):
        model = make(name).fit(rows)
        before = model.gaussian()
        with pytest.raises(ValueError, match=r"\w"):
            model.partial_fit(bad)
        assert model.n_samples_seen_ == T
        assert model.n_features_in_ == D
        assert np.array_equal(model.gaussian().noise, before.noise)
        continued = model.partial_fit(rows[:9]).gaussian()
        assert np.array_equal(
            continued.noise, make(name).fit(rows).partial_fit(rows[:9]).gaussian().noise
        )

    def test_bad_rows_at_first_leave_it_unfitted(self, name):
        model = make(name)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full((3, D), np.nan))
        assert not hasattr(model, "n_features_in_")
        assert not hasattr(model, "mean_")

    def test_columns_that_never_vary_are_no_trouble(self, name, rows):
        constant = rows.copy()
        constant[:, 2] = 5.0
        gaussian = make(name).fit(constant).gaussian()
        assert gaussian.mean[2] == pytest.approx(5.0)
        # Gradient ascent with its small steps has only begun to learn that nothing is there; a
        # new algorithm may have its reasons too.
        if name in ("online_em", "batch_svd", "batch_ml", "diagonal"):
            assert gaussian.variances[2] <= 1e-5


WITH_FACTORS = [
    name for name in ALGORITHMS if "n_components" in estimators.load(name)().get_params()
]


@pytest.mark.parametrize("name", WITH_FACTORS)
@pytest.mark.parametrize("bad_K", [0, -1, D, D + 3, 1.5])
def test_the_number_of_factors_is_checked(name, bad_K, rows):
    with pytest.raises(ValueError, match="n_components"):
        make(name).set_params(n_components=bad_K).fit(rows)


@pytest.mark.parametrize("rate", [0, -0.1, float("nan")])
def test_a_rate_must_be_positive(rate, rows):
    with pytest.raises(ValueError, match="learning_rate"):
        make("online_sga", learning_rate=rate).fit(rows)


@pytest.mark.parametrize("name", ["online_em", "online_sga"])
@pytest.mark.parametrize("factors", [np.zeros((D, K + 1)), np.full((D, K), np.nan)])
def test_initial_factors_are_checked(name, factors, rows):
    with pytest.raises(ValueError, match="init_factors"):
        make(name).set_params(init_factors=factors).fit(rows)


def test_default_settings_are_read_from_the_source():
    assert estimators.default_settings("online_sga") == {"learning_rate": 0.001, "warm_up": 100}
    assert estimators.default_settings("diagonal") == {}
    for name in ALGORITHMS:
        parameters = estimators.load(name)().get_params()
        assert estimators.default_settings(name).items() <= parameters.items()
