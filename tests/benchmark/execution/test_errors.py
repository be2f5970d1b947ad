"""Tests of messages of errors."""

from __future__ import annotations

import pytest

from onlinefa_benchmark.execution.errors import LONGEST_MESSAGE, describe, format_message


def test_a_message_is_short_and_begins_with_the_error():
    def deep(levels):
        return deep(levels - 1) if levels else int("x" * 5000 + "\udcff")

    with pytest.raises(ValueError) as caught:
        deep(50)
    text = describe(caught.value)
    assert len(text) <= LONGEST_MESSAGE
    assert text.startswith("ValueError: invalid literal for int() with base 10: 'xxx")
    assert describe(ZeroDivisionError()).splitlines()[0] == "ZeroDivisionError"


def test_a_long_message_keeps_its_last_lines():
    lines = "\n".join(map(str, range(3000)))  # the last ones have four digits and a line break
    first_kept = 3000 - (LONGEST_MESSAGE - len("first")) // 5
    assert format_message("first", lines).splitlines()[:2] == ["first", str(first_kept)]
