# SPDX-License-Identifier: BSD-3-Clause
"""Every way to end a program, serial and with MPICH and Open MPI, with and without threads: the archive has all calls
that the program has counted before its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from support.build import mpis
from support.build.builder import Builder
from support.build.run import names
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import environment
from vtrace.console import QUIET, Console
from vtrace.unify.model.running_processes import is_process
from vtrace.unify.run import Request, unify

HARD = ("kill", "segv", "abort", "term", "xcpu")
SOFT = ("_exit", "quick_exit", "exec", "return")
FLAGS = ("-O1", "-pthread")
RANKS = 2
full = pytest.mark.full


class Pipe:
    """A named pipe into which the ranks write their counts."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path, self.text = path, ""
        self.descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def read(self) -> list[tuple[int, int, int, int]]:
        """Rows (rank, thread number, calls, process id)."""
        with suppress(BlockingIOError):
            self.text += os.read(self.descriptor, 65536).decode()
        rows = [line.split() for line in self.text.splitlines()]
        return [(int(row[0]), int(row[1]), int(row[2]), int(row[3])) for row in rows]


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    made = Pipe(tmp_path / "pipe")
    yield made
    os.close(made.descriptor)


def signal_group(leader: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, number)


def signal_all(pipe: Pipe, number: int) -> None:
    """Sends the signal to every rank, like a batch system, which does not only signal the launcher."""
    for process in {row[3] for row in pipe.read()}:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def end(words: Sequence[str | Path], where: Path, env: dict[str, str], pipe: Pipe, lines: int, sent: int) -> int:
    """Runs the program until it ends. sent: a signal to send, like a batch system, after all lines are in the pipe."""
    process = subprocess.Popen(
        [*words, pipe.path], cwd=where, env=environment(env), start_new_session=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    try:
        while sent and len(pipe.read()) < lines and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if sent:
            signal_all(pipe, sent)
            signal_group(process.pid, sent)
        said, _ = process.communicate(timeout=60)
    finally:
        signal_group(process.pid, signal.SIGKILL)
        process.wait()
    while any(map(is_process, {row[3] for row in pipe.read()})) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(pipe.read()) == lines, said.decode()
    return process.returncode


def compare(trace: Trace, counted: list[tuple[int, int, int, int]], mpi: bool) -> None:
    wanted = {(rank if mpi else 0, f"w{number}"): calls for rank, number, calls, _ in counted}
    found: Counter[tuple[int, str]] = Counter()
    for location in trace.locations.values():
        rank = int(location.group.rpartition(" ")[2]) if mpi else 0
        found.update({(rank, name): n for name, n in trace.calls(location.id).items() if name.startswith("w")})
    assert found == wanted


def unified(where: Path, pipe: Pipe, mpi: bool, died: bool | None) -> None:
    """Unifies and compares. died: the archive must say that a process died (None: either is possible). No local file
    may be left."""
    unify(Request(prefix=where / "faults"), Console("vtunify", QUIET))
    trace = check(where / "faults.trace", complete=False)
    compare(trace, pipe.read(), mpi)
    told = [marker for marker in trace.markers if "without completing" in marker.text]
    assert died is None or bool(told) == died
    complete = json.loads(trace.properties["VTRACE::COVERAGE"])["complete"]
    # Hydra may kill a rank that has said that it ends, and still writes: then the ledger lists the missing events.
    assert complete == (not told) or (died is None and not complete)
    assert names(where) == {"faults.trace", "pipe"}


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("how", [*HARD, *SOFT, "batch", "limit"])
def test_serial(build: Builder, tmp_path: Path, pipe: Pipe, how: str, threads: int) -> None:
    program = build("faults.c", flags=FLAGS)
    sent = {"batch": signal.SIGTERM, "limit": signal.SIGKILL}.get(how, 0)
    code = end([program, "wait" if sent else how, str(threads)], tmp_path, {}, pipe, threads + 1, sent)
    assert (code != 0) == (bool(sent) or how in HARD)
    # A process with threads cannot complete its files before exec.
    unified(tmp_path, pipe, False, code != 0 or (how == "exec" and threads > 0))


FEW = ("kill", "exec", "return", "mpi_abort")


def cases() -> Iterator[ParameterSet]:
    """Each end with one MPI, and some with another; the full tests have all with each MPI, also without threads."""
    ends = (*HARD, *SOFT, "mpi_abort", "batch", "limit")
    for name, threads, how in product(mpis.NAMES, (0, 3), ends):
        some = threads and (name == "mpich-wheel" or (name == "openmpi" and how in FEW))
        yield pytest.param(name, threads, how, marks=() if some else full)


@pytest.mark.parametrize(("name", "threads", "how"), [*cases()])
def test_mpi(build: Builder, tmp_path: Path, pipe: Pipe, name: str, threads: int, how: str) -> None:
    mpi = mpis.find(name, build)
    program = mpi.build("faults.c", flags=(*FLAGS, "-DMPI"))
    sent = {"batch": signal.SIGTERM, "limit": signal.SIGKILL}.get(how, 0)
    words = [*mpi.launch, "-n", str(RANKS), program, "wait" if sent else how, str(threads)]
    end(words, tmp_path, dict(mpi.env), pipe, RANKS * (threads + 1), sent)
    died: bool | None = how != "exec" or threads > 0  # as in test_serial
    if how in ("_exit", "quick_exit", "return"):
        died = None if name.startswith("mpich") else False  # Hydra kills all other ranks when the first one ends
    unified(tmp_path, pipe, True, died)
