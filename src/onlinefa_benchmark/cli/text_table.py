"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Container, Sequence


def format_table(lines: Sequence[Sequence[object]], left: Container[int]) -> str:
    """Return lines with aligned columns: those in `left` to the left, others to the right."""
    words = [list(map(str, line)) for line in lines]
    widths = [max(map(len, column)) for column in zip(*words, strict=True)]
    return "\n".join(
        "  ".join(
            word.ljust(width) if column in left else word.rjust(width)
            for column, (word, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in words
    )
