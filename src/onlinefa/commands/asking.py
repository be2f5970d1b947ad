"""Commands for people: what would be done, what a cell is, whether a cluster is ready."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onlinefa.commands import Commands


def add(commands: Commands) -> None:
    plan = commands.add_parser("plan", help="what a run would fit now, and why")
    plan.add_argument("--configfile", nargs="+", default=[], metavar="FILE", help="as Snakemake's")
    plan.add_argument("--config", nargs="+", default=[], metavar="KEY=VALUE", help="as Snakemake's")
    plan.add_argument("--results", type=Path, default=Path("results"))
    plan.set_defaults(command=_plan)

    show = commands.add_parser("show", help="the rows of one cell, and where they come from")
    show.add_argument(
        "cell", help="a digest, its first 8 characters or more, or EXPERIMENT/AXIS~VALUE/..."
    )
    show.add_argument("--results", type=Path, default=Path("results"))
    show.set_defaults(command=_show)

    doctor = commands.add_parser("doctor", help="check a cluster before the first job")
    doctor.add_argument("--profile", type=Path, default=Path("profiles/slurm"))
    doctor.add_argument("--results", type=Path, default=Path("results"), help="shared folder")
    doctor.set_defaults(command=_doctor)


def _plan(options: argparse.Namespace) -> int:
    from onlinefa import configfiles, plan_in_words, seeds_file
    from onlinefa.grid import bundles
    from onlinefa.planning import plan
    from onlinefa.validation import ConfigError

    try:
        config = configfiles.read(options.configfile, options.config)
        config = seeds_file.with_numbers(config, seeds_file.read(options.results / "seeds.json"))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    given = {"--configfile": options.configfile, "--config": options.config}
    words = [word for option, values in given.items() if values for word in (option, *values)]
    _print(plan_in_words.told(plan(bundles(config), options.results), words))
    return 0


def _show(options: argparse.Namespace) -> int:
    from onlinefa.showing import NotOne, show

    try:
        _print(show(options.cell, options.results))
    except NotOne as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _print(text: str) -> None:
    """All of it, or as much as `head` wants."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for Python's last flush


def _doctor(options: argparse.Namespace) -> int:
    from onlinefa.doctor import examine

    all_fine = True
    for finding in examine(options.profile, options.results.absolute()):
        print(finding, flush=True)
        all_fine &= finding.fine
    return 0 if all_fine else 1
