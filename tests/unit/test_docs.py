"""Numbers in the documentation are those of the committed results."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from onlinefa.summary import read_summary
from onlinefa.tables.final import final_rows, to_markdown

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_our_numbers_beside_the_published_ones():
    table = pd.read_csv(RESULTS / "tables" / "relative_frobenius.csv")
    text = (RESULTS / "chapter5.md").read_text()
    lines = re.findall(r"^\| (\d+) \| \[1, (\d+)\] \|(.*)\|$", text, re.M)
    assert len(lines) == 4
    for D, high, cells in lines:
        ours = [cell.strip() for cell in cells.split("|")[1::2]]
        for algorithm, cell in zip(["batch_svd", "online_em", "online_sga"], ours, strict=True):
            here = (table["D"] == int(D)) & (table["spectrum"] == f"1-{high}")
            (row,) = table[here & (table["algorithm"] == algorithm)].to_dict("records")
            mean, error = map(float, cell.split(" ± "))
            assert mean == pytest.approx(row["mean"], abs=6e-5)
            assert error == pytest.approx(row["standard_error"], rel=0.05)


def test_tables_are_those_of_the_summary():
    rows = final_rows(read_summary(RESULTS / "summary" / "synthetic.parquet"), "relative_frobenius")
    table = (RESULTS / "tables" / "relative_frobenius.md").read_text()
    assert to_markdown(rows, "relative_frobenius") == table


def test_links_of_the_documentation_lead_somewhere():
    root = RESULTS.parents[1]
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("config/*.md")]
    assert len(pages) >= 5
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"
