"""One cell as one reads it: its rows, what decided them, and where they come from."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onlinefa import aligned, earlier, results
from onlinefa.names import nearest
from onlinefa.results import FAILED, KEYS, Store

_NOT_RECORDED = "not recorded"


class NotOne(LookupError):
    """No cell, or several; the message says which."""


@dataclass(frozen=True)
class _Found:
    """A cell, and a file that has its rows."""

    digest: str
    levels: tuple[str, ...]
    """Its experiment and its axes, as paths have them."""
    path: Path

    def __str__(self) -> str:
        return f"{'/'.join(self.levels)}  {self.digest}"


def show(name: str, folder: Path) -> str:
    """All that is known of a cell: of a digest, the beginning of one, or a path."""
    is_digest = re.fullmatch("[0-9a-f]+", name)
    if is_digest and not 8 <= len(name) <= 32:
        raise NotOne(f"{name}: of a digest, 8 to 32 characters are needed")
    found = _by_digest(name, folder) if is_digest else _by_path(name, folder)
    distinct = {each.digest: each for each in found}
    if len(distinct) > 1:
        lines = sorted(map(str, distinct.values()))
        raise NotOne("\n".join([f"{name}: {len(lines)} cells; name one of them:", *lines]))
    (only,) = distinct.values()
    return _told(only, Store(folder / "store"))


def _by_digest(beginning: str, folder: Path) -> list[_Found]:
    files = Store(folder / "store").files(beginning) or list((folder / "cells").rglob("*.parquet"))
    found = [each for each in _cells_of(files) if each.digest.startswith(beginning)]
    if not found:
        raise NotOne(f"{beginning}: no cell in {folder} has such a digest")
    return found


def _by_path(name: str, folder: Path) -> list[_Found]:
    experiment, *axes = name.strip("/").split("/")
    store = Store(folder / "store")
    is_name = re.fullmatch(r"\w{1,100}", experiment)  # and no way to other folders
    files = (folder / "cells" / experiment).rglob("*.parquet") if is_name else ()
    in_use = list(_cells_of(path for path in files if not _contradicts(path, axes)))
    known = {each.levels for each in in_use}
    # Snakemake deletes files with failed cells when a run ends.
    failed = [each for each in _cells_of(store.failures()) if each.levels not in known]
    found = _matching([*in_use, *failed], experiment, axes)
    if found:
        return found
    everything = list(_cells_of([*(folder / "cells").rglob("*.parquet"), *store.files()]))
    found = _matching(everything, experiment, axes)
    if not found:
        raise NotOne(f"{name}: {_unknown(everything, experiment, axes, folder)}")
    return found


def _matching(cells: Iterable[_Found], experiment: str, axes: Sequence[str]) -> list[_Found]:
    return [
        each for each in cells if each.levels[0] == experiment and set(axes) <= set(each.levels[1:])
    ]


def _contradicts(path: Path, axes: Sequence[str]) -> bool:
    """Whether a path names another value of one of the axes."""
    values = dict(part.split("~", 1) for part in path.with_suffix("").parts if "~" in part)
    wanted = (axis.partition("~") for axis in axes)
    return any(values.get(axis, value) != value for axis, _, value in wanted)


def _cells_of(files: Iterable[Path]) -> Iterator[_Found]:
    for path in files:
        entry = earlier.entry(path)  # the store's, of which only the end is read
        for fit in [entry] if entry else earlier.in_file(path):
            yield _Found(fit.digest, _levels(fit.keys), path)


def _levels(keys: Sequence[Any]) -> tuple[str, ...]:
    experiment, *axes = zip(KEYS, keys, strict=True)
    named = [(axis, value) for axis, value in axes if value is not None]
    return experiment[1], *(
        f"{axis}~{value:g}" if isinstance(value, float) else f"{axis}~{value}"
        for axis, value in named
    )


def _unknown(cells: Sequence[_Found], experiment: str, axes: Sequence[str], folder: Path) -> str:
    """Why there is no such cell."""
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


def _told(found: _Found, store: Store) -> str:
    everything = results.read_one(found.path, None).to_pylist()
    rows = [row for row in everything if row["digest"] == found.digest]
    entry = earlier.entry(store.path(found.digest)) or earlier.entry(store.failure(found.digest))
    identity = entry.identity if entry else None
    facts = [*_provenance(rows), ("code", identity.code if identity else _NOT_RECORDED)]
    messages = {f"{row['status']}: {row['message']}": None for row in rows if row["message"]}
    paragraphs = [
        "/".join(found.levels),
        aligned.table(facts, left=[0, 1]),
        f"parameters:\n{_parameters(identity)}",
        _measured(rows),
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


def _parameters(identity: earlier.Identity | None) -> str:
    if identity is None:
        return f"  {_NOT_RECORDED}"
    named = earlier.spelled(identity.parameters).items()
    return aligned.table([(f"  {name}", value) for name, value in named], left=[0, 1])


def _measured(rows: Sequence[dict[str, Any]]) -> str:
    body = [
        [row["step"], row["metric"], _number(row["value"]), row["status"]]
        for row in rows
        if row["metric"] != FAILED
    ]
    header = ["step", "metric", "value", "status"]
    return aligned.table([header, *body], left=[1, 3]) if body else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
