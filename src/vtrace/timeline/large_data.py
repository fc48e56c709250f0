# SPDX-License-Identifier: BSD-3-Clause
"""WindowData of traces whose messages and collective operations do not fit into memory. The data come from the tables
beside the tiles, and from the events of short windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.collectives import op_name
from vtrace.analysis.table import Array, Table
from vtrace.timeline.answers import Content, pack
from vtrace.timeline.bands import bands_of
from vtrace.timeline.bundles import bundle_groups, bundle_level, bundles_of
from vtrace.timeline.counter_bins import counter_bins
from vtrace.timeline.window_data import BANDS, WindowData, bundled, longest
from vtrace.timeline.window_reader import WindowReader

if TYPE_CHECKING:
    from vtrace.analysis.question import AnyQuestion
    from vtrace.analysis.selection import Selection
    from vtrace.io.sidecar.tile_file import TileFile
    from vtrace.timeline.prepared import Prepared

_NEAR = 300_000
"""The most events of a window to read for its counters and messages."""


class LargeData(WindowData):
    """Messages are bundles of whole bins (bundles.py), collective operations bands without their participants."""

    def __init__(self, prepared: Prepared, part: Selection, tiles: TileFile) -> None:
        super().__init__(prepared, part)
        self._tiles, self._reader = tiles, WindowReader(prepared.trace, tiles)

    def questions(self) -> list[AnyQuestion]:
        """None: all messages do not fit into memory."""
        return []

    def messages_of(self, location: int, begin: int, end: int) -> Table:
        """The ends of messages in a call; the time of the other end is -1 (unknown)."""
        found = self._reader.window([location], begin, end + 1, _NEAR).messages
        sent, unknown = found["sent"] == 1, np.full(found.rows, -1)
        here = np.full(found.rows, location)
        return Table({
            "sender": np.where(sent, here, found["peer"]), "receiver": np.where(sent, found["peer"], here),
            "send": np.where(sent, found["time"], unknown), "receive": np.where(sent, unknown, found["time"]),
            **{name: found[name] for name in ("comm", "tag", "bytes")},
        })  # fmt: skip

    def collectives(self) -> tuple[Table, Table]:
        parts = Table({name: np.empty(0, np.int64) for name in ("location", "begin", "end", "region", "instance")})
        return Table({}), parts

    def links(
        self, rows: Sequence[Array], window: tuple[int, int], lines: int, smallest: int, *, tag: int | None, comm: int,
        between: Sequence[int] | None = None,
    ) -> Content:  # fmt: skip
        """Bundles, if the window is wider than a bin and no filter is set: bundles have no tags, sizes or
        communicators."""
        found, groups = bundles_of(self._trace, self._tiles, *window), bundle_groups(self._trace)
        bin_width = 1 << bundle_level(self._trace)
        if tag is not None or comm >= 0 or smallest or bin_width > window[1] - window[0]:
            found = found.take(slice(0))
        if between is not None:
            mine = self._trace.places.process[[*between]]
            chosen = np.unique(groups[mine[mine >= 0]])
            found = found.take(np.isin(found["sender"], chosen) & np.isin(found["receiver"], chosen))
        row_of = np.full(int(groups.max(initial=-1)) + 1, -1, np.int64)
        process = self._trace.places.process
        for number, locations in reversed(list(enumerate(rows))):
            mine = process[locations]
            row_of[groups[mine[mine >= 0]]] = number
        inside = Table({
            "from": row_of[found["sender"]], "to": row_of[found["receiver"]], "send": found["begin"],
            "receive": found["end"], "bytes": found["bytes"], "count": found["count"],
        })  # fmt: skip
        inside = inside.take((inside["from"] >= 0) & (inside["to"] >= 0))
        notes = {"messages": int(inside["count"].sum()), "bytes": int(inside["bytes"].sum()), "share": 1}
        return bundled(inside, window, notes)

    def bands(self, rows: Sequence[Array], window: tuple[int, int]) -> Content:
        found = bands_of(self._tiles, *window)
        inside, count = longest(found, np.arange(found.rows)), max(found.rows, found.left_out)
        some, order = found.take(inside), np.concatenate([np.empty(0, np.int64), *rows])
        place = np.full(self._trace.locations.rows + 1, -1, np.int64)
        place[order] = np.arange(len(order))
        edges = []  # the first and the last row of each operation
        for number, (comm, location) in enumerate(zip(some["comm"].tolist(), some["location"].tolist(), strict=True)):
            members = np.array([location]) if location >= 0 else self._trace.places.members(comm)
            shown = members[place[members] >= 0]
            if len(shown):
                edges += [(number, int(shown[place[shown].argmin()])), (number, int(shown[place[shown].argmax()]))]
        instance, location = np.array(edges, np.int64).reshape(-1, 2).T
        columns = {name: some[name] for name in BANDS}
        columns |= {"part_instance": instance.astype(np.int32), "part_location": location}
        columns |= {f"part_{name}": some[name][instance] for name in ("begin", "end")}
        return pack(columns, collectives=count, ops={op: op_name(op) for op in sorted(set(some["op"].tolist()))})

    def values(self, locations: Sequence[int], window: tuple[int, int]) -> list[tuple[Table, str]]:
        """Values read from the events; for locations with too many events the means of bins (counter_bins.py)."""
        found = self._reader.window(locations, *window, _NEAR)
        every = np.arange(self._trace.metric_members.rows)
        bins = counter_bins(self._trace, self._tiles, every, np.array(found.skipped, np.int64))
        means = {"location": bins["location"], "time": bins["begin"], "metric": bins["metric"], "value": bins["mean"]}
        return [(found.metrics, "metric"), (Table(means), "metric")]
