"""Tables in LaTeX: they compile, fit on a page, and say what they should; and tables as pages."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from onlinefa import results
from onlinefa.cell import Bundle, Group
from onlinefa.experiments.tracking import Measurement
from onlinefa.provenance import Provenance
from onlinefa.tables import METRICS, compared, compared_metrics, coverage, final
from onlinefa.tables.html import to_html
from onlinefa.tables.latex import PACKAGES, escaped, to_latex

TABULAR = re.compile(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", re.S)
DOCS = Path(__file__).parents[2] / "docs"
HOSTILE = ["a_b%c", "x&y#1", r"{$^~\}", "[5", "*", "a" * 100]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The committed tables, a new one of every kind, and names as bad as can be."""
    folder = tmp_path_factory.mktemp("latex")
    shutil.copytree(DOCS / "results" / "tables", folder / "committed")
    for summary in DOCS.glob("*/summary/*.parquet"):
        _write_final(summary, folder / summary.parts[-3] / summary.stem)
    for comparison in DOCS.glob("*/comparison/*.parquet"):
        _write_compared(comparison, folder / comparison.parts[-3] / comparison.stem)
    for experiment, kind in [("synthetic", "summary"), ("network", "comparison")]:
        rows = pd.read_parquet(DOCS / "results" / kind / f"{experiment}.parquet")
        names = dict(zip(sorted(rows["algorithm"].unique()), HOSTILE, strict=False))
        file = folder / f"{experiment}.parquet"
        rows.replace({"algorithm": names, "compared_with": names}).to_parquet(file)
        write = _write_final if kind == "summary" else _write_compared
        write(file, folder / "hostile" / experiment)
    _write_coverage(folder)
    found = sorted(folder.rglob("*.tex"))
    kinds = {re.sub("compared_.*", "compared", file.stem) for file in found}
    assert {"relative_frobenius", "compared", "ranks", "table_6_1", "coverage"} <= kinds
    return found


def _write_final(summary, folder):
    folder.mkdir(parents=True, exist_ok=True)
    final.write_tables(summary, [folder / f"{METRICS[summary.stem][0]}.tex"])


def _write_compared(comparison, folder):
    folder.mkdir(parents=True, exist_ok=True)
    names = ["ranks", f"compared_{compared_metrics(comparison.stem)[0]}"]
    compared.write_tables(comparison, [folder / f"{name}.tex" for name in names])


def _write_coverage(folder):
    axes = {"algorithm": "diagonal", "D": 4, "K": 2, "spectrum": "1-10"}
    bundle = Bundle("synthetic", axes, (Group(axes, {"T": [5]}),), (0, 1))
    ok = [Measurement(5, "relative_frobenius", 0.5, "ok", "", 0.1)]
    fitted = [results.table_of(cell, cell.digest(), ok, Provenance()) for cell in bundle.cells()]
    results.write(pa.concat_tables(fitted), results.bundle_path(bundle, folder))
    coverage.write_table([bundle], folder, [folder / "coverage.tex"])


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_all_tables_compile_and_fit(tables, tmp_path):
    inputs = "\n".join(rf"\input{{{file.as_posix()}}}\clearpage" for file in tables)
    packages = "\n".join(rf"\usepackage{{{name}}}" for name in PACKAGES)
    document = rf"\documentclass{{article}}{packages}\begin{{document}}{inputs}\end{{document}}"
    (tmp_path / "paper.tex").write_text(document)
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace",
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:]
    pages = int(re.search(r"Output written on paper.pdf \((\d+) pages", run.stdout)[1])
    assert pages >= len(tables)
    assert not re.search(r"Overfull \\hbox|Float too large", run.stdout)


def test_all_tables_are_well_formed(tables):
    rows = [_check(file.read_text()) for file in tables]
    assert sum(rows) > 1000


