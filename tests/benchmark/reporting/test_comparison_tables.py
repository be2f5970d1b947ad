"""Tests of tables and diagrams of comparisons."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.result_rows import ANGLE, METRIC, comparison_of, make_rows

from onlinefa_benchmark import experiments
from onlinefa_benchmark.plotting.ranks import draw_ranks
from onlinefa_benchmark.reporting.tables import FORMATS, ranks
from onlinefa_benchmark.reporting.tables.compared import caption, compared_rows, make_table
from onlinefa_benchmark.reporting.tables.render import write_table
from onlinefa_benchmark.statistics.ranking import ranking

SYNTHETIC, GP = experiments.load("synthetic"), experiments.load("gp")
FROBENIUS = SYNTHETIC.all_metrics()[METRIC]
DISTANCE = GP.all_metrics()["function_wasserstein2"]


def write(folder, name, table):
    """Write a table in all formats and return the texts."""
    paths = [folder / f"{name}.{suffix}" for suffix in FORMATS]
    write_table(paths, *table)
    return [path.read_text() for path in paths]


def of_datasets(seeds=3, algorithms=("map", "swag", "ensemble", "laplace"), widths=(50, 200)):
    """Return rows in which the first algorithm is always the best and the last the worst."""
    return comparison_of(
        *[
            make_rows(
                name,
                place + np.arange(seeds) / 10,
                "function_wasserstein2",
                experiment="gp",
                dataset=dataset,
                width=width,
                spectrum=None,
            )
            for place, name in enumerate(algorithms)
            for dataset in ("boston", "concrete", "yacht", "energy")
            for width in widths
        ],
        baseline="swag",
    )


def test_all_widths_of_a_dataset_are_one_block():
    found = ranking(of_datasets(), "function_wasserstein2")
    assert (found.blocks, found.block_name) == (4, "datasets")
    assert found.ranks.to_dict() == {"map": 1, "swag": 2, "ensemble": 3, "laplace": 4}


def test_a_diagram_names_every_algorithm_once():
    figure = draw_ranks(of_datasets(), DISTANCE)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert [texts.count(name) for name in ("MAP", "SWAG", "deep ensemble")] == [1, 1, 1]
    # 2.569 sqrt(4 5 / (6 4))
    assert "critical difference 2.35" in texts
    assert "Friedman's test over 4 datasets" in texts[-1]
    nothing = draw_ranks(of_datasets(algorithms=("map", "swag")), DISTANCE)
    assert "not configured" in nothing.texts[0].get_text()


def test_the_caption_reports_significant_differences():
    table = compared_rows(
        SYNTHETIC,
        comparison_of(
            make_rows("batch_svd", np.arange(8.0)),
            make_rows("diagonal", np.arange(8.0) + 1 + 0.1 * np.arange(8)),
            make_rows("online_em", np.arange(8.0) - 1),
        ),
        FROBENIUS,
    )
    assert table.set_index("algorithm")["shown"].to_dict() == {
        "online_em": "better",
        "diagonal": "worse",
    }
    text = caption(SYNTHETIC, table, FROBENIUS)
    assert "at T = 100, compared with batch SVD" in text
    assert "for all 2 lines; better and worse at 5 %." in text
    assert "in 0 of 2 lines" in text


def test_the_caption_reports_differences_that_cannot_be_significant():
    table = compared_rows(
        SYNTHETIC,
        comparison_of(make_rows("batch_svd", [1, 2, 3]), make_rows("diagonal", [1.1, 2, 3.3])),
        FROBENIUS,
    )
    assert table["shown"].tolist() == [""]
    text = caption(SYNTHETIC, table, FROBENIUS)
    assert (
        "3 pairs cannot show any difference at 5 %, because no adjusted p can be below 0.25" in text
    )
    assert "in 1 of 1 lines that is more than there are (!)" in text


def test_tables_in_all_formats(tmp_path):
    comparison = of_datasets(seeds=2)
    _, markdown, latex, html = write(tmp_path, "compared", make_table(GP, comparison, DISTANCE))
    assert (
        "| boston | 50 | deep ensemble | 1.0000 ± 0.0000 | 0 | 1.000 | < 0.001 |  | 2 |" in markdown
    )
    assert "the corrected resampled t test" in markdown
    assert r"& $1.0000 \pm 0.0000$ &" in latex
    assert len(pd.read_csv(tmp_path / "compared.csv")) == 3 * 4 * 2
    assert "<td>1.0000 ± 0.0000</td><td>0</td><td>1.000</td><td>&lt; 0.001</td><td></td>" in html
    _, markdown, _, _ = write(tmp_path, "ranks", ranks.make_table(comparison, GP.all_metrics()))
    assert "| MAP | 1.00 | – |" in markdown
    assert "| critical difference | 2.35 | – |" in markdown
    assert "| Friedman's p | 0.0074 | – |" in markdown  # the tail of 12 beyond three degrees


def test_splits_that_overlap_need_both_tests():
    # All differences are positive. With the mean 0.7875 and the deviation 1.334, the corrected
    # standard error is 1.334 sqrt(1/12 + 1/9) = 0.588, so that t = 1.339 and p = 0.208.
    few = np.array([0.05] * 9 + [3.0] * 3)
    comparison = comparison_of(
        *(
            make_rows(
                name,
                values,
                "function_wasserstein2",
                experiment="gp",
                dataset="boston",
                width=50,
                spectrum=None,
            )
            for name, values in (
                ("swag", np.zeros(12)),
                ("map", few),
                ("laplace", 5.0 + few),
            )
        ),
        baseline="swag",
        overlap=GP.overlap,
    )
    found = compared_rows(GP, comparison, DISTANCE).set_index("algorithm")
    assert (found["p_holm"] < 0.05).all()
    assert found["shown"].to_dict() == {"map": "", "laplace": "worse"}
    assert found.loc["map", "p_t_holm"] == pytest.approx(0.208, abs=5e-4)


def test_only_algorithms_that_are_asked_for_are_tested():
    frames = [
        make_rows("batch_svd", np.arange(8.0)),
        make_rows("diagonal", np.arange(8.0) + 1),
        make_rows("online_em", np.arange(8.0) - 1),
    ]
    found = comparison_of(*frames, asked=["diagonal"]).set_index("algorithm")
    # One test, not two: the smallest p of eight pairs is 2 / 2^8.
    assert found.loc["diagonal", "p_holm"] == 2 / 2**8
    assert np.isnan(found.loc["online_em", ["p", "p_holm", "p_t", "p_t_holm"]].astype(float)).all()
    assert found.loc["online_em", "difference"] == -1


def test_a_metric_that_does_not_measure_algorithms_has_no_rows(tmp_path):
    frames = [make_rows(name, [1, 2, 3]) for name in ("batch_svd", "diagonal")]
    comparison = comparison_of(*frames, make_rows("diagonal", [None], ANGLE, status="undefined"))
    assert set(comparison["metric"]) == {METRIC}
    table = ranks.make_table(comparison, SYNTHETIC.all_metrics())
    _, text, _, _ = write(tmp_path, "ranks", table)
    assert (
        "averaged over 1 settings" in text
        and "A test takes at least two settings and three algorithms." in text
    )
