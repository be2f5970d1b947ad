"""Tests of `snakemake --profile slurm` on a cluster with accounting."""

from __future__ import annotations

from support.slurm_runs import check_to_the_end, start

ACCOUNTING = True


def test_a_run_completes_with_the_same_rows_as_on_one_machine(cluster, every_kind, tmp_path):
    check_to_the_end(tmp_path, every_kind, start)
