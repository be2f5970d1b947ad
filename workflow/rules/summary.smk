# Aggregate: means and standard errors over seeds, and tests, one file of each per experiment.


rule summarise:
    input:
        cells=lambda wildcards: cells(wildcards.experiment),
    output:
        summary="results/summary/{experiment}.parquet",
    log:
        "results/logs/summarise/{experiment}.log",
    benchmark:
        "results/benchmarks/summarise/{experiment}.tsv"
    localrule: True
    conda:  # of the cells, whose digests have the versions of what fitted them
        "../../envs/onlinefa.yaml" if CONFIG.device == "cpu" else "../../envs/onlinefa-cuda.yaml"
    # The experiment's configuration instead of a list of files, which no command line could hold
    # for a large grid.
    params:
        config=lambda wildcards: config_of(wildcards.experiment),
        code=code_digest("onlinefa.summary"),
        cells="results/cells",
    shell:
        r"""
        python -m onlinefa summarise {wildcards.experiment:q} \
            --config {params.config:q} \
            --cells {params.cells:q} \
            --output {output.summary:q} \
            2>{log:q}
        """


rule compare:
    input:
        cells=lambda wildcards: cells(wildcards.experiment),
    output:
        comparison="results/comparison/{experiment}.parquet",
    log:
        "results/logs/compare/{experiment}.log",
    benchmark:
        "results/benchmarks/compare/{experiment}.tsv"
    wildcard_constraints:
        experiment="|".join(COMPARED) or "none",
    localrule: True
    conda:  # of the cells, as above
        "../../envs/onlinefa.yaml" if CONFIG.device == "cpu" else "../../envs/onlinefa-cuda.yaml"
    params:
        config=lambda wildcards: config_of(wildcards.experiment),
        code=code_digest("onlinefa.comparison"),
        cells="results/cells",
    shell:
        r"""
        python -m onlinefa compare {wildcards.experiment:q} \
            --config {params.config:q} \
            --cells {params.cells:q} \
            --output {output.comparison:q} \
            2>{log:q}
        """
