"""Configurations: what is refused, in which words, and which cells the rest stand for."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml

from onlinefa import estimators
from onlinefa.cell import Bundle, Group
from onlinefa.config import EXPERIMENTS, Config, Synthetic
from onlinefa.cost import seconds_of, seconds_of_job
from onlinefa.grid import bundles
from onlinefa.validation import ConfigError, validate

FOLDER = Path(__file__).parents[2] / "config"


@pytest.fixture
def default():
    return yaml.safe_load((FOLDER / "config.yaml").read_text())


def changed(values, key, value):
    """A copy with one key, written a.b.c, set to another value."""
    values = copy.deepcopy(values)
    *path, last = key.split(".")
    place = values
    for part in path:
        place = place.setdefault(part, {})
    place[last] = value
    return values


MISTAKES = {
    "unknown key": ("synthetic.sedes", 3, "unknown key; did you mean 'seeds'?"),
    "compared with another one": (
        "synthetic.compared_with",
        "online_sag",
        "unknown name 'online_sag'; did you mean 'online_sga'? (allowed: batch_ml,",
    ),
    "unknown key at the top": ("synthetc", {}, "unknown key; did you mean 'synthetic'?"),
    "unknown algorithm": (
        "synthetic.algorithms",
        ["online_emm"],
        "unknown algorithm 'online_emm'; did you mean 'online_em'?",
    ),
    "K not below D": ("synthetic.K", [10, 100], "100 must be below every D, and D has 100"),
    "spectrum": ("synthetic.spectrum", [[10, 1]], "[10, 1] must have its low below its high"),
    "flat spectrum": ("synthetic.spectrum", [[5, 5]], "[5, 5] must have its low below its high"),
    "empty grid": ("synthetic.D", [], "is empty, so there is nothing to run"),
    "no seeds": ("synthetic.seeds", 0, "is empty, so there is nothing to run"),
    "too many seeds": ("synthetic.seeds", 10**9, "are more than 10000"),
    "endless fits": ("synthetic.D", [10**30], "less than or equal to 1000000000000, got 1000"),
    "yes for a number": ("linear.learning_rate", True, "must be a number, got True"),
    "no path": ("data_dir", "a\0b", "must have printable characters only, got 'a\\x00b'"),
    "two lines": ("synthetic.algorithms", ["a\nb"], "unknown algorithm 'a\\nb' (allowed: "),
    "not a finite setting": ("settings.online_sga.learning_rate", float("inf"), "got inf"),
    "unknown limit": (
        "gp.limits.map.width",
        [50],
        "unknown key; did you mean 'widths'? (allowed: datasets, seeds, widths)",
    ),
    "duplicate seeds": ("synthetic.seeds", [1, 2, 1], "has 1 more than once"),
    "T not increasing": ("synthetic.T", [100, 50], "must be increasing, and 50 follows 100"),
    "unknown setting": (
        "settings.online_sga.learning_rat",
        0.1,
        "unknown setting; did you mean 'learning_rate'?",
    ),
    "setting of an algorithm that nobody runs": (
        "settings.stepwise_em",
        {"warm_up": -1},
        "settings.stepwise_em.warm_up: The 'warm_up' parameter of StepwiseEM must be an int",
    ),
    "setting of an unknown algorithm": ("settings.online_sag", {}, "did you mean 'online_sga'?"),
    "impossible setting": (
        "settings.online_sga.learning_rate",
        -1.0,
        "must be a float in the range",
    ),
    "unknown dataset": (
        "linear.datasets",
        ["bostn"],
        "unknown dataset 'bostn'; did you mean 'boston'?",
    ),
    "K not below the weights": (
        "linear.K",
        [7],
        "7 must be below every D, and yacht has 7 weights",
    ),
    "unknown walk": ("linear.walks", ["shuffled"], "'reshuffled'"),
    "no learning rate": ("linear.learning_rate", 0, "greater than 0, got 0"),
    "walks of no epoch": (
        "linear.epochs",
        15,
        "15 must be warm_up (10) plus 1, 2, ... times every (10)",
    ),
    "two planes": ("plane.seeds", 2, "must be one"),
    "no rate": ("plane.rates", [0.1, -1.0], "greater than 0, got -1.0"),
    "wrong type": ("synthetic.T", ["many"], "valid integer, got 'many'"),
    "negative seed": ("synthetic.seeds", [-1], "greater than or equal to 0, got -1"),
    # Networks on tables, and digits.
    "networks on an unknown dataset": (
        "network.datasets",
        ["yatch"],
        "unknown name 'yatch'; did you mean 'yacht'?",
    ),
    "networks and a reference": ("network.algorithms", ["map", "nuts"], "unknown algorithm 'nuts'"),
    "too few observations": (
        "network.every",
        40,
        "40 leaves 10 observations of the walk, and more than K (10) are needed",
    ),
    "too few runs": ("digits.runs", 4, "4 is below the 5 of multiswag"),
    "too many factors for digits": (
        "digits.K",
        3760,  # 50 units with 65 inputs and 10 outputs each, and 10 biases
        "3760 must be below every D, and there are 3760 weights",
    ),
}


@pytest.mark.parametrize(("key", "value", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_with_file_and_key(default, tmp_path, key, value, message):
    values = changed(default, key, value)
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(values))
    with pytest.raises(ConfigError) as error:
        validate(values, [str(FOLDER / "config.yaml"), str(file)])
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"{file}: {key}")
    assert message in line


@pytest.mark.parametrize("key", ["root_seed", "settings.online_em.warm_up", "synthetic.T"])
@pytest.mark.parametrize("value", [16**4000, [16**4000]], ids=["number", "list"])
def test_a_number_that_python_does_not_write_out_is_one_line(default, key, value):
    with pytest.raises(ConfigError) as error:
        validate(changed(default, key, value))
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"--config: {key}")


def test_all_mistakes_are_told_at_once(default):
    values = changed(changed(default, "synthetic.T", [2, 1]), "synthetic.seeds", [3, 3])
    with pytest.raises(ConfigError) as error:
        validate(values)
    assert len(str(error.value).splitlines()) == 2


def test_a_value_of_the_command_line_is_not_blamed_on_a_file(default):
    with pytest.raises(ConfigError, match=r"^--config: synthetic\.T: "):
        validate(changed(default, "synthetic.T", [2, 1]), [str(FOLDER / "config.yaml")])


def test_nothing_to_run_is_refused(default):
    for experiment in ("synthetic", "linear", "plane", "gp", "network", "digits"):
        assert bundles(validate(default))
        del default[experiment]
    with pytest.raises(ConfigError, match=r"has none of synthetic, .*, digits: .* nothing to run"):
        validate(default)


def test_the_default_grid(default):
    grid = bundles(validate(default))
    # synthetic: 7 algorithms x 2 D x 1 K, with 3 spectra inside. linear: 6 algorithms, with 4
    # datasets, 4 walks and all K inside. plane: 6 algorithms and 2 rates inside. All seeds are in
    # one job. gp: 2 datasets, with 14 algorithms and 2 widths inside. network: 1 dataset, with 16
    # algorithms inside; digits: 15.
    jobs = {"synthetic": 14, "linear": 6, "plane": 1, "gp": 2, "network": 1, "digits": 1}
    inner = {
        "synthetic": 3, "linear": 4 * 4 * len(default["linear"]["K"]), "plane": 6 * 2, "gp": 14 * 2,
        "network": 16, "digits": 15,
    }  # fmt: skip
    assert {bundle.experiment for bundle in grid} == set(jobs)
    for name in jobs:
        own = [bundle for bundle in grid if bundle.experiment == name]
        assert len(own) == len({bundle.name for bundle in own}) == jobs[name]
        cells = jobs[name] * inner[name] * default[name]["seeds"]
        assert sum(len(bundle.cells()) for bundle in own) == cells


def test_a_job_has_as_many_seeds_as_take_its_minutes(default):
    values = changed(changed(default, "synthetic.seeds", 1000), "job_minutes", 10)
    grid = [bundle for bundle in bundles(validate(values)) if bundle.experiment == "synthetic"]
    for bundle in grid:
        assert seconds_of_job(bundle) <= 600
        assert bundle.seeds[-1] == 999 or seconds_of_job(bundle) > 590
    seeds = {bundle.axes["D"]: len(bundle.seeds) for bundle in reversed(grid)}
    # D = 1000, K = 10 and T = 10,000, three times: 0.2 s and a second each.
    assert seeds[1000] == 600 // 3.6
    assert len({bundle.name for bundle in grid}) == len(grid)


def test_a_job_takes_as_long_as_all_of_its_cells(default):
    for bundle in bundles(validate(default)):
        of_cells = [seconds_of(bundle.experiment, cell) for cell in bundle.cells()]
        assert min(of_cells) > 0
        assert seconds_of_job(bundle) == pytest.approx(sum(of_cells))


def test_longer_training_takes_as_much_longer(default):
    longer = changed(changed(default, "digits.steps", 2 * 500 + 400), "linear.epochs", 400)

    def seconds(values, experiment):
        grid = bundles(validate(values))
        return sum(seconds_of_job(bundle) for bundle in grid if bundle.experiment == experiment)

    for experiment in ("digits", "linear"):
        assert seconds(longer, experiment) == pytest.approx(2 * seconds(default, experiment))
    assert seconds(longer, "gp") == seconds(default, "gp")


def test_the_path_of_a_job_says_what_its_cells_share(default):
    names = {bundle.name for bundle in bundles(validate(changed(default, "seeds_per_job", 1)))}
    assert "synthetic/algorithm~online_em/D~100/K~10/seed~2" in names
    assert "linear/algorithm~swag/seed~1" in names
    assert "plane/seed~0" in names


def test_a_bundle_has_every_seed_of_every_group():
    groups = [Group({"algorithm": "swag", "K": K}, {"rate": 0.1 * K}) for K in (1, 2)]
    cells = Bundle("linear", {"algorithm": "swag"}, tuple(groups), (0, 1)).cells()
    assert [(cell.axes["K"], cell.seed) for cell in cells] == [(1, 0), (2, 0), (1, 1), (2, 1)]
    assert all(cell.parameters["rate"] == 0.1 * cell.axes["K"] for cell in cells)
    assert len({cell.digest() for cell in cells}) == 4


def test_bundles_survive_the_command_line(default):
    for bundle in bundles(validate(default)):
        assert Bundle.from_json(bundle.to_json()) == bundle


def digests(values):
    grid = bundles(validate(values))
    return {
        (cell.experiment, json.dumps(dict(cell.axes)), cell.seed): cell.digest()
        for bundle in grid
        for cell in bundle.cells()
    }


def test_digests_do_not_depend_on_bundles(default):
    assert digests(default) == digests(changed(default, "seeds_per_job", 2))


def test_digests_change_for_whom_a_setting_concerns(default):
    before, after = digests(default), digests(changed(default, "settings.online_sga.warm_up", 50))
    differs = {key for key in before if before[key] != after[key]}
    assert differs == {key for key in before if "online_sga" in key[1]}
    assert {key[0] for key in differs} == {"synthetic", "linear", "plane", "gp"}


FEWER = {
    "synthetic.algorithms": ["online_em"],
    "synthetic.D": [1000],
    "synthetic.spectrum": [[1, 100]],
    "synthetic.seeds": [2],
    "linear.datasets": ["yacht"],
    "linear.walks": ["reshuffled"],
    "linear.seeds": 1,
    "plane.rates": [0.01],
    "gp.widths": [200],
    "gp.datasets": ["yacht"],
    "network.seeds": 1,
    "network": None,
}


@pytest.mark.parametrize(("key", "fewer"), FEWER.items(), ids=FEWER)
def test_more_or_less_of_anything_leaves_all_other_cells_as_they_are(default, key, fewer):
    more, less = digests(default), digests(changed(default, key, fewer))
    assert less.items() < more.items()
    assert {name for name, _, _ in more.keys() - less.keys()} == {key.split(".")[0]}


@pytest.mark.parametrize("key", ["synthetic.algorithms", "synthetic.D", "linear.algorithms"])
def test_more_or_less_of_what_has_jobs_of_its_own_leaves_all_other_jobs_as_they_are(default, key):
    *_, kept = default[key.split(".")[0]][key.split(".")[1]]
    more, less = [
        {bundle.name: (bundle.to_json(), bundle.code) for bundle in bundles(validate(values))}
        for values in (default, changed(default, key, [kept]))
    ]
    assert less.items() < more.items()


BEYOND = FOLDER / "beyond.yaml"


def test_beyond_the_thesis(default):
    config = validate(
        {**default, **yaml.safe_load(BEYOND.read_text())} | {"synthetic": default["synthetic"]}
    )
    grid = [bundle for bundle in bundles(config) if bundle.experiment != "synthetic"]
    # Ten algorithms on three spectra, on seven scales; two with eight pairs of D and K; eight.
    cells = {"eigenvalues": 10 * 3, "scale": 10 * 7, "components": 2 * 8, "change": 8}
    for name, number in cells.items():
        own = [cell for bundle in grid for cell in bundle.cells() if bundle.experiment == name]
        assert len(own) == 10 * number
        assert len({cell.digest() for cell in own}) == len(own)
    choosing = next(b for b in grid if b.axes["algorithm"] == "recursive_em_auto").cells()[0]
    assert choosing.estimator == "recursive_em"
    assert choosing.parameters["settings"]["n_components"] == "auto"
    assert choosing.parameters["settings"]["block_size"] == 100


def test_a_variant_is_the_algorithm_with_other_settings(default):
    variants = {"slow_sga": {"algorithm": "online_sga", "learning_rate": 1e-4}}
    values = changed(default | {"variants": variants}, "synthetic.algorithms", ["slow_sga"])
    values["settings"] = {"online_sga": {"warm_up": 7}}
    cells = [cell for bundle in bundles(validate(values)) for cell in bundle.cells()]
    slow = [cell for cell in cells if cell.algorithm == "slow_sga"]
    assert {cell.experiment for cell in slow} == {"synthetic"}
    assert slow[0].estimator == "online_sga"
    assert slow[0].parameters["settings"] == {"learning_rate": 1e-4, "warm_up": 7}


@pytest.mark.parametrize(
    ("name", "variant", "complaint"),
    [
        ("online_em", {"algorithm": "online_sga"}, "is an algorithm; a variant needs a name"),
        ("Slow", {"algorithm": "online_sga"}, "must have small letters"),
        ("slow", {"algorithm": "online_sag"}, "did you mean 'online_sga'?"),
        ("slow", {"learning_rate": 1}, "Field required"),
        ("slow", {"algorithm": "online_sga", "learning_rat": 1}, "did you mean 'learning_rate'?"),
        ("slow", {"algorithm": "online_sga", "learning_rate": -1}, "must be a float in the range"),
        ("slow", {"algorithm": "diagonal", "n_components": 3}, "unknown setting"),
        ("slow", {"algorithm": "diagonal", "n_components": None}, "unknown setting"),
        ("slow", {"algorithm": "online_em", "n_components": True}, "must be a number, got True"),
        ("slow", {"algorithm": "online_em", "n_components": 100}, "100 must be below every D of"),
    ],
)  # fmt: skip
def test_a_variant_that_cannot_be_is_one_line(default, name, variant, complaint):
    with pytest.raises(ConfigError) as error:
        values = changed(default, "synthetic.algorithms", ["batch_ml", "slow"])
        validate((values if name == "slow" else default) | {"variants": {name: variant}})
    (line,) = str(error.value).splitlines()
    assert f"variants.{name}" in line
    assert complaint in line


def test_one_algorithm_is_compared_with_nobody(default):
    alone = changed(changed(default, "gp.algorithms", ["map"]), "gp.compared_with", "map")
    with pytest.raises(ConfigError, match=r"gp\.compared_with: map is the only algorithm"):
        validate(alone)


def test_a_mixture_takes_no_more_runs_than_there_are(default):
    two = changed(changed(default, "network.runs", 2), "network.algorithms", ["map", "multiswag"])
    with pytest.raises(ConfigError, match=r"network\.runs: 2 is below the 5 of multiswag"):
        validate(two)
    validate(changed(two, "settings.multiswag", {"runs": 2}))
    with pytest.raises(ConfigError, match=r"network\.runs: 5 is below the 10 of multiswag"):
        validate(changed(default, "settings.multiswag", {"runs": 10}))
    with pytest.raises(ConfigError, match=r"digits\.batch: there are 1151 images to learn from"):
        validate(changed(default, "digits.batch", 1152))


def test_spelling_out_a_default_changes_nothing(default):
    for algorithm in ("online_sga", "online_em"):
        without = copy.deepcopy(default)
        del without["settings"][algorithm]
        assert digests(default) == digests(without)


def documented(model, prefix=""):
    for name, field in model.model_fields.items():
        yield f"| `{prefix}{name}` | {field.description} |"


def test_every_key_is_documented():
    text = (FOLDER / "README.md").read_text()
    rows = [*documented(Config)]
    for name, model in EXPERIMENTS.items():
        # What an experiment has from `synthetic` is explained there.
        inherits = name != "synthetic" and issubclass(model, Synthetic)
        known = documented(Synthetic, f"{name}.") if inherits else ()
        rows += set(documented(model, f"{name}.")) - set(known)
    assert [row for row in rows if row not in text] == []
    assert text.count("\n| `") == len(rows)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("class Broken(:\n", "line 1: "),
        ("class One: ...\nclass Two: ...\n", "must define one public class, it defines 2"),
        ("class A:\n    def __init__(self, *, b=1 / 3): ...\n", "the default of b must be a plain"),
    ],
)
def test_a_file_that_is_no_algorithm_is_one_line(default, tmp_path, monkeypatch, text, complaint):
    (tmp_path / "my_algorithm.py").write_text(text)
    monkeypatch.setattr(estimators, "__path__", [str(tmp_path)])
    default |= dict.fromkeys(set(EXPERIMENTS) - {"synthetic"})
    with pytest.raises(ConfigError) as error:
        validate(changed(default | {"settings": {}}, "synthetic.algorithms", ["my_algorithm"]))
    (line,) = str(error.value).splitlines()
    assert "my_algorithm.py: " in line
    assert complaint in line
    with pytest.raises(ConfigError, match=r"settings\.my_algorithm: .*my_algorithm\.py: "):
        validate({"root_seed": 0, "seeds_per_job": 1, "settings": {"my_algorithm": {}}})
