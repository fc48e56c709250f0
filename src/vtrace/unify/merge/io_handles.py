# SPDX-License-Identifier: BSD-3-Clause
"""Turns files and handles of all processes into OTF2 definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vtrace.io.archive.writer import Definitions, IoFile, IoHandle
from vtrace.io.local.records import IO_PARADIGMS
from vtrace.unify.merge.steps import ConcatStep, EqualStep, MapsBuilder
from vtrace.unify.model.id_tables import known_id, table
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import Handle

_MACHINE = 0
"""The OTF2 system node above all hosts."""
_PRE_CREATED, _READ_WRITE, _NO_STATUS = 1, 2, 0
"""OTF2_IO_HANDLE_FLAG_PRE_CREATED, OTF2_IO_ACCESS_MODE_READ_WRITE, OTF2_IO_STATUS_FLAG_NONE."""


Nodes = dict[str, set[int]]
"""System nodes by path."""


class SharedPathStep:
    """Paths that MPI has opened on several hosts: these paths must be on a file system that all these hosts share.

    Like Score-P, a file on a shared file system belongs to the machine, and any other file to its host.
    """

    def __init__(self, processes: Sequence[Process]) -> None:
        self._processes = processes

    def contribute(self) -> Nodes:
        nodes: Nodes = {}
        for process in self._processes:
            known = process.definitions
            for handle in known.handles.values():
                if handle.paradigm == IO_PARADIGMS["MPI"] and handle.file in known.files:
                    nodes.setdefault(known.files[handle.file], set()).add(process.place.node)
        return nodes

    def join(self, one: Nodes, other: Nodes) -> Nodes:
        """Keeps two nodes of a path, which is enough for the decision."""
        for path, nodes in other.items():
            one[path] = {*sorted(one.get(path, set()) | nodes)[:2]}
        return one

    def decide(self, everyone: Nodes) -> set[str]:
        return {path for path, nodes in everyone.items() if len(nodes) > 1}


class FileStep(EqualStep[tuple[str, int]]):
    """Files: equal paths on a host are one file."""

    def __init__(self, builders: Sequence[MapsBuilder], shared: set[str], definitions: Definitions) -> None:
        super().__init__(builders, definitions)
        self._shared = shared

    def own(self, process: Process) -> dict[int, tuple[str, int]]:
        paths = process.definitions.files.items()
        return {local: (path, _MACHINE if path in self._shared else process.place.node) for local, path in paths}

    def define(self, keys: Sequence[tuple[str, int]]) -> None:
        self._definitions.files = [IoFile(path, node) for path, node in keys]

    def fill(self, keys: Sequence[tuple[str, int]]) -> None:
        """Sets the files of this rank's processes."""
        for builder, own in self.ids(keys):
            builder.maps.files = table(own)


class HandleStep(ConcatStep[IoHandle]):
    """Handles: each process has its own."""

    def __init__(self, builders: Sequence[MapsBuilder], definitions: Definitions) -> None:
        """builders: with files and communicators."""
        self._definitions = definitions
        self._handles = [(builder, *_handles(builder)) for builder in builders]
        self.own = {builder.process.number: handles for builder, handles, _ in self._handles}

    def define(self, everyone: dict[int, list[IoHandle]]) -> int:
        handles = self._definitions.handles
        base = len(handles)
        for own in everyone.values():
            first = len(handles)
            handles += [h if h.parent is None else replace(h, parent=first + h.parent) for h in own]
        return base

    def fill(self, firsts: dict[int, int]) -> None:
        """Sets the handles of this rank's processes."""
        for builder, _, places in self._handles:
            first = firsts[builder.process.number]
            builder.maps.handles = table({local: first + place for local, place in places.items()})


def _handles(builder: MapsBuilder) -> tuple[list[IoHandle], dict[int, int]]:
    """Returns the handles of a process, with parents as places in this list, and their places by own id.

    A forked child gets its own handles for the parent's handles that it uses, since these are open at its start.
    """
    process, maps = builder.process, builder.maps
    handles: list[IoHandle] = []
    numbers: dict[int, int] = {}
    newest: dict[int | None, int] = {}
    """The last handle of each file. HDF5 opens a file by another layer, whose handle is the parent of HDF5's."""
    wanted = _wanted(process)
    for local, handle in sorted(process.definitions.handles.items()):
        if local not in wanted:
            continue
        state = None
        if handle.flags & _PRE_CREATED or local in process.definitions.inherited:
            state = (_READ_WRITE if handle.access is None else handle.access, handle.status or _NO_STATUS)
        file = known_id(maps.files, handle.file)
        parent = numbers.get(-1 if handle.parent is None else handle.parent)
        if handle.paradigm != IO_PARADIGMS["HDF5"]:
            newest[file] = len(handles)
        elif parent is None and file is not None:
            parent = newest.get(file)
        numbers[local] = len(handles)
        handles.append(
            IoHandle(
                name=_name(process, handle),
                file=file,
                paradigm=handle.paradigm - 1,
                flags=handle.flags | (_PRE_CREATED if state else 0),
                comm=known_id(maps.comms, handle.comm),
                parent=parent,
                state=state,
            )
        )
    return handles, numbers


def _name(process: Process, handle: Handle) -> str:
    if handle.name is not None:
        return handle.name
    path = process.definitions.files.get(-1 if handle.file is None else handle.file, "")
    return path.rpartition("/")[2] or path


def _wanted(process: Process) -> set[int]:
    """Returns the process's own handles, and the inherited handles in its events, with their parents."""
    known: dict[int, Handle] = process.definitions.handles
    wanted = known.keys() - process.definitions.inherited
    more = {int(local) for scan in process.contents.scans.values() for local in scan.handles} & known.keys()
    while more - wanted:
        wanted |= more
        more = {p for local in more if (p := known[local].parent) is not None} & known.keys()
    return wanted
