# SPDX-License-Identifier: BSD-3-Clause
"""Random programs: each call has the same records in the archive and in the program's own log."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.build.mpis import Mpi
from support.build.run import unify
from support.oracles.check import check
from support.readers.archive import Event, Trace

FLAGS = ("-O1", "-pthread", "-vt:inst", "manual")
STEPS = 40

# Libraries use one handle for many requests that complete at once. Such a request may end in the call that ends another
# request, or in the call that begins it.
_ANYWHERE = ("sent", "collected")
_WORDS = {
    "MpiSend": "send", "MpiRecv": "receive", "MpiIsend": "isend", "MpiIrecvRequest": "irequest", "MpiIrecv": "received",
    "MpiIsendComplete": "sent", "MpiRequestCancelled": "cancelled", "MpiCollectiveEnd": "collective",
    "NonBlockingCollectiveRequest": "irequest-collective", "NonBlockingCollectiveComplete": "collected",
}  # fmt: skip


@dataclass
class Call:
    """An MPI call with its records, in the words of the log. end: time of its end, in the archive."""

    name: str
    records: list[str] = field(default_factory=list)
    end: int = 0


@dataclass
class Log:
    """The calls of one thread, whose requests have the names THREAD/NUMBER. comms: members by name; freed: freed
    communicators; loose: freed requests.
    """

    calls: list[Call] = field(default_factory=list)
    comms: dict[str, tuple[int, ...]] = field(default_factory=dict)
    freed: list[str] = field(default_factory=list)
    loose: set[str] = field(default_factory=set)


def read_log(path: Path) -> Log:
    log = Log()
    for line in path.read_text().splitlines():
        word, *rest = line.split()
        if word == "call":
            log.calls.append(Call(rest[0]))
        elif word == "comm":
            log.comms[rest[0]] = tuple(map(int, rest[1:]))
        elif word == "free":
            log.freed.append(rest[0])
        else:
            if word not in ("send", "receive", "collective"):
                rest[0] = f"{path.suffix[1:]}/{rest[0]}"
            if word == "freed":
                log.loose.add(rest[0])
            else:
                log.calls[-1].records.append(" ".join([word, *rest]))
    return log


def text(trace: Trace, event: Event) -> str | None:
    """An event in the words of the log; None for an event that the log does not have."""
    word, a = _WORDS.get(event.kind), event.attrs
    if "HANDLE" in str(a.get("collective_op")):
        return f"collected #{a['request_id']} HANDLE" if word == "collected" else None
    if word is None:
        return None
    name = trace.comms[a["communicator"]].name if "communicator" in a else ""
    name = name.removeprefix("partitioned messages of ")  # the log has the communicator of the call
    parts = [word]
    if "request_id" in a:
        parts.append(f"#{a['request_id']}")
    if "collective_op" in a:
        parts += [a["collective_op"], name, a["root"], a["size_sent"], a["size_received"]]
    elif "msg_tag" in a:
        parts += [name, a["receiver"] if "receiver" in a else a["sender"], a["msg_tag"], a["msg_length"]]
    return " ".join(map(str, parts)).replace("MPI_COMM_WORLD", "c0")


def recorded(trace: Trace, location: int) -> list[Call]:
    """The MPI calls of a location."""
    calls: list[Call] = []
    for event in trace.of(location):
        if event.kind == "Enter":
            calls.append(Call(trace.region_of(event).name))
        elif event.kind == "Leave":
            calls[-1].end = event.time
        elif (line := text(trace, event)) is not None:
            calls[-1].records.append(line)
    return calls


def compare(log: Log, calls: list[Call], numbers: dict[str, str]) -> None:
    """Checks that both have the same calls in the same order, with the same records except ends of shared handles.

    numbers: the program's request numbers by those of the archive; filled by this function.
    """
    assert [call.name for call in calls] == [call.name for call in log.calls]
    for said, found in zip(log.calls, calls, strict=True):
        begun = [line.split()[1] for line in said.records if line.startswith(("isend", "irequest"))]
        there = [line.split()[1] for line in found.records if line.startswith(("isend", "irequest"))]
        assert len(there) == len(begun), f"{found}, but the program logged {said}"
        numbers |= zip(there, begun, strict=True)
        mine, its = (
            Counter(line for line in lines if line.split()[0] not in _ANYWHERE)
            for lines in (renumbered(found.records, numbers), said.records)
        )
        assert mine == its, f"{found.name}: recorded {mine}, the program logged {its}"


def renumbered(lines: list[str], numbers: dict[str, str]) -> Iterator[str]:
    for line in lines:
        words = line.split()
        if len(words) > 1 and words[1].startswith("#") and words[0] not in _ANYWHERE:
            words[1] = numbers[words[1]]
        yield " ".join(words)


def compare_ends(logs: list[tuple[Log, list[Call]]], events: list[tuple[int, str]], numbers: dict[str, str]) -> None:
    """Checks the ends of shared handles in one process: each request has one end, at the latest when the program knows
    it.

    If several requests share a handle, vtrace may take another one for the freed request.
    """
    loose = {f"sent {number}" for log, _ in logs for number in log.loose}
    found, promised = {}, {}
    for time, line in events:
        word, number, *rest = line.split()
        if word in _ANYWHERE:
            found[" ".join([word, numbers[number], *rest])] = time
    for log, calls in logs:
        for said, call in zip(log.calls, calls, strict=True):
            promised |= {line: call.end for line in said.records if line.split()[0] in _ANYWHERE}
    missing, more = promised.keys() - found.keys(), found.keys() - promised.keys()
    assert more <= loose, f"ended in the archive only: {more - loose}"
    assert len(missing) <= len(more), f"without an end: {missing}"
    ends = sorted(found.values())
    for place, known in enumerate(sorted(promised.values())):
        assert ends[place] <= known, f"{place} requests have ended at {known}, one less than in the program"


def check_run(mpi: Mpi, cwd: Path, seed: int, ranks: int, threads: int, program: Path, steps: int = STEPS) -> None:
    mpi.run(program, cwd, str(seed), str(steps), str(threads), ranks=ranks, env={"VT_MPI_POLLS": "yes"})
    unify(cwd, "mpi_random")
    trace = check(cwd / "mpi_random.trace")
    logs = {(rank, t): read_log(cwd / f"log.{rank}.{t}") for rank in range(ranks) for t in range(threads + 1)}
    assert all(log.calls[0].name == "MPI_Sendrecv" for log in logs.values())
    left = dict(logs)
    numbers: dict[int, dict[str, str]] = defaultdict(dict)
    threads_of: dict[int, list[tuple[Log, list[Call]]]] = defaultdict(list)
    for location in trace.locations.values():
        calls = recorded(trace, location.id)
        first = next(i for i, call in enumerate(calls) if call.name == "MPI_Sendrecv")
        tag = next(line.split()[3] for line in calls[first].records if line.startswith("send "))
        log = left.pop((location.process, (int(tag) - 1) // 8192))
        last = first + len(log.calls)
        compare(log, calls[first:last], numbers[location.process])
        threads_of[location.process].append((log, calls[first:last]))
        after = [call.name for call in calls[last:] if not call.name.startswith("pthread_")]
        assert after == (["MPI_Barrier", "MPI_Buffer_detach", "MPI_Finalize"] if tag == "1" else [])
    assert not left
    for process, its in threads_of.items():
        lines = ((e.time, text(trace, e)) for e in trace.events if trace.locations[e.location].process == process)
        compare_ends(its, [(time, line) for time, line in lines if line], numbers[process])
    check_comms(trace, list(logs.values()), ranks, threads)


def check_comms(trace: Trace, logs: list[Log], ranks: int, threads: int) -> None:
    """Checks the communicators by their names: their members, and the number of creations and frees."""
    made = {f"c{t * 1000}": tuple(range(ranks)) for t in range(1, threads + 1)}
    freed: Counter[str] = Counter()
    for log in logs:
        made |= log.comms
        freed.update(log.freed)
    process = {location.id: location.process for location in trace.locations.values()}
    found = {
        comm.name: tuple(process[member] for member in comm.members)
        for comm in trace.comms.values()
        if comm.name[1:].isdigit() and comm.members is not None
    }
    alone = {comm.name for comm in trace.comms.values() if comm.members is None}
    assert found == {name: members for name, members in made.items() if name not in alone}
    assert all(len(made[name]) == 1 for name in alone if name in made)
    ends: dict[str, int] = defaultdict(int)
    for event in trace.events:
        if event.kind == "CommDestroy":
            ends[trace.comms[event.attrs["communicator"]].name] += 1
    assert {name: n for name, n in ends.items() if name in made} == dict(freed)


@pytest.fixture(scope="module")
def program(mpi: Mpi) -> Path:
    return mpi.build("mpi_random.c", flags=FLAGS)


@pytest.mark.parametrize(("seed", "ranks", "threads"), [(1, 2, 2), (2, 3, 0)])
def test_random_program(mpi: Mpi, program: Path, tmp_path: Path, seed: int, ranks: int, threads: int) -> None:
    check_run(mpi, tmp_path, seed, ranks, threads, program)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_random_programs(mpi: Mpi, program: Path, tmp_path: Path, seed: int) -> None:
    check_run(mpi, tmp_path, seed, 2 + seed % 3, seed % 4, program, 60)
