# SPDX-License-Identifier: BSD-3-Clause
"""The regions and communicators of a trace for csrc/kernels/mpi_ends.h and matcher.h."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.activity import MPI
from vtrace.analysis.table import Array
from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.reader_abi import ROLES, CommFields

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_ROLES = {
    role: re.compile(rf"mpi_{call}(_c|_f08|_f08ts)?_*$")
    for role, call in (("POST", "win_post"), ("START", "win_start"), ("COMPLETE", "win_complete"),
                       ("WAIT", "win_(wait|test)"), ("PROBE", "i?m?probe"),
                       ("POLL", "(test(all|any|some)?|im?probe|request_get_status)"))
}  # fmt: skip
"""Roles of MPI's functions for epochs of windows, for probes and for polls, and their names."""


def roles(trace: Source) -> Array:
    """(regions,) uint16: bits of enum vt_call_role."""
    names = [name.lower() for name in trace.regions["name"].tolist()]
    ends = trace.regions.activities.index("mpi/management/finalize")
    found = np.where(trace.regions["class"] == MPI, ROLES["MPI"], 0)
    found |= np.where([("neighbor" in name) for name in names], ROLES["NEIGHBOURS"], 0)
    # A session ends alone; processes that MPI_Comm_spawn started end on their own.
    last = (trace.regions["activity"] == ends) & np.array(["session" not in name for name in names], bool)
    if not np.any(trace.groups["creator"] >= 0):
        found |= np.where(last, ROLES["FINALIZE"], 0)
    for role, pattern in _ROLES.items():
        found |= np.where([bool(pattern.search(name)) for name in names], ROLES[role], 0)
    return found.astype(np.uint16)


class Comms:
    """The communicators, windows and ranks of a trace for C."""

    def __init__(self, trace: Source) -> None:
        places, comms = trace.places, range(trace.comms.rows)
        selves = [places.is_self(comm) for comm in comms]
        lists = [self._processes(trace, places.members(comm)) for comm in comms]
        others = [self._processes(trace, places.members(comm, remote=True)) for comm in comms]
        for comm in trace.windows["comm"].tolist():
            known = comm >= 0
            lists.append(np.append(lists[comm], others[comm]) if known else np.empty(0, np.uint32))
            others.append(np.empty(0, np.uint32))
            selves.append(bool(known and selves[comm]))
        ranks = places.processes["rank"]
        lists.append(np.flatnonzero(ranks >= 0).astype(np.uint32))
        others.append(np.empty(0, np.uint32))
        sizes = np.array([len(own) + len(other) for own, other in zip(lists, others, strict=True)], np.int64)
        first = np.append(0, np.cumsum(sizes))
        remote = first[:-1] + [len(own) for own in lists]
        members = np.concatenate([part for pair in zip(lists, others, strict=True) for part in pair])
        self._kept: dict[str, Array] = {
            "first": first.astype(np.uint32), "remote": remote.astype(np.uint32),
            "members": members.astype(np.uint32), "is_self": np.array([*selves, False], np.uint8),
        }  # fmt: skip
        count = trace.comm_groups.rows if trace.windows.rows else 0
        groups = [self._processes(trace, places.group_members(row)) for row in range(count)]
        self._kept["group_members"] = np.concatenate([*groups, np.empty(0, np.uint32)])
        self._kept["group_first"] = np.append(0, np.cumsum([len(each) for each in groups])).astype(np.uint32)
        for name, table in (("comm", "comms"), ("window", "windows"), ("group", "comm_groups")):
            ids = trace.definitions.ids[table]
            numbers, rows = ids.pairs
            self._kept |= {f"{name}_ids": numbers.astype(np.uint64), f"{name}_rows": rows.astype(np.int64)}
        fields: Any = CommFields(ncomms=len(comms), nwindows=trace.windows.rows, nprocesses=places.processes.rows)
        fields.ncomm_ids, fields.nwindow_ids = (len(self._kept[f"{n}_ids"]) for n in ("comm", "window"))
        fields.ngroup_ids = len(self._kept["group_ids"]) if count else 0
        self.__setstate__((self._kept, bytes(fields)))

    def __getstate__(self) -> tuple[dict[str, Array], bytes]:
        return self._kept, bytes(self.fields)

    def __setstate__(self, state: tuple[dict[str, Array], bytes]) -> None:
        self._kept, fields = state
        self.fields: Any = CommFields.from_buffer_copy(fields)
        for name, column in self._kept.items():
            self._kept[name] = column = np.ascontiguousarray(column)
            setattr(self.fields, name, column.ctypes.data)
        self.address = ctypes.addressof(self.fields)

    def of_all(self, processes: Array) -> set[int]:
        """The communicators, windows ... that have all these processes (rows) as members."""
        first, members = self._kept["first"], self._kept["members"]
        large = np.flatnonzero(np.diff(first.astype(np.int64)) >= len(processes)).tolist()
        return {row for row in large if np.isin(processes, members[first[row] : first[row + 1]]).all()}

    @staticmethod
    def _processes(trace: Source, locations: Array) -> Array:
        found = np.where(locations < 0, UNDEFINED, np.append(trace.places.process, -1)[locations])
        return np.where(found < 0, UNDEFINED, found).astype(np.uint32)
