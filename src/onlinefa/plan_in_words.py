"""A plan as one reads it: a line for each algorithm, what has changed, and how long it takes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from onlinefa import aligned
from onlinefa.forecast import Source
from onlinefa.planning import REASONS, Plan, State

_MEANINGS = {
    State.IN_STORE: "fitted before, and only put together again",
    State.NEW: "nothing is left of an earlier fit",
    State.CODE: "the source that cells import, or the version of a library",
    State.CHANGED: "parameters or code; earlier fits do not say which",
    State.MISSING: "was fitted before, but is lost or damaged",
    State.FAILED: "tried again; `python -m onlinefa show` has the reason",
}


def told(plan: Plan, arguments: Sequence[str] = ()) -> str:
    """All of it; `arguments` are those that Snakemake would be given for the same configuration."""
    dry_run = shlex.join(["snakemake", "-n", "--quiet", "rules", *arguments])
    paragraphs = [
        _table(plan),
        "\n".join(_changes(plan)),
        "\n".join(plan.damages),
        _total(plan),
        f"Of figures and tables Snakemake knows: {dry_run}",
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
    return "\n".join([aligned.table([header, *body], left=[0, 1]), "", *meanings]).rstrip()


def _numbers(counts: Counter[State], reasons: Sequence[State]) -> list[int]:
    fits = sum(counts[state] for state in reasons)
    kept = [counts[State.UP_TO_DATE], counts[State.IN_STORE]]
    return [counts.total(), *kept, fits, *(counts[state] for state in reasons)]


def _changes(plan: Plan) -> Iterator[str]:
    """Each distinct one once, and whom it concerns."""
    concerned: dict[str, Counter[tuple[str, str]]] = {}
    for planned in plan.cells:
        for change in planned.changes:
            line = (planned.cell.experiment, planned.cell.algorithm)
            concerned.setdefault(change, Counter())[line] += 1
    for change, lines in concerned.items():
        whom = "; ".join(
            f"{experiment} {', '.join(algorithm for _, algorithm in of_one)}"
            for experiment, of_one in groupby(lines, itemgetter(0))
        )
        yield f"{change} ({_cells(lines.total())}: {whom})"


def _total(plan: Plan) -> str:
    fits = [planned for planned in plan.cells if planned.source]
    if not fits:
        return "Nothing to fit."
    hours = sum(planned.seconds for planned in fits) / 3600
    counts = Counter(planned.source for planned in fits)
    how = ", ".join(f"{counts[source]} {source}" for source in Source if counts[source])
    return f"{_cells(len(fits))} to fit, {_number(hours)} core-hours of fitting: {how}."


def _number(hours: float) -> str:
    if hours < 0.01:
        return "less than 0.01"
    return f"about {hours:.2g}" if hours < 10 else f"about {hours:,.0f}"


def _cells(number: int) -> str:
    return f"{number} cell{'' if number == 1 else 's'}"
