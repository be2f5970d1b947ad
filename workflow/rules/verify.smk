# The last job: it fails, and with it the run, if any cell has failed.


rule verify:
    # All results, so that they are made before this rule fails.
    input:
        cells=cells(),
        coverage=rules.coverage.output,
        pictures=everything(pictures),
        report=rules.report.output,
        tables=everything(tables),
    output:
        verified="results/verified.txt",
    log:
        "results/logs/verify.log",
    benchmark:
        "results/benchmarks/verify.tsv"
    retries: 0  # whatever a profile sets: another attempt would have the same result
    localrule: True
    conda:
        ENVIRONMENT_OF_CELLS
    params:
        config=CONFIG.digest(),
        cells=folder("cells"),
        logs=folder("logs/fit"),
    shell:
        r"""
        python -m onlinefa_benchmark verify \
            --config "$ONLINEFA_CONFIG" \
            --cells {params.cells:q} \
            --logs {params.logs:q} \
            --output {output.verified:q} \
            2>{log:q}
        """
