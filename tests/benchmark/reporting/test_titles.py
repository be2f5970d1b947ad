"""Tests of titles of figures and tables, and of alternative texts of figures."""

from __future__ import annotations

import re

from onlinefa_benchmark import experiments
from onlinefa_benchmark.reporting.figures import describe_picture
from onlinefa_benchmark.reporting.titles import title_of_figure, title_of_table

EXPERIMENTS = [experiments.load(name) for name in experiments.names()]


def test_every_figure_is_described_in_words():
    texts = [figure.alternative_text for each in EXPERIMENTS for figure in each.figures]
    assert len(set(texts)) == len(texts) > 20
    for text in texts:
        assert 80 < len(text) < 300
        assert len(re.findall(r"[.](?: [A-Z]|$)", text)) <= 2
        assert re.fullmatch(r"[A-Z0-9].*\.", text)
    (heat_maps,) = (f for f in experiments.load("linear").figures if f.name == "figure_6_4")
    picture = describe_picture(heat_maps, "winequality_red")
    assert picture.endswith(" below. Dataset: winequality red.")


def test_names_of_figures_differ():
    names = [figure.name for each in EXPERIMENTS for figure in each.figures]
    assert len(set(names)) == len(names)


def test_titles_of_a_report():
    titles = [each.title for each in EXPERIMENTS]
    assert len(set(titles)) == len(titles)
    assert title_of_figure("figure_5_1") == "Figure 5.1"
    assert title_of_figure("figure_6_4_winequality_red") == "Figure 6.4 winequality red"
    assert title_of_figure("network_ranks") == "Network ranks"
    assert title_of_table("table_6_1") == "Table 6.1"
    assert title_of_table("compared_accuracy") == "Accuracy, compared"
    assert title_of_table("test_crps") == "Test CRPS (units of y)"
