"""Tests of the readers of tables in text files."""

from __future__ import annotations

import numpy as np

from onlinefa_benchmark.datasets.base import keel, text


def test_rows_with_missing_values_and_dropped_columns_are_left_out():
    content = b"game,league,age,hours\n7,3,20,1.5\n8,4,?,2.5\n9,5,30,3.5\n"
    read = text(",", header=True, target=1, drop=(0,), missing="?")
    np.testing.assert_array_equal(read(content), [[20, 1.5, 3], [30, 3.5, 5]])


def test_the_description_of_columns_is_not_read_as_rows():
    content = b"@relation two\n@attribute a real[0.0,1.0]\n@data\n1.5,2\n3, 4e-1\n"
    np.testing.assert_array_equal(keel()(content), [[1.5, 2], [3, 0.4]])
