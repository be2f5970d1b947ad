"""What became of the cells, what they cost, and where they come from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import yaml

from onlinefa.config import Config
from onlinefa.presentation import in_order, in_reading_order, look
from onlinefa.report.material import Material
from onlinefa.results import FAILED
from onlinefa.tables.coverage import STATUSES, counted

_LINE = ["experiment", "algorithm"]


def coverage(material: Sequence[Material]) -> pd.DataFrame:
    """How many cells of each algorithm have which status, and how many are missing."""
    parts = [counted(each.rows) for each in material if not each.rows.empty]
    missing = pd.DataFrame(
        [(each.experiment, cell.algorithm) for each in material for cell in each.missing],
        columns=_LINE,
    )
    absent = missing.value_counts().rename("missing").reset_index()
    found = pd.concat([pd.DataFrame(columns=[*_LINE, "cells", *STATUSES]), *parts])
    found = found.merge(absent, how="outer", on=_LINE).fillna(0)
    numbers = [*STATUSES, "missing"]
    found = found.astype(dict.fromkeys(numbers, int))
    found["cells"] = found[numbers].sum(axis="columns")
    order = [each.experiment for each in material]
    found["place"] = found["experiment"].map(order.index)
    return in_reading_order(found, ["place", "algorithm"])[[*_LINE, "cells", *numbers]]


def troubles(material: Sequence[Material]) -> list[dict[str, Any]]:
    """Cells that failed: those of an experiment together that did so for the same reason."""
    return [
        {
            "experiment": each.experiment,
            "reason": reason,
            "cells": [_spelled(row) for row in alike.to_dict("records")],
            "message": alike["message"].iloc[0],
        }
        for each in material
        for reason, alike in _by_reason(each.rows[each.rows["metric"] == FAILED])
    ]


def _by_reason(failed: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    reasons = failed["message"].str.split("\n").str[0]
    return [(str(reason), alike) for reason, alike in failed.groupby(reasons, sort=False)]


def _spelled(row: dict[Any, Any]) -> str:
    names = ("algorithm", "dataset", "walk", "D", "K", "width", "spectrum", "scale", "seed")
    parts = [f"{name} {_short(row[name])}" for name in names if not pd.isna(row[name])]
    return ", ".join(parts)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def missing(material: Sequence[Material]) -> list[str]:
    """What there is not, in one line for each experiment."""
    lines = []
    for each in material:
        counts = Counter(cell.algorithm for cell in each.missing)
        of_whom = ", ".join(f"{look(name).label} {counts[name]}" for name in in_order(list(counts)))
        if each.rows.empty:
            lines.append(f"{each.experiment}: all {len(each.missing)} cells")
        elif counts:
            lines.append(f"{each.experiment}: {len(each.missing)} cells ({of_whom})")
    return lines


def costs(material: Sequence[Material]) -> pd.DataFrame:
    """Time and memory of each algorithm's fits."""
    parts = [
        each.rows[each.rows["metric"] != FAILED]
        .groupby([*_LINE, "digest"], sort=False)[["seconds", "peak_memory_mb"]]
        .max()
        for each in material
    ]
    cells = pd.concat(parts).groupby(_LINE, sort=False)
    seconds, memory = cells["seconds"], cells["peak_memory_mb"]
    table = pd.DataFrame(
        {
            "cells": cells.size(),
            "median_seconds": seconds.median(),
            "longest_seconds": seconds.max(),
            "core_hours": seconds.sum() / 3600,
            "peak_memory_mb": memory.max(),
        }
    ).reset_index()
    order = [each.experiment for each in material]
    table["place"] = table["experiment"].map(order.index)
    return in_reading_order(table, ["place", "algorithm"]).drop(columns="place")


def provenance(material: Sequence[Material], config: Config) -> dict[str, Any]:
    """Commits, versions, hosts and devices of all cells, and the configuration behind them."""
    rows = pd.concat(
        each.rows[["digest", "commit", "versions", "device", "host"]].drop_duplicates("digest")
        for each in material
    )
    versions = [json.loads(text) for text in rows["versions"].dropna().unique()]
    packages = sorted({name for each in versions for name in each})
    return {
        "commits": _counted(rows["commit"]),
        "hosts": _counted(rows["host"]),
        "devices": _counted(rows["device"]),
        "versions": {
            name: ", ".join(sorted({each[name] for each in versions if name in each}))
            for name in packages
        },
        "config": yaml.safe_dump(
            config.model_dump(mode="json", exclude_none=True),
            sort_keys=False,
            default_flow_style=None,  # short lists in one line
        ),
    }


def _counted(values: pd.Series) -> list[tuple[str, int]]:
    """Each value and the number of its cells, the most frequent first."""
    counts = values.fillna("").replace("", "not known").value_counts()
    return [(str(value), int(number)) for value, number in counts.items()]
