"""Tests of equivariance: the effect of units, of the order of columns and of shifts on estimates.

docs/findings.md has a table of which estimator has which property. Both positive and negative
entries are verified here.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.factor_models import make_factor_model
from support.library_estimators import NAMES, make_estimator

from onlinefa import FitDiverged
from onlinefa.estimators._initial_factors import orthonormal_factors

pytestmark = pytest.mark.slow  # fits every estimator several times

PAGE = Path(__file__).parents[3] / "docs" / "findings.md"
D, K, T = 30, 3, 2000
ORDER = np.random.default_rng(1).permutation(D)
UNITS = np.geomspace(1e-2, 1e2, D)


@pytest.fixture(scope="module")
def rows():
    return make_factor_model(D, K, (1, 100), np.random.default_rng(0)).sample(T, 1)


@pytest.fixture(scope="module")
def factors():
    return orthonormal_factors(np.random.default_rng(2).normal(size=(D, K)))


def fit(name, rows, factors):
    model = make_estimator(name, {}, n_components=K, init_factors=factors, random_state=3)
    gaussian = model.fit(rows).gaussian()
    return gaussian.mean, gaussian.covariance()


def of_scale(name, rows, factors):
    for scale in (1e-3, 1e3):
        mean, covariance = fit(name, rows * scale, factors)
        yield mean / scale, covariance / scale**2


def of_shift(name, rows, factors):
    mean, covariance = fit(name, rows + 1e3, factors)
    yield mean - 1e3, covariance


def of_order(name, rows, factors):
    mean, covariance = fit(name, rows[:, ORDER], factors[ORDER])
    back = np.argsort(ORDER)
    yield mean[back], covariance[np.ix_(back, back)]


def of_units(name, rows, factors):
    mean, covariance = fit(name, rows * UNITS, factors)
    yield mean / UNITS, covariance / np.outer(UNITS, UNITS)


PROPERTIES = {"scale": of_scale, "shift": of_shift, "order": of_order, "units": of_units}


def holds(transformed, name, rows, factors):
    """Return whether transforming the data and the estimate back gives the original estimate."""
    mean, covariance = fit(name, rows, factors)
    deviations = np.sqrt(np.diag(np.cov(rows.T)))
    try:
        for other_mean, other in transformed(name, rows, factors):
            change = (other - covariance) / np.outer(deviations, deviations)
            if np.abs(change).max() > 1e-6 or np.abs((other_mean - mean) / deviations).max() > 1e-6:
                return False
    except FitDiverged:
        return False
    return True


def documented_table():
    """Return the entries of the page's table by algorithm: 'yes', or 'no' and a remark."""
    table = PAGE.read_text().split("| algorithm | scale |")[1].split("\n\n")[0]
    lines = re.findall(r"^\| `(\w+)` \|(.*)\|$", table, flags=re.MULTILINE)
    return {
        name: {
            key: text.strip().split(",")[0]
            for key, text in zip(PROPERTIES, entries.split("|"), strict=True)
        }
        for name, entries in lines
    }


@pytest.mark.parametrize("property_", PROPERTIES)
@pytest.mark.parametrize("name", NAMES)
def test_the_documented_equivariances_hold(name, property_, rows, factors):
    page = documented_table()
    assert name in page, f"docs/findings.md has no line for {name} in its table of equivariance"
    found = holds(PROPERTIES[property_], name, rows, factors)
    assert page[name][property_] == ("yes" if found else "no")


def test_only_the_algorithms_of_the_thesis_depend_on_the_units():
    page = documented_table()
    assert page["online_em"]["scale"] == page["online_sga"]["scale"] == "no"
    assert page["recursive_em"]["scale"] == page["recursive_em"]["units"] == "yes"
