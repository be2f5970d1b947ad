"""Tests of files that are written completely or not at all."""

from __future__ import annotations

import pytest

from onlinefa_benchmark.atomic_file import atomic


def test_an_interrupted_write_leaves_no_file(tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic(tmp_path / "x.parquet") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_when_the_new_one_is_complete(tmp_path):
    path = tmp_path / "folder" / "x.txt"
    with atomic(path) as temporary:
        temporary.write_text("old")
    with atomic(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]
