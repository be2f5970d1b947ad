"""What happens to an estimate when the data are given in other units, in another order, elsewhere.

docs/findings.md has a table of which estimator has which property. Here is where it comes from:
every entry is tried out, those that say no as well as those that say yes.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from onlinefa import FitDiverged, estimators
from onlinefa.estimators.base import orthonormal_factors
from onlinefa.models.factor_model import generate

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"
D, K, T = 30, 3, 2000
ORDER = np.random.default_rng(1).permutation(D)
UNITS = np.geomspace(1e-2, 1e2, D)


@pytest.fixture(scope="module")
def rows():
    return generate(D, K, (1, 100), np.random.default_rng(0)).sample(T, 1)


@pytest.fixture(scope="module")
def factors():
    return orthonormal_factors(np.random.default_rng(2).normal(size=(D, K)))


def fit(name, rows, factors):
    model = estimators.build(name, {}, n_components=K, init_factors=factors, random_state=3)
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
    """Whether a transformation of the data is undone by transforming the estimate back."""
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


def table_of_the_page():
    """The entries of the page's table by algorithm: 'yes', or 'no' and a remark."""
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
@pytest.mark.parametrize("name", estimators.names())
def test_the_page_says_what_an_estimate_depends_on(name, property_, rows, factors):
    page = table_of_the_page()
    assert name in page, f"docs/findings.md has no line for {name} in its table of equivariance"
    found = holds(PROPERTIES[property_], name, rows, factors)
    assert page[name][property_] == ("yes" if found else "no")


def test_the_algorithms_of_the_thesis_depend_on_the_units_and_the_cure_does_not():
    page = table_of_the_page()
    assert page["online_em"]["scale"] == page["online_sga"]["scale"] == "no"
    assert page["recursive_em"]["scale"] == page["recursive_em"]["units"] == "yes"
