"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Container, Sequence


def table(lines: Sequence[Sequence[object]], left: Container[int]) -> str:
    """Columns as wide as they must be; those in `left` begin at the left, others at the right."""
    words = [list(map(str, line)) for line in lines]
    widths = [max(map(len, column)) for column in zip(*words, strict=True)]
    return "\n".join(
        "  ".join(
            word.ljust(width) if column in left else word.rjust(width)
            for column, (word, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in words
    )
