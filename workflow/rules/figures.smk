# Draw figures from summaries and comparisons: a rule per figure, because some are one picture and
# some are several.


for figure in FIGURES:

    rule:
        name:
            figure
        input:
            rows=rows_of(figure),
        output:
            pictures=in_report(
                "figure",
                expand("results/figures/{file}", file=pictures(figure)),
                caption="figure",
                category=TITLES[EXPERIMENT_OF[figure]],
            ),
        log:
            f"results/logs/figures/{figure}.log",
        benchmark:
            f"results/benchmarks/figures/{figure}.tsv"
        localrule: True
        conda:
            "../../envs/onlinefa.yaml"
        params:
            figure=figure,
            alternative=alternative_text(figure),
            code=code_digest(f"onlinefa.figures.{figure}"),
        shell:
            r"""
            python -m onlinefa figure {params.figure:q} \
                --rows {input.rows:q} \
                --output {output.pictures:q} \
                2>{log:q}
            """
