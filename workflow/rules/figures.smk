# Draw figures from summaries.

from onlinefa.figures import FIGURES, FORMATS as FIGURE_FORMATS


def figures():
    """All figures of the configured experiments, in all formats."""
    return [
        f"results/figures/{figure}.{suffix}"
        for figure, experiment in FIGURES.items()
        if experiment in EXPERIMENTS
        for suffix in FIGURE_FORMATS
    ]


rule figure:
    input:
        lambda wildcards: f"results/summary/{FIGURES[wildcards.figure]}.parquet",
    output:
        multiext("results/figures/{figure}", *[f".{suffix}" for suffix in FIGURE_FORMATS]),
    params:
        code=lambda wildcards: code_digest(f"onlinefa.figures.{wildcards.figure}"),
    log:
        "results/logs/figure/{figure}.log",
    benchmark:
        "results/benchmarks/figure/{figure}.tsv"
    wildcard_constraints:
        figure="|".join(FIGURES),
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 10 * attempt,
    conda:
        "../../envs/onlinefa.yaml"
    shell:
        r"""
        python -m onlinefa figure {wildcards.figure:q} \
            --summary {input:q} \
            --output {output:q} \
            2> {log:q}
        """