def _check(text):
    """Braces and environments are balanced, specials escaped, and rows complete; how many rows."""
    bare = re.sub(r"\\[\\&%$#_{}]", "", text.replace(r"\\", "\n"))
    assert bare.count("{") == bare.count("}")
    open_ones = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        assert what == "begin" or open_ones.pop() == name
        open_ones += [name] * (what == "begin")
    assert open_ones == []
    assert bare.count("$") % 2 == 0
    outside = re.sub(r"\$[^$]*\$|\{%$", "", bare, flags=re.M)
    assert not re.search(r"(?<!\\)[%#_^~]", outside)
    number = 0
    for columns, body in TABULAR.findall(text):
        flat = re.sub(r"\\shortstack\[.\]\{.*?\}(?= [&\\])", "", body)
        lines = re.findall(r"^(.*?) \\\\(?:\[2pt\])?$", flat, re.M)
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(columns) - 1}
        number += len(lines)
    return number


def test_whatever_is_special_is_escaped():
    assert escaped("a_b%c & 5 #1") == r"a\_b\%c \& 5 \#1"
    assert escaped("KL(p || q) ± – [1") == r"KL(p $\|$ q) $\pm$ -- {[}1"
    assert escaped("\\{}^~") == r"$\backslash$\{\}\^{}\~{}"


def test_cells_by_hand():
    body = [
        ["a", "1", "**1.5 ± 0.2**", "-2.0e-07 ± 1.0e-08", "< 0.001"],
        ["a", "2", "1.0 ± 0.1 (2/3)", "–", "> 1000 (!)"],
        ["b", "1", "**3**", "8.1e+227 ± inf", "0.25"],
    ]
    text = to_latex("x", "100 %", ["name", "K", "value", "small", "p"], body)
    assert text.count(r"\begin{table}") == 1
    assert r"\caption{100 \%}\label{tab:x}" in text
    assert r"\begin{tabular}{lrrrr}" in text
    lines = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    assert lines == [
        r"a & 1 & $\mathbf{1.5 \pm 0.2}$ & $-2.0 \cdot 10^{-7} \pm 1.0 \cdot 10^{-8}$ & "
        r"$< 0.001$ \\",
        r" & 2 & $1.0 \pm 0.1$ (2/3) & -- & $> 1000$ (!) \\",
        r"\addlinespace",
        r"b & 1 & $\mathbf{3}$ & $8.1 \cdot 10^{227} \pm \infty$ & 0.25 \\",
    ]


def test_a_wide_table_has_its_errors_below():
    body = [["a", *(["**1.0 ± 0.1**"] + ["2.0 ± 0.2 (1/2)"] * 7)]]
    text = to_latex("x", "", ["name", *(f"value {n}" for n in range(8))], body)
    above, below = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    assert above == r"a & $\mathbf{1.0}$" + r" & $2.0$" * 7 + r" \\"
    errors = r" & \scriptsize $\mathbf{\pm 0.1}$" + r" & \scriptsize $\pm 0.2$ (1/2)" * 7
    assert below == errors + r" \\[2pt]"


def test_a_long_table_is_several_floats_of_one_number():
    body = [[group, str(n), "1.0 ± 0.1"] for group in "abc" for n in range(30)]
    text = to_latex("x", "Long.", ["group", "n", "value"], body)
    floats = text.split(r"\begin{table}")[1:]
    assert [re.findall("^([abc]) &", part, re.M) for part in floats] == [["a"], ["b"], ["c"]]
    assert [part.count(r"\pm") for part in floats] == [30, 30, 30]
    assert [r"\addtocounter{table}{-1}" in part for part in floats] == [False, True, True]
    assert text.count(r"\label{tab:x}") == 1


def test_a_page_shows_whatever_is_in_a_table():
    page = to_html("p < 5 %; more.", ["a & b"], [["**1 ± 2**"], ["<script>"]])
    assert "<title>p &lt; 5 %</title>" in page
    assert '<th scope="col">a &amp; b</th>' in page
    assert "<td><b>1 ± 2</b></td>" in page
    assert "<td>&lt;script&gt;</td>" in page
