"""The benchmark's figure, of whatever has been measured."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.image import imread

from benchmarks.drawing import draw

BATCH = {"section": "batch", "who": "onlinefa, one pass", "D": 200, "seconds": 0.1}
LARGE = {"section": "large", "algorithm": "online EM", "D": 100, "seconds": 1e-6, "of_copy": 0.5}


@pytest.mark.parametrize(
    "rows",
    [
        [LARGE],
        [BATCH | {"T": T, "megabytes": 3.0} for T in (100, 200)],
        [BATCH | {"T": T, "megabytes": 0.0} for T in (100, 200)],  # too small for more memory
        [{"section": "start", "seconds": 1.0}],
    ],
    ids=["large", "batch", "no memory", "nothing to draw"],
)
def test_a_panel_without_values_is_left_empty(rows, tmp_path):
    draw(pd.DataFrame(rows), tmp_path / "bench.png")
    assert imread(tmp_path / "bench.png").shape[:2] == (480, 1560)
