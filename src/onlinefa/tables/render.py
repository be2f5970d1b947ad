"""Tables as CSV, Markdown, LaTeX and HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from onlinefa.files import atomic
from onlinefa.tables.html import to_html
from onlinefa.tables.latex import Lines, to_latex


def write(path: Path, rows: pd.DataFrame, caption: str, header: Sequence[str], body: Lines) -> None:
    """In the format of the path's suffix: all that is known of the rows, or what a reader sees."""
    formats: dict[str, Callable[[], str]] = {
        ".csv": lambda: rows.to_csv(index=False),
        ".md": lambda: to_markdown(caption, header, body),
        ".tex": lambda: to_latex(_label(path), caption, header, body),
        ".html": lambda: to_html(caption, header, body),
    }
    with atomic(path) as temporary:
        temporary.write_text(formats[path.suffix]())


def _label(path: Path) -> str:
    """By which a paper refers to a table: its experiment, if it is of one, and its name."""
    folder = "" if path.parent.name == "tables" else f"{path.parent.name}-"
    return f"{folder}{path.stem}".replace("_", "-")


def with_error(mean: float, error: float, resolution: float) -> str:
    """A mean and its standard error, with as many digits as the resolution supports."""
    if math.isnan(error):
        return f"{mean:.4g}"
    if abs(mean) >= 1e5 or math.isinf(resolution):
        return f"{mean:.1e} ± {error:.1e}"
    decimals = 4 if resolution == 0 else max(0, 1 - int(f"{resolution:e}".split("e")[1]))
    if decimals > 8:
        return f"{mean:.1e} ± {error:.1e}"
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


def to_markdown(caption: str, header: Sequence[str], body: Lines) -> str:
    lines = ["| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *body]]
    return "\n".join([caption, "", *lines, ""])
