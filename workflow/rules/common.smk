# What all rules share: the checked configuration, the list of jobs, and the files of each rule.

import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

import onlinefa_benchmark
from onlinefa_benchmark import datasets, experiments
from onlinefa_benchmark.config import seed_counts
from onlinefa_benchmark.config.files import checked_path, write_checked
from onlinefa_benchmark.config.validation import ConfigError, validate
from onlinefa_benchmark.fingerprint import code_digest
from onlinefa_benchmark.grid import bundles, estimate_seconds, tables_read
from onlinefa_benchmark.reporting.figures import picture_files
from onlinefa_benchmark.reporting.html import assets_digest
from onlinefa_benchmark.reporting.tables import FORMATS as TABLE_FORMATS, table_files
from onlinefa_benchmark.reporting.titles import title_of_figure, title_of_table

# The numbers of seeds that `more_seeds` has decided on.
SEEDS = "results/seeds.json"

# Mistakes in a configuration stop the run before any job starts, in one line each and without the
# traceback that an exception would add. Later files are merged on top of earlier ones.
given = list(map(str, workflow.overwrite_configfiles))
try:
    CONFIG = validate(
        config, [*(f for f in map(str, workflow.configfiles) if f not in given), *given]
    )
    CONFIG = seed_counts.apply(CONFIG, seed_counts.read(Path(SEEDS)))
except ConfigError as error:
    sys.exit(str(error))

# Jobs read the checked configuration from a file that `onstart` writes. Its name is not a parameter
# of rules, because it changes with the configuration of other experiments as well. The parameter of
# a rule is a digest of the part of the configuration that concerns the rule.
CONFIG_FILE = checked_path(CONFIG, Path("results/config"))

# Jobs import the source that planned them, also in a conda environment that does not have it.
SOURCE = str(Path(onlinefa_benchmark.__file__).parents[1])
PREFIX = (
    f"set -euo pipefail; export PYTHONPATH={shlex.quote(SOURCE)}"
    f" ONLINEFA_CONFIG={shlex.quote(str(CONFIG_FILE))}"
    f" ONLINEFA_DATA_DIR={shlex.quote(CONFIG.data_dir or '')}; "
)
# Snakemake would interpret braces in a path as placeholders.
shell.prefix(PREFIX.replace("{", "{{").replace("}", "}}"))

# Rules that read cells need the libraries that fitted them, whose versions are in the digests.
ENVIRONMENT_OF_CELLS = (
    "../../envs/onlinefa.yaml" if CONFIG.device == "cpu" else "../../envs/onlinefa-cuda.yaml"
)

BUNDLES = {bundle.name: bundle for bundle in bundles(CONFIG)}
EXPERIMENTS = list(CONFIG.experiments)
COMPARED = [name for name, own in CONFIG.experiments.items() if own.compared_with]
DATASETS = {
    experiment: sorted(
        {
            name
            for bundle in BUNDLES.values()
            if bundle.experiment == experiment
            for name in tables_read(bundle)
        }
    )
    for experiment in EXPERIMENTS
}


wildcard_constraints:
    bundle=".+",
    dataset="|".join(sorted(set().union(*DATASETS.values()))) or "none",
    experiment="|".join(EXPERIMENTS),


def bundle_of(wildcards):
    """Return the bundle of a fit job."""
    if wildcards.bundle not in BUNDLES:
        raise WorkflowError(f"{wildcards.bundle} is not in the configured grid")
    return BUNDLES[wildcards.bundle]


def dataset(name):
    """Return the file of a dataset, or of weights, that was fetched."""
    return f"results/data/{datasets.file_name(name)}"


def datasets_of_job(wildcards):
    """Return the files of the datasets that a fit job reads."""
    return list(map(dataset, tables_read(bundle_of(wildcards))))


def folder(name):
    """Return a function of wildcards that gives a folder of results, for parameters of rules."""
    return lambda wildcards: f"results/{name}"


def cells(experiment=None):
    """Return the files of all fit jobs, or of those of one experiment."""
    return [
        f"results/cells/{name}.parquet"
        for name, bundle in BUNDLES.items()
        if experiment in (None, bundle.experiment)
    ]


def comparison(experiment):
    """Return the file of an experiment's comparison, if it has one."""
    return [f"results/comparison/{experiment}.parquet"] if experiment in COMPARED else []


def summaries_with_more_seeds(wildcards):
    """Return the summaries of all experiments that have `more_seeds`."""
    names = [name for name, _ in seed_counts.experiments_with_more_seeds(CONFIG)]
    if not names:
        raise WorkflowError("no experiment has more_seeds in its configuration (config/README.md)")
    return [f"results/summary/{name}.parquet" for name in names]


def figures_of(experiment):
    """Return the figures of an experiment, with one for each metric that is added."""
    return experiments.load(experiment).all_figures(CONFIG.experiments[experiment].metrics or ())


def pictures(experiment):
    """Return the files of an experiment's figures, in all formats."""
    own, added = experiments.load(experiment), CONFIG.experiments[experiment].metrics or ()
    shown = getattr(CONFIG.experiments[experiment], "datasets", ())
    files = picture_files(own, shown, experiment in COMPARED, added)
    return [f"results/figures/{file}" for file in files]


def datasets_shown(experiment):
    """Return the files of the datasets that figures of an experiment show."""
    shows_data = any(figure.shows_data for figure in figures_of(experiment))
    return list(map(dataset, DATASETS[experiment])) if shows_data else []


def tables(experiment):
    """Return the files of an experiment's tables, in all formats."""
    files = table_files(experiments.load(experiment), CONFIG.experiments[experiment])
    return [f"results/tables/{file}" for file in files]


def everything(files_of):
    """Return the files of all experiments."""
    return [file for experiment in EXPERIMENTS for file in files_of(experiment)]


def message_file(target):
    """Return the file whose text `onsuccess` prints for a target.

    Output that a job prints directly would disturb the progress bars of a terminal.
    """
    return f"results/logs/{target}.txt"


def in_report(kind, files, caption, category):
    """Mark the files that `snakemake --report` shows, one format of each, under a category."""
    suffix, title = {"figure": (".png", title_of_figure), "table": (".html", title_of_table)}[kind]

    def mark(file):
        return report(
            file,
            caption=f"../report/{caption}.rst",
            category=category,
            subcategory=f"{kind.capitalize()}s",
            labels={kind: title(Path(file).stem)},
        )

    return [mark(file) if file.endswith(suffix) else file for file in files]


def code_of(experiment, *modules):
    """Return a digest of modules and of the declaration of an experiment, a parameter of rules."""
    vocabulary = (f"onlinefa_benchmark.{name}" for name in ("axes", "experiments.base", "looks"))
    return code_digest(type(experiments.load(experiment)).__module__, *vocabulary, *modules)
