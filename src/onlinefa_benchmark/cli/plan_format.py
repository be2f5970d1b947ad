"""Text of a plan: a line for each algorithm, what has changed, and the estimated time."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from onlinefa_benchmark.cli import text_table
from onlinefa_benchmark.planning.forecast import Source
from onlinefa_benchmark.planning.plan import REASONS, Plan, State

_MEANINGS = {
    State.IN_STORE: "fitted before; only the file of the job is put together again",
    State.NEW: "there is no earlier fit",
    State.CODE: "the code that computes the cell, or the version of a library, has changed",
    State.CHANGED: "parameters or code have changed; earlier fits do not record which",
    State.MISSING: "was fitted before, but its file is lost or damaged",
    State.FAILED: "is tried again; `onlinefa show` prints the reason",
}


def format_plan(plan: Plan, arguments: Sequence[str] = ()) -> str:
    """Return the text of a plan.

    Parameters
    ----------
    plan : Plan
        The plan.
    arguments : sequence of str
        Arguments that Snakemake needs for the same configuration.
    """
    dry_run = shlex.join(["snakemake", "-n", "--quiet", "rules", *arguments])
    paragraphs = [
        _table(plan),
        "\n".join(_changes(plan)),
        "\n".join(plan.damages),
        _total(plan),
        f"For figures and tables, run: {dry_run}",
    ]
    return "\n\n".join(filter(None, paragraphs))


def _table(plan: Plan) -> str:
    counts = Counter(planned.state for planned in plan.cells)
    reasons = [state for state in REASONS if counts[state]]
    lines: dict[tuple[str, str], Counter[State]] = {}
    for planned in plan.cells:
        line = (planned.cell.experiment, planned.cell.algorithm)
        lines.setdefault(line, Counter())[planned.state] += 1
    body = [[*line, *_numbers(states, reasons)] for line, states in lines.items()]
    body.append(["all", "", *_numbers(counts, reasons)])
    header = [
        "experiment",
        "algorithm",
        "cells",
        State.UP_TO_DATE,
        State.IN_STORE,
        "to fit",
        *reasons,
    ]
    meanings = [f"{state}: {_MEANINGS[state]}" for state in _MEANINGS if counts[state]]
    table = text_table.format_table([header, *body], left=[0, 1])
    return "\n".join([table, "", *meanings]).rstrip()


def _numbers(counts: Counter[State], reasons: Sequence[State]) -> list[int]:
    fits = sum(counts[state] for state in reasons)
    kept = [counts[State.UP_TO_DATE], counts[State.IN_STORE]]
    return [counts.total(), *kept, fits, *(counts[state] for state in reasons)]


def _changes(plan: Plan) -> Iterator[str]:
    """Yield a line for each distinct change, with the cells that it concerns."""
    concerned: dict[str, Counter[tuple[str, str]]] = {}
    for planned in plan.cells:
        for change in planned.changes:
            line = (planned.cell.experiment, planned.cell.algorithm)
            concerned.setdefault(change, Counter())[line] += 1
    for change, lines in concerned.items():
        cells = "; ".join(
            f"{experiment} {', '.join(algorithm for _, algorithm in of_one)}"
            for experiment, of_one in groupby(lines, itemgetter(0))
        )
        yield f"{change} ({_count_cells(lines.total())}: {cells})"


def _total(plan: Plan) -> str:
    fits = [planned for planned in plan.cells if planned.source]
    if not fits:
        return "Nothing to fit."
    hours = sum(planned.seconds for planned in fits) / 3600
    counts = Counter(planned.source for planned in fits)
    how = ", ".join(f"{counts[source]} {source}" for source in Source if counts[source])
    return f"{_count_cells(len(fits))} to fit, {_format_hours(hours)} core-hours of fitting: {how}."


def _format_hours(hours: float) -> str:
    if hours < 0.01:
        return "less than 0.01"
    return f"about {hours:.2g}" if hours < 10 else f"about {hours:,.0f}"


def _count_cells(number: int) -> str:
    return f"{number} cell{'' if number == 1 else 's'}"
