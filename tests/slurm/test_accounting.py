"""`snakemake --profile slurm` on a cluster that keeps accounts."""

from __future__ import annotations

from starting import check_same_rows_as_locally

ACCOUNTING = True


def test_same_rows_as_on_one_machine(cluster, tmp_path):
    check_same_rows_as_locally(tmp_path)
