# SPDX-License-Identifier: BSD-3-Clause
"""Slurm on the nodes of a cluster: munged and slurmctld on the front, a slurmd on each node."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from support.cluster.nodes import Cluster, Node
from support.tools import Done, environment, need


class Slurm:
    """Runs batch scripts on the nodes of a cluster."""

    def __init__(self, cluster: Cluster, env: Mapping[str, str]) -> None:
        """env: environment of the batch scripts."""
        for tool in ("munged", "slurmctld", "slurmd", "sbatch", "srun"):
            need(tool)
        self.cluster = cluster
        place = self._place = cluster.place / "slurm"
        place.mkdir()
        (place / "key-file").write_bytes(os.urandom(128))
        (place / "key-file").chmod(0o600)
        (place / "slurm.conf").write_text(_CONF.format(place=place, count=len(cluster.nodes)))
        self.env = {**env, "SLURM_CONF": str(place / "slurm.conf")}
        files = [f"--{name}={place}/{name}" for name in ("socket", "key-file", "pid-file", "log-file", "seed-file")]
        self._daemons = [self._start(cluster.front, "munged", "--force", "--foreground", *files)]
        self._await(lambda: (place / "socket").exists())
        self._daemons.append(self._start(cluster.front, "slurmctld", "-D"))
        self._daemons += [self._start(node, "slurmd", "-D", "-N", node.name) for node in cluster.nodes]
        states = " ".join(["idle"] * len(cluster.nodes))
        self._await(lambda: " ".join(self.call(place, "sinfo", "-hNo", "%T", check=False).stdout.split()) == states)

    def _start(self, node: Node, *words: str) -> subprocess.Popen[bytes]:
        entered = node.enter(self._place, need(words[0]), *words[1:])
        with (self._place / f"{words[0]}-{node.name}.log").open("wb") as log:
            environ = environment(self.env)
            return subprocess.Popen(entered, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _await(self, ready: Callable[[], bool], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not ready():
            logs = "\n".join(path.read_text() for path in self._place.glob("*.log"))
            assert time.monotonic() < end, logs
            time.sleep(0.1)

    def call(self, cwd: Path, *words: str | Path, check: bool = True) -> Done:
        """Runs a command of Slurm on the front."""
        return self.cluster.front.call(cwd, *words, env=self.env, check=check)

    def submit(self, cwd: Path, body: str, *options: str) -> str:
        """Submits a batch script for one task on each node, whose output goes to cwd/out. Returns the job's number."""
        head = f"#!/bin/bash\n#SBATCH --nodes={len(self.cluster.nodes)} --ntasks-per-node=1\n"
        return self.submit_script(cwd, head + body, *options)

    def submit_script(self, cwd: Path, script: str, *options: str) -> str:
        """Like submit, for a whole script."""
        (cwd / "job.sh").write_text(f"{script}\n")
        return self.call(cwd, "sbatch", "--parsable", "-o", "out", *options, "job.sh").stdout.strip()

    def await_end(self, number: str, seconds: float = 60) -> None:
        """Waits until a job has ended, for at most these seconds; then cancels the job, since other jobs wait."""
        try:
            self._await(
                lambda: not self.call(self._place, "squeue", "-hj", number, check=False).stdout.strip(), seconds
            )
        except AssertionError:
            self.call(self._place, "scancel", number, check=False)
            raise

    def end(self) -> None:
        for node in self.cluster.nodes:
            node.kill_programs()
        for daemon in self._daemons:
            daemon.terminate()
            daemon.wait()


_CONF = """
ClusterName=vtrace
SlurmctldHost=front
SlurmUser=root
StateSaveLocation={place}/state
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmdSpoolDir={place}/spool-%n
AuthType=auth/munge
AuthInfo=socket={place}/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=pmi2
KillWait=2
NodeName=node[1-{count}] CPUs=2 RealMemory=100
PartitionName=all Nodes=ALL Default=YES State=UP
"""
