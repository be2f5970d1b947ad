"""Tables as LaTeX, for papers whose preamble loads the packages booktabs and graphicx.

No table is wider than the text or higher than a page: long tables are split into several floats
with one number, wide ones have standard errors below their means, and still wider ones are scaled
down.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

Lines = Sequence[Sequence[str]]

PACKAGES = ("booktabs", "graphicx")

# Lines of \footnotesize that a page has room for, beside a long caption.
_PAGE = 40
# This many characters of \footnotesize are about as wide as the text of an article; a third more
# can still be read when they are scaled to that width.
_WIDEST = 108
_GAP = 2  # between columns, in characters
_TITLE = 8  # about as wide as the numbers below it

_NUMBER = r"-?\d[\d.]*(?:e[+-]\d+)?|inf"
_VALUE = re.compile(
    rf"(?P<than>[<>] )?(?P<mean>{_NUMBER})(?: ± (?P<error>{_NUMBER}))?(?P<note> \(.*\))?"
)
_SPECIAL = str.maketrans(
    {sign: rf"\{sign}" for sign in "&%$#_{}"}
    | {
        "\\": r"$\backslash$",
        "~": r"\~{}",
        "^": r"\^{}",
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        "‖": r"$\|$",
        "±": r"$\pm$",
        "–": "--",
        # After a line break, these would be read as its options.
        "[": "{[}",
        "*": "{*}",
    }
)


@dataclass(frozen=True)
class _Cell:
    """The text of a cell in its line, and below it."""

    above: str
    below: str = ""


def to_latex(label: str, caption: str, header: Sequence[str], body: Lines) -> str:
    """Return a table, in several floats if it is long. A cell in two pairs of stars is bold."""
    columns = [_alignment(column) for column in zip(*body, strict=True)] or ["l"] * len(header)
    is_stacked = _width(header, body) > _WIDEST
    titles = " & ".join(map(_title, header, columns))
    captions = [rf"\caption{{{escape(caption)}}}\label{{tab:{label}}}"]
    floats = []
    for part in _parts(body, _PAGE // 2 if is_stacked else _PAGE):
        floats += [
            r"\begin{table}",
            r"\centering",
            r"\setlength{\belowcaptionskip}{6pt}",
            *captions,
            r"\footnotesize\setlength{\tabcolsep}{4pt}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{''.join(columns)}}}",
            r"\toprule",
            titles + r" \\",
            r"\midrule",
            *_lines(part, is_stacked),
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
            "",
        ]
        captions = [r"\addtocounter{table}{-1}", r"\caption{Continued.}"]
    return "\n".join(floats)


def escape(text: str) -> str:
    """Escape a text, so that LaTeX prints it as it is."""
    return text.replace("||", "‖").translate(_SPECIAL)


def _alignment(cells: Sequence[str]) -> str:
    """Return the alignment of a column: right if most of its cells are numbers."""
    shown = [cell.strip("*") for cell in cells if cell.strip("–")]
    return "r" if 2 * sum(map(bool, map(_VALUE.fullmatch, shown))) > len(shown) else "l"


def _width(header: Sequence[str], body: Lines) -> int:
    """Return the width in characters of a table with every value in one line."""
    titles = [max(map(len, _break(title))) for title in header]
    cells = [max(len(cell.strip("*")) for cell in column) for column in zip(*body, strict=True)]
    return sum(map(max, titles, cells or titles)) + _GAP * len(titles)


def _break(title: str) -> list[str]:
    """Return the lines of a column's title."""
    return textwrap.wrap(title, _TITLE, break_long_words=False, break_on_hyphens=False) or [""]


def _title(title: str, alignment: str) -> str:
    lines = list(map(escape, _break(title)))
    text = r"\\".join(lines)
    return rf"\shortstack[{alignment}]{{{text}}}" if len(lines) > 1 else text


def _parts(body: Lines, most: int) -> list[list[Sequence[str]]]:
    """Split lines into parts of limited length, and keep lines that begin alike together."""
    alike = [list(group) for _, group in groupby(body, key=lambda line: line[0])]
    parts: list[list[Sequence[str]]] = [[]]
    for group in alike:
        for start in range(0, len(group), most):
            piece = group[start : start + most]
            if len(parts[-1]) + len(piece) > most:
                parts.append([])
            parts[-1] += piece
    return parts


def _lines(body: Lines, is_stacked: bool) -> list[str]:
    """Return lines without cells that repeat those above, and with space between groups."""
    lines: list[str] = []
    previous: Sequence[str] = ()
    are_groups = len({line[0] for line in body}) < len(body)
    for line in body:
        if previous and are_groups and line[0] != previous[0]:
            lines.append(r"\addlinespace")
        shared = next(
            (n for n, (new, old) in enumerate(zip(line, previous, strict=False)) if new != old), 0
        )
        cells = [_Cell("")] * shared + [_cell(text, is_stacked) for text in line[shared:]]
        lines.append(" & ".join(cell.above for cell in cells) + r" \\")
        if any(cell.below for cell in cells):
            lines.append(" & ".join(cell.below for cell in cells) + r" \\[2pt]")
        previous = line
    return lines


def _cell(text: str, is_stacked: bool) -> _Cell:
    bold = re.fullmatch(r"\*\*(.+)\*\*", text)
    value = _VALUE.fullmatch(bold[1] if bold else text)
    if not value:
        plain = escape(bold[1] if bold else text)
        return _Cell(rf"\textbf{{{plain}}}" if bold else plain)
    than, note = value["than"] or "", escape(value["note"] or "")
    mean, error = than + _power(value["mean"]), _power(value["error"] or "")
    if not error:
        is_plain = not bold and mean.replace(".", "").isdigit()
        return _Cell((mean if is_plain else _formula(mean, bold)) + note)
    if not is_stacked:
        return _Cell(_formula(rf"{mean} \pm {error}", bold) + note)
    below = _formula(rf"\pm {error}", bold)
    return _Cell(_formula(mean, bold), rf"\scriptsize {below}{note}")


def _formula(text: str, bold: re.Match[str] | None) -> str:
    return rf"$\mathbf{{{text}}}$" if bold else f"${text}$"


def _power(number: str) -> str:
    """Return a number such as 1.5e-07 as a product with a power of ten."""
    if number == "inf":
        return r"\infty"
    digits, _, exponent = number.partition("e")
    return rf"{digits} \cdot 10^{{{int(exponent)}}}" if exponent else digits
