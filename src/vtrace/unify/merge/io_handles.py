# SPDX-License-Identifier: BSD-3-Clause
"""Files and their handles of all processes become OTF2's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.writer import IoFile, IoHandle
from vtrace.io.local.records import IO_PARADIGMS
from vtrace.parallel.ranks import Ranks
from vtrace.unify.merge.dedup import Concatenated, merge_equal
from vtrace.unify.merge.regions import Ids, table
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import Handle

_MACHINE = 0
"""System node above all hosts."""
_PRE_CREATED, _READ_WRITE, _NO_STATUS = 1, 2, 0
"""OTF2_IO_HANDLE_FLAG_PRE_CREATED, OTF2_IO_ACCESS_MODE_READ_WRITE, OTF2_IO_STATUS_FLAG_NONE."""


@dataclass
class Files:
    """file_ids and handle_ids are per process, indexed by its own ids."""

    files: list[IoFile] = field(default_factory=list)
    handles: list[IoHandle] = field(default_factory=list)
    file_ids: list[Ids] = field(default_factory=list)
    handle_ids: list[Ids] = field(default_factory=list)


def merge_files(processes: Sequence[Process], comms: Sequence[Ids], ranks: Ranks) -> Files:
    """Equal paths on a host are one file; each process has handles of its own.

    comms: the OTF2 id of each communicator, per process by its own ids. Lists of all are at rank 0.
    """
    result = Files()
    shared = ranks.first(partial(_on_several, ranks.reduce(_opened(processes), _union)))

    def own_files(process: Process) -> dict[int, tuple[str, int]]:
        paths = process.definitions.files.items()
        return {local: (path, _MACHINE if path in shared else process.node) for local, path in paths}

    merged, numbers = merge_equal(processes, ranks, own_files)
    result.files = [IoFile(path, node) for path, node in merged]
    own = {}
    locals_ = []
    for process, files, comm_ids in zip(processes, numbers, comms, strict=True):
        result.file_ids.append(table(files))
        own[process.number], ids = _handles(process, files, comm_ids)
        locals_.append(ids)
    together = Concatenated(own, ranks)
    for process, ids in zip(processes, locals_, strict=True):
        first = together.first[process.number]
        result.handle_ids.append(table({local: first + number for local, number in ids.items()}))
    for number, handles in together.items.items():
        first = together.first[number]
        result.handles += [h if h.parent is None else replace(h, parent=first + h.parent) for h in handles]
    return result


Nodes = dict[str, set[int]]


def _opened(processes: Sequence[Process]) -> Nodes:
    """The nodes on which MPI has opened a path.

    Score-P, too, puts a file on a shared file system below the machine and any other one below its host.
    """
    nodes = defaultdict(set)
    for process in processes:
        known = process.definitions
        for handle in known.handles.values():
            if handle.paradigm == IO_PARADIGMS["MPI"] and handle.file in known.files:
                nodes[known.files[handle.file]].add(process.node)
    return dict(nodes)


def _union(one: Nodes, other: Nodes) -> Nodes:
    """Two nodes of a path are enough to know."""
    for path, nodes in other.items():
        one[path] = {*sorted(one.get(path, set()) | nodes)[:2]}
    return one


def _on_several(opened: Nodes) -> set[str]:
    """Paths that were opened on more than one host: they must lie on a file system that all of these see."""
    return {path for path, hosts in opened.items() if len(hosts) > 1}


def _handles(process: Process, files: dict[int, int], comms: Ids) -> tuple[list[IoHandle], dict[int, int]]:
    """Handles of a process, whose parents are places in this list, and their places by the process's own ids.

    A forked child has handles of its own for those of its parent that it uses: to it they were open at its begin.
    """
    handles: list[IoHandle] = []
    numbers: dict[int, int] = {}
    wanted = _wanted(process)
    for local, handle in sorted(process.definitions.handles.items()):
        if local not in wanted:
            continue
        state = None
        if handle.flags & _PRE_CREATED or local in process.definitions.inherited:
            state = (_READ_WRITE if handle.access is None else handle.access, handle.status or _NO_STATUS)
        comm = int(comms[handle.comm]) if handle.comm is not None and handle.comm < len(comms) else UNDEFINED
        numbers[local] = len(handles)
        handles.append(
            IoHandle(
                handle.name, files.get(-1 if handle.file is None else handle.file), handle.paradigm - 1,
                handle.flags | (_PRE_CREATED if state else 0), None if comm == UNDEFINED else comm,
                numbers.get(-1 if handle.parent is None else handle.parent), state,
            )
        )  # fmt: skip
    return handles, numbers


def _wanted(process: Process) -> set[int]:
    """Its own handles, and those it inherited that its events name, with what these stand on."""
    known: dict[int, Handle] = process.definitions.handles
    wanted = known.keys() - process.definitions.inherited
    more = {int(local) for scan in process.scans.values() for local in scan.handles} & known.keys()
    while more - wanted:
        wanted |= more
        more = {p for local in more if (p := known[local].parent) is not None} & known.keys()
    return wanted
