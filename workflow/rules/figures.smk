# Draw figures from summaries.


rule figure:
    input:
        summary=lambda wildcards: f"results/summary/{FIGURES[wildcards.figure]}.parquet",
    output:
        figures=multiext("results/figures/{figure}", *[f".{suffix}" for suffix in FIGURE_FORMATS]),
    log:
        "results/logs/figure/{figure}.log",
    benchmark:
        "results/benchmarks/figure/{figure}.tsv"
    wildcard_constraints:
        figure="|".join(FIGURES),
    conda:
        "../../envs/onlinefa.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 10 * attempt,
    params:
        code=lambda wildcards: code_digest(module_of(wildcards.figure)),
    shell:
        r"""
        python -m onlinefa figure {wildcards.figure:q} \
            --summary {input.summary:q} \
            --output {output.figures:q} \
            2>{log:q}
        """
