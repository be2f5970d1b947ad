"""Tests of figures of networks on tables."""

from __future__ import annotations

import pytest
from support.result_rows import make_rows, summary_of

from onlinefa_benchmark import experiments
from onlinefa_benchmark.experiments.network import figures

NETWORK = experiments.load("network")


def summary(metric, values, datasets=("boston", "yacht"), noises=("evidence", "validation")):
    """Summarise values by algorithm, the same for all datasets and noises."""
    return summary_of(
        *(
            make_rows(
                algorithm,
                own,
                metric,
                spectrum=None,
                experiment="network",
                dataset=dataset,
                noise=noise,
                width=50,
            )
            for algorithm, own in values.items()
            for dataset in datasets
            for noise in noises
        )
    )


def texts_outside(figure):
    """Return the texts that are not entirely on the figure."""
    figure.draw_without_rendering()
    of_axes = [text for axis in figure.axes for text in (axis.title, *axis.texts)]
    everything = [figure._supxlabel, *of_axes]
    box = figure.bbox
    return [
        text.get_text()
        for text in everything
        if not (box.x0 <= text.get_window_extent().x0 <= text.get_window_extent().x1 <= box.x1)
    ]


def test_the_coverage_of_each_posterior_is_written_into_its_cell():
    rows = summary("coverage_90", {"map": [0.8, 0.9], "swag": [0.95, 0.97]})
    figure = figures.calibration(NETWORK, rows)
    assert [axis.get_title() for axis in figure.axes] == [
        "noise: evidence",
        "noise: validation",
    ]
    for axis in figure.axes:
        assert [text.get_text() for text in axis.texts] == ["96", "96", "85", "85"]  # SWAG, MAP
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["SWAG", "MAP"]


@pytest.mark.parametrize("datasets", [("yacht",), ("boston", "concrete", "energy", "yacht")])
@pytest.mark.parametrize("draw", ["network", "calibration"])
def test_captions_and_titles_are_inside_of_the_figure(draw, datasets):
    metric = {"network": "test_nll", "calibration": "coverage_90"}[draw]
    values = {"map": [0.8, 0.9], "multi_laplace_all": [0.95, 0.97]}
    rows = summary(metric, values, datasets, ("evidence", "heteroscedastic"))
    assert texts_outside(getattr(figures, draw)(NETWORK, rows)) == []


def test_values_far_beyond_the_others_are_written_below_a_panel():
    values = {
        name: [1.0 + place / 10, 1.1 + place / 10]
        for place, name in enumerate(("map", "swag", "laplace", "ensemble", "swa", "multiswag"))
    }
    rows = summary("test_nll", values | {"vifa": [60.0, 90.0]}, ("yacht",), ("evidence",))
    (axis,) = figures.network(NETWORK, rows).axes
    assert axis.get_xlim()[1] < 5
    assert axis.get_xlabel() == "beyond: VIFA 75"
