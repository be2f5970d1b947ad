"""Facts about the cells of a report: their status, their cost and their provenance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import yaml

from onlinefa_benchmark.axes import ALGORITHM, Axis
from onlinefa_benchmark.config import Config
from onlinefa_benchmark.looks import look, sort_algorithms
from onlinefa_benchmark.reporting.html.material import Material
from onlinefa_benchmark.reporting.tables.coverage import STATUSES, count_statuses
from onlinefa_benchmark.statistics.frames import sort_rows
from onlinefa_benchmark.storage.schema import FAILED, key_columns

_LINE = ["experiment", "algorithm"]


def count_cells(material: Sequence[Material]) -> pd.DataFrame:
    """Count the cells of each algorithm by status, including missing ones."""
    parts = [count_statuses(each.rows) for each in material if not each.rows.empty]
    missing = pd.DataFrame(
        [(each.name, cell.algorithm) for each in material for cell in each.missing],
        columns=_LINE,
    )
    absent = missing.value_counts().rename("missing").reset_index()
    found = pd.concat([pd.DataFrame(columns=[*_LINE, "cells", *STATUSES]), *parts])
    found = found.merge(absent, how="outer", on=_LINE).fillna(0)
    numbers = [*STATUSES, "missing"]
    found = found.astype(dict.fromkeys(numbers, int))
    found["cells"] = found[numbers].sum(axis="columns")
    return _sort(found, material)[[*_LINE, "cells", *numbers]]


def _sort(table: pd.DataFrame, material: Sequence[Material]) -> pd.DataFrame:
    """Sort by experiment, in the order of the material, and by algorithm."""
    order = [each.name for each in material]
    return sort_rows(table, [Axis("experiment", sort_key=order.index), ALGORITHM])


def group_failures(material: Sequence[Material]) -> list[dict[str, Any]]:
    """Return failed cells, those of an experiment with the same reason in one group."""
    return [
        {
            "experiment": each.name,
            "reason": reason,
            "cells": [_format_cell(row, each) for row in alike.to_dict("records")],
            "message": alike["message"].iloc[0],
        }
        for each in material
        for reason, alike in _group_by_reason(each.rows[each.rows["metric"] == FAILED])
    ]


def _group_by_reason(failed: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    reasons = failed["message"].str.split("\n").str[0]
    return [(str(reason), alike) for reason, alike in failed.groupby(reasons, sort=False)]


def _format_cell(row: dict[Any, Any], material: Material) -> str:
    keys = key_columns(material.name)
    names = ["algorithm", *(key for key in keys if key not in ("experiment", "algorithm"))]
    parts = [f"{name} {_format_value(row[name])}" for name in names if not pd.isna(row[name])]
    return ", ".join(parts)


def _format_value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def list_missing(material: Sequence[Material]) -> list[str]:
    """Return a line for each experiment with missing cells."""
    lines = []
    for each in material:
        counts = Counter(cell.algorithm for cell in each.missing)
        by_algorithm = ", ".join(
            f"{look(name).label} {counts[name]}" for name in sort_algorithms(list(counts))
        )
        if each.rows.empty:
            lines.append(f"{each.name}: all {len(each.missing)} cells")
        elif counts:
            lines.append(f"{each.name}: {len(each.missing)} cells ({by_algorithm})")
    return lines


def sum_costs(material: Sequence[Material]) -> pd.DataFrame:
    """Return time and memory of each algorithm's fits."""
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
    return _sort(table, material)


def collect_provenance(material: Sequence[Material], config: Config) -> dict[str, Any]:
    """Return commits, versions, hosts and devices of all cells, and the configuration."""
    rows = pd.concat(
        each.rows[["digest", "commit", "versions", "device", "host"]].drop_duplicates("digest")
        for each in material
    )
    versions = [json.loads(text) for text in rows["versions"].dropna().unique()]
    packages = sorted({name for each in versions for name in each})
    return {
        "commits": _count_values(rows["commit"]),
        "hosts": _count_values(rows["host"]),
        "devices": _count_values(rows["device"]),
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


def _count_values(values: pd.Series) -> list[tuple[str, int]]:
    """Return each value and the number of its cells, the most frequent first."""
    counts = values.fillna("").replace("", "not known").value_counts()
    return [(str(value), int(number)) for value, number in counts.items()]
