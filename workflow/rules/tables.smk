# Write tables: a metric's final values each, what tests make of them, what is known of the datasets, and
# what became of all cells.


# A rule per experiment, because experiments have different metrics. All tables in one job: a table
# takes a hundredth of the time that a process takes to start.
for experiment in EXPERIMENTS:

    rule:
        name:
            f"tables_{experiment}"
        input:
            summary=f"results/summary/{experiment}.parquet",
        output:
            tables=in_report(
                "table",
                expand(
                    "results/tables/{experiment}/{metric}.{suffix}",
                    experiment=experiment,
                    metric=METRICS[experiment],
                    suffix=TABLE_FORMATS,
                ),
                caption="final",
                category=TITLES[experiment],
            ),
        log:
            f"results/logs/tables/{experiment}.log",
        benchmark:
            f"results/benchmarks/tables/{experiment}.tsv"
        localrule: True
        conda:
            "../../envs/onlinefa.yaml"
        params:
            code=code_digest("onlinefa.tables.final"),
        shell:
            r"""
            python -m onlinefa tables \
                --summary {input.summary:q} \
                --output {output.tables:q} \
                2>{log:q}
            """


for experiment in COMPARED:

    rule:
        name:
            f"compared_{experiment}"
        input:
            comparison=f"results/comparison/{experiment}.parquet",
        output:
            tables=in_report(
                "table",
                tables_compared(experiment),
                caption="compared",
                category=TITLES[experiment],
            ),
        log:
            f"results/logs/tables/compared_{experiment}.log",
        benchmark:
            f"results/benchmarks/tables/compared_{experiment}.tsv"
        localrule: True
        conda:
            "../../envs/onlinefa.yaml"
        params:
            code=code_digest("onlinefa.tables.compared"),
        shell:
            r"""
            python -m onlinefa compared \
                --comparison {input.comparison:q} \
                --output {output.tables:q} \
                2>{log:q}
            """


rule table_of_datasets:
    input:
        tables=map(dataset, DATASETS.get("linear", [])),
    output:
        tables=in_report(
            "table",
            expand("results/tables/table_6_1.{suffix}", suffix=TABLE_FORMATS),
            caption="datasets",
            category=TITLES["linear"],
        ),
    log:
        "results/logs/tables/table_6_1.log",
    benchmark:
        "results/benchmarks/tables/table_6_1.tsv"
    localrule: True
    conda:
        "../../envs/onlinefa.yaml"
    params:
        rate=CONFIG.linear.learning_rate if CONFIG.linear else 0,
        batch=CONFIG.linear.batch if CONFIG.linear else 0,
        values=[data.table(name).digest for name in DATASETS.get("linear", [])],
        code=code_digest("onlinefa.tables.datasets"),
    shell:
        r"""
        python -m onlinefa datasets {input.tables:q} \
            --learning-rate {params.rate} \
            --batch {params.batch} \
            --output {output.tables:q} \
            2>{log:q}
        """


rule table_of_coverage:
    input:
        cells=lambda wildcards: cells(),
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
    conda:  # of the cells, whose digests have the versions of what fitted them
        "../../envs/onlinefa.yaml" if CONFIG.device == "cpu" else "../../envs/onlinefa-cuda.yaml"
    params:
        config=config_of_all(),
        code=code_digest("onlinefa.tables.coverage"),
        cells="results/cells",
    shell:
        r"""
        python -m onlinefa coverage \
            --config {params.config:q} \
            --cells {params.cells:q} \
            --output {output.tables:q} \
            2>{log:q}
        """
