# Fit cells. A job fits the cells of one bundle that are not in the store yet. A cell that fails is a row
# of its result; a job fails for want of memory or time, or with its machine, and is tried again.

# Profiles have one fewer `retries`. Not the rule: a cluster's job, in which Snakemake runs again, would then
# retry in its own bounds, where there is no more memory than before.
ATTEMPTS = 3


rule fit:
    input:
        tables=tables_read_by,
    output:
        cells="results/cells/{bundle}.parquet",
    log:
        "results/logs/fit/{bundle}.log",
    benchmark:
        "results/benchmarks/fit/{bundle}.tsv"
    wildcard_constraints:
        bundle=r"(?!.*/device~).+",
    # The longest first: one that starts last runs alone, while the other cores wait.
    priority: lambda wildcards: round(seconds_of_job(bundle_of(wildcards)))
    conda:
        "../../envs/onlinefa.yaml"
    threads: 1
    # The number of the attempt is none of the parameters, because those decide about reruns.
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
        attempt=lambda wildcards, attempt: attempt,
        attempts=ATTEMPTS,
    # Only the bundle's own parameters and the digest of the source that it imports: a change
    # elsewhere in config or code reruns nothing here.
    params:
        bundle=lambda wildcards: bundle_of(wildcards).to_json(),
        code=lambda wildcards: bundle_of(wildcards).code,
        # Not an output: Snakemake deletes outputs before it reruns a job, and the store is what
        # makes a rerun cheap.
        store="results/store",
        tables="results/data",
    shell:
        r"""
        python -m onlinefa fit \
            --bundle {params.bundle:q} \
            --code {params.code} \
            --store {params.store:q} \
            --tables {params.tables:q} \
            --output {output.cells:q} \
            --attempt {resources.attempt} \
            --attempts {resources.attempts} \
            2>{log:q}
        """


# The same where the seeds of a job are fitted on a GPU: a rule of its own, so that a profile can send
# it to a partition of its own.
use rule fit as fit_on_gpu with:
    wildcard_constraints:
        bundle=r".+/device~.+",
    conda:
        "../../envs/onlinefa-cuda.yaml"
    resources:
        gpu=1,
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
        attempt=lambda wildcards, attempt: attempt,
        attempts=ATTEMPTS,


# Profiles have a logger that counts cells: this tells it which, since jobs are all that Snakemake knows.
onstart:
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
