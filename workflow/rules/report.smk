# One page with all results; and one with what there is so far.


rule report:
    input:
        cells=lambda wildcards: cells(),
        summaries=expand("results/summary/{experiment}.parquet", experiment=EXPERIMENTS),
        comparisons=expand("results/comparison/{experiment}.parquet", experiment=COMPARED),
        pictures=[picture for picture in figures() if picture.endswith(".png")],
    output:
        report="results/report.html",
    log:
        "results/logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    localrule: True
    conda:  # of the cells, whose digests have the versions of what fitted them
        "../../envs/onlinefa.yaml" if CONFIG.device == "cpu" else "../../envs/onlinefa-cuda.yaml"
    params:
        config=config_of_all(),
        code=f"{code_digest('onlinefa.report.page')}-{assets_digest()}",
        cells="results/cells",
    shell:
        r"""
        python -m onlinefa report \
            --config {params.config:q} \
            --cells {params.cells:q} \
            --summaries {input.summaries:q} \
            --comparisons {input.comparisons:q} \
            --figures {input.pictures:q} \
            --output {output.report:q} \
            2>{log:q}
        """


# `snakemake partial_report`, while others fit or when they have stopped. It asks for nothing, so that
# nothing is fitted, and it has no output that Snakemake knows of, so that it is made whenever it is asked for.
rule partial_report:
    log:
        "results/logs/partial_report.log",
    localrule: True
    conda:  # as above
        "../../envs/onlinefa.yaml" if CONFIG.device == "cpu" else "../../envs/onlinefa-cuda.yaml"
    params:
        config=config_of_all(),
        cells="results/cells",
        store="results/store",
        report="results/partial_report.html",
        told=told_by("partial_report"),
    shell:
        r"""
        python -m onlinefa partial_report \
            --config {params.config:q} \
            --cells {params.cells:q} \
            --store {params.store:q} \
            --output {params.report:q} \
            >{params.told:q} 2>{log:q}
        """
