"""Tests of the JSON schema of configuration files, which editors use for completion."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml
from support.configurations import FOLDER, changed, read_file

from onlinefa_benchmark import experiments
from onlinefa_benchmark.cli import main
from onlinefa_benchmark.cli.schema import config_schema
from onlinefa_benchmark.config import Config

FILES = sorted(FOLDER.glob("*.yaml"))


@pytest.fixture(scope="module")
def schema():
    return json.loads((FOLDER / "schema.json").read_text())


def test_the_file_is_up_to_date(schema, capsys):
    assert main(["schema"]) == 0
    message = "run `onlinefa schema > config/schema.json`"
    assert capsys.readouterr().out == (FOLDER / "schema.json").read_text(), message
    assert schema == config_schema(), message


def test_the_schema_is_valid_and_has_every_key(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) == {*Config.model_fields, *experiments.names()}
    for name in experiments.names():
        (model, _) = schema["properties"][name]["anyOf"]
        own = schema["$defs"][model["$ref"].rpartition("/")[2]]["properties"]
        # `snakemake more_seeds` decides the numbers of seeds of single settings.
        assert {*own, "seeds_by_setting"} == set(experiments.load(name).Config.model_fields)


def keywords(schema):
    """Yield the keywords of a schema and of all schemas in it."""
    yield from schema
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            for each in value.values():
                yield from keywords(each)
        elif key in ("anyOf", "prefixItems"):
            for each in value:
                yield from keywords(each)
        elif isinstance(value, dict) and key in ("items", "additionalProperties"):
            yield from keywords(value)


def test_the_schema_has_standard_keywords_only(schema):
    known = {
        "$defs",
        "$ref",
        "$schema",
        "additionalProperties",
        "anyOf",
        "default",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "prefixItems",
        "properties",
        "title",
        "type",
    }
    assert set(keywords(schema)) <= known


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_configurations_of_this_repository_are_valid_and_refer_to_the_schema(schema, file):
    jsonschema.validate(yaml.safe_load(file.read_text()), schema)
    assert file.read_text().splitlines()[0] == "# yaml-language-server: $schema=schema.json"


MISTAKES = {
    "unknown key at the top": ("synthetc", {}),
    "unknown key": ("synthetic.sedes", 3),
    "unknown key of limits": ("gp.limits", {"map": {"width": [50]}}),
    "no seeds": ("synthetic.seeds", 0),
    "too many seeds": ("synthetic.seeds", 10**9),
    "negative seed": ("synthetic.seeds", [-1]),
    "negative rate": ("plane.rates", [0.1, -1.0]),
    "wrong type": ("synthetic.T", ["many"]),
    "unknown device": ("device", "tpu"),
    "key that is not configurable": ("synthetic.seeds_by_setting", {"D~100": 4}),
}


@pytest.mark.parametrize(("key", "value"), MISTAKES.values(), ids=MISTAKES)
def test_the_schema_rejects_mistakes(schema, key, value):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed(read_file(), key, value), schema)


@pytest.mark.parametrize("value", [3, [0, 7], 10_000])
def test_seeds_can_be_a_number_or_a_list(schema, value):
    jsonschema.validate({"synthetic": {"seeds": value}}, schema)
