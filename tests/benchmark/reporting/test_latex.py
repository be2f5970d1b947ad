"""Tests of tables in LaTeX, which must compile and fit on a page, and in HTML."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from support.failing_jobs import FIRST, write_job

from onlinefa_benchmark import experiments
from onlinefa_benchmark.reporting.tables import compared, compared_metrics, coverage, final, ranks
from onlinefa_benchmark.reporting.tables.html import to_html
from onlinefa_benchmark.reporting.tables.latex import PACKAGES, escape, to_latex
from onlinefa_benchmark.reporting.tables.render import write_table

TABULAR = re.compile(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", re.S)
DOCS = Path(__file__).parents[3] / "docs"
HOSTILE = ["a_b%c", "x&y#1", r"{$^~\}", "[5", "*", "a" * 100]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Return the committed tables, a new one of every kind, and some with special characters."""
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
    experiment = experiments.load(summary.stem)
    metric = experiment.metrics[0]
    content = final.make_table(experiment, pd.read_parquet(summary), metric)
    write_table([folder / f"{metric.name}.tex"], *content, experiment=experiment.name)


def _write_compared(comparison, folder):
    experiment, rows = experiments.load(comparison.stem), pd.read_parquet(comparison)
    metrics = experiment.all_metrics()
    metric = compared_metrics(metrics)[0]
    contents = {
        "ranks": ranks.make_table(rows, metrics),
        f"compared_{metric.name}": compared.make_table(experiment, rows, metric),
    }
    for name, content in contents.items():
        write_table([folder / f"{name}.tex"], *content, experiment=experiment.name)


def _write_coverage(folder):
    write_job(FIRST, folder)
    coverage.write_table([FIRST], folder, [folder / "coverage.tex"])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_all_tables_compile_and_fit_on_a_page(tables, tmp_path):
    inputs = "\n".join(rf"\input{{{file.as_posix()}}}\clearpage" for file in tables)
    packages = "\n".join(rf"\usepackage{{{name}}}" for name in PACKAGES)
    document = rf"\documentclass{{article}}{packages}\begin{{document}}{inputs}\end{{document}}"
    (tmp_path / "paper.tex").write_text(document)
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert run.returncode == 0, run.stdout[-2000:]
    pages = int(re.search(r"Output written on paper.pdf \((\d+) pages", run.stdout)[1])
    assert pages >= len(tables)
    assert not re.search(r"Overfull \\hbox|Float too large", run.stdout)


def test_all_tables_are_well_formed(tables):
    rows = [_check(file.read_text()) for file in tables]
    assert sum(rows) > 1000


def _check(text):
    """Check braces, environments, special characters and rows, and return the number of rows."""
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


def test_special_characters_in_text():
    assert escape("a_b%c & 5 #1") == r"a\_b\%c \& 5 \#1"
    assert escape("KL(p || q) ± – [1") == r"KL(p $\|$ q) $\pm$ -- {[}1"
    assert escape("\\{}^~") == r"$\backslash$\{\}\^{}\~{}"


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


def test_a_wide_table_has_standard_errors_below_values():
    body = [["a", *(["**1.0 ± 0.1**"] + ["2.0 ± 0.2 (1/2)"] * 7)]]
    text = to_latex("x", "", ["name", *(f"value {n}" for n in range(8))], body)
    above, below = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    assert above == r"a & $\mathbf{1.0}$" + r" & $2.0$" * 7 + r" \\"
    errors = r" & \scriptsize $\mathbf{\pm 0.1}$" + r" & \scriptsize $\pm 0.2$ (1/2)" * 7
    assert below == errors + r" \\[2pt]"


def test_a_long_table_is_split_into_floats_with_one_number():
    body = [[group, str(n), "1.0 ± 0.1"] for group in "abc" for n in range(30)]
    text = to_latex("x", "Long.", ["group", "n", "value"], body)
    floats = text.split(r"\begin{table}")[1:]
    assert [re.findall("^([abc]) &", part, re.M) for part in floats] == [["a"], ["b"], ["c"]]
    assert [part.count(r"\pm") for part in floats] == [30, 30, 30]
    assert [r"\addtocounter{table}{-1}" in part for part in floats] == [False, True, True]
    assert text.count(r"\label{tab:x}") == 1


def test_the_content_of_a_table_is_escaped_in_html():
    page = to_html("p < 5 %; more.", ["a & b"], [["**1 ± 2**"], ["<script>"]])
    assert "<title>p &lt; 5 %</title>" in page
    assert '<th scope="col">a &amp; b</th>' in page
    assert "<td><b>1 ± 2</b></td>" in page
    assert "<td>&lt;script&gt;</td>" in page
