"""Tests of chapter 7: mistakes in its configuration, its cells and its jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from onlinefa_benchmark import experiments
from onlinefa_benchmark.config.validation import ConfigError, validate
from onlinefa_benchmark.grid import bundles, tables_read


@pytest.fixture
def configured():
    folder = Path(__file__).parents[4] / "config"
    default = yaml.safe_load((folder / "config.yaml").read_text())
    rest = dict.fromkeys(experiments.names())
    return lambda **changes: default | rest | {"gp": default["gp"] | changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": ["tay"]}, "gp.datasets: unknown name 'tay'; did you mean 'toy'?"),
        ({"datasets": ["casp"]}, "gp.datasets: casp has 41157 training rows; a Gaussian"),
        ({"batch": 41}, "gp.datasets: toy has 40 training rows, fewer than a batch (41)"),
        ({"epochs": 20}, "gp.epochs: 20 must be above warm_up, which is 20"),
        (
            {"every": 20},
            "gp.every: 20 leaves 10 observations of the walk over toy, and more than K",
        ),
        ({"widths": [2]}, "gp.K: 10 must be below every D, and toy, 2 has 7 weights"),
        ({"K": 1}, "gp.K: Input should be greater than or equal to 2"),
        ({"learning_rate": 1.5}, "gp.learning_rate: Input should be less than 1"),
        ({"algorithms": ["mop"]}, "gp.algorithms: unknown algorithm 'mop'; did you mean 'map'?"),
        ({"limits": {"nots": {}}}, "gp.limits: unknown name 'nots'"),
        ({"limits": {"map": {"width": [2]}}}, "gp.limits.map.width: unknown key"),
        ({"limits": {"map": {"widths": [2]}}}, "gp.limits: unknown name '2' (allowed: 200, 50)"),
        (
            {"limits": {"map": {"datasets": []}}},
            "gp.limits.map.datasets: List should have at least",
        ),
    ],
)
def test_mistakes_are_named(configured, changes, message):
    with pytest.raises(ConfigError) as refused:
        validate(configured(**changes))
    assert message in str(refused.value)


def test_a_posterior_of_networks_cannot_be_fitted_to_observations(configured):
    values = configured() | {
        "linear": {
            "datasets": ["yacht"],
            "algorithms": ["map"],
            "K": [1],
            "seeds": 1,
            "walks": ["reshuffled"],
            "learning_rate": 0.1,
            "batch": 8,
            "warm_up": 1,
            "every": 1,
            "epochs": 2,
        }
    }
    with pytest.raises(ConfigError, match=r"linear.algorithms: unknown algorithm 'map'"):
        validate(values)
    values["linear"]["algorithms"] = ["large_ensemble"]
    values["variants"] = {"large_ensemble": {"algorithm": "ensemble", "members": 20}}
    with pytest.raises(ConfigError, match=r"linear.algorithms: unknown algorithm 'large_ensemble'"):
        validate(values)


def test_a_package_that_is_not_installed_is_named(configured, monkeypatch):
    monkeypatch.setattr("onlinefa_benchmark.algorithms.find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match=r"'nuts' needs numpyro, which is not installed: pip inst"
    ):
        validate(configured(algorithms=["map", "nuts"]))


def test_a_job_has_the_cells_of_a_table_and_slow_algorithms_have_separate_jobs(configured):
    values = configured(
        algorithms=["map", "swag", "nuts"],
        limits={
            "nuts": {"datasets": ["toy"], "widths": [50], "seeds": 2},
            "swag": {"widths": [200]},
        },
    )
    jobs = {bundle.name: bundle for bundle in bundles(validate(values))}
    assert list(jobs) == [
        "gp/dataset~toy/seeds~0-2",
        "gp/dataset~toy/algorithm~nuts/width~50/seeds~0-1",
        "gp/dataset~yacht/seeds~0-2",
    ]
    shared = jobs["gp/dataset~toy/seeds~0-2"]
    assert [(group.axes["algorithm"], group.axes["width"]) for group in shared.groups] == [
        ("map", 50),
        ("map", 200),
        ("swag", 200),
    ]
    assert [tables_read(bundle) for bundle in jobs.values()] == [[], [], ["yacht"]]
    # Cells are ordered by seed and then by network, because they share the table and the mode.
    assert [c.seed for c in shared.cells()] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    slow = jobs["gp/dataset~toy/algorithm~nuts/width~50/seeds~0-1"].groups[0]
    experiment = experiments.load("gp")
    assert experiment.estimate_seconds(slow) > experiment.estimate_seconds(shared.groups[0])


def test_networks_run_on_a_configured_gpu_and_nuts_does_not(configured):
    jobs = bundles(validate(configured(algorithms=["map", "nuts"]) | {"device": "auto"}))
    names = [job.name for job in jobs if job.axes["dataset"] == "toy"]
    slow = configured(algorithms=["map", "slow"]) | {
        "device": "auto",
        "variants": {"slow": {"algorithm": "nuts", "draws": 5000}},
    }
    assert [job.name.replace("slow", "nuts") for job in bundles(validate(slow))][:3] == names
    assert names == [
        "gp/device~auto/dataset~toy/seeds~0-2",
        "gp/dataset~toy/algorithm~nuts/width~50/seeds~0-2",
        "gp/dataset~toy/algorithm~nuts/width~200/seeds~0-2",
    ]
    assert experiments.load("gp").gpu == "each"


def test_cells_depend_on_the_parameters_that_their_algorithm_uses(configured):
    def digests(**changes):
        algorithms = ["map", "swag", "nuts", "nystrom"]
        return {
            (c.algorithm, c.axes["width"], c.seed, c.axes["dataset"]): c.digest()
            for job in bundles(validate(configured(algorithms=algorithms, **changes)))
            for c in job.cells()
        }

    before = digests()
    for changes, concerned in [
        ({"learning_rate": 0.4}, {"swag"}),
        ({"samples": 7}, {"swag"}),
        ({"iterations": 7}, {"swag", "map"}),
    ]:
        after = digests(**changes)
        assert {key[0] for key in before if before[key] != after[key]} == concerned
