"""Tests of the documentation's examples: they run and print the documented output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.quiet import ignore_warnings

from onlinefa_benchmark.torchvision_operators import declare_missing_operators

ROOT = Path(__file__).parents[2]


# The modules that a page needs besides those of the library and the benchmark.
PAGES = {
    "README.md": [],
    "docs/networks.md": [],
    "docs/training_loops.md": ["accelerate", "lightning", "peft", "transformers"],
}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_examples_run_and_print_the_documented_output(page, capsys, tmp_path, monkeypatch):
    """Run all code blocks of a page in order; a text block is the output of the block before it."""
    if PAGES[page]:
        declare_missing_operators()
    for module in PAGES[page]:
        pytest.importorskip(module)
    text = (ROOT / page).read_text()
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"```(python|text)\n(.*?)```", text, re.S)
    assert blocks
    for kind, block in blocks:
        if kind == "python":
            capsys.readouterr()
            with ignore_warnings():
                exec(compile(block, page, "exec"), names)
        else:
            printed, said = capsys.readouterr().out.split(), block.split()
            assert len(printed) == len(said)
            for one, two in zip(printed, said, strict=True):
                assert one == two or float(one) == pytest.approx(float(two), rel=0.1, abs=0.1)
