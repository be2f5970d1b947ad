"""The table of coverage: which cells have a result, and why others failed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd

from onlinefa_benchmark.analysis.failures import Failure, find_failures
from onlinefa_benchmark.axes import ALGORITHM
from onlinefa_benchmark.cells import Bundle
from onlinefa_benchmark.reporting.tables.render import write_table as write_formats
from onlinefa_benchmark.statistics.frames import sort_rows
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.schema import FAILED

_LINE = ["experiment", "algorithm"]
_COLUMNS = [*_LINE, "digest", "metric", "value", "status"]

STATUSES = ("ok", "undefined", "diverged", FAILED)
"""Statuses of a cell, from good to bad: it has the worst status of its values."""

CAPTION = (
    "Cells of each experiment and algorithm: ok if all values are there; undefined if a value is "
    "missing that other cells of the algorithm have; diverged at some step; failed with an error "
    "or killed."
)


def write_table(bundles: Sequence[Bundle], cells: Path, outputs: Sequence[Path]) -> None:
    """Write the table of coverage to each path, in the format of its suffix.

    Parameters
    ----------
    bundles : sequence of Bundle
        All jobs.
    cells : Path
        Folder of their results.
    outputs : sequence of Path
        Files to write.
    """
    failed = list(find_failures(bundles, cells))
    rows = pd.concat(
        [
            count_statuses(result_file.read_bundles(jobs, cells, _COLUMNS))
            for _, jobs in groupby(bundles, lambda bundle: bundle.experiment)
        ]
    )
    rows["reasons"] = [_join_reasons(failed, *key) for key in rows[_LINE].itertuples(index=False)]
    header = [*_LINE, "cells", *STATUSES]
    body = [
        [
            row["experiment"],
            ALGORITHM.format(row["algorithm"]),
            *(str(row[name]) for name in header[2:]),
        ]
        for row in rows.to_dict("records")
    ]
    appendix = _list_failures(failed) if failed else ""
    write_formats(outputs, rows, CAPTION, header, body, markdown_appendix=appendix)


def count_statuses(rows: pd.DataFrame) -> pd.DataFrame:
    """Count the cells of each algorithm by status, from the rows of one experiment."""
    # A value that an algorithm never has does not count as missing; an example is the angles
    # between factors for an algorithm without factors.
    has_value = rows["value"].notna()
    ever = has_value.groupby([rows["algorithm"], rows["metric"]]).transform("any")
    at_all = has_value.groupby(rows["algorithm"]).transform("any")
    is_expected = ever | ~at_all | (rows["status"] != "undefined")
    badness = rows["status"].map(STATUSES.index).where(is_expected, 0)
    worst = badness.groupby([rows[key] for key in [*_LINE, "digest"]]).max()
    found = worst.map(dict(enumerate(STATUSES))).groupby(_LINE).value_counts().unstack(fill_value=0)
    found = found.reindex(columns=list(STATUSES), fill_value=0)
    found.insert(0, "cells", found.sum(axis="columns"))
    return sort_rows(found.rename_axis(columns=None).reset_index(), [ALGORITHM])


def _join_reasons(failed: Sequence[Failure], experiment: str, algorithm: str) -> str:
    """Return why cells of an experiment and algorithm failed, each reason once."""
    reasons = [
        each.reason
        for each in failed
        if (each.cell.experiment, each.cell.algorithm) == (experiment, algorithm)
    ]
    return "; ".join(dict.fromkeys(reasons))


def _list_failures(failed: Sequence[Failure]) -> str:
    """Return a line for each failed cell; the next run tries them again."""
    lines = [f"- {each.cell.experiment}, {each.cell}: {_quote(each.reason)}" for each in failed]
    return "\n".join(["", "Failed:", "", *lines, ""])


def _quote(text: str) -> str:
    """Return a text as code in Markdown."""
    return f"`{text.replace('`', chr(39))}`"
