# Write a table per metric at the largest number of samples.


rule table:
    input:
        "results/summary/{experiment}.parquet",
    output:
        multiext(
            "results/tables/{experiment}/{metric}", *[f".{suffix}" for suffix in TABLE_FORMATS]
        ),
    log:
        "results/logs/table/{experiment}/{metric}.log",
    benchmark:
        "results/benchmarks/table/{experiment}/{metric}.tsv"
    wildcard_constraints:
        metric="|".join(METRICS),
    conda:
        "../../envs/onlinefa.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 10 * attempt,
    params:
        code=code_digest("onlinefa.tables.final"),
    shell:
        r"""
        python -m onlinefa table {wildcards.metric:q} \
            --summary {input:q} \
            --output {output:q} \
            2>{log:q}
        """
