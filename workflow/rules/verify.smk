# The last job: is there a result of every cell? It fails if not, and so does the run.


rule verify:
    # Everything, so that all that can be made is there before this fails.
    input:
        cells=lambda wildcards: cells(),
        figures=figures(),
        tables=tables(),
        report=rules.report.output,
    output:
        verified="results/verified.txt",
    log:
        "results/logs/verify.log",
    benchmark:
        "results/benchmarks/verify.tsv"
    retries: 0  # whatever a profile says: it would find the same again
    localrule: True
    conda:  # of the cells, whose digests have the versions of what fitted them
        "../../envs/onlinefa.yaml" if CONFIG.device == "cpu" else "../../envs/onlinefa-cuda.yaml"
    params:
        config=config_of_all(),
        cells="results/cells",
        logs="results/logs/fit",
    shell:
        r"""
        python -m onlinefa verify \
            --config {params.config:q} \
            --cells {params.cells:q} \
            --logs {params.logs:q} \
            --output {output.verified:q} \
            2>{log:q}
        """


# Whatever the error was: files with failed cells would pass for finished ones in the next run.
onerror:
    from onlinefa.failures import forget  # which takes longer to import than a plan to make

    forgotten = forget(BUNDLES.values(), Path("results/cells"))
    if forgotten:
        print(
            f"Cells failed in {len(forgotten)} of {len(BUNDLES)} jobs; the next run tries them again,"
            " and no others. Which and why: results/report.html, results/tables/coverage.md."
        )
