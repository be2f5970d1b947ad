# The benchmark: config -> cells -> summary, comparison -> figures, tables -> report.
# Rules are in workflow/rules, one file per stage; their jobs run code of src/onlinefa_benchmark.

from snakemake.utils import min_version

min_version("9.27")


# Relative to this file, so that `--directory` works. `--configfile` is merged on top.
configfile: f"{workflow.basedir}/config/config.yaml"


# The first page of `snakemake --report`.
report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/slurm.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/aggregate.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/verify.smk"
include: "workflow/rules/more_seeds.smk"


rule all:
    default_target: True
    # Cells are inputs as well, because Snakemake does not check the files that an existing figure
    # was made from: it would not notice a deleted one.
    input:
        cells(),
        everything(pictures),
        everything(tables),
        rules.coverage.output,
        rules.report.output,
        rules.verify.output,


onstart:
    write_checked(CONFIG, CONFIG_FILE)
    # The logger plugin shows progress in cells; Snakemake's own messages are about jobs.
    logger.info(
        None,
        extra={
            "bundles": [
                BUNDLES[job.wildcards.bundle]
                for job in workflow.dag.needrun_jobs()
                if job.rule.name in ("fit", "fit_on_gpu")
            ],
            "store": "results/store",
        },
    )


onsuccess:
    for target in workflow.dag_settings.targets:
        if Path(message_file(target)).exists():
            print(Path(message_file(target)).read_text(), end="")
    if not workflow.dag_settings.targets:
        print(
            "Finished. Open results/report.html; figures are in results/figures, tables in"
            " results/tables, numbers in results/summary and results/cells (Parquet)."
        )


# Files with failed cells are deleted after any error, because the next run would treat them as
# finished.
onerror:
    from onlinefa_benchmark.analysis.failures import delete_files_with_failures

    deleted = delete_files_with_failures(BUNDLES.values(), Path("results/cells"))
    if deleted:
        print(
            f"Cells failed in {len(deleted)} of {len(BUNDLES)} jobs; the next run tries these cells"
            " again, and no others. The reasons are in results/report.html and"
            " results/tables/coverage.md."
        )
