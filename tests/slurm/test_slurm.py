"""`snakemake --profile slurm` on a real cluster, undisturbed and disturbed: the same rows."""

from __future__ import annotations

import pandas as pd
import yaml
from cluster import command, wait
from starting import GRID, ROOT, check_to_the_end, finish, on_slurm, rows, start, stop

from onlinefa.doctor import examine


def test_to_the_end_with_the_same_rows_as_on_one_machine(cluster, every_kind, tmp_path):
    check_to_the_end(tmp_path, every_kind, on_slurm)


def test_too_little_time_or_memory_a_cancelled_job_and_a_dead_node(
    cluster, source, disturbed, tmp_path
):
    config, expected = disturbed.by("sleep", "hoard", "cancelled", "crashed")
    # A minute and 1.5 GB at first, twice as much then. Only who sleeps has so little time: others
    # must not run out of it before a slow machine has seen what befell them.
    runtime = "fit:runtime=attempt if 'sleep' in wildcards.bundle else 60"
    resources = ("--set-resources", runtime, "fit:mem_mb=1500*attempt")
    run = on_slurm(tmp_path / "slurm", config, *resources, source=source)
    wait((disturbed.marks / "cancelled").exists, 120)
    job, _ = cluster.running("cancelled")
    command("scancel", job)
    wait((disturbed.marks / "crashed").exists, 120)
    _, node = cluster.running("crashed")
    cluster.crash_node(node)
    wait(lambda: "NODE_FAIL" in cluster.states("crashed"), 120)
    cluster.start_node(node)
    finish(run)
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)
    assert cluster.states("sleep") == {"TIMEOUT", "COMPLETED"}
    assert cluster.states("hoard") - {"OUT_OF_MEMORY", "FAILED"} == {"COMPLETED"}
    assert len(cluster.states("hoard")) == 2
    assert cluster.states("cancelled") == {"CANCELLED", "COMPLETED"}
    assert cluster.states("crashed") == {"NODE_FAIL", "COMPLETED"}


def test_the_controller_is_restarted(cluster, source, disturbed, tmp_path):
    config, expected = disturbed.by("hold")
    # A squeue that leaves a mark when it had no answer.
    missed = disturbed.marks / "missed"
    squeue = tmp_path / "bin" / "squeue"
    squeue.parent.mkdir()
    squeue.write_text(f'#!/bin/sh\n/usr/bin/squeue "$@" || {{ touch {missed}; exit 1; }}\n')
    squeue.chmod(0o755)
    run = on_slurm(tmp_path / "slurm", config, source=source, path=[squeue.parent])
    wait((disturbed.marks / "fits").exists, 120)
    # Slurm tells a controller that was away of a job's end only after a minute.
    (log,) = (tmp_path / "slurm" / ".snakemake" / "log").glob("*.log")
    wait(lambda: "Finished jobid" in log.read_text(), 120)
    cluster.stop_controller()
    wait(missed.exists, 120)
    (disturbed.marks / "hold").touch()
    cluster.start_controller()
    finish(run)
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)


def test_snakemake_is_killed_and_started_again(cluster, source, disturbed, tmp_path):
    """Nothing that was finished is fitted twice, and nothing is lost."""
    config, expected = disturbed.by("hold")
    store = tmp_path / "slurm" / "results" / "store"
    one_seed_a_job = ("--config", "job_minutes=0.01")
    run = on_slurm(tmp_path / "slurm", config, *one_seed_a_job, source=source)
    wait(lambda: len(list(store.glob("*/*.parquet"))) == 4, 120)  # the diagonal's
    wait(lambda: disturbed.fits() == 2, 120)  # both seeds are held
    stop(run)
    finished = {path: path.stat().st_mtime_ns for path in store.glob("*/*.parquet")}
    finish(start(tmp_path / "slurm", config, "--unlock", source=source))
    run = on_slurm(tmp_path / "slurm", config, *one_seed_a_job, source=source)
    wait(lambda: disturbed.fits() == 4, 120)  # and once more, beside the jobs of the first run
    (disturbed.marks / "hold").touch()
    finish(run)
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished


def test_what_no_node_has_is_refused_in_one_line(cluster, tmp_path):
    config = {"synthetic": GRID | {"algorithms": ["diagonal"]}}
    run = on_slurm(tmp_path / "slurm", config, "--set-resources", "fit:mem_mb=10**7")
    assert "Requested node configuration is not available" in finish(run, code=1)


def test_the_doctor_finds_what_is_wrong_and_nothing_else(cluster, tmp_path):
    found = list(examine(ROOT / "profiles" / "slurm", tmp_path / "results"))
    assert [finding.text for finding in found if not finding.fine] == []
    assert "GPUs of partition gpu: gpu:fake:2" in [finding.text for finding in found]
    profile = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
    profile["default-resources"] = {"slurm_partition": "long", "slurm_account": "physics"}
    profile["slurm-init-seconds-before-status-checks"] = 2000
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(profile))
    wrong = [finding.text for finding in examine(tmp_path, tmp_path) if not finding.fine]
    assert wrong[0] == "no partition long for cells; there are cpu, gpu"
    assert wrong[1] == "no accounting, but the profile asks for account physics"
    assert wrong[2] == "finished jobs are remembered for 3600 s (MinJobAge), 6000 s are needed"
    assert wrong[3].startswith("a job on long failed: srun: error: Unable to allocate resources")
    assert len(wrong) == 4


def test_a_plan_needs_no_cluster(tmp_path):
    for profile in ("slurm", "profiles/slurm"):
        run = start(
            tmp_path, {"synthetic": GRID | {"algorithms": ["diagonal"]}}, "-n", profile=profile
        )
        assert "fit" in finish(run)
