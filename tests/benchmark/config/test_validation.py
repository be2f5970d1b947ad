"""Tests of which configurations are refused, and with which messages."""

from __future__ import annotations

import sys

import pytest
import yaml
from support.configurations import FOLDER, changed, read_file, without_experiments

from onlinefa_benchmark import algorithms, experiments, metrics
from onlinefa_benchmark.config import Config, config_model
from onlinefa_benchmark.config.validation import ConfigError, validate
from onlinefa_benchmark.experiments.base import Strict
from onlinefa_benchmark.grid import bundles
from onlinefa_benchmark.metrics.base import AdditionalMetric


@pytest.fixture
def default():
    return read_file()


MISTAKES = {
    "unknown key": ("synthetic.sedes", 3, "unknown key; did you mean 'seeds'?"),
    "compared with an algorithm that is not run": (
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
    "fits that are too large": (
        "synthetic.D",
        [10**30],
        "less than or equal to 1000000000000, got 1000",
    ),
    "boolean for a number": ("linear.learning_rate", True, "must be a number, got True"),
    "unprintable path": ("data_dir", "a\0b", "must have printable characters only, got 'a\\x00b'"),
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
    "setting of an algorithm that is not run": (
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
    "walks without epochs": (
        "linear.epochs",
        15,
        "15 must be warm_up (10) plus 1, 2, ... times every (10)",
    ),
    "two seeds of the plane": ("plane.seeds", 2, "must be one"),
    "negative rate": ("plane.rates", [0.1, -1.0], "greater than 0, got -1.0"),
    "wrong type": ("synthetic.T", ["many"], "valid integer, got 'many'"),
    "negative seed": ("synthetic.seeds", [-1], "greater than or equal to 0, got -1"),
    # Networks on tables and on images.
    "networks on an unknown dataset": (
        "network.datasets",
        ["yatch"],
        "unknown name 'yatch'; did you mean 'yacht'?",
    ),
    "reference that networks do not have": (
        "network.algorithms",
        ["map", "nuts"],
        "unknown algorithm 'nuts'",
    ),
    "too few observations": (
        "network.every",
        40,
        "40 leaves 10 observations of the walk, and more than K (10) are needed",
    ),
    "too few runs": ("network.runs", 4, "4 is below the 5 networks of multiswag"),
    "too many factors for images": (
        "images.K",
        [3658],  # 8 x 10 + 16 x 73 weights of convolutions, 32 x 65 + 10 x 33 of linear layers
        "3658 must be below every D, and small for digits has 3658 weights",
    ),
    "a batch of more images than there are": (
        "images.batch",
        1296,
        "digits has 1295 training images, fewer than 1296",
    ),
    "an architecture that does not fit": (
        "images.architectures",
        ["small", "lenet"],
        "lenet needs images of at least 16 x 16 pixels, digits has 8 x 8",
    ),
    "a schedule of another architecture": (
        "images.schedules",
        {"lenet": {"epochs": 3}},
        "unknown architecture 'lenet' (allowed: small)",
    ),
    "an unknown key of a schedule": (
        "images.schedules",
        {"small": {"epoch": 3}},
        "images.schedules.small.epoch",
    ),
    "an unknown architecture": (
        "images.architectures",
        ["smal"],
        "unknown architecture 'smal'; did you mean 'small'?",
    ),
    "unknown images": ("images.datasets", ["minst"], "did you mean 'mnist'?"),
    "a posterior that deep networks do not have": (
        "images.algorithms",
        ["map", "vifa"],
        "unknown algorithm 'vifa'",
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
def test_an_integer_too_long_to_be_printed_is_one_line(default, key, value):
    with pytest.raises(ConfigError) as error:
        validate(changed(default, key, value))
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"--config: {key}")


def test_all_mistakes_are_listed_at_once(default):
    values = changed(changed(default, "synthetic.T", [2, 1]), "synthetic.seeds", [3, 3])
    with pytest.raises(ConfigError) as error:
        validate(values)
    assert len(str(error.value).splitlines()) == 2


def test_a_mistake_on_the_command_line_is_not_attributed_to_a_file(default):
    with pytest.raises(ConfigError, match=r"^--config: synthetic\.T: "):
        validate(changed(default, "synthetic.T", [2, 1]), [str(FOLDER / "config.yaml")])


def test_a_configuration_without_experiments_is_refused(default):
    for experiment in ("synthetic", "linear", "plane", "gp", "network", "images"):
        assert bundles(validate(default))
        del default[experiment]
    with pytest.raises(ConfigError, match=r"has none of synthetic, .*, images: .* nothing to run"):
        validate(default)


@pytest.mark.parametrize(
    ("name", "variant", "complaint"),
    [
        ("online_em", {"algorithm": "online_sga"}, "is an algorithm; a variant needs another name"),
        ("Slow", {"algorithm": "online_sga"}, "must have lower-case letters"),
        ("slow", {"algorithm": "online_sag"}, "did you mean 'online_sga'?"),
        ("slow", {"learning_rate": 1}, "Field required"),
        ("slow", {"algorithm": "online_sga", "learning_rat": 1}, "did you mean 'learning_rate'?"),
        ("slow", {"algorithm": "online_sga", "learning_rate": -1}, "must be a float in the range"),
        ("slow", {"algorithm": "diagonal", "n_components": 3}, "unknown setting"),
        ("slow", {"algorithm": "diagonal", "n_components": None}, "unknown setting"),
        ("slow", {"algorithm": "online_em", "n_components": True}, "must be a number, got True"),
        ("slow", {"algorithm": "online_em", "n_components": 100}, "100 must be below every D of"),
    ],
)
def test_an_invalid_variant_is_one_line(default, name, variant, complaint):
    with pytest.raises(ConfigError) as error:
        values = changed(default, "synthetic.algorithms", ["batch_ml", "slow"])
        validate((values if name == "slow" else default) | {"variants": {name: variant}})
    (line,) = str(error.value).splitlines()
    assert f"variants.{name}" in line
    assert complaint in line


def test_too_few_observations_of_images_are_refused(default):
    # 1438 images without a fifth, 1295 without a tenth of those: 40 steps in each of 5 epochs.
    with pytest.raises(
        ConfigError, match=r"images: every \(20\) leaves 10 observations of the walk"
    ):
        validate(changed(default, "images.every", 20))
    validate(changed(default, "images.every", 18))


def test_a_single_algorithm_cannot_be_compared_with_itself(default):
    alone = changed(changed(default, "gp.algorithms", ["map"]), "gp.compared_with", "map")
    with pytest.raises(ConfigError, match=r"gp\.compared_with: map is the only algorithm"):
        validate(alone)


def test_a_mixture_of_more_runs_than_are_trained_is_refused(default):
    two = changed(changed(default, "network.runs", 2), "network.algorithms", ["map", "multiswag"])
    with pytest.raises(ConfigError, match=r"network\.runs: 2 is below the 5 networks of multiswag"):
        validate(two)
    validate(changed(two, "settings.multiswag", {"runs": 2}))
    with pytest.raises(ConfigError, match=r"network\.runs: 5 is below the 10 networks"):
        validate(changed(default, "settings.multiswag", {"runs": 10}))


def test_every_experiment_has_a_field():
    fields = config_model().model_fields
    assert set(fields) == {*Config.model_fields, *experiments.names()}
    for name in experiments.names():
        assert fields[name].annotation == experiments.load(name).Config | None
        assert fields[name].default is None
        assert fields[name].description == experiments.load(name).description


NESTED = {
    "limits": ("gp.limits.map.sedes", 3, "seeds", ["datasets", "seeds", "widths"]),
    "more_seeds": (
        "linear.more_seeds",
        {"metric": "relative_frobenius", "error": 1, "most": 9, "algorithm": ["swag"]},
        "algorithms",
        ["algorithms", "error", "metric", "most", "relative"],
    ),
}


@pytest.mark.parametrize(("key", "value", "close", "allowed"), NESTED.values(), ids=NESTED)
def test_the_message_about_an_unknown_nested_key_lists_the_allowed_keys(
    default, key, value, close, allowed
):
    with pytest.raises(ConfigError) as error:
        validate(changed(default, key, value))
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"--config: {key}")
    assert line.endswith(f": unknown key; did you mean '{close}'? (allowed: {', '.join(allowed)})")


@pytest.fixture
def added_metrics(monkeypatch):
    """Add two metrics, one of each kind, as their files would."""
    known = {
        "total_variance": AdditionalMetric("total variance", lambda true, estimate: 0.0),
        "width": AdditionalMetric("width", lambda predictive, y: 0.0, kind="predictive"),
    }
    monkeypatch.setattr(metrics, "names", lambda: sorted(known))
    monkeypatch.setattr(metrics, "load", known.get)


@pytest.mark.parametrize(
    ("key", "names", "message"),
    [
        (
            "synthetic.metrics",
            ["total_varianc"],
            "[0]: unknown metric 'total_varianc'; did you "
            "mean 'total_variance'? (allowed: total_variance, width)",
        ),
        ("synthetic.metrics", ["total_variance", "x"], "[1]: unknown metric 'x' (allowed: "),
        ("synthetic.metrics", ["width"], "[0]: width measures a predictive result, which "),
        ("network.metrics", ["total_variance"], "[0]: total_variance measures a gaussian result, "),
        ("linear.metrics", ["width"], "[0]: width measures a predictive result, which linear "),
        ("synthetic.metrics", [], ": is empty, so there is nothing to run"),
        ("synthetic.metrics", ["total_variance"] * 2, ": has total_variance more than once"),
        ("synthetic.metrics", "total_variance", ": must be a list, got 'total_variance'"),
    ],
)
def test_an_invalid_additional_metric_is_one_line(default, added_metrics, key, names, message):
    with pytest.raises(ConfigError) as error:
        validate(changed(default, key, names))
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"--config: {key}{message}")


def test_unknown_metrics_of_several_experiments_are_all_listed(default, added_metrics):
    values = changed(default, "synthetic.metrics", ["x", "y"])
    with pytest.raises(ConfigError) as error:
        validate(changed(values, "linear.metrics", ["z"]))
    keys = [line.split(": ")[1] for line in str(error.value).splitlines()]
    assert keys == ["synthetic.metrics[0]", "synthetic.metrics[1]", "linear.metrics[0]"]


def test_an_additional_metric_is_part_of_its_cells_and_can_decide_seeds(default, added_metrics):
    more = {"metric": "total_variance", "error": 1, "most": 9}
    values = changed(default, "synthetic.metrics", ["total_variance"])
    config = validate(changed(values, "synthetic.more_seeds", more))
    for bundle in bundles(config):
        expected = ("total_variance",) if bundle.experiment == "synthetic" else ()
        assert {cell.metrics for cell in bundle.cells()} == {expected}
    with pytest.raises(ConfigError, match=r"synthetic\.more_seeds\.metric: unknown metric 'total"):
        validate(changed(default, "synthetic.more_seeds", more))


def test_every_key_has_a_description():
    pending, seen = [config_model()], set()
    while pending:
        model = pending.pop()
        seen.add(model)
        for name, field in model.model_fields.items():
            assert field.description or model.__name__ in ("Variant", "Limit"), (model, name)
            found = getattr(field.annotation, "__args__", (field.annotation,))
            pending += [
                each
                for each in found
                if isinstance(each, type) and issubclass(each, Strict) and each not in seen
            ]
    assert len(seen) > len(experiments.names()) / 2


@pytest.fixture
def only_algorithm(tmp_path, monkeypatch):
    """Return the path of the only estimator, my_algorithm."""
    from onlinefa import estimators

    def folder(package, found=algorithms._folder):
        return tmp_path if package == algorithms.ESTIMATORS else found(package)

    monkeypatch.setattr(estimators, "__path__", [str(tmp_path)])
    monkeypatch.setattr(algorithms, "_folder", folder)
    yield tmp_path / "my_algorithm.py"
    sys.modules.pop(f"{algorithms.ESTIMATORS}.my_algorithm", None)
    vars(estimators).pop("my_algorithm", None)
    algorithms.load.cache_clear()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("class Broken(:\n", "line 1: "),
        ("class One: ...\nclass Two: ...\n", "must define one public class, it defines 2"),
        ("class A:\n    def __init__(self, *, b=1j): ...\n", "the default of b must be a plain"),
    ],
)
def test_a_file_that_is_not_an_algorithm_is_one_line(default, only_algorithm, text, complaint):
    only_algorithm.write_text(text)
    values = default | without_experiments() | {"synthetic": default["synthetic"], "settings": {}}
    with pytest.raises(ConfigError) as error:
        validate(changed(values, "synthetic.algorithms", ["my_algorithm"]))
    (line,) = str(error.value).splitlines()
    assert "my_algorithm.py: " in line
    assert complaint in line
    with pytest.raises(ConfigError, match=r"settings\.my_algorithm: .*my_algorithm\.py: "):
        validate({"root_seed": 0, "seeds_per_job": 1, "settings": {"my_algorithm": {}}})
