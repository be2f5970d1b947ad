"""``onlinefa plan``: list the cells that a run would fit now, and why."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import errors_in_one_line, print_text

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("plan", help="list the cells that a run would fit now, and why")
    parser.add_argument(
        "--configfile", nargs="+", default=[], metavar="FILE", help="as Snakemake's option"
    )
    parser.add_argument(
        "--config", nargs="+", default=[], metavar="KEY=VALUE", help="as Snakemake's option"
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results")
    parser.set_defaults(command=_plan)


def _plan(options: argparse.Namespace) -> int:
    from onlinefa_benchmark.cli.plan_format import format_plan
    from onlinefa_benchmark.config import files, seed_counts
    from onlinefa_benchmark.grid import bundles
    from onlinefa_benchmark.planning.plan import make_plan

    with errors_in_one_line():
        config = files.read(options.configfile, options.config)
        config = seed_counts.apply(config, seed_counts.read(options.results / "seeds.json"))
    given = {"--configfile": options.configfile, "--config": options.config}
    arguments = [word for option, values in given.items() if values for word in (option, *values)]
    print_text(format_plan(make_plan(bundles(config), options.results), arguments))
    return 0
