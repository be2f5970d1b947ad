"""Tests of the declaration of the experiment: its grid, and what its cells read."""

from __future__ import annotations

import pytest
from support.configurations import changed, read_file

from onlinefa_benchmark import experiments
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.datasets import images
from onlinefa_benchmark.deep.catalogue import PHOTOGRAPHS, UNKNOWN
from onlinefa_benchmark.grid import bundles, tables_read


def grid_of(values):
    return [bundle for bundle in bundles(validate(values)) if bundle.experiment == "images"]


@pytest.fixture
def gpu():
    return read_file() | read_file("images-gpu")


def test_the_grid_of_images(gpu):
    grid = grid_of(gpu)
    # Three architectures and three seeds are jobs; K and algorithms are inside.
    assert len(grid) == 9
    assert {len(bundle.cells()) for bundle in grid} == {2 * 16}
    assert all(bundle.name.startswith("images/device~cuda/dataset~cifar10/") for bundle in grid)


def test_names_of_posteriors_may_be_given_with_or_without_their_prefix():
    short, full = (
        changed(read_file(), "images.algorithms", [f"{prefix}map", "swag", f"{prefix}multiswag"])
        for prefix in ("", "deep_")
    )
    assert grid_of(short) == grid_of(full)
    names = {cell.algorithm for bundle in grid_of(short) for cell in bundle.cells()}
    assert names == {"deep_map", "swag", "deep_multiswag"}


def test_an_architecture_may_have_a_schedule_of_its_own(gpu):
    epochs = {
        bundle.axes["architecture"]: bundle.groups[0].parameters["training"]["epochs"]
        for bundle in grid_of(gpu)
    }
    assert epochs == {"resnet20": 150, "efficientnet_lite0_head": 10, "efficientnet_lite0": 10}


def test_jobs_read_the_dataset_the_unknown_ones_and_pretrained_weights(gpu):
    read = {bundle.axes["architecture"]: tables_read(bundle) for bundle in grid_of(gpu)}
    assert read["resnet20"] == ["cifar10", "fashion_mnist", "mnist"]
    assert read["efficientnet_lite0"] == ["cifar10", "efficientnet_lite0", "fashion_mnist", "mnist"]
    assert [tables_read(bundle) for bundle in grid_of(read_file())] == [[]]


def test_every_dataset_has_unknown_images():
    assert set(UNKNOWN) == set(images.names())
    assert {name for names in UNKNOWN.values() for name in names} <= {*images.names(), PHOTOGRAPHS}


def test_more_epochs_take_longer():
    estimate = experiments.load("images").estimate_seconds
    short, long = (
        sum(estimate(cell) for bundle in grid_of(values) for cell in bundle.cells())
        for values in (read_file(), changed(read_file(), "images.epochs", 100))
    )
    assert 2 < long / short < 7  # 105 instead of 15 epochs, and the same predictions
