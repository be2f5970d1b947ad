# Write tables: final values of each metric, tests, facts about datasets, and the status of all cells.
# One job writes all tables of an experiment, because a table takes less time than a process to start.


for experiment in EXPERIMENTS:

    rule:
        name:
            f"tables_{experiment}"
        input:
            comparison=comparison(experiment),
            summary=f"results/summary/{experiment}.parquet",
            datasets=map(dataset, DATASETS[experiment]),
        output:
            tables=in_report(
                "table",
                tables(experiment),
                caption="table",
                category=experiments.load(experiment).title,
            ),
        log:
            f"results/logs/tables/{experiment}.log",
        benchmark:
            f"results/benchmarks/tables/{experiment}.tsv"
        localrule: True
        conda:
            "../../envs/onlinefa.yaml"
        params:
            experiment=experiment,
            config=CONFIG.digest([experiment]),
            code=code_of(
                experiment,
                experiments.load(experiment).drawing,
                "onlinefa_benchmark.reporting.tables",
            ),
            datasets=folder("data"),
            folder=folder("tables"),
        shell:
            r"""
            python -m onlinefa_benchmark tables {params.experiment:q} \
                --config "$ONLINEFA_CONFIG" \
                --summary {input.summary:q} \
                --comparison {input.comparison:q} \
                --datasets {params.datasets:q} \
                --output {params.folder:q} \
                2>{log:q}
            """


rule coverage:
    input:
        cells=cells(),
    output:
        tables=in_report(
            "table",
            expand("results/tables/coverage.{suffix}", suffix=TABLE_FORMATS),
            caption="coverage",
            category="All cells",
        ),
    log:
        "results/logs/tables/coverage.log",
    benchmark:
        "results/benchmarks/tables/coverage.tsv"
    localrule: True
    conda:
        ENVIRONMENT_OF_CELLS
    params:
        config=CONFIG.digest(),
        code=code_digest("onlinefa_benchmark.reporting.tables.coverage"),
        cells=folder("cells"),
    shell:
        r"""
        python -m onlinefa_benchmark coverage \
            --config "$ONLINEFA_CONFIG" \
            --cells {params.cells:q} \
            --output {output.tables:q} \
            2>{log:q}
        """
