"""Tables as CSV, Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from onlinefa.files import atomic

Lines = Sequence[Sequence[str]]


def write(path: Path, rows: pd.DataFrame, caption: str, header: Sequence[str], body: Lines) -> None:
    """In the format of the path's suffix: all that is known of the rows, or what a reader sees."""
    formats: dict[str, Callable[[], str]] = {
        ".csv": lambda: rows.to_csv(index=False),
        ".md": lambda: to_markdown(caption, header, body),
        ".tex": lambda: to_latex(caption, header, body),
    }
    with atomic(path) as temporary:
        temporary.write_text(formats[path.suffix]())


def with_error(mean: float, error: float, plus_minus: str, resolution: float) -> str:
    """A mean and its standard error, with as many digits as the resolution supports."""
    if math.isnan(error):
        return f"{mean:.4g}"
    decimals = 4 if resolution == 0 else max(0, 1 - int(f"{resolution:e}".split("e")[1]))
    if abs(mean) >= 1e5 or decimals > 8:
        return f"{mean:.1e}{plus_minus}{error:.1e}"
    return f"{mean:.{decimals}f}{plus_minus}{error:.{decimals}f}"


def to_markdown(caption: str, header: Sequence[str], body: Lines) -> str:
    lines = ["| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *body]]
    return "\n".join([caption, "", *lines, ""])


def to_latex(caption: str, header: Sequence[str], body: Lines) -> str:
    """A table of its own; cells may hold formulas, in dollars."""
    caption = _escaped(caption.replace("||", r"$\|$"))
    return "\n".join(
        [
            r"\begin{table}", r"\centering", rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{{'r' * len(header)}}}", r"\hline",
            _escaped(" & ".join(header)) + r" \\", r"\hline",
            *(_escaped(" & ".join(line)) + r" \\" for line in body), r"\hline",
            r"\end{tabular}", r"\end{table}", "",
        ]
    )  # fmt: skip


def _escaped(text: str) -> str:
    return text.replace("_", r"\_").replace("%", r"\%")
