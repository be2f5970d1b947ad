"""`snakemake --profile slurm` on a real cluster, undisturbed and disturbed: the same rows."""

from __future__ import annotations

import os
import signal
import time

import pandas as pd
import yaml
from cluster import command, wait
from starting import (
    GRID,
    ROOT,
    check_same_rows_as_locally,
    finish,
    on_slurm,
    rows,
    start,
    undisturbed,
)

from onlinefa.doctor import examine


def test_same_rows_as_on_one_machine(cluster, tmp_path):
    check_same_rows_as_locally(tmp_path)


def test_too_little_time_too_little_memory_and_a_cancelled_job(cluster, source, tmp_path):
    faults = ["sleep", "hoard", "sleep_cancelled"]
    config, marks, expected = undisturbed(tmp_path, source, *faults)
    # A minute and 1.5 GB at first, twice as much then.
    resources = ("--set-resources", "fit:runtime=attempt", "fit:mem_mb=1500*attempt")
    run = on_slurm(tmp_path / "slurm", config, *resources, source=source)
    wait((marks / "sleep_cancelled").exists, 120)
    job, _ = cluster.running("sleep_cancelled")
    command("scancel", job)
    finish(run)
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)
    assert {"TIMEOUT", "CANCELLED", "COMPLETED"} <= cluster.ended()
    assert {"OUT_OF_MEMORY", "FAILED"} & cluster.ended()
    # A fit that was cut short, and the one that took its place, for each fault; two seeds and two
    # spectra in a job, of which the first was cut short.
    assert len((marks / "fits").read_text().splitlines()) == len(faults) * (1 + 4)


def test_a_node_dies(cluster, source, tmp_path):
    fault = "sleep_crashed"
    config, marks, expected = undisturbed(tmp_path, source, fault)
    run = on_slurm(tmp_path / "slurm", config, source=source)
    wait((marks / fault).exists, 120)
    _, node = cluster.running(fault)
    cluster.crash_node(node)
    wait(lambda: "NODE_FAIL" in cluster.ended())
    cluster.start_node(node)
    finish(run)
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)


def test_the_controller_is_restarted(cluster, source, tmp_path):
    config, marks, expected = undisturbed(tmp_path, source, "nap")
    run = on_slurm(tmp_path / "slurm", config, source=source)
    wait((marks / "fits").exists, 60)
    cluster.stop_controller()
    time.sleep(12)  # long enough for the plugin to miss it
    cluster.start_controller()
    finish(run)
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)


def test_snakemake_is_killed_and_started_again(cluster, source, tmp_path):
    """Nothing that was finished is fitted twice, and nothing is lost."""
    config, _, expected = undisturbed(tmp_path, source, "nap")
    store = tmp_path / "slurm" / "results" / "store"
    one_seed_a_job = ("--config", "job_minutes=0.01")
    run = on_slurm(tmp_path / "slurm", config, *one_seed_a_job, source=source)
    wait(lambda: len(list(store.glob("*/*.parquet"))) >= 2, 120)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    finished = {path: path.stat().st_mtime_ns for path in store.glob("*/*.parquet")}
    finish(start(tmp_path / "slurm", config, "--unlock", source=source))
    finish(on_slurm(tmp_path / "slurm", config, *one_seed_a_job, source=source))
    pd.testing.assert_frame_equal(rows(tmp_path / "slurm"), expected, check_exact=True)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished


def test_what_no_node_has_is_refused_in_one_line(cluster, tmp_path):
    config = {"synthetic": GRID | {"algorithms": ["diagonal"]}}
    run = on_slurm(tmp_path / "slurm", config, "--set-resources", "fit:mem_mb=10**7")
    output = run.communicate(timeout=200)[0]
    assert run.returncode == 1
    assert "Requested node configuration is not available" in output


def test_a_gpu_is_asked_for_by_who_uses_it(cluster, tmp_path):
    config = {"device": "auto", "synthetic": GRID | {"algorithms": ["online_em", "diagonal"]}}
    finish(on_slurm(tmp_path / "auto", config))
    logs = {
        path.relative_to(tmp_path / "auto" / "results" / "logs" / "fit").parts[1]: path.read_text()
        for path in tmp_path.glob("auto/results/logs/fit/**/*.log")
    }
    assert "CUDA_VISIBLE_DEVICES=0" in logs["device~auto"]
    assert "CUDA" not in logs["algorithm~diagonal"]
    assert set(rows(tmp_path / "auto")["device"]) == {"cpu"}  # the GPU is none


def test_the_doctor_finds_what_is_wrong_and_nothing_else(cluster, tmp_path):
    found = list(examine(ROOT / "profiles" / "slurm", tmp_path / "results"))
    assert [finding.text for finding in found if not finding.fine] == []
    assert "GPUs of partition gpu: gpu:fake:2" in [finding.text for finding in found]
    profile = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
    profile["default-resources"] = {"slurm_partition": "long", "slurm_account": "physics"}
    profile["slurm-init-seconds-before-status-checks"] = 200
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(profile))
    wrong = [finding.text for finding in examine(tmp_path, tmp_path) if not finding.fine]
    assert wrong[0] == "no partition long for cells; there are cpu, gpu"
    assert wrong[1] == "no accounting, but the profile asks for account physics"
    assert wrong[2] == "finished jobs are remembered for 300 s (MinJobAge), 600 s are needed"
    assert wrong[3].startswith("a job on long failed: srun: error: Unable to allocate resources")
    assert len(wrong) == 4


def test_a_plan_needs_no_cluster(tmp_path):
    for profile in ("slurm", "profiles/slurm"):
        run = start(
            tmp_path, {"synthetic": GRID | {"algorithms": ["diagonal"]}}, "-n", profile=profile
        )
        assert "fit" in finish(run)
