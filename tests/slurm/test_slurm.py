"""Tests that `snakemake --profile slurm` on a real cluster gives the same rows despite faults."""

from __future__ import annotations

import pandas as pd
import yaml
from support.slurm_cluster import command, wait
from support.slurm_runs import (
    GRID,
    ROOT,
    SOON,
    check_to_the_end,
    finish,
    locally,
    on_slurm,
    rows,
    start,
    stop,
)

from onlinefa_benchmark.cli.doctor import examine


def test_a_run_completes_with_the_same_rows_as_on_one_machine(cluster, every_kind, tmp_path):
    check_to_the_end(tmp_path, every_kind, on_slurm)


def test_jobs_are_retried_after_timeouts_lack_of_memory_cancellation_and_node_failure(
    cluster, source, disturbed, tmp_path
):
    config, expected = disturbed.by("sleep", "hoard", "cancelled", "crashed")
    # Jobs get a minute and 1.5 GB at first, then twice as much. Only the sleeping job has this
    # short limit: others must reach their fault before a timeout, also on a slow machine.
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


def test_a_restart_of_the_controller_does_not_interrupt_a_run(cluster, source, disturbed, tmp_path):
    config, expected = disturbed.by("hold")
    # This squeue writes a file when it gets no answer.
    missed = disturbed.marks / "missed"
    squeue = tmp_path / "bin" / "squeue"
    squeue.parent.mkdir()
    squeue.write_text(f'#!/bin/sh\n/usr/bin/squeue "$@" || {{ touch {missed}; exit 1; }}\n')
    squeue.chmod(0o755)
    run = on_slurm(tmp_path / "slurm", config, source=source, path=[squeue.parent])
    wait((disturbed.marks / "fits").exists, 120)
    # After a restart, the controller learns only after a minute that a job has ended.
    (log,) = (tmp_path / "slurm" / ".snakemake" / "log").glob("*.log")
    wait(lambda: "Finished jobid" in log.read_text(), 120)
    cluster.stop_controller()
    wait(missed.exists, 120)
    (disturbed.marks / "hold").touch()
    cluster.start_controller()
    finish(run)
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)


def test_a_killed_run_can_be_restarted(cluster, source, disturbed, tmp_path):
    """Finished cells are not fitted twice, and no cell is lost."""
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


IMAGES = {
    "datasets": ["digits"],
    "architectures": ["resnet8"],
    "algorithms": ["map", "multiswag", "recursive_em", "mc_dropout"],
    "K": [2],
    "epochs": 6,
    "walk_epochs": 2,
    "batch": 32,
    "learning_rate": 0.05,
    "walk_rate": 0.02,
    "weight_decay": 0.001,
    "every": 1,
    "samples": 4,
    "training_images": 640,
    "recollection": 100,
    "test_images": 50,
    "shifted_images": 5,
    "unknown_images": 20,
    "seeds": 1,
}


def test_an_interrupted_training_run_continues_with_the_same_rows(cluster, tmp_path):
    """Interrupt a job with a GPU as clusters do before they end one, and let it be retried."""
    settings = {"recursive_em": {"warm_up": 10}}  # of 40 observations
    config = {"device": "auto", "settings": settings, "images": IMAGES}
    target = {"target": "results/summary/images.parquet"}
    expected = locally(tmp_path / "local", config, **target)
    run = on_slurm(tmp_path / "slurm", config, *SOON, **target)
    logs = tmp_path / "slurm" / "results" / "logs"
    log = logs / "fit" / "images/device~auto/dataset~digits/architecture~resnet8/seed~0.log"
    wait(lambda: log.exists() and "of training" in log.read_text(), 120)
    job, _ = cluster.running("resnet8")
    command("scancel", job)  # SIGTERM to all processes, and SIGKILL half a minute later
    finish(run)
    assert "continuing from digits-resnet8-0-run" in log.read_text()
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)
    assert set(expected["status"]) == {"ok"}
    assert not list(tmp_path.glob("slurm/results/store/unfinished/runs/*"))


def test_resources_that_no_node_has_are_refused_in_one_line(cluster, tmp_path):
    config = {"synthetic": GRID | {"algorithms": ["diagonal"]}}
    run = on_slurm(tmp_path / "slurm", config, "--set-resources", "fit:mem_mb=10**7")
    assert "Requested node configuration is not available" in finish(run, code=1)


def test_doctor_reports_exactly_the_problems_of_a_cluster(cluster, tmp_path):
    found = list(examine(ROOT / "profiles" / "slurm", tmp_path / "results"))
    assert [finding.text for finding in found if not finding.is_fine] == []
    assert "GPUs of partition gpu: gpu:fake:2" in [finding.text for finding in found]
    profile = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
    profile["default-resources"] = {"slurm_partition": "long", "slurm_account": "physics"}
    profile["slurm-init-seconds-before-status-checks"] = 2000
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(profile))
    wrong = [finding.text for finding in examine(tmp_path, tmp_path) if not finding.is_fine]
    assert wrong[0] == "no partition long for cells; there are cpu, gpu"
    assert wrong[1] == "no accounting, but the profile sets account physics"
    assert wrong[2] == "Slurm keeps finished jobs for 3600 s (MinJobAge), 6000 s are needed"
    assert wrong[3].startswith("a job on long failed: srun: error: Unable to allocate resources")
    assert len(wrong) == 4


def test_a_plan_needs_no_cluster(tmp_path):
    for profile in ("slurm", "profiles/slurm"):
        run = start(
            tmp_path, {"synthetic": GRID | {"algorithms": ["diagonal"]}}, "-n", profile=profile
        )
        assert "fit" in finish(run)
