"""Tests of the grid of a configuration: its cells, and which of them share a job."""

from __future__ import annotations

import pytest
from support.configurations import changed, only, read_file

from onlinefa_benchmark import experiments
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.grid import bundles, estimate_seconds, tables_read


@pytest.fixture
def default():
    return read_file()


def test_the_default_grid(default):
    grid = bundles(validate(default))
    # synthetic: 7 algorithms x 2 D x 1 K, with 3 spectra inside. linear: 6 algorithms, with 4
    # datasets, 5 walks and all K inside. plane: 6 algorithms and 2 rates inside. All seeds are in
    # one job. gp: 2 datasets, with 16 algorithms and 2 widths inside. network: 1 dataset, with 22
    # algorithms inside; images: 14.
    jobs = {"synthetic": 14, "linear": 6, "plane": 1, "gp": 2, "network": 1, "images": 1}
    inner = {
        "synthetic": 3,
        "linear": 4 * 5 * len(default["linear"]["K"]),
        "plane": 6 * 2,
        "gp": 16 * 2,
        "network": 22,
        "images": 14,
    }
    assert {bundle.experiment for bundle in grid} == set(jobs)
    for name in jobs:
        own = [bundle for bundle in grid if bundle.experiment == name]
        assert len(own) == len({bundle.name for bundle in own}) == jobs[name]
        cells = jobs[name] * inner[name] * default[name]["seeds"]
        assert sum(len(bundle.cells()) for bundle in own) == cells


def test_a_job_has_as_many_seeds_as_fit_into_its_minutes(default):
    values = changed(changed(default, "synthetic.seeds", 1000), "job_minutes", 10)
    grid = [bundle for bundle in bundles(validate(values)) if bundle.experiment == "synthetic"]
    for bundle in grid:
        assert estimate_seconds(bundle) <= 600
        assert bundle.seeds[-1] == 999 or estimate_seconds(bundle) > 590
    seeds = {bundle.axes["D"]: len(bundle.seeds) for bundle in reversed(grid)}
    # D = 1000, K = 10 and T = 10,000, three times: 0.2 s and a second each.
    assert seeds[1000] == 600 // 3.6
    assert len({bundle.name for bundle in grid}) == len(grid)


def test_the_estimated_time_of_a_job_is_the_sum_over_its_cells(default):
    for bundle in bundles(validate(default)):
        estimate = experiments.load(bundle.experiment).estimate_seconds
        of_cells = [estimate(cell) for cell in bundle.cells()]
        assert min(of_cells) > 0
        assert estimate_seconds(bundle) == pytest.approx(sum(of_cells))


def test_estimated_time_is_proportional_to_the_length_of_training(default):
    longer = changed(changed(default, "network.rounds", 2 * 20), "linear.epochs", 400)
    longer = changed(longer, "network.walk", 2 * 400)

    def seconds(values, experiment):
        grid = bundles(validate(values))
        return sum(estimate_seconds(bundle) for bundle in grid if bundle.experiment == experiment)

    for experiment in ("network", "linear"):
        assert seconds(longer, experiment) == pytest.approx(2 * seconds(default, experiment))
    assert seconds(longer, "gp") == seconds(default, "gp")


def test_the_path_of_a_job_has_the_axes_that_its_cells_share(default):
    names = {bundle.name for bundle in bundles(validate(changed(default, "seeds_per_job", 1)))}
    assert "synthetic/algorithm~online_em/D~100/K~10/seed~2" in names
    assert "linear/algorithm~swag/seed~1" in names
    assert "plane/seed~0" in names


def test_the_grid_of_experiments_beyond_the_thesis(default):
    config = validate({**default, **read_file("beyond")} | {"synthetic": default["synthetic"]})
    grid = [bundle for bundle in bundles(config) if bundle.experiment != "synthetic"]
    # Ten algorithms on three spectra, on seven scales; two with eight pairs of D and K; eight.
    cells = {"eigenvalues": 10 * 3, "scale": 10 * 7, "components": 2 * 8, "change": 8}
    for name, number in cells.items():
        own = [cell for bundle in grid for cell in bundle.cells() if bundle.experiment == name]
        assert len(own) == 10 * number
        assert len({cell.digest() for cell in own}) == len(own)
    choosing = next(b for b in grid if b.axes["algorithm"] == "recursive_em_auto").cells()[0]
    assert choosing.base_algorithm == "recursive_em"
    assert choosing.parameters["settings"]["n_components"] == "auto"
    assert choosing.parameters["settings"]["block_size"] == 100


def test_a_variant_is_the_algorithm_with_other_settings(default):
    variants = {"slow_sga": {"algorithm": "online_sga", "learning_rate": 1e-4}}
    values = changed(default | {"variants": variants}, "synthetic.algorithms", ["slow_sga"])
    values["settings"] = {"online_sga": {"warm_up": 7}}
    cells = [cell for bundle in bundles(validate(values)) for cell in bundle.cells()]
    slow = [cell for cell in cells if cell.algorithm == "slow_sga"]
    assert {cell.experiment for cell in slow} == {"synthetic"}
    assert slow[0].base_algorithm == "online_sga"
    assert slow[0].parameters["settings"] == {"learning_rate": 1e-4, "warm_up": 7}


def test_jobs_of_some_experiments_are_a_subset_of_all_jobs(default):
    config = validate(default)
    everything = bundles(config)
    for name in config.experiments:
        assert bundles(config, [name]) == [job for job in everything if job.experiment == name]
    assert bundles(config, []) == []


def test_a_job_reads_the_tables_of_its_cells():
    for bundle in bundles(only("linear", datasets=["yacht", "boston"])):
        assert tables_read(bundle) == ["boston", "yacht"]
    for bundle in bundles(only("gp", datasets=["toy"])):
        assert tables_read(bundle) == []  # a curve that is computed
