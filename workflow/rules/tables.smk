# Write a table per metric at the largest number of samples.

from onlinefa.presentation import METRICS
from onlinefa.tables import FORMATS as TABLE_FORMATS


def tables():
    """All tables of the configured experiments, in all formats."""
    return [
        f"results/tables/{experiment}/{metric}.{suffix}"
        for experiment in EXPERIMENTS
        for metric in METRICS
        for suffix in TABLE_FORMATS
    ]


rule table:
    input:
        "results/summary/{experiment}.parquet",
    output:
        multiext(
            "results/tables/{experiment}/{metric}", *[f".{suffix}" for suffix in TABLE_FORMATS]
        ),
    params:
        code=code_digest("onlinefa.tables"),
    log:
        "results/logs/table/{experiment}/{metric}.log",
    benchmark:
        "results/benchmarks/table/{experiment}/{metric}.tsv"
    wildcard_constraints:
        metric="|".join(METRICS),
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 10 * attempt,
    conda:
        "../../envs/onlinefa.yaml"
    shell:
        r"""
        python -m onlinefa table {wildcards.metric:q} \
            --summary {input:q} \
            --output {output:q} \
            2> {log:q}
        """
