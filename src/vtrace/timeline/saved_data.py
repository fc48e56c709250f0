# SPDX-License-Identifier: BSD-3-Clause
"""The data of traces for a saved page: answers of the site for a window, as many as fit into the file, the most
useful first: panels, tiles from coarse to fine, calls, messages, samples, counters.

page/net/saved.js reads the parts. A part is compressed by deflate. Tiles are those of units: one location each, or in
traces of many locations the same number of neighbours each.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vtrace.analysis.table import Array, Table, stack
from vtrace.io.sidecar.tile_file import BINS
from vtrace.timeline.answers import Content, pack, unpack
from vtrace.timeline.call_store import LARGE
from vtrace.timeline.large_data import LargeData
from vtrace.timeline.row_tiles import NO_LEVEL
from vtrace.timeline.tiles import event_count
from vtrace.timeline.window_data import LINK

if TYPE_CHECKING:
    from vtrace.timeline.viewer_site import ShownTrace

Ask = Callable[[str, Mapping[str, Any]], Content | None]
"""Answers a request of the page by its name and words."""
PANELS = ("findings", "findings_here", "profile", "flame", "matrix", "collectives", "files", "ranks", "iterations",
          "memory", "counters")  # fmt: skip
STEPS = len(PANELS) + 10
"""Steps of the work for a trace."""
_UNITS = 1024
_BINS = 4096
"""The most bins of the finest tiles in the window: more than the pixels of a screen."""
_TILES = 12_000
"""The most tiles of locations of one level, since each takes time."""
_READ, _CALLS, _MESSAGES = 3_000_000, 250_000, 40_000
"""The most events to read for calls, and the most calls and messages in a page."""
_TOGETHER = 1024
"""Locations whose calls are read in one pass, if others are not in the window."""
_CALL_COLUMNS = dict.fromkeys(("place", "begin", "end", "region", "depth", "exclusive"), np.int64)
_MARK_BINS, _LEAF_BINS, _CURVE_BINS = 4096, 2048, 512
_CURVES, _STACKS = 16, 64
"""The most counters with curves, and the most locations with stacks of samples."""
_TICKS = 100
"""The most iterations with ticks: these have room in a page of 1280 pixels."""
_TEXTS, _TEXT_ROOM = 1000, 200_000
"""Regions whose texts are requested together, and the bytes that are kept for texts."""


class Search(NamedTuple):
    """The search of the saved page. exact: 1 if text is a whole name."""

    text: str
    exact: int


@dataclass
class Parts:
    """Compressed parts of a file. room: bytes that are left. places: of each part by its name, begin and size."""

    room: int
    data: list[bytes] = field(default_factory=list)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    size: int = 0

    def add(self, name: str, content: Content | None) -> bool:
        """Adds a part, if the part fits."""
        packed = zlib.compress(content.data, 6) if content else b""
        if not content or len(packed) > self.room:
            return False
        self.places[name] = self.size, len(packed)
        self.data.append(packed)
        self.size += len(packed)
        self.room -= len(packed)
        return True


def pack_ints(columns: Mapping[str, Array], **notes: Any) -> Content:
    """A table of integers, each column less its least value, in as few bytes as the largest value needs; bytes of equal
    weight follow each other, which deflate makes small. The note ints: width and least value of each column."""
    planes, known = {}, {}
    for name, column in columns.items():
        least = int(column.min()) if len(column) else 0
        values = (column.astype(np.int64) - least).astype("<u8")
        width = max(1, (int(values.max(initial=0)).bit_length() + 7) // 8)
        planes[name] = np.ascontiguousarray(values.view(np.uint8).reshape(-1, 8)[:, :width].T).ravel()
        known[name] = [width, least]
    return pack(planes, ints=known, **notes)


def save_trace(
    shown: ShownTrace,
    ask: Ask,
    number: int,
    window: tuple[int, int],
    *,
    described: dict[str, Any],
    room: int,
    turns: AbstractContextManager[Any],
    search: Search,
    advance: Callable[[int], None],
) -> tuple[dict[str, Any], Parts]:
    """The description of a trace for a saved page, and its parts. number: of the trace; described: for a page with a
    server; room: bytes for the parts; turns: of those who read all events; advance: is called with 1 after each of
    STEPS steps."""
    saver = _Saver(shown, ask, number, window, room=room)
    saver.fill(turns, search, advance)
    finest = [each if each == NO_LEVEL else max(each, saver.level) for each in described["finest"]]
    saved = {"from": window[0], "to": window[1], "each": saver.each, "tiles": saver.level, "shortest": saver.shortest}
    return described | {"finest": finest, "saved": saved}, saver.parts


class _Saver:
    """level: of the finest tiles; shortest: of the saved calls, ns, -1: no calls; each: locations of a unit."""

    def __init__(self, shown: ShownTrace, ask: Ask, number: int, window: tuple[int, int], *, room: int) -> None:
        self._shown, self._ask, self._window = shown, ask, window
        self._prefix, self.parts = f"{number} ", Parts(room - _TEXT_ROOM)
        self._where = {"trace": number, "from": window[0], "to": window[1]}
        self._regions: set[int] = set()
        count = len(shown.rows.order)
        self.each = max(1, -(-count // _UNITS))
        firsts = range(0, count, self.each)
        self._units = ",".join(f"r{first}-{min(first + self.each, count) - 1}" for first in firsts)
        self._count = len(firsts)
        self.level, self.shortest = shown.row_tiles.top, -1

    def fill(self, turns: AbstractContextManager[Any], search: Search, advance: Callable[[int], None]) -> None:
        """Makes all parts; see save_trace."""
        with self._shown.together(self._window, turns, calls=self._is_whole and self._has_calls):
            self._of_one_pass(search, advance)
        for step in (self._messages, self._samples, self._off_core, self._counters, self._texts):
            step()
            advance(1)

    def _of_one_pass(self, search: Search, advance: Callable[[int], None]) -> None:
        units = {"rows": self._units}
        for name in PANELS:
            if name in self._shown.panels.names and (name != "findings_here" or not self._is_whole):
                self._keep(f"panel {name}", "panel", name=name, rows="")
            advance(1)
        self._keep("sums", "sums", **search._asdict())
        advance(1)
        self._keep("ticks", "ticks", most=_TICKS)
        self._keep("marks", "marks")
        self._keep("classes", "regions", rows="classes")
        for step in (
            lambda: self._keep("collectives", "collectives", **units),
            lambda: self._keep("rare", "rare", **units, bins=_MARK_BINS, every=0),
            self._tiles, self._calls,
        ):  # fmt: skip
            step()
            advance(1)

    @property
    def _is_whole(self) -> bool:
        return self._window[0] <= 0 and self._window[1] >= self._shown.trace.duration

    def _samples(self) -> None:
        if not self._shown.samples.known:
            return
        self._keep("leaves", "leaves", rows=self._units, bins=_LEAF_BINS)
        shortest = (self._window[1] - self._window[0]) // _BINS
        for location in self._shown.rows.order[:_STACKS].tolist():
            self._keep(f"samples {location}", "samples", location=location, rows="", shortest=shortest)

    def _off_core(self) -> None:
        if self._shown.off_core.known:
            self._keep("processor", "processor", rows=self._units, bins=_LEAF_BINS)

    def _counters(self) -> None:
        for counter in range(min(_CURVES, len(self._shown.curves.described()))):
            self._keep(f"curves {counter}", "curves", rows=self._units, bins=_CURVE_BINS, counter=counter)
        self._keep("counters", "counters", rows="")

    def _keep(self, part: str, name: str, /, **words: Any) -> bool:
        """Keeps the answer of a request for the window."""
        found = self._ask(name, self._where | words)
        if found and found.suffix == ".bin" and name != "regions":
            self._use(unpack(found).get("region", np.empty(0)), 1 if name == "leaves" else 0)
        return self.parts.add(self._prefix + part, found)

    def _use(self, regions: Array, first: int = 0) -> None:
        """Notes regions whose texts the page needs. first: the value of region 0."""
        self._regions.update((np.unique(regions).astype(np.int64) - first).tolist())

    def _tiles(self) -> None:
        """Tiles of the window, from the level with one tile to the finest one that is useful and fits."""
        units, levels = self._shown.rows.each(self._units), self._levels()
        every = [(level, number) for level, numbers in levels.items() for number in numbers]
        tiles = iter(self._shown.row_tiles.columns(units, every, lambda: True))
        for level, numbers in levels.items():
            found = [next(tiles) for _ in numbers]
            empty = np.zeros(self._count * BINS, np.uint8)
            names = dict.fromkeys(name for each in found for name in each)
            columns = {name: np.concatenate([each.get(name, empty) for each in found]) for name in names}
            notes = {"first": numbers.start, "count": len(found)}
            if not self.parts.add(f"{self._prefix}tiles {level}", pack_ints(columns, **notes)):
                break
            self._use(columns["region"], 1)
            self.level = level

    def _levels(self) -> dict[int, range]:
        """The useful levels, the coarsest first, and the numbers of their tiles in the window."""
        tiles, (begin, end) = self._shown.row_tiles, self._window
        found = {}
        for level in range(tiles.top, int(tiles.finest.min(initial=tiles.top)) - 1, -1):
            numbers = range(begin // (BINS << level), (end - 1) // (BINS << level) + 1)
            many = len(numbers) * len(self._shown.rows.order)
            if level < tiles.top - 1 and (many > _TILES or (end - begin) >> level > _BINS):
                break
            found[level] = numbers
        return found

    @cached_property
    def _has_calls(self) -> bool:
        """True if the part of the trace is not too large to read its calls."""
        shown, (begin, end) = self._shown, self._window
        share = min(1.0, (end - begin) / max(1, shown.trace.duration))
        events = [event_count(shown.trace, location) for location in shown.rows.order.tolist()]
        return sum(events) * share <= _READ and max(events, default=0) <= LARGE

    def _calls(self) -> None:
        """The calls of the window; of many calls the longest ones."""
        if not self._has_calls:
            return
        order, (begin, end) = self._shown.rows.order.tolist(), self._window
        each = max(1, len(order) if self._is_whole else _TOGETHER)
        parts = [self._shown.store.together(order[at : at + each], begin, end) for at in range(0, len(order), each)]
        found = stack(parts, _CALL_COLUMNS)
        found["place"][:] += np.repeat(np.arange(len(parts)) * each, [part.rows for part in parts])
        times, shortest = found["end"] - found["begin"], 0
        while np.count_nonzero(times >= shortest) > _CALLS:
            shortest = max(1, 2 * shortest)
        while not self._add_calls(found.take(times >= shortest)):
            shortest = max(1, 2 * shortest)
            if shortest > end - begin:
                return
        self.shortest = shortest

    def _add_calls(self, kept: Table) -> bool:
        """Adds calls. step: from the previous call of the location; inside: time in callees."""
        place, begin, time = kept["place"], kept["begin"], kept["end"] - kept["begin"]
        is_first = np.diff(place, prepend=-1) > 0
        columns = {
            "count": np.bincount(place, minlength=len(self._shown.rows.order)),
            "step": np.where(is_first, begin, np.diff(begin, prepend=0)), "time": time, "region": kept["region"],
            "depth": kept["depth"], "inside": time - kept["exclusive"],
        }  # fmt: skip
        fits = self.parts.add(f"{self._prefix}calls", pack_ints(columns))
        if fits:
            self._use(kept["region"])
        return fits

    def _messages(self) -> None:
        """The messages of the window, without links; many as bundles of units."""
        shown, (begin, end) = self._shown, self._window
        words = {"rows": self._units, "smallest": 0, "tag": "", "comm": -1}
        if isinstance(shown.data, LargeData):
            self._keep("bundles", "messages", **words, lines=0)
            return
        found = shown.data.messages()
        first, last = np.minimum(found["send"], found["receive"]), np.maximum(found["send"], found["receive"])
        found = found.take((first < end) & (last >= begin) & (found["comm"] != LINK))
        if found.rows <= _MESSAGES and shown.data.messages().share == 1:
            found = found.order("send", descending=False)
            columns = {name: found[name] for name in ("sender", "receiver", "bytes", "tag", "comm")}
            columns |= {"step": np.diff(found["send"], prepend=0), "late": found["receive"] - found["send"]}
            if self.parts.add(f"{self._prefix}messages", pack_ints(columns)):
                return
        self._keep("bundles", "messages", **words, lines=0)

    def _texts(self) -> None:
        """The texts of regions: of the tiles and calls, and of the panels."""
        self.parts.room += _TEXT_ROOM
        wanted = sorted(row for row in self._regions if 0 <= row < self._shown.trace.regions.rows)
        texts: dict[int, Any] = {}
        for at in range(0, len(wanted), _TEXTS):
            part = wanted[at : at + _TEXTS]
            found = self._ask("regions", self._where | {"rows": ",".join(map(str, part))})
            texts |= dict(zip(part, json.loads(found.data) if found else [], strict=False))
        self.parts.add(f"{self._prefix}regions", Content(".json", json.dumps(texts).encode()))
