"""Tables as CSV, Markdown, LaTeX and HTML files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

from onlinefa_benchmark.atomic_file import atomic
from onlinefa_benchmark.reporting.tables.html import to_html
from onlinefa_benchmark.reporting.tables.latex import Lines, to_latex


def write_table(
    outputs: Iterable[Path],
    rows: pd.DataFrame,
    caption: str,
    header: Sequence[str],
    body: Lines,
    experiment: str = "",
    markdown_appendix: str = "",
) -> None:
    """Write a table to each path, in the format of its suffix.

    Parameters
    ----------
    outputs : iterable of Path
        Files to write.
    rows : DataFrame
        All values, for the CSV file.
    caption : str
        Caption of the table.
    header : sequence of str
        Titles of the columns that readers see.
    body : sequence of sequences of str
        Lines that readers see. A cell in two pairs of stars is bold.
    experiment : str, default=""
        Name of the experiment, for the label of the LaTeX table; empty if there is none.
    markdown_appendix : str, default=""
        Text at the end of the Markdown file.
    """
    formats: dict[str, Callable[[str], str]] = {
        ".csv": lambda label: rows.to_csv(index=False),
        ".md": lambda label: to_markdown(caption, header, body) + markdown_appendix,
        ".tex": lambda label: to_latex(label, caption, header, body),
        ".html": lambda label: to_html(caption, header, body),
    }
    for path in outputs:
        label = "-".join(filter(None, [experiment, path.stem])).replace("_", "-")
        with atomic(path) as temporary:
            temporary.write_text(formats[path.suffix](label))


def with_error(mean: float, error: float, resolution: float) -> str:
    """Format a mean and its standard error with as many digits as the resolution supports."""
    if math.isnan(error):
        return f"{mean:.4g}"
    if abs(mean) >= 1e5 or math.isinf(resolution):
        return f"{mean:.1e} ± {error:.1e}"
    decimals = 4 if resolution == 0 else max(0, 1 - int(f"{resolution:e}".split("e")[1]))
    if decimals > 8:
        return f"{mean:.1e} ± {error:.1e}"
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


def to_markdown(caption: str, header: Sequence[str], body: Lines) -> str:
    """Return a table in Markdown, with its caption above."""
    lines = ["| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *body]]
    return "\n".join([caption, "", *lines, ""])
