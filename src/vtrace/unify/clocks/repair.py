# SPDX-License-Identifier: BSD-3-Clause
"""Repair of clocks, the fifth phase of unifying: corrects clocks if messages or collectives would run backwards.

The ends between different clocks are written to a file, 32 bytes each. repair.c replays all ends on rank 0: it holds 64
ends of a location in memory (1024 if there are few locations) and the messages in transit. If all clocks wait, an end
is missing, and the first clock continues without this end.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vtrace.errors import VtraceError
from vtrace.io.archive.definitions import PARADIGM_MPI
from vtrace.io.archive.writer import Definitions, Group
from vtrace.io.local.kernel import UNMAPPED, Kernel
from vtrace.io.local.local_files import Stream
from vtrace.io.local.records import CLASS_COLLECTIVE, CLASS_MESSAGE, CLASS_RMA, CLASS_USER, COMM_KINDS
from vtrace.io.local.repair_kernel import PIECE, Ends, Parts, Pieces, Repaired, replay
from vtrace.parallel.ranks import work_on
from vtrace.unify.clocks.clocks import Clocks
from vtrace.unify.model.clock_curves import Clock, span_text
from vtrace.unify.model.context import Context
from vtrace.unify.model.id_tables import table
from vtrace.unify.model.process import Process, Run
from vtrace.unify.model.process_maps import ProcessMaps

_DOUBT = 1_000_000
"""With missing events, an end may match a wrong message. Such an end corrects a clock by at most this many ns more than
the clock's own error."""
_TOPOLOGIES = {COMM_KINDS[name] for name in ("CART", "CART_SUB", "GRAPH")}

_CLASSES = CLASS_MESSAGE | CLASS_COLLECTIVE | CLASS_RMA | CLASS_USER
Processes = np.ndarray[Any, np.dtype[np.uint32]]


@dataclass(frozen=True)
class _ProcessClocks:
    """A process for rank 0. first: its first location; doubtful: ends of messages may be missing; comms: by OTF2's id,
    True if the communicator has a topology, and True for an inter-communicator."""

    index: int | None
    first: int
    doubtful: bool
    comms: dict[int, tuple[bool, bool]]


def repair(run: Run, clocks: Clocks, definitions: Definitions, near: Path, *, context: Context) -> Repaired | None:
    """Finds events that run backwards between clocks and adds their corrections to the maps of this rank's processes;
    all ranks call repair.

    near: a directory that all ranks see. Each rank writes the ends of its processes' messages to a file there, which
    rank 0 replays. Returns None if all processes share one clock, or if the user does not want a repair.
    """
    ranks, console = context.ranks, context.console
    if not context.request.repair or clocks.count < 2:
        return None
    console.detail("looking for messages that run backwards")
    about = ranks.gather({process.number: _about(process) for process in run.processes})
    parts = ranks.first(lambda: _parts(run.count, about, clocks.clocks, definitions))
    pieces = ranks.gather(_find(run.processes, parts, near / f"ends.{ranks.rank}", context))
    repaired = ranks.first(
        lambda: _replay([*pieces.values()], parts, kernel=context.kernel, near=near, files=ranks.size)
    )
    for process in run.processes:
        if process.maps is None:
            continue
        ns, shifts = repaired.knots[int(parts.clocks[process.number])]
        if len(ns):
            process.maps = process.maps.shifted(ns, shifts)
    for line in _lines(repaired):
        console.detail(line)
    if repaired.left:
        console.warn(
            f"{repaired.left} messages or collective calls may still run backwards: events are missing, so the matches "
            "of their ends are uncertain, or a process sent and received within a tick of its clock"
        )
    return repaired


