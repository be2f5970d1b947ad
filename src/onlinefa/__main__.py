"""The command line: what each rule of the workflow calls. `python -m onlinefa --help`."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onlinefa.supervising import Begin


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    logging.getLogger("onlinefa").setLevel(logging.INFO)
    status: int = options.command(options)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m onlinefa", description="What each rule of the workflow calls."
    )
    commands = parser.add_subparsers(required=True)

    fetch = commands.add_parser(
        "fetch", help="fetch one dataset; ONLINEFA_DATA_DIR is searched first"
    )
    fetch.add_argument("dataset")
    fetch.add_argument("--output", required=True, type=Path, help="DATASET.npy, in any folder")
    fetch.set_defaults(command=_fetch)

    fit = commands.add_parser("fit", help="fit the cells of one job")
    fit.add_argument("--bundle", required=True, help="the cells, as JSON")
    fit.add_argument("--code", required=True, help="digest of the source the job was planned with")
    fit.add_argument("--store", required=True, type=Path, help="folder of finished cells")
    fit.add_argument("--tables", required=True, type=Path, help="folder of fetched datasets")
    fit.add_argument("--output", required=True, type=Path)
    fit.add_argument("--attempt", type=int, default=1, help="the next one has more memory")
    fit.add_argument("--attempts", type=int, default=1, help="there is none after the last")
    fit.set_defaults(command=_fit)

    summarise = commands.add_parser("summarise", help="means and standard errors over seeds")
    summarise.add_argument("experiment")
    summarise.add_argument("--config", required=True, help="the whole configuration, as JSON")
    summarise.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
    summarise.add_argument("--output", required=True, type=Path)
    summarise.set_defaults(command=_summarise)

    compare = commands.add_parser("compare", help="paired tests, and ranks of algorithms")
    compare.add_argument("experiment")
    compare.add_argument("--config", required=True, help="the whole configuration, as JSON")
    compare.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
    compare.add_argument("--output", required=True, type=Path)
    compare.set_defaults(command=_compare)

    figure = commands.add_parser("figure", help="draw one figure from a summary or comparison")
    figure.add_argument("name")
    figure.add_argument("--rows", required=True, type=Path, help="the summary, or comparison")
    figure.add_argument("--output", required=True, type=Path, nargs="+", help="one per format")
    figure.set_defaults(command=_figure)

    tables = commands.add_parser("tables", help="write tables of a summary's metrics")
    tables.add_argument("--summary", required=True, type=Path)
    tables.add_argument("--output", required=True, type=Path, nargs="+", help="METRIC.FORMAT")
    tables.set_defaults(command=_tables)

    compared = commands.add_parser("compared", help="write tables of a comparison")
    compared.add_argument("--comparison", required=True, type=Path)
    compared.add_argument(
        "--output", required=True, type=Path, nargs="+", help="compared_METRIC.FORMAT, ranks.FORMAT"
    )
    compared.set_defaults(command=_compared)

    datasets = commands.add_parser("datasets", help="write the table of datasets")
    datasets.add_argument("tables", type=Path, nargs="+", help="fetched datasets, DATASET.npy")
    datasets.add_argument("--learning-rate", required=True, type=float)
    datasets.add_argument("--batch", required=True, type=int)
    datasets.add_argument("--output", required=True, type=Path, nargs="+", help="one per format")
    datasets.set_defaults(command=_datasets)

    coverage = commands.add_parser("coverage", help="write the table of what became of all cells")
    coverage.add_argument("--config", required=True, help="the whole configuration, as JSON")
    coverage.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
    coverage.add_argument("--output", required=True, type=Path, nargs="+", help="one per format")
    coverage.set_defaults(command=_coverage)

    verify = commands.add_parser("verify", help="fail, and say which, if any cell has failed")
    verify.add_argument("--config", required=True, help="the whole configuration, as JSON")
    verify.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
    verify.add_argument("--logs", required=True, type=Path, help="folder of the logs of fits")
    verify.add_argument("--output", required=True, type=Path)
    verify.set_defaults(command=_verify)

    report = commands.add_parser("report", help="write the report of a finished run")
    report.add_argument("--config", required=True, help="the whole configuration, as JSON")
    report.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
    report.add_argument("--summaries", required=True, type=Path, nargs="+", help="all of them")
    report.add_argument("--comparisons", type=Path, nargs="*", default=[], help="those there are")
    report.add_argument("--figures", type=Path, nargs="*", default=[], help="pictures to show")
    report.add_argument("--output", required=True, type=Path)
    report.set_defaults(command=_report)

    partial = commands.add_parser("partial_report", help="write a report of what cells there are")
    partial.add_argument("--config", required=True, help="the whole configuration, as JSON")
    partial.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
    partial.add_argument("--store", required=True, type=Path, help="folder of finished cells")
    partial.add_argument("--output", required=True, type=Path)
    partial.set_defaults(command=_partial_report)

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

    doctor = commands.add_parser("doctor", help="check a cluster before the first job")
    doctor.add_argument("--profile", type=Path, default=Path("profiles/slurm"))
    doctor.add_argument("--results", type=Path, default=Path("results"), help="shared folder")
    doctor.set_defaults(command=_doctor)
    return parser


def _fetch(options: argparse.Namespace) -> int:
    from onlinefa import data
    from onlinefa.data.sources import DataUnavailable

    try:
        own = os.environ.get("ONLINEFA_DATA_DIR")
        folder = Path(own).expanduser() if own else None
        data.load(options.dataset, folder, cache=options.output.parent)
    except DataUnavailable as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0


def _fit(options: argparse.Namespace) -> int:
    from onlinefa.supervising import supervise

    is_last = options.attempt >= options.attempts
    return supervise(lambda begin, lost: _fit_cells(options, is_last, begin, lost), is_last)


def _fit_cells(
    options: argparse.Namespace, is_last: bool, begin: Begin, lost: Mapping[str, str]
) -> int:
    from onlinefa import checkpoints
    from onlinefa.cell import Bundle
    from onlinefa.devices import NoDevice
    from onlinefa.fitting import OutOfMemory, fit_bundle
    from onlinefa.results import Store

    bundle = Bundle.from_json(options.bundle)
    try:
        code = bundle.code
    except PackageNotFoundError as missing:
        code = str(missing)
    if code != options.code:
        print(
            "the source or the libraries are not those that this job was planned with: "
            "run snakemake again, in one environment",
            file=sys.stderr,
        )
        return 1
    checkpoints.listen()
    try:
        fit_bundle(
            bundle, Store(options.store), options.tables, options.output,
            is_last_attempt=is_last, begin=begin, killed=lost,
        )  # fmt: skip
    except checkpoints.Interrupted as reason:
        print(f"{reason}; the next attempt goes on from there", file=sys.stderr)
        return checkpoints.EXIT_CODE
    except (NoDevice, OSError, OutOfMemory) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


def _summarise(options: argparse.Namespace) -> int:
    from onlinefa.summary import write_summary

    return _aggregate(options, lambda _, *files: write_summary(*files))


def _compare(options: argparse.Namespace) -> int:
    from onlinefa.comparison import write_comparison

    return _aggregate(options, lambda grid, *files: write_comparison(grid.compared_with, *files))


def _aggregate(options: argparse.Namespace, write: Callable[..., None]) -> int:
    """What is written from the cells of one experiment, of which `write` is told all."""
    from onlinefa.config import Config
    from onlinefa.grid import bundles
    from onlinefa.results import ResultError

    config = Config.model_validate_json(options.config)
    chosen = [bundle for bundle in bundles(config) if bundle.experiment == options.experiment]
    try:
        write(getattr(config, options.experiment), chosen, options.cells, options.output)
    except ResultError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _figure(options: argparse.Namespace) -> int:
    from onlinefa.figures import draw

    draw(options.name, options.rows, options.output)
    return 0


def _tables(options: argparse.Namespace) -> int:
    from onlinefa.tables.final import write_tables

    write_tables(options.summary, options.output)
    return 0


def _compared(options: argparse.Namespace) -> int:
    from onlinefa.tables.compared import write_tables

    write_tables(options.comparison, options.output)
    return 0


def _datasets(options: argparse.Namespace) -> int:
    from onlinefa.tables.datasets import write_table

    write_table(options.tables, options.learning_rate, options.batch, options.output)
    return 0


def _coverage(options: argparse.Namespace) -> int:
    from onlinefa.config import Config
    from onlinefa.grid import bundles
    from onlinefa.tables.coverage import write_table

    config = Config.model_validate_json(options.config)
    write_table(bundles(config), options.cells, options.output)
    return 0


def _verify(options: argparse.Namespace) -> int:
    from onlinefa.config import Config
    from onlinefa.failures import failures
    from onlinefa.files import atomic
    from onlinefa.grid import bundles

    config = Config.model_validate_json(options.config)
    failed = list(failures(bundles(config), options.cells))
    for each in failed:
        log = options.logs / f"{each.bundle.name}.log"
        print(f"{each.cell.experiment}, {each.cell}: {each.reason} ({log})", file=sys.stderr)
    if failed:
        return 1
    with atomic(options.output) as temporary:
        temporary.write_text("No cell has failed.\n")
    return 0


def _report(options: argparse.Namespace) -> int:
    from onlinefa.config import Config
    from onlinefa.grid import bundles
    from onlinefa.report.material import finished
    from onlinefa.report.page import write_report

    config = Config.model_validate_json(options.config)
    files = (options.cells, options.summaries, options.comparisons)
    write_report(finished(bundles(config), *files), config, options.figures, options.output)
    return 0


def _partial_report(options: argparse.Namespace) -> int:
    from onlinefa.config import Config
    from onlinefa.grid import bundles
    from onlinefa.report.material import partial
    from onlinefa.report.page import write_report
    from onlinefa.results import Store

    config = Config.model_validate_json(options.config)
    material = partial(bundles(config), config, options.cells, Store(options.store))
    write_report(material, config, [], options.output)
    missing = sum(len(each.missing) for each in material)
    print(f"{options.output}: {missing} cells are missing" if missing else options.output)
    return 0


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


def _doctor(options: argparse.Namespace) -> int:
    from onlinefa.doctor import examine

    all_fine = True
    for finding in examine(options.profile, options.results.absolute()):
        print(finding, flush=True)
        all_fine &= finding.fine
    return 0 if all_fine else 1


if __name__ == "__main__":
    sys.exit(main())
