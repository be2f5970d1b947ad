"""Search for one cell among the results, and the text of its rows, parameters and provenance."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onlinefa_benchmark.cli import text_table
from onlinefa_benchmark.storage import history, result_file
from onlinefa_benchmark.storage.schema import FAILED, key_columns
from onlinefa_benchmark.storage.store import Store
from onlinefa_benchmark.suggestions import nearest

_NOT_RECORDED = "not recorded"


class AmbiguousCell(LookupError):
    """Exception for a name that fits no cell, or several; the message lists them."""


@dataclass(frozen=True)
class _Found:
    """A cell, and a file that has its rows.

    Parameters
    ----------
    digest : str
        Digest of the cell.
    levels : tuple of str
        Its experiment and its axes, in the notation of paths.
    path : Path
        The file.
    """

    digest: str
    levels: tuple[str, ...]
    path: Path

    def __str__(self) -> str:
        return f"{'/'.join(self.levels)}  {self.digest}"


def show_cell(name: str, folder: Path) -> str:
    """Return the text about a cell.

    Parameters
    ----------
    name : str
        A digest, the beginning of one, or a path.
    folder : Path
        Folder of results.

    Raises
    ------
    AmbiguousCell
        If the name fits no cell, or several.
    """
    is_digest = re.fullmatch("[0-9a-f]+", name)
    if is_digest and not 8 <= len(name) <= 32:
        raise AmbiguousCell(f"{name}: give 8 to 32 characters of a digest")
    found = _find_by_digest(name, folder) if is_digest else _find_by_path(name, folder)
    distinct = {each.digest: each for each in found}
    if len(distinct) > 1:
        lines = sorted(map(str, distinct.values()))
        raise AmbiguousCell("\n".join([f"{name}: {len(lines)} cells; name one of them:", *lines]))
    (only,) = distinct.values()
    return _format_cell(only, Store(folder / "store"))


def _find_by_digest(beginning: str, folder: Path) -> list[_Found]:
    files = Store(folder / "store").files(beginning) or list((folder / "cells").rglob("*.parquet"))
    found = [each for each in _cells_in(files) if each.digest.startswith(beginning)]
    if not found:
        raise AmbiguousCell(f"{beginning}: no cell in {folder} has such a digest")
    return found


def _find_by_path(name: str, folder: Path) -> list[_Found]:
    experiment, *axes = name.strip("/").split("/")
    store = Store(folder / "store")
    is_name = re.fullmatch(r"\w{1,100}", experiment)  # so that no other folder is searched
    files = (folder / "cells" / experiment).rglob("*.parquet") if is_name else ()
    in_use = list(_cells_in(path for path in files if not _contradicts(path, axes)))
    known = {each.levels for each in in_use}
    # Files with failed cells are deleted when a run ends.
    failed = [each for each in _cells_in(store.failures()) if each.levels not in known]
    found = _matching([*in_use, *failed], experiment, axes)
    if found:
        return found
    everything = list(_cells_in([*(folder / "cells").rglob("*.parquet"), *store.files()]))
    found = _matching(everything, experiment, axes)
    if not found:
        raise AmbiguousCell(f"{name}: {_explain_no_match(everything, experiment, axes, folder)}")
    return found


def _matching(cells: Iterable[_Found], experiment: str, axes: Sequence[str]) -> list[_Found]:
    return [
        each for each in cells if each.levels[0] == experiment and set(axes) <= set(each.levels[1:])
    ]


def _contradicts(path: Path, axes: Sequence[str]) -> bool:
    """Return whether a path names another value of one of the axes."""
    values = dict(part.split("~", 1) for part in path.with_suffix("").parts if "~" in part)
    wanted = (axis.partition("~") for axis in axes)
    return any(values.get(axis, value) != value for axis, _, value in wanted)


def _cells_in(files: Iterable[Path]) -> Iterator[_Found]:
    for path in files:
        entry = history.read_entry(path)  # reads only the footer of a file of the store
        for fit in [entry] if entry else history.read_job_file(path):
            yield _Found(fit.digest, _levels(fit.keys), path)


def _levels(keys: Sequence[Any]) -> tuple[str, ...]:
    experiment, *axes = zip(key_columns(keys[0]), keys, strict=True)
    named = [(axis, value) for axis, value in axes if value is not None]
    return experiment[1], *(
        f"{axis}~{value:g}" if isinstance(value, float) else f"{axis}~{value}"
        for axis, value in named
    )


def _explain_no_match(
    cells: Sequence[_Found], experiment: str, axes: Sequence[str], folder: Path
) -> str:
    if not cells:
        return f"there are no cells in {folder}"
    experiments = {each.levels[0] for each in cells}
    if experiment not in experiments:
        return f"no cell of an experiment '{experiment}'{nearest(experiment, experiments)}"
    levels = sorted({level for each in _matching(cells, experiment, ()) for level in each.levels})
    for axis in axes:
        if axis not in levels:
            close = difflib.get_close_matches(axis, levels, n=1)
            named = dict.fromkeys(level.split("~")[0] for level in levels if "~" in level)
            hint = f"; did you mean '{close[0]}'?" if close else f" (axes: {', '.join(named)})"
            return f"no cell has '{axis}'{hint}"
    return "no cell has all of these"


def _format_cell(found: _Found, store: Store) -> str:
    everything = result_file.read(found.path).to_pylist()
    rows = [row for row in everything if row["digest"] == found.digest]
    finished, failed = store.path(found.digest), store.failure(found.digest)
    entry = history.read_entry(finished) or history.read_entry(failed)
    identity = entry.identity if entry else None
    facts = [*_provenance(rows), ("code", identity.code if identity else _NOT_RECORDED)]
    messages = {f"{row['status']}: {row['message']}": None for row in rows if row["message"]}
    paragraphs = [
        "/".join(found.levels),
        text_table.format_table(facts, left=[0, 1]),
        f"parameters:\n{_format_parameters(identity)}",
        _format_values(rows),
        *messages,
    ]
    return "\n\n".join(filter(None, paragraphs))


def _provenance(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    row = rows[0]
    versions = json.loads(row["versions"]).items()
    seconds = [each["seconds"] for each in rows if each["seconds"] is not None]
    memory = row["peak_memory_mb"]
    yield "digest", row["digest"]
    yield "commit", row["commit"] or _NOT_RECORDED
    yield "versions", ", ".join(f"{name} {version}" for name, version in versions)
    yield "device", row["device"]
    yield "host", row["host"]
    yield "seconds", f"{max(seconds):.3g}" if seconds else _NOT_RECORDED
    yield "peak memory", _NOT_RECORDED if memory is None else f"{memory:.0f} MB"


def _format_parameters(identity: history.Identity | None) -> str:
    if identity is None:
        return f"  {_NOT_RECORDED}"
    named = history.flatten(identity.parameters).items()
    return text_table.format_table([(f"  {name}", value) for name, value in named], left=[0, 1])


def _format_values(rows: Sequence[dict[str, Any]]) -> str:
    body = [
        [row["step"], _format_metric(row), _format_number(row["value"]), row["status"]]
        for row in rows
        if row["metric"] != FAILED
    ]
    header = ["step", "metric", "value", "status"]
    return text_table.format_table([header, *body], left=[1, 3]) if body else ""


def _format_metric(row: dict[str, Any]) -> str:
    index = [str(row[key]) for key in ("i", "j") if row[key] is not None]
    return f"{row['metric']}[{','.join(index)}]" if index else str(row["metric"])


def _format_number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
