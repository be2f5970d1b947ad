"""Tests that any configuration gives a grid or a list of mistakes, and never a traceback."""

from __future__ import annotations

import copy
import json
import math
import pkgutil
import re
from datetime import date
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from snakemake.utils import update_config
from support.configurations import read_file

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.config import config_model
from onlinefa_benchmark.config.validation import ConfigError, validate
from onlinefa_benchmark.grid import bundles

ON_TOP = (None, "thesis", "multiswag", "beyond")

NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    100,
    10**9,
    2**63,
    -(10**30),
    10**400,
    0.5,
    -0.0,
    1e-320,
    1e308,
    -2.5,
    math.nan,
    math.inf,
    -math.inf,
]
TEXTS = [
    "",
    " ",
    "x",
    "online_em",
    "online_emm",
    "yacht",
    "toy",
    "map",
    "auto",
    "cuda",
    "None",
    "1",
    "nan",
    "x; touch pwned",
    "$(touch pwned)",
    "`x`",
    "a'b\"c",
    "../../x",
    "/etc/passwd",
    "a\\b",
    "two\nlines",
    "\x1b[31m",
    "\u2028",
    "ünïcödé",
    "\ud800",
    "\x00",
    "{wildcard}",
    "%s",
    "y" * 300,
    "__class__",
    "seeds",
    "self",
]
OTHERS = [None, True, False, b"bytes", date(2021, 8, 19), (), {1}, [], {}]

scalars = st.sampled_from([*NUMBERS, *TEXTS, *OTHERS])
keys = st.sampled_from([*TEXTS, None, True, 0, 2.5, math.nan, ("a", "b"), date(2021, 8, 19)])
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=4,
)


_of_file = cache(read_file)


@st.composite
def place(draw, values):
    """Draw a mapping or list in a configuration, and one of its keys or indices."""
    while True:
        found = draw(
            st.sampled_from(list(values) if isinstance(values, dict) else range(len(values)))
        )
        deeper = values[found] if isinstance(values[found], dict | list) else None
        if not deeper or draw(st.integers(0, 3)) == 0:
            return values, found
        values = deeper


@st.composite
def edited(draw):
    """Draw a configuration of this repository with one to three changes."""
    values = copy.deepcopy(_of_file("config"))
    if name := draw(st.sampled_from(ON_TOP)):
        update_config(values, copy.deepcopy(_of_file(name)))
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        inside, last = draw(place(values))
        edit = draw(st.sampled_from(["replace", "number", "delete", "rename", "add", "repeat"]))
        if edit == "replace":
            inside[last] = draw(junk)
        elif edit == "number":
            inside[last] = draw(st.sampled_from(NUMBERS))
        elif edit == "delete":
            inside.pop(last, None) if isinstance(inside, dict) else inside.pop(last)
        elif isinstance(inside, list):
            inside.insert(last, draw(junk) if edit == "add" else copy.deepcopy(inside[last]))
        elif edit == "add":
            inside[draw(keys)] = draw(junk)
        else:
            inside[draw(keys)] = inside.pop(last, None) if edit == "rename" else inside.get(last)
    return values


@pytest.fixture(scope="module", autouse=True)
def cache_listings_of_folders():
    """List folders once; a hundred listings per configuration would take most of the time."""
    listed = cache(lambda folder, of=pkgutil.iter_modules: list(of(folder)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pkgutil, "iter_modules", lambda folder: listed(tuple(folder)))
        yield


fuzzed = settings(derandomize=True, deadline=None, max_examples=150)


@pytest.mark.slow
@fuzzed
@given(edited())
def test_a_changed_configuration_gives_a_grid_or_a_list_of_mistakes(values):
    assert_is_a_grid_or_a_list_of_mistakes(values)


@st.composite
def with_settings(draw):
    """Draw a grid with an unusual setting of an algorithm or another unusual value."""
    algorithm = draw(st.sampled_from(algorithms.names()))
    known = [*algorithms.default_settings(algorithm), "n_components"]
    grid = _of_file("config")["gp"] | {"algorithms": ["mine"], "seeds": 3}
    values = {"root_seed": 0, "seeds_per_job": 2, "variants": {"mine": {"algorithm": algorithm}}}
    inside, key, odd = draw(
        st.sampled_from(
            [
                *4 * [(values["variants"]["mine"], draw(st.sampled_from(known)), scalars)],
                (values["variants"], draw(keys), st.just({"algorithm": "swag"})),
                (values, "data_dir", st.sampled_from(TEXTS)),
                (values, "job_minutes", st.sampled_from(NUMBERS)),
                (values, "seeds_per_job", st.sampled_from(NUMBERS)),
                (grid, draw(st.sampled_from([*grid])), scalars),
            ]
        )
    )
    inside[key] = draw(odd)
    return values | {"gp": grid}


@fuzzed
@given(with_settings())
def test_unusual_settings_give_a_grid_or_a_list_of_mistakes(values):
    assert_is_a_grid_or_a_list_of_mistakes(values)


def assert_is_a_grid_or_a_list_of_mistakes(values):
    try:
        config = validate(values)
    except ConfigError as error:
        assert_each_line_names_a_key(str(error), values)
    else:
        assert_can_be_planned(config)


def assert_each_line_names_a_key(text, values):
    known = {str(key) for key in (*values, *config_model().model_fields)}
    for line in text.split("\n"):
        assert line.isprintable(), line
        assert len(line) < 1500, line
        key = re.match(r"(?:--)?config: (?:(\w+)|['\"\[].+)", line)
        assert key, line
        assert key[1] is None or key[1] in known or "has none of" in line, line


def assert_can_be_planned(config):
    grid = bundles(config)
    assert grid
    assert len({bundle.name for bundle in grid}) == len(grid)
    for bundle in grid:
        assert re.fullmatch(r"[a-z]+(/[A-Za-z]+~[a-z0-9_-]{1,100})+", bundle.name)
        assert len(bundle.name) < 4000  # Linux allows 4096 in a path
        for group in bundle.groups:
            json.dumps(group.parameters, allow_nan=False)  # NaN is not valid in JSON
    # Jobs read the same grid from the checked file.
    assert bundles(config_model().model_validate_json(config.model_dump_json())) == grid
