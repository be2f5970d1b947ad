# Draw figures from summaries and comparisons. One job draws all figures of an experiment, because
# importing matplotlib takes longer than drawing one.


for experiment in EXPERIMENTS:

    rule:
        name:
            f"figures_{experiment}"
        input:
            comparison=comparison(experiment),
            summary=f"results/summary/{experiment}.parquet",
            datasets=datasets_shown(experiment),
        output:
            pictures=in_report(
                "figure",
                pictures(experiment),
                caption="figure",
                category=experiments.load(experiment).title,
            ),
        log:
            f"results/logs/figures/{experiment}.log",
        benchmark:
            f"results/benchmarks/figures/{experiment}.tsv"
        localrule: True
        conda:
            "../../envs/onlinefa.yaml"
        params:
            experiment=experiment,
            config=CONFIG.digest([experiment]),
            code=code_of(
                experiment,
                experiments.load(experiment).drawing,
                "onlinefa_benchmark.reporting.figures",
            ),
            # For the captions of `snakemake --report`.
            descriptions=[
                f"{title_of_figure(figure.name)}: {figure.alternative_text}"
                for figure in figures_of(experiment)
            ],
            datasets=folder("data"),
            folder=folder("figures"),
        shell:
            r"""
            python -m onlinefa_benchmark figures {params.experiment:q} \
                --config "$ONLINEFA_CONFIG" \
                --summary {input.summary:q} \
                --comparison {input.comparison:q} \
                --datasets {params.datasets:q} \
                --output {params.folder:q} \
                2>{log:q}
            """
