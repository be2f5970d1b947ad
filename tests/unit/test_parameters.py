"""Parameters of estimators and posteriors: as scikit-learn has them, which is asked here."""

from __future__ import annotations

import pickle
from numbers import Integral, Real

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _param_validation as theirs
from sklearn.utils import get_tags

from onlinefa import Diagonal, OnlineEM, OnlineSGA
from onlinefa.constraints import (
    ARRAY_LIKE,
    NOTHING,
    SEED,
    InvalidParameter,
    Word,
    above,
    at_least,
    check,
    whole,
)

ROWS = np.random.default_rng(0).normal(size=(200, 5))

SAME = {
    "whole": ([whole(1)], [theirs.Interval(Integral, 1, None, closed="left")]),
    "positive": ([above(0)], [theirs.Interval(Real, 0, None, closed="neither")]),
    "not negative": ([at_least(0)], [theirs.Interval(Real, 0, None, closed="left")]),
    "bounded": ([above(0.5, most=1)], [theirs.Interval(Real, 0.5, 1, closed="right")]),
    "whole, or a word": (
        [whole(2), Word("auto")],
        [theirs.Interval(Integral, 2, None, closed="left"), theirs.StrOptions({"auto"})],
    ),
    "an array, or nothing": ([ARRAY_LIKE, NOTHING], ["array-like", None]),
    "a seed": (SEED, ["random_state"]),
}
VALUES = [
    -1, 0, 1, 2, 2**32 - 1, 2**32, 10**400, True, 0.5, 0.75, 1.0, 1.5, -0.0, float("nan"),
    float("inf"), -float("inf"), np.int32(1), np.float32(0.5), np.bool_(True), 1j, None, "auto",
    "other", b"auto", [1], (), {}, np.zeros(3), np.array(1), np.random.RandomState,
    np.random.RandomState(0), np.random.default_rng(0), object,
]  # fmt: skip


def refusal(check, *arguments):
    try:
        check(*arguments)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("ours", "scikit_learns"), SAME.values(), ids=SAME)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_constraints_and_their_words_are_those_of_scikit_learn(ours, scikit_learns, value):
    said = refusal(
        theirs.validate_parameter_constraints, {"size": scikit_learns}, {"size": value}, "Some"
    )
    assert refusal(check, "Some", "size", value, ours) == said


def test_a_refusal_is_one_line():
    with pytest.raises(InvalidParameter) as refused:
        OnlineEM(np.eye(3)).fit(ROWS)
    assert "\n" not in str(refused.value)


class TheirEM(BaseEstimator):
    __init__ = OnlineEM.__init__


def test_parameters_are_those_of_scikit_learn():
    ours, scikit_learns = OnlineEM(3, warm_up=7), TheirEM(3, warm_up=7)
    assert list(ours.get_params().items()) == list(scikit_learns.get_params().items())
    assert ours.set_params(random_state=1) is ours
    assert ours.random_state == 1
    assert repr(ours) == repr(scikit_learns.set_params(random_state=1)).replace("Their", "Online")
    assert repr(OnlineEM()) == "OnlineEM()"


@pytest.mark.parametrize("unknown", ["n_factors", "n_components__deep"])
def test_an_unknown_parameter_is_answered_with_the_known_ones(unknown):
    known = r"\['init_factors', 'n_components', 'random_state', 'warm_up'\]"
    with pytest.raises(ValueError, match=rf"'{unknown}' for estimator OnlineEM\(\).*{known}"):
        OnlineEM().set_params(**{unknown: 2})


@pytest.mark.parametrize("copy", [clone, OnlineEM.without_data], ids=["clone", "ours"])
def test_a_copy_has_learned_nothing_and_shares_nothing(copy):
    factors, generator = np.eye(5, 2), np.random.RandomState(0)
    model = OnlineEM(2, init_factors=factors, random_state=generator).fit(ROWS)
    twin = copy(model)
    assert type(twin) is OnlineEM
    assert not hasattr(twin, "mean_")
    assert np.array_equal(twin.init_factors, factors)
    assert twin.init_factors is not factors
    assert twin.random_state is not generator


def test_pipelines_are_searched():
    pipeline = make_pipeline(StandardScaler(), OnlineEM(random_state=0, warm_up=10))
    assert "OnlineEM(random_state=0, warm_up=10)" in repr(pipeline)
    search = GridSearchCV(pipeline, {"onlineem__n_components": [1, 2]}, cv=2).fit(ROWS)
    expected = pipeline.set_params(**search.best_params_).fit(ROWS)[-1].components_
    assert np.array_equal(search.best_estimator_[-1].components_, expected)


def test_a_search_that_routes_metadata_finds_the_same():
    search = GridSearchCV(OnlineEM(random_state=0), {"n_components": [1, 2]}, cv=2)
    expected = search.fit(ROWS).cv_results_["mean_test_score"]
    with config_context(enable_metadata_routing=True):
        found = search.fit(ROWS).cv_results_["mean_test_score"]
    assert np.array_equal(found, expected)


def test_a_pickle_goes_on_as_if_nothing_had_happened():
    model = OnlineEM(2, random_state=0).fit(ROWS[:100])
    twin = pickle.loads(pickle.dumps(model))
    expected = model.partial_fit(ROWS[100:]).components_
    assert np.array_equal(twin.partial_fit(ROWS[100:]).components_, expected)


def test_scikit_learn_takes_them_for_densities():
    assert get_tags(Diagonal()).estimator_type == "density_estimator"
    assert not get_tags(Diagonal()).target_tags.required


@pytest.mark.parametrize("learned", [False, True])
def test_a_notebook_shows_parameters(learned):
    model = OnlineSGA(2, learning_rate=0.125)
    page = (model.fit(ROWS) if learned else model)._repr_html_()
    assert "OnlineSGA" in page and "0.125" in page
