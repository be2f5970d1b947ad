# Add seeds where standard errors are too large: once, for what has been fitted. What is added is fitted
# by whichever run comes next.


# The file of seeds is no output: Snakemake would delete it first, and with it what was decided before.
# Without any output, and without a benchmark, which counts as one, the rule is run whenever it is asked for.
rule more_seeds:
    input:
        summaries=summaries_judged,
    log:
        "results/logs/more_seeds.log",
    retries: 0
    localrule: True
    conda:  # of the cells, whose grid is made for the same device
        "../../envs/onlinefa.yaml" if CONFIG.device == "cpu" else "../../envs/onlinefa-cuda.yaml"
    params:
        config=CONFIG.model_dump_json(),
        summaries="results/summary",
        seeds=SEEDS,
        told=told_by("more_seeds"),
    shell:
        r"""
        python -m onlinefa more_seeds \
            --config {params.config:q} \
            --summaries {params.summaries:q} \
            --seeds {params.seeds:q} \
            >{params.told:q} 2>{log:q}
        """
