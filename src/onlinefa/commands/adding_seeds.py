"""Commands that add seeds where standard errors are too large."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onlinefa.commands import Commands


def add(commands: Commands) -> None:
    more = commands.add_parser("more_seeds", help="add seeds where standard errors are too large")
    more.add_argument("--config", required=True, help="the whole configuration, as JSON")
    more.add_argument("--summaries", required=True, type=Path, help="folder of summaries")
    more.add_argument("--seeds", required=True, type=Path, help="the file of who has how many")
    more.set_defaults(command=_more_seeds)

    enough = commands.add_parser(
        "enough_seeds", help="run snakemake until standard errors are small enough"
    )
    enough.add_argument("options", nargs="*", help="of snakemake, after --")
    enough.add_argument("--seeds", type=Path, default=Path("results/seeds.json"))
    enough.set_defaults(command=_enough_seeds)


def _more_seeds(options: argparse.Namespace) -> int:
    from onlinefa.config import Config
    from onlinefa.seeds_file import extend
    from onlinefa.validation import ConfigError

    config = Config.model_validate_json(options.config)
    try:
        print(*extend(config, options.summaries, options.seeds), sep="\n", flush=True)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _enough_seeds(options: argparse.Namespace) -> int:
    from onlinefa.enough_seeds import fit_until_enough
    from onlinefa.validation import ConfigError

    try:
        return fit_until_enough(options.options, options.seeds)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
