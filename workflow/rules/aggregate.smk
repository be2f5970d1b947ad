# Aggregate cells: means and standard errors over seeds, and tests for experiments with `compared_with`.


for experiment in EXPERIMENTS:

    rule:
        name:
            f"aggregate_{experiment}"
        input:
            cells=cells(experiment),
        output:
            comparison=comparison(experiment),
            summary=f"results/summary/{experiment}.parquet",
        log:
            f"results/logs/aggregate/{experiment}.log",
        benchmark:
            f"results/benchmarks/aggregate/{experiment}.tsv"
        localrule: True
        conda:
            ENVIRONMENT_OF_CELLS
        params:
            experiment=experiment,
            config=CONFIG.digest([experiment]),
            code=code_of(
                experiment,
                "onlinefa_benchmark.analysis.summary",
                "onlinefa_benchmark.analysis.comparison",
            ),
            cells=folder("cells"),
        shell:
            r"""
            python -m onlinefa_benchmark aggregate {params.experiment:q} \
                --config "$ONLINEFA_CONFIG" \
                --cells {params.cells:q} \
                --summary {output.summary:q} \
                --comparison {output.comparison:q} \
                2>{log:q}
            """
