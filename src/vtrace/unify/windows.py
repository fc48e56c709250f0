# SPDX-License-Identifier: BSD-3-Clause
"""Windows of one-sided communication of all processes become OTF2's, and groups of ranks that synchronize."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vtrace.io.archive import Group, Window
from vtrace.unify.communicators import Communicators
from vtrace.unify.definitions import Ranks
from vtrace.unify.merge import UNDEFINED, Ids, table
from vtrace.unify.process import Process

_MPI = 4  # OTF2_PARADIGM_MPI


@dataclass
class Windows:
    """ids, peer_offsets and groups are per process, indexed by its own ids of windows and of groups."""

    windows: list[Window] = field(default_factory=list)
    ids: list[Ids] = field(default_factory=list)
    peer_offsets: list[Ids] = field(default_factory=list)
    groups: list[Ids] = field(default_factory=list)


def merge_windows(processes: Sequence[Process], comms: Communicators) -> Windows:
    """Equal (communicator, number of earlier windows) is the same window.

    Adds groups to those of comms. A window or group of an unknown communicator has no id.
    """
    result = Windows()
    numbers: dict[tuple[int, int], int] = {}
    names: dict[int, str] = {}
    groups = {bytes(np.asarray(g.members, np.uint64)): n for n, g in enumerate(comms.groups) if g.kind == "COMM_GROUP"}
    for process, ids, offsets in zip(processes, comms.ids, comms.peer_offsets, strict=True):
        known = process.definitions
        windows, shifts = {}, {}
        for local, window in sorted(known.windows.items()):
            comm = int(ids[window.comm]) if window.comm < len(ids) else UNDEFINED
            if comm != UNDEFINED:
                number = numbers.setdefault((comm, window.serial), len(numbers))
                windows[local], shifts[local] = number, int(offsets[window.comm])
                if local in known.window_names:
                    names.setdefault(number, known.window_names[local])
        result.ids.append(table(windows))
        result.peer_offsets.append(table(shifts))
        result.groups.append(_groups(process, comms, ids, offsets, groups))
    for (comm, serial), number in numbers.items():
        result.windows.append(Window(names.get(number, f"window {serial} of {comms.comms[comm].name}"), comm))
    return result


def _groups(process: Process, comms: Communicators, ids: Ids, offsets: Ids, known: dict[bytes, int]) -> Ids:
    """known: groups by their members; one of a communicator serves, too."""
    numbers = {}
    for local, pieces in sorted(process.definitions.groups.items()):
        comm = int(ids[pieces[0].comm]) if pieces[0].comm < len(ids) else UNDEFINED
        if comm == UNDEFINED:
            continue
        group = comms.groups[comms.comms[comm].group]
        alone = group.kind == "COMM_SELF" and process.index is not None
        members = np.array([process.index] if alone else group.members, np.uint64)
        ranks = _ranks(pieces) + int(offsets[pieces[0].comm])
        if len(ranks) and ranks.max() >= len(members):
            continue
        chosen = members[ranks]
        numbers[local] = known.setdefault(bytes(chosen), len(comms.groups))
        if numbers[local] == len(comms.groups):
            comms.groups.append(Group("COMM_GROUP", _MPI, "", chosen))
    return table(numbers)


def _ranks(pieces: Sequence[Ranks]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    ordered = sorted(set(pieces), key=lambda piece: piece.first)
    return np.concatenate([np.frombuffer(p.ranks[: len(p.ranks) // 4 * 4], "<u4") for p in ordered]).astype(np.int64)
