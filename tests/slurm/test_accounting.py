"""`snakemake --profile slurm` on a cluster that keeps accounts."""

from __future__ import annotations

from starting import check_to_the_end, start

ACCOUNTING = True


def test_to_the_end_with_the_same_rows_as_on_one_machine(cluster, every_kind, tmp_path):
    check_to_the_end(tmp_path, every_kind, start)
