# What all rules share: the checked configuration and the list of jobs.

from snakemake.exceptions import WorkflowError

from onlinefa.config import ConfigError, validate
from onlinefa.digest import code_digest
from onlinefa.grid import bundles, code_of


# Mistakes in a config must stop the run before any job starts, in one line each.
try:
    CONFIG = validate(config, workflow.configfiles)
except ConfigError as error:
    raise WorkflowError(str(error))

BUNDLES = {bundle.name: bundle for bundle in bundles(CONFIG)}
EXPERIMENTS = sorted({bundle.experiment for bundle in BUNDLES.values()})


wildcard_constraints:
    bundle=".+",
    experiment="|".join(EXPERIMENTS),


def bundle_of(wildcards):
    """The cells of a fit job, for `params: lambda wildcards: bundle_of(wildcards)...`."""
    if wildcards.bundle not in BUNDLES:
        raise WorkflowError(f"{wildcards.bundle} is not in the configured grid")
    return BUNDLES[wildcards.bundle]


def cells_of(wildcards):
    """Everything fitted for one experiment, for the `input` of its summary."""
    return [
        f"results/cells/{name}.parquet"
        for name, bundle in BUNDLES.items()
        if bundle.experiment == wildcards.experiment
    ]
