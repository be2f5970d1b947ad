# Fit cells. A job fits the cells of one bundle that are not in the store yet. A cell that fails is
# recorded as `failed`; a job that runs out of memory or time, or whose machine fails, is retried.

# Profiles set `retries` to ATTEMPTS - 1. The rule does not set it: on a cluster, Snakemake runs
# again inside each job, and would retry within the limits of that job, without more memory.
ATTEMPTS = 3


rule fit:
    input:
        tables=datasets_of_job,
    output:
        cells="results/cells/{bundle}.parquet",
    log:
        text="results/logs/fit/{bundle}.log",
        events="results/logs/fit/{bundle}.jsonl",
    benchmark:
        "results/benchmarks/fit/{bundle}.tsv"
    wildcard_constraints:
        bundle=r"(?!.*/device~).+",
    # The longest jobs start first: a long job that starts last runs alone, while other cores are idle.
    priority: lambda wildcards: round(estimate_seconds(bundle_of(wildcards)))
    conda:
        "../../envs/onlinefa.yaml"
    threads: 1
    # The number of the attempt is a resource, because a changed parameter would rerun the job.
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
        attempt=lambda wildcards, attempt: attempt,
        attempts=ATTEMPTS,
    # The digest covers the parameters of the cells and the code that computes them: changes elsewhere
    # in the configuration or the code rerun nothing here.
    params:
        digest=lambda wildcards: bundle_of(wildcards).digest(),
        # Not an output: Snakemake deletes outputs before it reruns a job, and the store makes reruns
        # cheap.
        store=folder("store"),
        tables=folder("data"),
    shell:
        r"""
        python -m onlinefa_benchmark fit {wildcards.bundle:q} \
            --config "$ONLINEFA_CONFIG" \
            --digest {params.digest} \
            --store {params.store:q} \
            --tables {params.tables:q} \
            --output {output.cells:q} \
            --events {log.events:q} \
            --attempt {resources.attempt} \
            --attempts {resources.attempts} \
            2>{log.text:q}
        """


# The same on a GPU: another rule, so that a profile can assign it to another partition.
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
