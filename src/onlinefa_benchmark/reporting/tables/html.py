"""Tables as HTML pages, which Snakemake's report can show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

Lines = Sequence[Sequence[str]]

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 14px/1.4 sans-serif; margin: 1.5em; }}
table {{ border-collapse: collapse; border: solid #333; border-width: 2px 0; }}
caption {{ text-align: left; max-width: 60em; padding-bottom: 1em; }}
th {{ border-bottom: 1px solid #333; }}
th, td {{ padding: 0.2em 0.8em; text-align: left; white-space: nowrap; }}
tbody tr:nth-child(even) {{ background: #f4f4f4; }}
</style>
<table>
<caption>{caption}</caption>
<thead>
{header}
</thead>
<tbody>
{body}
</tbody>
</table>
</html>
"""


def to_html(caption: str, header: Sequence[str], body: Lines) -> str:
    """Return a page with a table. A cell in two pairs of stars is bold."""
    return _PAGE.format(
        title=escape(re.split("[;.] ", caption)[0]),
        caption=escape(caption),
        header=_line([f'<th scope="col">{escape(title)}</th>' for title in header]),
        body="\n".join(_line([f"<td>{_cell(text)}</td>" for text in line]) for line in body),
    )


def _line(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _cell(text: str) -> str:
    return re.sub(r"^\*\*(.+)\*\*$", r"<b>\1</b>", escape(text))
