"""Tests of compatibility with scikit-learn: its checks, parameters, pipelines and searches."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks
from support.library_estimators import ESTIMATORS, NAMES, make_estimator

from onlinefa import Diagonal, OnlineEM, OnlineSGA, RecursiveEM, StepwiseEM

ROWS = np.random.default_rng(0).normal(size=(200, 5))


# No check is expected to fail. One skips itself, `check_array_api_input`, unless SCIPY_ARRAY_API is
# set: it concerns estimators that compute on other libraries' arrays, which these do not claim.
@pytest.mark.filterwarnings("error")
@parametrize_with_checks([ESTIMATORS[name]() for name in NAMES])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_all_parameters_have_constraints(estimator):
    check_param_validation(estimator.__name__, estimator())


INFINITE, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("estimator", "parameter", "allowed", "refused"),
    [
        (OnlineEM, "n_components", [1, np.int32(2)], [0, 1.0, "auto", None, np.eye(3)]),
        (OnlineEM, "warm_up", [1, 10**400], [0, 1.5]),
        (OnlineEM, "init_factors", [None, np.eye(5, 1), [[1.0]] * 5], ["orthonormal", 3.0]),
        (OnlineEM, "random_state", [0, 2**32 - 1, None], [-1, 2**32, 1.5]),
        (OnlineSGA, "warm_up", [0], [-1]),
        (OnlineSGA, "learning_rate", [1e-9, np.float32(0.5), 1], [0, -0.1, NAN, INFINITE]),
        (StepwiseEM, "exponent", [0.51, 1], [0.5, 1.1, NAN]),
        (StepwiseEM, "offset", [0, 2.5], [-0.1, INFINITE]),
        (StepwiseEM, "warm_up", [2], [1]),
        (RecursiveEM, "n_components", [1, "auto"], [0, "most"]),
        (RecursiveEM, "forgetting", [None, 1], [0]),
    ],
)
def test_limits_of_parameters(estimator, parameter, allowed, refused):
    for value in allowed:
        estimator(**{parameter: value})._validate_params()
    for value in refused:
        with pytest.raises(ValueError, match=f"'{parameter}' parameter of {estimator.__name__}"):
            estimator(**{parameter: value}).fit(ROWS)


def test_parameters_are_those_of_the_constructor():
    model = OnlineEM(3, warm_up=7)
    expected = {"init_factors": None, "n_components": 3, "random_state": None, "warm_up": 7}
    assert model.get_params() == expected
    assert model.set_params(random_state=1) is model
    assert repr(model) == "OnlineEM(n_components=3, random_state=1, warm_up=7)"
    assert repr(OnlineEM()) == "OnlineEM()"


@pytest.mark.parametrize("unknown", ["n_factors", "n_components__deep"])
def test_an_unknown_parameter_is_refused(unknown):
    with pytest.raises((ValueError, AttributeError)):
        OnlineEM().set_params(**{unknown: 2})


def test_a_clone_is_unfitted_and_shares_no_state():
    factors, generator = np.eye(5, 2), np.random.RandomState(0)
    model = OnlineEM(2, init_factors=factors, random_state=generator).fit(ROWS)
    twin = clone(model)
    assert type(twin) is OnlineEM
    assert not hasattr(twin, "mean_")
    assert np.array_equal(twin.init_factors, factors)
    assert twin.init_factors is not factors
    assert twin.random_state is not generator


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_continues_bit_for_bit(name, duplicate):
    model = make_estimator(name, {"warm_up": 20}, n_components=2, random_state=0).fit(ROWS[:100])
    twin = duplicate(model)
    expected = model.partial_fit(ROWS[100:])
    found = twin.partial_fit(ROWS[100:])
    assert np.array_equal(found.components_, expected.components_)
    assert np.array_equal(found.noise_variance_, expected.noise_variance_)


@pytest.mark.parametrize("name", [name for name in NAMES if "diagonal" not in name])
def test_estimators_can_be_steps_of_a_pipeline(name):
    model = make_estimator(name, {"warm_up": 20}, n_components=2, random_state=0)
    targets = ROWS @ np.arange(5.0)
    pipeline = make_pipeline(StandardScaler(), model, LinearRegression()).fit(ROWS, targets)
    scaled = StandardScaler().fit_transform(ROWS)
    latent = clone(model).fit(scaled).transform(scaled)
    expected = LinearRegression().fit(latent, targets).predict(latent)
    np.testing.assert_allclose(pipeline.predict(ROWS), expected)
    names = pipeline[:-1].get_feature_names_out()
    assert list(names) == [f"{type(model).__name__.lower()}{k}" for k in range(2)]


def test_output_can_be_a_data_frame():
    model = OnlineEM(2, random_state=0).set_output(transform="pandas").fit(ROWS)
    frame = model.transform(ROWS)
    assert list(frame.columns) == ["onlineem0", "onlineem1"]
    np.testing.assert_array_equal(frame, model.set_output(transform="default").transform(ROWS))


def test_parameters_in_a_pipeline_can_be_searched():
    pipeline = make_pipeline(StandardScaler(), OnlineEM(random_state=0, warm_up=10))
    assert "OnlineEM(random_state=0, warm_up=10)" in repr(pipeline)
    search = GridSearchCV(pipeline, {"onlineem__n_components": [1, 2]}, cv=2).fit(ROWS)
    expected = pipeline.set_params(**search.best_params_).fit(ROWS)[-1].components_
    assert np.array_equal(search.best_estimator_[-1].components_, expected)


def test_a_search_maximises_the_log_density():
    random = np.random.default_rng(1)
    rows = random.normal(size=(600, 2)) @ random.normal(size=(2, 8)) * 3 + ROWS.std() * (
        random.normal(size=(600, 8))
    )
    search = GridSearchCV(RecursiveEM(), {"n_components": [1, 2]}, cv=3).fit(rows)
    assert search.best_params_ == {"n_components": 2}
    assert search.score(rows) == pytest.approx(search.best_estimator_.score_samples(rows).mean())


def test_a_search_that_routes_metadata_finds_the_same():
    search = GridSearchCV(OnlineEM(random_state=0), {"n_components": [1, 2]}, cv=2)
    expected = search.fit(ROWS).cv_results_["mean_test_score"]
    with config_context(enable_metadata_routing=True):
        found = search.fit(ROWS).cv_results_["mean_test_score"]
    assert np.array_equal(found, expected)


def test_estimators_are_density_estimators():
    assert get_tags(Diagonal()).estimator_type == "density_estimator"
    assert not get_tags(Diagonal()).target_tags.required


@pytest.mark.parametrize("fitted", [False, True])
def test_a_notebook_shows_parameters(fitted):
    model = OnlineSGA(2, learning_rate=0.125)
    page = (model.fit(ROWS) if fitted else model)._repr_html_()
    assert "OnlineSGA" in page and "0.125" in page
