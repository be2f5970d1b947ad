"""Tests of cells, groups and bundles: their names, and what changes their digests."""

from __future__ import annotations

import copy
import json

import pytest
from support.configurations import changed, read_file

from onlinefa_benchmark.cells import Bundle, Group
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.grid import bundles


@pytest.fixture
def default():
    return read_file()


def test_a_bundle_has_every_seed_of_every_group():
    groups = [Group({"algorithm": "swag", "K": K}, {"rate": 0.1 * K}) for K in (1, 2)]
    cells = Bundle("linear", {"algorithm": "swag"}, tuple(groups), (0, 1)).cells()
    assert [(cell.axes["K"], cell.seed) for cell in cells] == [(1, 0), (2, 0), (1, 1), (2, 1)]
    assert all(cell.parameters["rate"] == 0.1 * cell.axes["K"] for cell in cells)
    assert len({cell.digest() for cell in cells}) == 4


def digests(values):
    grid = bundles(validate(values))
    return {
        (cell.experiment, json.dumps(dict(cell.axes)), cell.seed): cell.digest()
        for bundle in grid
        for cell in bundle.cells()
    }


def test_digests_do_not_depend_on_bundles(default):
    assert digests(default) == digests(changed(default, "seeds_per_job", 2))


def test_a_setting_changes_only_digests_of_its_algorithm(default):
    before, after = digests(default), digests(changed(default, "settings.online_sga.warm_up", 50))
    differs = {key for key in before if before[key] != after[key]}
    assert differs == {key for key in before if "online_sga" in key[1]}
    assert {key[0] for key in differs} == {"synthetic", "linear", "plane", "gp"}


FEWER = {
    "synthetic.algorithms": ["online_em"],
    "synthetic.D": [1000],
    "synthetic.spectrum": [[1, 100]],
    "synthetic.seeds": [2],
    "linear.datasets": ["yacht"],
    "linear.walks": ["reshuffled"],
    "linear.seeds": 1,
    "plane.rates": [0.01],
    "gp.widths": [200],
    "gp.datasets": ["yacht"],
    "network.seeds": 1,
    "network": None,
}


@pytest.mark.slow
@pytest.mark.parametrize(("key", "fewer"), FEWER.items(), ids=FEWER)
def test_removing_part_of_a_grid_does_not_change_other_cells(default, key, fewer):
    more, less = digests(default), digests(changed(default, key, fewer))
    assert less.items() < more.items()
    assert {name for name, _, _ in more.keys() - less.keys()} == {key.split(".")[0]}


@pytest.mark.parametrize("key", ["synthetic.algorithms", "synthetic.D", "linear.algorithms"])
def test_removing_values_of_a_job_axis_does_not_change_other_jobs(default, key):
    *_, kept = default[key.split(".")[0]][key.split(".")[1]]
    more, less = [
        {bundle.name: (bundle.digest(), bundle.code) for bundle in bundles(validate(values))}
        for values in (default, changed(default, key, [kept]))
    ]
    assert less.items() < more.items()


def test_explicit_defaults_do_not_change_digests(default):
    for algorithm in ("online_sga", "online_em"):
        without = copy.deepcopy(default)
        del without["settings"][algorithm]
        assert digests(default) == digests(without)
