# SPDX-License-Identifier: BSD-3-Clause
"""Shims, processes and signals on aarch64, run by qemu: the archives of x86-64 but for times and addresses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.build.aarch64 import GCC, content, emulate
from support.build.builder import AS_WRITTEN
from support.build.run import run, unify
from support.build.wrap import wrap
from support.oracles.check import check
from support.oracles.heap import check_heap, growth
from support.oracles.io_calls import io_calls
from support.oracles.ledger import ledger
from support.readers.archive import Trace
from support.tools import PROGRAMS, need

INPUT = ("sh", "-c", 'exec "$@" </dev/null 9>told', "sh")
"""Words before a program of the io_ family, which writes its calls to descriptor 9."""


def build(where: Path, source: str, libraries: Path | None, *flags: str) -> Path:
    """A program of tests/programs for aarch64 with these libraries, or with None for this machine."""
    where.mkdir()
    compiler, env = (need("gcc"), {}) if libraries is None else (need(GCC), {"VT_PREFIX": str(libraries)})
    program = where / Path(source).stem
    wrap(where, "-vt:cc", compiler, "-w", *AS_WRITTEN, *flags, PROGRAMS / source, "-o", program, **env)
    return program


def both(
    libraries: Path, where: Path, source: str, *args: str, flags: tuple[str, ...] = (), code: int = 0,
    complete: bool = True, env: dict[str, str] | None = None,
) -> tuple[Trace, Trace]:  # fmt: skip
    """The archives of a program on aarch64 and on this machine. Both runs print the same."""
    arm = build(where / "arm", source, libraries, "-pthread", *flags)
    here = build(where / "here", source, None, "-pthread", *flags)
    said = emulate(arm, *args, env=env, code=code, launch=INPUT).stdout
    assert run(here, here.parent, *args, env=env, code=code, launch=INPUT).stdout == said
    traces = []
    for program in (arm, here):
        unify(program.parent, program.name)
        traces.append(check(program.with_suffix(".trace"), complete=complete))
    return traces[0], traces[1]


@pytest.mark.parametrize(
    "program",
    [
        "io_descriptors",
        "io_streams",
        "io_aio",
        *(pytest.param(name, marks=pytest.mark.full) for name in ("io_files", "io_sockets")),
    ],
)
def test_io(libraries: Path, tmp_path: Path, program: str) -> None:
    flags = ("-vt:seq", "-vt:inst", "manual", "-O2", "-finline")
    arm, here = both(libraries, tmp_path, f"{program}.c", flags=flags, env={"VT_IOTRACE": "yes"})
    told = (tmp_path / "arm/told").read_text().splitlines()
    # the number of the calls that wait for aio varies
    calls = [line for line in io_calls(arm) if not line.startswith(("aio_error", "aio_suspend"))]
    assert len(told) > 10
    assert calls == told
    if program != "io_aio":
        assert content(arm) == content(here)


def calls_below_functions(trace: Trace) -> Counter[tuple[str | None, str]]:
    """The calls that functions of the program make; libraries allocate before main, too."""
    return Counter({(caller, name): n for (caller, name), n in trace.edges().items() if caller is not None})


def test_memory(libraries: Path, tmp_path: Path) -> None:
    flags = ("-vt:seq", "-fno-builtin")
    env = {"VT_MEMTRACE": "yes"}
    arm = build(tmp_path / "arm", "heap.c", libraries, "-pthread", *flags)
    here = build(tmp_path / "here", "heap.c", None, "-pthread", *flags)
    blocks, size = map(int, emulate(arm, env=env).stdout.split())
    run(here, here.parent, env=env)
    traces = []
    for program in (arm, here):
        unify(program.parent, "heap")
        traces.append(check(program.with_suffix(".trace")))
    assert growth(traces[0]) == (size, blocks)
    assert check_heap(traces[0]) == 1
    found = calls_below_functions(traces[0])
    assert found["allocate", "malloc"] == 10
    assert found == calls_below_functions(traces[1])


@pytest.mark.parametrize(
    "how", ["exec", "grandchild", *(pytest.param(how, marks=pytest.mark.full) for how in ("return", "_exit"))]
)
def test_processes(libraries: Path, tmp_path: Path, how: str) -> None:
    """qemu 7.2 accepts MADV_WIPEONFORK and does nothing: only the handler of pthread_atfork shows a fork to vtrace."""
    arm, here = both(libraries, tmp_path, "forks.c", how, flags=("-vt:seq",), complete=False)
    calls = [arm.calls(x.id) for x in arm.locations.values() if x.kind == "CPU_THREAD"]
    children = [(each["child"], each["work"]) for each in calls[1:]]
    assert (calls[0]["work"], children) == (13, [(1, 7)] * (2 if how == "grandchild" else 1))
    assert content(arm) == content(here)
    assert len(arm.creators) == len(here.creators) == len(children)


@pytest.mark.parametrize(
    ("source", "args", "code"),
    [("altstack.c", ("50",), 7), ("naps.c", ("2", "5"), 0), ("threads.c", ("together", "3", "50"), 0),
     ("locking.c", (), 0)],
)  # fmt: skip
def test_signals_and_threads(libraries: Path, tmp_path: Path, source: str, args: tuple[str, ...], code: int) -> None:
    arm, here = both(libraries, tmp_path, source, *args, flags=("-vt:seq",), code=code)
    assert len(arm.events) > 10
    assert content(arm) == content(here)


@pytest.mark.parametrize(
    ("how", "threads"), [("here", 0), ("other", 3), *(pytest.param(h, n, marks=pytest.mark.full)
                                                      for h, n in (("here", 3), ("other", 0)))],
)  # fmt: skip
def test_handlers_that_interrupt_recording(libraries: Path, tmp_path: Path, how: str, threads: int) -> None:
    """Each event of the program is recorded, or counted as lost."""
    program = build(tmp_path / "arm", "timer.c", libraries, "-vt:seq", "-pthread")
    env = {"VT_BUFFER_SIZE": "100K", "VT_THREAD_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0", "VT_COMPRESSION": "no"}
    begun, handlers, jumps = map(int, emulate(program, how, "20000", str(threads), env=env).stdout.split())
    found = ledger(program.parent, "timer")
    assert handlers >= 60
    assert jumps == 0
    assert found.functions + found.lost == 2 * begun
    assert found.lost == found.lost_by_reason["SIGNAL"]


OPENMP = """parallel parallel_if changing nested barriers loop_dynamic parallel_loop doacross sections single_nowait
    critical waits locks loop_static ordered single tasks recursive data detached taskloop cancelled reductions
    teams""".split()
WHEN_WAITING = "!$omp critical sblock"
"""A region that is recorded only if a thread has waited."""


def constructs(trace: Trace) -> Counter[str]:
    """Enters of each construct and lock function, and all events but Enter and Leave by kind. Threads share the work
    in any way: numbers are of all locations. Without lines: compilers give one construct different lines."""
    names = (trace.region_of(e).name.partition(" @")[0] for e in trace.events if e.kind == "Enter")
    found = Counter(name for name in names if name != WHEN_WAITING)
    found.update({kind: n for kind, n in trace.kinds().items() if kind not in ("Enter", "Leave")})
    return found


def test_openmp(libraries: Path, tmp_path: Path) -> None:
    """gcc's libgomp; the functions of omp.c themselves are not recorded."""
    flags = ("-vt:mt", "-vt:inst", "manual", "-g", "-O2", "-finline", "-fopenmp")
    arm, here = both(libraries, tmp_path, "omp.c", *OPENMP, flags=flags, env={"OMP_CANCELLATION": "true"})
    found = constructs(arm)
    assert found["ThreadTaskComplete"] == 149
    assert found["ThreadAcquireLock"] == found["ThreadReleaseLock"] == 81
    assert found == constructs(here)
