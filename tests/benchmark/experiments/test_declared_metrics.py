"""Tests that experiments declare exactly the metrics that their computations measure."""

from __future__ import annotations

from onlinefa_benchmark import experiments
from onlinefa_benchmark.experiments.gp import computation as gp
from onlinefa_benchmark.experiments.images import evaluation as images
from onlinefa_benchmark.experiments.network import computation as network
from onlinefa_benchmark.experiments.synthetic import computation as synthetic


def names(experiment):
    return {metric.name for metric in experiments.load(experiment).metrics}


def test_every_measured_metric_has_a_table():
    assert names("synthetic") == names("eigenvalues") == names("scale") == {*synthetic.METRICS}
    assert names("components") == {*synthetic.METRICS, "components_off", "components_right"}
    assert names("linear") == names("plane") == names("change") < names("synthetic")
    assert names("gp") == {*gp.METRICS}
    assert names("network") == network.CONTRACTS.keys()
    assert names("images") < images.CONTRACTS.keys()


def test_every_metric_has_one_label():
    labels = {}
    for experiment in experiments.names():
        for metric in experiments.load(experiment).metrics:
            assert labels.setdefault(metric.name, metric.label) == metric.label
    assert len(set(labels.values())) == len(labels)
