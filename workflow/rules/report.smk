# One page with all results, and one with the results so far.


rule report:
    input:
        cells=cells(),
        comparisons=everything(comparison),
        pictures=[file for file in everything(pictures) if file.endswith(".png")],
        summaries=expand("results/summary/{experiment}.parquet", experiment=EXPERIMENTS),
    output:
        report="results/report.html",
    log:
        "results/logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    localrule: True
    conda:
        ENVIRONMENT_OF_CELLS
    params:
        config=CONFIG.digest(),
        code="-".join(
            [
                assets_digest(),
                *(code_of(name, "onlinefa_benchmark.reporting.html.page") for name in EXPERIMENTS),
            ]
        ),
        cells=folder("cells"),
        summaries=folder("summary"),
        comparisons=folder("comparison"),
        figures=folder("figures"),
    shell:
        r"""
        python -m onlinefa_benchmark report \
            --config "$ONLINEFA_CONFIG" \
            --cells {params.cells:q} \
            --summaries {params.summaries:q} \
            --comparisons {params.comparisons:q} \
            --figures {params.figures:q} \
            --output {output.report:q} \
            2>{log:q}
        """


# `snakemake partial_report`, during or after a run. The rule has no input, so that nothing is fitted,
# and no declared output, so that it runs whenever it is a target.
rule partial_report:
    log:
        "results/logs/partial_report.log",
    localrule: True
    conda:
        ENVIRONMENT_OF_CELLS
    params:
        cells=folder("cells"),
        store=folder("store"),
        report="results/partial_report.html",
        message=message_file("partial_report"),
    shell:
        r"""
        python -m onlinefa_benchmark partial_report \
            --config "$ONLINEFA_CONFIG" \
            --cells {params.cells:q} \
            --store {params.store:q} \
            --output {params.report:q} \
            >{params.message:q} 2>{log:q}
        """
