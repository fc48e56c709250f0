# SPDX-License-Identifier: BSD-3-Clause
"""MPI calls against a wrapper that only reads the clock twice, and the cost of the calls while MPI is not recorded.

The floor of all calls is that wrapper around MPI_Comm_rank. Around a longer call the processor hides part of the
wrapper's cost. The visible part has rows of its own, without a bar.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from measure import HERE, Row, against_floor, at_most, build, run

CALLS = 960
PASSES = 1_600
"""The calls of a pass fit between two steps in which a full buffer is written."""
ROOM = {"VT_BUFFER_SIZE": "64M", "VT_THREAD_BUFFER_SIZE": "64M", "VT_MAX_FLUSHES": "0"}
KINDS = ("Allreduce", "Sendrecv", "Comm_rank", "Put", "Win_unlock", "File_write_at", "message", "flushed put")
"""The figures that bench/mpi.c prints, in order. For Win_unlock: ns per put that it completes."""
WINDOWS = {
    "message": "message in a window of MPI_Irecv and MPI_Isend with one MPI_Waitall",
    "flushed put": "MPI_Put with its MPI_Win_flush",
}
"""Rows of several calls each: the floor is the wrappers around all of them."""
TEXTS = {
    "Allreduce": "with its collective",
    "Sendrecv": "with its two messages",
    "Comm_rank": "without records",
    "Put": "with its transfer",
    "File_write_at": "of 0 bytes, with its operation",
}
POLLS = ("Iprobe", "Test")
"""The figures that bench/mpi_polls.c prints."""
THREADED = ("Allreduce", "Comm_rank")
"""The figures that bench/mpi_threads.c prints."""
SHOWN = ("Allreduce", "Sendrecv", "Put", "File_write_at")
"""Longer calls: cost of the floor's wrapper around them."""


def prepare(work: Path) -> None:
    """Builds the programs untraced, with the wrappers of the floor, and with vtrace-cc."""
    for name in ("mpi", "mpi_threads", "mpi_comms", "mpi_polls"):
        source = HERE / f"{name}.c"
        build("mpicc", "-O2", "-pthread", source, "-o", f"{name}_plain", cwd=work)
        build("mpicc", "-O2", "-pthread", source, HERE / "floor_mpi.c", "-o", f"{name}_floor", cwd=work)
        build("vtrace-cc", "-vt:inst", "manual", "-O2", "-pthread", source, "-o", f"{name}_traced", cwd=work)


def best(work: Path, program: str, kinds: tuple[str, ...], **settings: str) -> list[float]:
    """ns per call of each kind, from the best pass, which had the least disturbance."""
    numbers = run(program, CALLS, PASSES, cwd=work, **settings)
    return [min(numbers[kind :: len(kinds)]) for kind in range(len(kinds))]


def measure_threads(work: Path, repetitions: int) -> list[Row]:
    """As above, with two threads at the same time."""
    pairs: dict[str, list[tuple[float, float]]] = {kind: [] for kind in THREADED}
    for _ in range(repetitions):
        plain = best(work, "./mpi_threads_plain", THREADED)
        floor = best(work, "./mpi_threads_floor", THREADED)
        traced = best(work, "./mpi_threads_traced", THREADED, **ROOM)
        for kind, p, t in zip(THREADED, plain, traced, strict=True):
            pairs[kind].append((floor[1] - plain[1], t - p))
    what = "with 2 threads under MPI_THREAD_MULTIPLE"
    return [against_floor(f"MPI_{kind} {what}", pairs[kind], 2.0, "ns a call") for kind in THREADED]


def measure_polls(work: Path, repetitions: int) -> list[Row]:
    """The time that tracing adds to a call that finds nothing: in rows of one record, and with a record for each."""
    joined, each = ({kind: list[float]() for kind in POLLS} for _ in range(2))
    for _ in range(repetitions):
        plain = best(work, "./mpi_polls_plain", POLLS)
        for values, settings in ((joined, {"VT_MPI_POLLS": "no"}), (each, {"VT_MPI_POLLS": "yes"})):
            traced = best(work, "./mpi_polls_traced", POLLS, **settings, **ROOM)
            for kind, t, p in zip(POLLS, traced, plain, strict=True):
                values[kind].append(t - p)
    return [
        Row(text.format(kind), "ns a call", None, statistics.median(values[kind]), None, "", True)
        for text, values in (
            ("what tracing adds to an MPI_{} that finds nothing", joined),
            ("the same of MPI_{} with VT_MPI_POLLS=yes", each),
        )
        for kind in POLLS
    ]


def measure(work: Path, repetitions: int) -> list[Row]:
    """Differences to the untraced program, as pairs of floor and vtrace from the same repetition."""
    pairs: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    hidden: dict[str, list[float]] = {kind: [] for kind in (*SHOWN, *WINDOWS)}
    off: list[float] = []
    sites: dict[int, list[float]] = {1: [], 3: []}
    comms: list[float] = []
    for _ in range(repetitions):
        plain = best(work, "./mpi_plain", KINDS)
        floor = best(work, "./mpi_floor", KINDS)
        traced = best(work, "./mpi_traced", KINDS, **ROOM)
        without = best(work, "./mpi_traced", KINDS, VT_MPITRACE="no")
        for kind, p, f, t in zip(KINDS, plain, floor, traced, strict=True):
            pairs[kind].append((floor[2] - plain[2], t - p))
            if kind in hidden:
                hidden[kind].append(f - p)
        off.append(without[2] - plain[2])
        comms.append(
            min(run("./mpi_comms_traced", 2000, 50, cwd=work)) - min(run("./mpi_comms_plain", 2000, 50, cwd=work))
        )
        for depth, values in sites.items():
            placed = best(work, "./mpi_traced", KINDS, VT_MPI_CALLSITES=str(depth), **ROOM)
            values.append(placed[2] - traced[2])
    windows = []
    for kind, text in WINDOWS.items():
        value, floor = statistics.median(t for _, t in pairs[kind]), statistics.median(hidden[kind])
        windows.append(Row(text, "ns", floor, value, value / floor, "<= 80 ns", value <= 80))
    completing = statistics.median(traced for _, traced in pairs["Win_unlock"])
    return [
        *(against_floor(f"MPI_{kind} {text}", pairs[kind], 2.0, "ns a call") for kind, text in TEXTS.items()),
        *measure_threads(work, repetitions),
        *windows,
        Row("the two completions of a put in MPI_Win_unlock", "ns a put", None, completing, None, "", True),
        *(
            Row(f"the floor's wrapper around MPI_{kind}", "ns a call", None, statistics.median(values), None, "", True)
            for kind, values in hidden.items()
            if kind in SHOWN
        ),
        at_most("what tracing adds to an MPI_Comm_dup with its MPI_Comm_free", "ns", comms, 300),
        *measure_polls(work, repetitions),
        at_most("MPI call while VT_MPITRACE=no", "ns a call", off, 2),
        at_most("what VT_MPI_CALLSITES=1 adds to an MPI call", "ns a call", sites[1], 20),
        Row("the same of VT_MPI_CALLSITES=3", "ns a call", None, statistics.median(sites[3]), None, "", True),
    ]
