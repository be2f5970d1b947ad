"""Two small jobs with failed cells."""

from __future__ import annotations

import pyarrow as pa
from support.result_rows import METRIC

from onlinefa_benchmark.cells import Bundle, Group
from onlinefa_benchmark.measurement import Measurement
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.provenance import Provenance

AXES = {"algorithm": "diagonal", "D": 4, "K": 2, "spectrum": "1-10"}
GROUP = Group(AXES, {"dataset": "algorithm_3"})
FIRST, SECOND = (Bundle("synthetic", AXES, (GROUP,), seeds) for seeds in [(0, 1), (2, 3)])


def write_job(bundle, folder, *broken):
    """Write the file of a job whose cells have failed for some seeds."""
    tables = []
    for cell in bundle.cells():
        if cell.seed in broken:
            why = f"ValueError: `{cell.seed}`\nTraceback"
            tables.append(result_file.failure_table(cell, cell.digest(), why, Provenance()))
        else:
            ok = [Measurement(5, METRIC, 0.5, "ok", "", 0.1)]
            tables.append(result_file.measurement_table(cell, cell.digest(), ok, Provenance()))
    result_file.write(pa.concat_tables(tables), result_file.bundle_path(bundle, folder))
