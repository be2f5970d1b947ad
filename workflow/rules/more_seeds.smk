# Add seeds where standard errors are too large, once. The next run fits the seeds that are added.


# The file of seeds is not an output: Snakemake would delete it, with the earlier decisions, before
# the job.
# Without outputs (a benchmark file counts as one), the rule runs whenever it is a target.
rule more_seeds:
    input:
        summaries=summaries_with_more_seeds,
    log:
        "results/logs/more_seeds.log",
    retries: 0
    localrule: True
    conda:
        ENVIRONMENT_OF_CELLS
    params:
        summaries=folder("summary"),
        seeds=SEEDS,
        message=message_file("more_seeds"),
    shell:
        r"""
        python -m onlinefa_benchmark more_seeds \
            --config "$ONLINEFA_CONFIG" \
            --summaries {params.summaries:q} \
            --seeds {params.seeds:q} \
            >{params.message:q} 2>{log:q}
        """