def _find(processes: Sequence[Process], parts: Parts, path: Path, context: Context) -> dict[int, Pieces]:
    """Writes the ends of this rank's processes into the file path; returns their places in the file, by number of the
    process."""
    ranks = context.ranks
    found: dict[int, Pieces] = {}

    def find(process: Process) -> None:
        numbers = [n for n, scan in process.contents.scans.items() if scan.classes & _CLASSES]
        if process.maps is None or not numbers:
            return
        with ExitStack() as stack:
            opened = [stack.enter_context(process.events(number))[0] for number in numbers]
            streams = [stream for stream in opened if stream is not None]
            own = {local: comm.rank for local, comm in process.definitions.comms.items()}
            peers = _user_peers(process.maps, streams, parts)
            maps = replace(process.maps.common, user_peers=peers, comm_ranks=table(own))
            found[process.number] = ends.find(streams, maps, process.number, ranks.rank)

    file = ranks.together(lambda: _open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    try:
        ends = Ends(context.kernel, parts, file)
        work_on(
            ranks,
            context.request.threads,
            items=processes,
            work=find,
            weigh=lambda p: p.contents.stored,
            advance=lambda count: None,
        )
    finally:
        os.close(file)
    return found


def _user_peers(maps: ProcessMaps, streams: Sequence[Stream], parts: Parts) -> Processes:
    """Returns the processes of the other ends of the messages of the user API, in the order of streams."""
    none = np.empty(0, np.int64)
    others = np.concatenate([none, *(maps.user_others.get(stream.location, none) for stream in streams)])
    if not len(others):
        return np.empty(0, np.uint32)
    order = np.argsort(parts.firsts, kind="stable")
    owners = order[np.searchsorted(parts.firsts[order], others.clip(0), side="right") - 1]
    return np.where(others < 0, UNMAPPED, owners).astype(np.uint32)


def _replay(pieces: Sequence[Pieces], parts: Parts, kernel: Kernel, near: Path, *, files: int) -> Repaired:
    with ExitStack() as stack:
        opened = []
        for number in range(files):
            path = near / f"ends.{number}"
            stack.callback(path.unlink)
            opened.append(_open(path, os.O_RDONLY))
            stack.callback(os.close, opened[-1])
        everyone = np.concatenate([np.empty(0, PIECE), *pieces])
        everyone["file"] = np.array(opened, np.uint32)[everyone["file"]]
        return replay(kernel, parts, everyone)


def _open(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise VtraceError(f"cannot write {path}: {error.strerror}") from error


def _lines(repaired: Repaired) -> list[str]:
    """Returns the lines about the repair for -v."""
    r = repaired
    found = [
        f"between clocks: {r.reversed_messages:,} of {r.messages:,} messages and {r.reversed_collectives:,} of "
        f"{r.collectives:,} collective calls ran backwards, by {span_text(r.most)} at most"
    ]
    if moved := sum(len(ns) for ns, _ in r.knots):
        found.append(f"between clocks: {r.left:,} after {moved:,} corrections, by {span_text(r.largest)} at most")
    if r.ignored:
        found.append(f"between clocks: {r.ignored:,} ends have no match, or an uncertain one: ignored")
    return found


def _about(process: Process) -> _ProcessClocks:
    known, comms = process.definitions, {}
    topologies: set[int | None] = set()
    table = process.maps.common.comms if process.maps is not None else ()
    for local, comm in sorted(known.comms.items()):
        if comm.kind in _TOPOLOGIES or (comm.kind == COMM_KINDS["DUP"] and comm.parent in topologies):
            topologies.add(local)
        if local < len(table) and table[local] != UNMAPPED:
            comms[int(table[local])] = (local in topologies, bool(comm.remote))
    contents = process.contents
    incomplete = contents.missing_files or any(s.lost or s.off_ticks or s.stopped for s in known.summaries.values())
    doubtful = bool(process.died or contents.problems or known.lost or incomplete)
    return _ProcessClocks(process.place.index, process.place.first, doubtful, comms)


def _parts(count: int, about: Mapping[int, _ProcessClocks], clocks: Sequence[Clock], definitions: Definitions) -> Parts:
    of_clock, doubtful = np.full(count, UNMAPPED, np.uint32), np.zeros(count, np.uint8)
    for number, clock in enumerate(clocks):
        of_clock[clock.members] = number
    by_index = np.full(sum(one.index is not None for one in about.values()), UNMAPPED, np.uint32)
    for number, one in about.items():
        doubtful[number] = one.doubtful
        if one.index is not None:
            by_index[one.index] = number
    groups: dict[int, Processes] = {}
    for comm in definitions.comms:
        if comm.group not in groups:
            groups[comm.group] = _members(definitions.comm_groups[comm.group], by_index)
    members = [groups[comm.group] for comm in definitions.comms]
    kinds = np.array([_is_between(own, of_clock) for own in members], np.uint8)
    windows = [window.comm for window in definitions.windows]
    of_windows = kinds[windows] if windows else kinds[:0]
    for one in about.values():
        for number, (topology, inter) in one.comms.items():
            kinds[number] = 0 if inter else 2 if topology and kinds[number] else kinds[number]
    members += [members[number] for number in windows]
    first = np.cumsum([0, *map(len, members)]).astype(np.uint32)
    bound = max((clock.error or 0 for clock in clocks), default=0)
    return Parts(
        clocks=of_clock,
        doubtful=doubtful,
        comm_first=first,
        comm_members=np.concatenate([np.empty(0, np.uint32), *members]),
        comm_repaired=np.concatenate([kinds, of_windows]),
        nclocks=len(clocks),
        first_window=len(kinds),
        limit=_DOUBT + 2 * bound,
        firsts=np.array([about[number].first for number in range(count)], np.uint32),
    )


def _members(group: Group, by_index: Processes) -> Processes:
    """Returns the processes of a communicator, by rank; empty for a communicator of another paradigm."""
    numbers = np.asarray(group.members, np.int64)
    if group.kind != "COMM_GROUP" or group.paradigm != PARADIGM_MPI or np.any(numbers >= len(by_index)):
        return np.empty(0, np.uint32)
    return by_index[numbers]


def _is_between(members: Processes, of_clock: Processes) -> bool:
    """Returns True if a collective can run backwards: all members are known, and they have several clocks."""
    if not len(members) or np.any(members == UNMAPPED):
        return False
    clocks = of_clock[members]
    return bool(np.all(clocks != UNMAPPED) and np.any(clocks != clocks[0]))
