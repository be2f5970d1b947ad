"""Tests of the contract that every estimator of the library fulfils."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import FactorAnalysis
from support.library_estimators import ESTIMATORS, NAMES, make_estimator

from onlinefa import FactorEstimator, LowRankGaussian

D, K, T = 6, 2, 230


def make(name, **settings):
    return make_estimator(name, settings, n_components=K, random_state=0)


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(7)
    return random.normal(size=(T, K)) @ random.normal(size=(K, D)) + random.normal(size=(T, D)) + 3


@pytest.mark.parametrize("name", NAMES)
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
        np.testing.assert_allclose(
            model.get_precision(), np.linalg.inv(model.get_covariance()), rtol=1e-9, atol=1e-9
        )
        assert model.score(rows) == pytest.approx(model.score_samples(rows).mean())
        assert model.transform(rows).shape == (T, rank)
        prefix = type(model).__name__.lower()
        assert list(model.get_feature_names_out()) == [f"{prefix}{k}" for k in range(rank)]

    def test_transform_and_precision_are_those_of_scikit_learn(self, name, rows):
        model = make(name).fit(rows)
        theirs = FactorAnalysis(len(model.components_))
        theirs.mean_, theirs.components_ = model.mean_, model.components_
        theirs.noise_variance_, theirs.n_features_in_ = model.noise_variance_, D
        expected = theirs.transform(rows)
        np.testing.assert_allclose(model.transform(rows), expected, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(
            model.get_precision(), theirs.get_precision(), rtol=1e-9, atol=1e-11
        )
        assert np.array_equal(make(name).fit_transform(rows), model.transform(rows))

    def test_the_mean_is_the_sample_mean(self, name, rows):
        np.testing.assert_allclose(make(name).fit(rows).mean_, rows.mean(axis=0), rtol=1e-12)

    @pytest.mark.parametrize("block", [1, 7, 100, T])
    def test_results_do_not_depend_on_blocks_of_rows(self, name, rows, block):
        whole = make(name).fit(rows).gaussian()
        model = make(name)
        for start in range(0, T, block):
            model.partial_fit(rows[start : start + block])
        parts = model.gaussian()
        np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-10)
        # Factors are defined up to a rotation only, hence the comparison of covariances.
        np.testing.assert_allclose(parts.covariance(), whole.covariance(), rtol=1e-6, atol=1e-8)

    def test_reading_results_does_not_change_later_results(self, name, rows):
        undisturbed = make(name).partial_fit(rows[:150]).partial_fit(rows[150:]).gaussian()
        model = make(name).partial_fit(rows[:150])
        before = model.gaussian()
        kept = before.noise.copy()
        model.partial_fit(rows[150:])
        assert np.array_equal(before.noise, kept)
        assert np.array_equal(model.gaussian().noise, undisturbed.noise)

    def test_fit_discards_earlier_rows(self, name, rows):
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

    def test_bad_first_rows_leave_an_estimator_unfitted(self, name):
        model = make(name)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full((3, D), np.nan))
        assert not hasattr(model, "n_features_in_")
        assert not hasattr(model, "mean_")

    def test_constant_columns_give_finite_results(self, name, rows):
        constant = rows.copy()
        constant[:, 2] = 5.0
        gaussian = make(name).fit(constant).gaussian()
        assert gaussian.mean[2] == pytest.approx(5.0)
        assert np.isfinite(make(name).fit(constant).transform(constant)).all()
        # Gradient ascent takes small steps, so that its variance is still large after these rows;
        # a new algorithm need not converge here either.
        if name in ("online_em", "batch_svd", "batch_ml", "diagonal"):
            assert gaussian.variances[2] <= 1e-5


WITH_FACTORS = [name for name in NAMES if "n_components" in ESTIMATORS[name]().get_params()]


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


class Fixed(FactorEstimator):
    """A minimal estimator, as a user may write it."""

    def _start(self, D):
        return FixedState(D)


class FixedState:
    def __init__(self, D):
        self.count, self.D = 0, D

    def absorb(self, X):
        self.count += len(X)

    def estimate(self):
        return LowRankGaussian(np.zeros(self.D), np.eye(self.D, 1), np.ones(self.D))


def test_a_new_algorithm_only_has_to_define_its_state(rows):
    model = Fixed().fit(rows).partial_fit(rows[:3])
    assert model.n_samples_seen_ == T + 3
    np.testing.assert_allclose(model.transform(rows), rows[:, :1] / 2)
    with pytest.raises(TypeError, match="abstract"):
        FactorEstimator()


def test_parameters_are_validated_when_a_fit_starts(rows):
    model = make("online_em").fit(rows)
    model.set_params(warm_up=0)
    model.partial_fit(rows[:1])
    with pytest.raises(ValueError, match="warm_up"):
        model.fit(rows)
    assert model.n_samples_seen_ == T + 1
