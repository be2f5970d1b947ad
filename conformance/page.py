"""The page of the documentation, rendered from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEMPLATE = Path(__file__).with_name("page.md")
HEADER = (
    "package",
    "version",
    "options",
    "error of the mean",
    "trace",
    "covariance between layers",
)
MEASURES = ("mean", "trace", "between")


def render(results: dict[str, Any]) -> str:
    """Insert tables and versions into the template.

    Parameters
    ----------
    results : dict
        The contents of ``results.json``.

    Returns
    -------
    page : str
        The page, in Markdown.
    """
    walks = dict.fromkeys((row["steps"], row["columns"]) for row in results["rows"])
    values = {key: f"{results[key]:,}" for key in ("draws", "weights")}
    values |= {key: results[key] for key in ("python", "torch")}
    values["tables"] = "\n\n".join(_make_table(results["rows"], *walk) for walk in walks)
    page = TEMPLATE.read_text()
    for name, value in values.items():
        page = page.replace(f"{{{{ {name} }}}}", value)
    return page


def _make_table(rows: list[dict[str, Any]], steps: int, columns: int) -> str:
    lines = [HEADER, ("---",) * len(HEADER), ("the paper's formula", "", "", "0", "1", "1")]
    for row in rows:
        if (row["steps"], row["columns"]) == (steps, columns):
            cells = ("{value:.3f} ± {error:.3f}".format(**row[name]) for name in MEASURES)
            lines.append((row["package"], row["version"], row["options"], *cells))
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{steps} steps, K = {columns}:\n\n{table}"
