# Write a table per metric, at the largest number of samples.


rule tables:
    input:
        summary="results/summary/{experiment}.parquet",
    # All in one job: a table takes a hundredth of the time that a process takes to start.
    output:
        tables=expand(
            "results/tables/{{experiment}}/{metric}.{suffix}",
            metric=METRICS,
            suffix=TABLE_FORMATS,
        ),
    log:
        "results/logs/tables/{experiment}.log",
    benchmark:
        "results/benchmarks/tables/{experiment}.tsv"
    conda:
        "../../envs/onlinefa.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 10 * attempt,
    params:
        code=code_digest("onlinefa.tables.final"),
    shell:
        r"""
        python -m onlinefa tables \
            --summary {input.summary:q} \
            --output {output.tables:q} \
            2>{log:q}
        """
