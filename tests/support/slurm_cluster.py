"""A Slurm cluster on this machine, for tests: six nodes with two simulated GPUs each.

It needs root and Debian's packages (tests/install slurm). Daemons listen on the loopback only.
While the cluster runs, /etc/slurm is a link to its folder: SLURM_CONF cannot be used, because the
plugin removes it from the environment of jobs.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# Nodes have one CPU, so that a node failure affects a single job.
NODES = ("n1", "n2", "n3", "n4", "n5", "n6")
CPUS, MEMORY, GPUS = 1, 6000, 2
ETC = Path("/etc/slurm")
# Daemons are in folders that are not on every user's PATH.
ENVIRONMENT = os.environ | {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
_COMMANDS = ("slurmctld", "slurmd", "sbatch", "munged")
_ACCOUNTING = ("slurmdbd", "mariadbd")


def why_not(accounting: bool) -> str:
    """Return why a cluster cannot be started here, or an empty text if it can."""
    wanted = (*_COMMANDS, *_ACCOUNTING) if accounting else _COMMANDS
    missing = [
        command for command in wanted if shutil.which(command, path=ENVIRONMENT["PATH"]) is None
    ]
    if missing:
        return f"{', '.join(missing)} not installed: see tests/install slurm"
    if "SLURM_JOB_ID" in os.environ:
        return "this is a job of another cluster"
    if os.geteuid() != 0:
        return "a cluster of one's own needs root"
    files = [ETC / f"{name}.conf" for name in ("slurm", "gres", "cgroup", "slurmdbd")]
    if any(file.exists() and not file.is_symlink() for file in files):
        return f"{ETC} has a cluster's configuration already"
    return ""


class Cluster:
    def __init__(self, folder: Path, accounting: bool) -> None:
        self.folder = folder
        self.accounting = accounting

    # -- configuration ---------------------------------------------------------------------------

    def _write_configuration(self) -> None:
        self.folder.chmod(0o755)  # required by munge
        for name in ("run", "log", "state", "spool", "dev", "db"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        key = self.folder / "run" / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        for gpu in range(GPUS):
            (self.folder / "dev" / f"gpu{gpu}").symlink_to("/dev/null")
        files = {"slurm": self._slurm(), "gres": self._gres(), "cgroup": "CgroupAutomount=no\n"}
        if self.accounting:
            files["slurmdbd"] = self._slurmdbd()
        ETC.mkdir(exist_ok=True)
        for name, text in files.items():
            file = self.folder / f"{name}.conf"
            file.write_text(text)
            file.chmod(0o600 if name == "slurmdbd" else 0o644)
            link = ETC / file.name
            link.unlink(missing_ok=True)
            link.symlink_to(file)

    def _slurm(self) -> str:
        run, log = self.folder / "run", self.folder / "log"
        lines = [
            "ClusterName=test",
            "SlurmctldHost=localhost(127.0.0.1)",
            "SlurmctldPort=16817",
            "SlurmUser=root",
            "SlurmdUser=root",
            f"AuthInfo=socket={run}/munge.sock",
            f"StateSaveLocation={self.folder}/state",
            f"SlurmdSpoolDir={self.folder}/spool/%n",
            f"SlurmctldPidFile={run}/slurmctld.pid",
            f"SlurmdPidFile={run}/%n.pid",
            f"SlurmctldLogFile={log}/slurmctld.log",
            f"SlurmdLogFile={log}/%n.log",
            # No cgroups, no systemd: memory is measured by sampling.
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/linux",
            "JobAcctGatherFrequency=task=1",
            "JobAcctGatherParams=OverMemoryKill",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_CPU_Memory",
            "GresTypes=gpu",
            "SlurmdParameters=config_overrides",
            "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1",
            "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",
            "ReturnToService=2",
            "SlurmdTimeout=15",
            "KillWait=2",
            "EnforcePartLimits=ALL",
            "MinJobAge=3600",
            f"NodeName=DEFAULT CPUs={CPUS} RealMemory={MEMORY} Gres=gpu:fake:{GPUS}",
            *(
                f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={17000 + number}"
                for number, node in enumerate(NODES)
            ),
            "PartitionName=cpu Nodes=ALL Default=YES DefMemPerCPU=200",
            "PartitionName=gpu Nodes=ALL DefMemPerCPU=200",
        ]
        if self.accounting:
            lines += [
                "AccountingStorageType=accounting_storage/slurmdbd",
                "AccountingStorageHost=127.0.0.1",
                "AccountingStoragePort=16819",
                f"AccountingStoragePass={run}/munge.sock",
            ]
        return "\n".join([*lines, ""])

    def _gres(self) -> str:
        return "\n".join(
            f"NodeName={node} Name=gpu Type=fake File={self.folder}/dev/gpu[0-{GPUS - 1}]"
            for node in NODES
        )

    def _slurmdbd(self) -> str:
        run = self.folder / "run"
        lines = [
            f"AuthInfo=socket={run}/munge.sock",
            "DbdHost=localhost",
            "DbdAddr=127.0.0.1",
            "DbdPort=16819",
            "SlurmUser=root",
            f"PidFile={run}/slurmdbd.pid",
            f"LogFile={self.folder}/log/slurmdbd.log",
            "StorageType=accounting_storage/mysql",
            "StorageHost=127.0.0.1",
            "StoragePort=13306",
            "StorageUser=slurm",
            "StoragePass=test",
            "CommunicationParameters=NoInAddrAny",
        ]
        return "\n".join([*lines, ""])

    # -- start and stop --------------------------------------------------------------------------

    def start(self) -> None:
        self._write_configuration()
        run, log = self.folder / "run", self.folder / "log"
        command(
            "munged",
            f"--key-file={run}/munge.key",
            f"--socket={run}/munge.sock",
            f"--pid-file={run}/munged.pid",
            f"--log-file={log}/munged.log",
            f"--seed-file={run}/munge.seed",
        )
        if self.accounting:
            self._start_accounting()
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        wait(lambda: self._idle() == len(NODES))

    def _start_accounting(self) -> None:
        run, db = self.folder / "run", self.folder / "db"
        command("mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={db}")
        subprocess.Popen(
            [
                "mariadbd",
                "--no-defaults",
                "--user=root",
                f"--datadir={db}",
                f"--socket={run}/mysql.sock",
                f"--pid-file={run}/mariadbd.pid",
                "--bind-address=127.0.0.1",
                "--port=13306",
                "--innodb-lock-wait-timeout=900",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=ENVIRONMENT,
        )
        client = ("mariadb", "--no-defaults", "-S", f"{run}/mysql.sock", "-u", "root", "-e")
        wait(lambda: succeeds(*client, "select 1"))
        command(
            *client,
            "create database slurm_acct_db;"
            "create user slurm@'127.0.0.1' identified by 'test';"
            "create user slurm@localhost identified by 'test';"
            "grant all on slurm_acct_db.* to slurm@'127.0.0.1';"
            "grant all on slurm_acct_db.* to slurm@localhost;",
        )
        command("slurmdbd")
        wait(lambda: succeeds("sacctmgr", "-n", "list", "cluster"))
        command("sacctmgr", "-i", "-Q", "add", "cluster", "test")

    def start_controller(self) -> None:
        command("slurmctld")
        wait(lambda: succeeds("sinfo"))

    def stop_controller(self) -> None:
        self._kill("slurmctld", signal.SIGTERM)

    def start_node(self, node: str) -> None:
        command("slurmd", "-N", node)

    def crash_node(self, node: str) -> None:
        """Kill a node and all processes that run on it."""
        jobs = command("squeue", "-h", "-t", "R", "-w", node, "-o", "%A").split()
        self._kill(node, signal.SIGKILL)
        for process, job in _processes_of_jobs():
            if job in jobs:
                kill(process, signal.SIGKILL)

    def stop(self) -> None:
        succeeds("scancel", "--user", "root")
        for daemon in (*NODES, "slurmctld", "slurmdbd", "mariadbd", "munged"):
            self._kill(daemon, signal.SIGTERM)
        # A test may have failed while the controller was stopped.
        for process, _ in _processes_of_jobs():
            kill(process, signal.SIGKILL)
        for link in ETC.glob("*.conf"):
            if link.is_symlink() and self.folder in link.readlink().parents:
                link.unlink()

    def _kill(self, daemon: str, how: signal.Signals) -> None:
        file = self.folder / "run" / f"{daemon}.pid"
        if not file.exists() or not file.read_text().strip():
            return
        process = int(file.read_text())
        kill(process, how)
        wait(lambda: not Path(f"/proc/{process}").exists() or _is_zombie(process))
        file.unlink(missing_ok=True)

    # -- state ------------------------------------------------------------------------

    def _idle(self) -> int:
        return len(command("sinfo", "-h", "-N", "-p", "cpu", "-t", "idle", "-o", "%N").split())

    def running(self, what: str) -> tuple[str, str] | None:
        """Return number and node of the running job whose comment (its wildcards) has a text."""
        lines = command("squeue", "-h", "-t", "R", "-o", "%A|%N|%k").splitlines()
        for line in lines:
            job, node, comment = line.split("|", 2)
            if what in comment:
                return job, node
        return None

    def states(self, what: str) -> set[str]:
        """Return the states of all jobs whose comment contains a text."""
        lines = command("squeue", "-h", "-t", "all", "-o", "%T|%k").splitlines()
        return {line.split("|")[0] for line in lines if what in line}


def _processes_of_jobs() -> Iterator[tuple[int, str]]:
    """Yield each process that belongs to a job, and the job's number."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            title = (process / "cmdline").read_bytes().decode(errors="replace")
            variables = (process / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue  # the process has ended in the meantime
        found = re.search(r"^slurmstepd: \[(\d+)\.", title) or re.search(
            r"(?:^|\0)SLURM_JOB_ID=(\d+)\0", variables
        )
        if found:
            yield int(process.name), found[1]


def command(*arguments: str) -> str:
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


def succeeds(*arguments: str) -> bool:
    done = subprocess.run(arguments, capture_output=True, timeout=60, env=ENVIRONMENT)
    return done.returncode == 0


def kill(process: int, how: signal.Signals) -> None:
    try:
        os.kill(process, how)
    except ProcessLookupError:
        pass


def _is_zombie(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def wait(until: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not until():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing after {seconds} s")
        time.sleep(0.1)
