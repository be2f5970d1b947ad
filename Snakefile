# The benchmark: config -> grid -> cells -> summary, comparison -> figures, tables -> report.
# Rules are in workflow/rules, one file per stage; all mathematics is in src/onlinefa.

from snakemake.utils import min_version

min_version("9.27")


# Relative to this file, so that `--directory` works. `--configfile` is merged on top.
configfile: f"{workflow.basedir}/config/config.yaml"


# What `snakemake --report` begins with.
report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/slurm.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/summary.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/verify.smk"
include: "workflow/rules/more_seeds.smk"


rule all:
    default_target: True
    # Cells are asked for as well: Snakemake would not miss a deleted one behind a finished figure.
    input:
        cells(),
        figures(),
        tables(),
        rules.report.output,
        rules.verify.output,


onsuccess:
    for target in workflow.dag_settings.targets:
        if Path(told_by(target)).exists():
            print(Path(told_by(target)).read_text(), end="")
    if not workflow.dag_settings.targets:  # who asks for something else knows where it is
        print(
            "Finished. Open results/report.html; figures are in results/figures, tables in"
            " results/tables, numbers in results/summary and results/cells (Parquet)."
        )
