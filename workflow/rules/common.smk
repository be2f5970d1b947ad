# What all rules share: the checked configuration and the list of jobs.

import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

import onlinefa
from onlinefa import data, seeds_file
from onlinefa.cost import seconds_of_job
from onlinefa.digest import code_digest
from onlinefa.figures import FIGURES as EXPERIMENT_OF, OF_COMPARISONS, files_of
from onlinefa.figures.alternative_text import alternative_text
from onlinefa.grid import bundles, datasets_of
from onlinefa.presentation import EXPERIMENTS as TITLES, title_of_figure, title_of_table
from onlinefa.report import assets_digest
from onlinefa.tables import FORMATS as TABLE_FORMATS, METRICS, compared_metrics
from onlinefa.validation import ConfigError, validate

# What `more_seeds` has decided so far.
SEEDS = "results/seeds.json"

# Mistakes in a config stop the run before any job starts, in one line each and without the
# traceback that an exception would add. Later files are merged on top of earlier ones.
given = list(map(str, workflow.overwrite_configfiles))
try:
    CONFIG = validate(
        config, [*(f for f in map(str, workflow.configfiles) if f not in given), *given]
    )
    CONFIG = seeds_file.with_numbers(CONFIG, seeds_file.read(Path(SEEDS)))
except ConfigError as error:
    sys.exit(str(error))

# Jobs import the source that planned them, in a conda environment too, where it is not installed.
SOURCE = str(Path(onlinefa.__file__).parents[1])
PREFIX = (
    f"set -euo pipefail; export PYTHONPATH={shlex.quote(SOURCE)}"
    f" ONLINEFA_DATA_DIR={shlex.quote(CONFIG.data_dir or '')}; "
)
# Snakemake would take braces in a path for names of its own.
shell.prefix(PREFIX.replace("{", "{{").replace("}", "}}"))

BUNDLES = {bundle.name: bundle for bundle in bundles(CONFIG)}
EXPERIMENTS = sorted({bundle.experiment for bundle in BUNDLES.values()})
DATASETS = {
    experiment: sorted(
        {
            name
            for bundle in BUNDLES.values()
            if bundle.experiment == experiment
            for name in datasets_of(bundle)
        }
    )
    for experiment in EXPERIMENTS
}
# When a setting has enough seeds decides nothing about what they have shown.
UNREAD = {name: {"more_seeds"} for name in EXPERIMENTS}
COMPARED = [name for name in EXPERIMENTS if getattr(CONFIG, name).compared_with]
FIGURES = [
    figure
    for figure, experiment in EXPERIMENT_OF.items()
    if experiment in (COMPARED if figure in OF_COMPARISONS else EXPERIMENTS)
]


wildcard_constraints:
    bundle=".+",
    dataset="|".join(sorted(set().union(*DATASETS.values()))) or "none",
    experiment="|".join(EXPERIMENTS),


def bundle_of(wildcards):
    """The cells of a fit job, for `params: lambda wildcards: bundle_of(wildcards)...`."""
    if wildcards.bundle not in BUNDLES:
        raise WorkflowError(f"{wildcards.bundle} is not in the configured grid")
    return BUNDLES[wildcards.bundle]


def dataset(name):
    """The file of a dataset, once it has been fetched."""
    return f"results/data/{name}.npy"


def tables_read_by(wildcards):
    """The datasets that a fit job needs; none for synthetic data."""
    return list(map(dataset, datasets_of(bundle_of(wildcards))))


def config_of(experiment):
    """What an experiment is told, as JSON: the configuration without the other experiments."""
    others = {name: None for name in EXPERIMENTS if name != experiment}
    return CONFIG.model_copy(update={"data_dir": None, **others}).model_dump_json(exclude=UNREAD)


def config_of_all():
    """What is told to who reads the cells of all experiments, as JSON."""
    return CONFIG.model_copy(update={"data_dir": None}).model_dump_json(exclude=UNREAD)


def cells(experiment=None):
    """Everything that is fitted, or what is fitted for one experiment."""
    return [
        f"results/cells/{name}.parquet"
        for name, bundle in BUNDLES.items()
        if experiment in (None, bundle.experiment)
    ]


def summaries_judged(wildcards):
    """The summaries of all experiments that ask for more seeds."""
    judged = [name for name in EXPERIMENTS if getattr(CONFIG, name).more_seeds]
    if not judged:
        raise WorkflowError("no experiment has more_seeds in its configuration (config/README.md)")
    return [f"results/summary/{name}.parquet" for name in judged]


def told_by(target):
    """Where the answer to a question is written, for `onsuccess` to print.

    What a job prints itself would get between the bars of a terminal.
    """
    return f"results/logs/{target}.txt"


def figures():
    """All figures of the configured experiments, in all formats."""
    return [f"results/figures/{file}" for figure in FIGURES for file in pictures(figure)]


def pictures(figure):
    """The files of a figure."""
    return files_of(figure, DATASETS[EXPERIMENT_OF[figure]])


def rows_of(figure):
    """The file that a figure is drawn from."""
    kind = "comparison" if figure in OF_COMPARISONS else "summary"
    return f"results/{kind}/{EXPERIMENT_OF[figure]}.parquet"


def in_report(kind, files, caption, category):
    """Figures or tables, of which `snakemake --report` shows one format, under a category."""
    suffix, title = {"figure": (".png", title_of_figure), "table": (".html", title_of_table)}[kind]

    def marked(file):
        return report(
            file,
            caption=f"../report/{caption}.rst",
            category=category,
            subcategory=f"{kind.capitalize()}s",
            labels={kind: title(Path(file).stem)},
        )

    return [marked(file) if file.endswith(suffix) else file for file in files]


def tables_compared(experiment):
    """The tables of an experiment's comparison, in all formats."""
    names = ["ranks", *(f"compared_{metric}" for metric in compared_metrics(experiment))]
    return [
        f"results/tables/{experiment}/{name}.{suffix}" for name in names for suffix in TABLE_FORMATS
    ]


def tables():
    """All tables of the configured experiments, in all formats."""
    names = [
        f"{experiment}/{metric}" for experiment in EXPERIMENTS for metric in METRICS[experiment]
    ]
    if CONFIG.linear:
        names.append("table_6_1")
    names.append("coverage")
    return [
        *(f"results/tables/{name}.{suffix}" for name in names for suffix in TABLE_FORMATS),
        *(table for experiment in COMPARED for table in tables_compared(experiment)),
    ]
