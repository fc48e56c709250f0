# SPDX-License-Identifier: BSD-3-Clause
"""Launchers of MPI programs on the nodes of a cluster, and the counts of tests/programs/nodes.c."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.build import mpis
from support.build.builder import Builder
from support.cluster.nodes import Cluster
from support.readers.archive import Trace
from support.tools import Done, command, environment

MPIS = ("mpich-wheel", "openmpi")
"""Debian's MPICH is missing, since this MPICH has only UCX (see _OFI)."""
_OFI = {"MPIR_CVAR_CH4_NETMOD": "ofi"}
"""Over TCP, many runs with UCX hang on these nodes, also without vtrace; the cause is not known."""
NODES = ("node1", "node2", "node3", "node4")
ROUNDS = 10
SUM = f"sum {ROUNDS * (0 + 1 + 2 + 3)}\n"


class Job:
    """Runs programs of one MPI on the cluster: the launcher on the front, and one rank on each node."""

    def __init__(self, cluster: Cluster, name: str, build: Builder) -> None:
        self.cluster, self.mpi = cluster, mpis.find(name, build)
        self.env = {**self.mpi.env, **({} if self.mpi.is_open else _OFI)}

    def program(self, plain: bool = False) -> Path:
        return self.mpi.build("nodes.c", plain=plain)

    def launch(self, ranks: int = 0) -> list[str]:
        """The launcher's words before the program. ranks: one on each node by default."""
        nodes = ",".join(node.name for node in self.cluster.nodes)
        shell = str(self.cluster.ssh)
        agent = ["--mca", "plm_rsh_agent", shell] if self.mpi.is_open else ["-launcher", "ssh", "-launcher-exec", shell]
        hosts = ["--host", nodes, "--map-by", "node"] if self.mpi.is_open else ["-hosts", nodes]
        return [*self.mpi.launch, *agent, *hosts, "-n", str(ranks or len(self.cluster.nodes))]

    def start(self, cwd: Path, *words: str | Path, env: Mapping[str, str] | None = None, check: bool = True) -> Done:
        """Runs a command on the front."""
        return self.cluster.front.call(cwd, *words, env={**self.env, **(env or {})}, check=check)

    def run(self, cwd: Path, *args: str, env: Mapping[str, str] | None = None, check: bool = True) -> Done:
        """Runs nodes.c, compiled by vtrace-cc. env: settings; hydra passes them on to the ranks, and for Open MPI
        vtrace run does so."""
        return self.start(cwd, *self._words(env), *args, env=env, check=check)

    @contextmanager
    def running(self, cwd: Path, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
        """Starts nodes.c, and waits until all ranks have completed their rounds. The ranks continue when the directory
        has a file "go". The end of the block kills a launcher that still runs."""
        words = self.cluster.front.enter(cwd, *self._words(env), "wait")
        merged = environment({**self.env, **(env or {})})
        with subprocess.Popen(words, env=merged, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as job:
            try:
                assert job.stdout is not None
                count = len(self.cluster.nodes)
                said = job.stdout.read(count * len("ready\n"))  # launchers may break lines of several ranks
                assert said.count("ready") == count, said
                yield job
            finally:
                job.kill()

    def _words(self, env: Mapping[str, str] | None) -> list[str]:
        traced = [*command("vtrace"), "run"] if self.mpi.is_open and env else []
        return [*traced, *self.launch(), str(self.program()), str(ROUNDS)]

    def unify(self, cwd: Path, *args: str | Path, check: bool = True) -> Done:
        """Runs vtunify on the front."""
        return self.start(cwd, *command("vtunify"), *args, check=check)

    def unify_mpi(self, cwd: Path, *args: str | Path, check: bool = True) -> Done:
        """Runs vtunify-mpi with one rank on each node."""
        return self.start(cwd, *self.launch(), *command("vtunify-mpi"), *args, check=check)


def assert_counts(trace: Trace, functions: bool = True, finished: bool = True, hosts: Collection[str] = NODES) -> None:
    """The events of a run of nodes.c with a rank on each of the hosts. functions: main and work are recorded; finished:
    the ranks have called MPI_Barrier and MPI_Finalize."""
    ranks = len(hosts)
    calls = dict.fromkeys(("MPI_Init", "MPI_Comm_rank", "MPI_Comm_size"), ranks)
    calls |= dict.fromkeys(("MPI_Sendrecv", "MPI_Allreduce"), ranks * ROUNDS)
    calls |= {"main": ranks, "work": ranks * 5 * ROUNDS} if functions else {}
    calls |= dict.fromkeys(("MPI_Barrier", "MPI_Finalize"), ranks) if finished else {}
    assert trace.calls() == Counter(calls)
    kinds = trace.kinds()
    assert kinds["MpiSend"] == kinds["MpiRecv"] == ranks * ROUNDS
    assert {location.host for location in trace.locations.values()} == set(hosts)
