# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a timeline above the rows of locations: processes, nodes, all."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

PROCESS, NODE, ALL = "process", "node", "all"


class RowGroup(NamedTuple):
    """The locations of a process, a node or the trace. kind: PROCESS, NODE or ALL; number: row of trace.processes or of
    trace.nodes (-1: unknown), 0 for ALL; members: rows of trace.locations, ascending; row: of the group's tiles. Groups
    with the same members have the same row; a group of one location has the location's row."""

    kind: str
    number: int
    members: tuple[int, ...]
    row: int


def row_groups(trace: Source) -> list[RowGroup]:
    """The groups of processes, of nodes, and of all locations, in this order."""
    members: dict[tuple[str, int], list[int]] = defaultdict(list)
    nodes = trace.groups["node"].tolist()
    groups = trace.locations["group"].tolist()
    for location, process in enumerate(trace.places.process.tolist()):
        node = nodes[groups[location]] if groups[location] >= 0 else -1
        if process >= 0:
            members[PROCESS, process].append(location)
        members[NODE, node].append(location)
        members[ALL, 0].append(location)
    order = {PROCESS: 0, NODE: 1, ALL: 2}
    rows: dict[tuple[int, ...], int] = {}
    found, free = [], trace.locations.rows
    for (kind, number), each in sorted(members.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        same = tuple(each)
        if same not in rows:
            rows[same] = each[0] if len(each) == 1 else free
            free += len(each) > 1
        found.append(RowGroup(kind, number, same, rows[same]))
    return found


def summed(groups: list[RowGroup]) -> list[RowGroup]:
    """The groups with tiles of their own, each once, ascending by row: inner groups before outer ones."""
    found = {group.row: group for group in groups if len(group.members) > 1}
    return [found[row] for row in sorted(found)]
