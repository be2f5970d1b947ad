"""``onlinefa schema``: the JSON schema of configuration files, for editors."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from onlinefa_benchmark.cli.common import print_text

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("schema", help="print the JSON schema of configuration files")
    parser.set_defaults(command=_schema)


def _schema(options: argparse.Namespace) -> int:
    print_text(json.dumps(config_schema(), indent=2))
    return 0


def config_schema() -> dict[str, Any]:
    """Return the JSON schema of configuration files.

    No key is required, because a file is merged into the default configuration.
    """
    from onlinefa_benchmark.config import config_model
    from onlinefa_benchmark.experiments._config import MOST_SEEDS

    schema = config_model().model_json_schema()
    for model in (schema, *schema["$defs"].values()):
        model.pop("required", None)
        properties = model.get("properties", {})
        properties.pop("seeds_by_setting", None)  # read from results/seeds.json only
        seeds = properties.get("seeds", {})
        if "items" in seeds:  # a number of seeds is accepted as well as a list of them
            number = {"type": "integer", "minimum": 1, "maximum": MOST_SEEDS}
            kinds = [number, {"type": seeds.pop("type"), "items": seeds.pop("items")}]
            seeds["anyOf"] = kinds
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
