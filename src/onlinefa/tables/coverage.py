"""Which cells have a result: a line per experiment and algorithm, and what went wrong below it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd

from onlinefa import results
from onlinefa.cell import Bundle
from onlinefa.failures import Failure, failures
from onlinefa.files import atomic
from onlinefa.presentation import in_reading_order, spelled
from onlinefa.tables import render

_LINE = ["experiment", "algorithm"]
_COLUMNS = [*_LINE, "digest", "metric", "value", "status"]
# From good to bad: a cell is what its worst value is.
STATUSES = ("ok", "undefined", "diverged", results.FAILED)

CAPTION = (
    "Cells of each experiment and algorithm: ok with all values; undefined where one has no value "
    "that other cells of the algorithm have; diverged at some step; failed with an error or killed."
)


def write_table(bundles: Sequence[Bundle], folder: Path, outputs: Sequence[Path]) -> None:
    """Write what became of all cells under each path, in the format of its suffix."""
    failed = list(failures(bundles, folder))
    rows = pd.concat(
        [
            counted(results.read_bundles(of_one, folder, _COLUMNS))
            for _, of_one in groupby(bundles, lambda bundle: bundle.experiment)
        ]
    )
    rows["reasons"] = [_reasons(failed, *key) for key in rows[_LINE].itertuples(index=False)]
    header = [*_LINE, "cells", *STATUSES]
    body = [
        [row["experiment"], spelled("algorithm", row["algorithm"]),
         *(str(row[name]) for name in header[2:])]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    for path in outputs:
        if path.suffix == ".md":
            with atomic(path) as temporary:
                temporary.write_text(render.to_markdown(CAPTION, header, body) + _listed(failed))
        else:
            render.write(path, rows, CAPTION, header, body)


def counted(rows: pd.DataFrame) -> pd.DataFrame:
    """How many cells of each algorithm have which status, from the rows of one experiment."""
    # What an algorithm never has is not missing: angles of factors, without factors.
    has_value = rows["value"].notna()
    ever = has_value.groupby([rows["algorithm"], rows["metric"]]).transform("any")
    at_all = has_value.groupby(rows["algorithm"]).transform("any")
    is_expected = ever | ~at_all | (rows["status"] != "undefined")
    badness = rows["status"].map(STATUSES.index).where(is_expected, 0)
    worst = badness.groupby([rows[key] for key in [*_LINE, "digest"]]).max()
    found = worst.map(dict(enumerate(STATUSES))).groupby(_LINE).value_counts().unstack(fill_value=0)
    found = found.reindex(columns=list(STATUSES), fill_value=0)
    found.insert(0, "cells", found.sum(axis="columns"))
    return in_reading_order(found.rename_axis(columns=None).reset_index(), ["algorithm"])


def _reasons(failed: Sequence[Failure], experiment: str, algorithm: str) -> str:
    """Why cells of one line failed: each reason once."""
    reasons = [
        each.reason
        for each in failed
        if (each.cell.experiment, each.cell.algorithm) == (experiment, algorithm)
    ]
    return "; ".join(dict.fromkeys(reasons))


def _listed(failed: Sequence[Failure]) -> str:
    """A line for each that failed; the next run tries these again."""
    lines = [f"- {each.cell.experiment}, {each.cell}: {_quoted(each.reason)}" for each in failed]
    return "\n".join(["", "Failed:", "", *lines, ""]) if lines else ""


def _quoted(text: str) -> str:
    """As code, which no sign in it can end."""
    return f"`{text.replace('`', chr(39))}`"
