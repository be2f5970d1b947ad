"""Tests of the standardisation of columns."""

from __future__ import annotations

import numpy as np
import pytest

from onlinefa_benchmark.models.scaling import Scaling


def test_a_constant_column_has_no_scale():
    columns = np.array([[1.0, 5.0], [2.0, 5.0]])
    with pytest.raises(ValueError, match="column 1 does not vary"):
        Scaling.of(columns)
    with pytest.raises(ValueError, match="column y does not vary"):
        Scaling.of(columns[:, 1])
    scaling = Scaling.of(columns[:, 0])
    np.testing.assert_allclose(scaling.apply(columns[:, 0]), [-1, 1])
