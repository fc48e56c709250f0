# SPDX-License-Identifier: BSD-3-Clause
"""The profile and the call tree of a window of a large trace: sums of whole parts of the run from the tables beside the
tiles (time_sums.py), and the events from the window's ends to the next border."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vtrace.analysis.questions.profile import NUMBERS, CallTree, Profile, pruned
from vtrace.analysis.replay import Replay
from vtrace.analysis.scan import CALLS
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array, Table, group, joined
from vtrace.errors import FormatError
from vtrace.io.archive.batches import NEVER, BatchBuffer
from vtrace.io.archive.reader_abi import PATH, PATH_PART
from vtrace.timeline.time_sums import SUMS, TABLES, borders, has_sums, path_replay
from vtrace.timeline.window_reader import WindowReader

if TYPE_CHECKING:
    from vtrace.analysis.question import AnyQuestion
    from vtrace.analysis.source import Source
    from vtrace.io.archive.packed_reader import EventReader
    from vtrace.io.sidecar.tile_file import TileFile

_COLUMNS = ("location", "path", *SUMS)


class _Piece(NamedTuple):
    """Events to read: borders of a replay whose part 1 is the piece; stop: the last time to read; from_border: the
    piece begins where the window begins."""

    borders: list[int]
    stop: int
    from_border: bool


class _Tools(NamedTuple):
    """One thread's, for a piece."""

    reader: EventReader
    batch: BatchBuffer
    replay: Replay


class WindowSums:
    """Answers Profile and CallTree about any window and locations."""

    def __init__(self, trace: Source, tiles: TileFile) -> None:
        self._trace = trace
        self._tree, self._sums, self._crossings = (Table(tiles.tables[name].columns) for name in TABLES)
        self.known = bool(self._tree.rows) and has_sums(trace) and _is_tree(self._tree)
        """False if the tables do not have the sums."""
        if self.known:
            self._first, self._last = map(int, tiles.tables["paths"].names["ends"])
            self._borders, self._reader = borders(trace), WindowReader(trace, tiles)

    def answers(self, question: AnyQuestion) -> bool:
        """True if the tables answer a question."""
        return self.known and type(question) in (Profile, CallTree)

    def answer(self, question: AnyQuestion, selection: Selection) -> Any:
        """The answer to a question; deviations are 0. Raises FormatError."""
        numbers = self._numbers(selection)
        return _by_region(self._tree, numbers) if isinstance(question, Profile) else pruned(self._tree, numbers)

    def _numbers(self, selection: Selection) -> Table:
        locations, (start, stop) = np.array(selection.all_rows(self._trace), np.int64), selection.bounds
        at = self._borders
        first = 0 if start <= self._first else int(at.searchsorted(start)) + 1
        last = len(at) + 1 if stop >= self._last else int(at.searchsorted(stop, "right"))
        pieces = self._pieces(start, stop, first, last)
        chosen = np.zeros(self._trace.locations.rows, bool)
        chosen[locations] = True
        whole, part = self._sums, self._sums["part"]
        inside = np.ones(whole.rows, bool) if len(locations) == len(chosen) else chosen[whole["location"]]
        if (first, last) != (0, len(at) + 1):
            inside &= (part >= first) & (part < last)
        rows = [{name: whole[name][inside] for name in _COLUMNS}]
        rows.append(self._crossing(chosen, (start, stop), max(first, 1), min(last, len(at))))
        rows += self._read(locations, pieces) if pieces else []
        return _summed({name: np.concatenate([each[name] for each in rows]) for name in _COLUMNS})

    def _pieces(self, start: int, stop: int, first: int, last: int) -> list[_Piece]:
        """The parts of a window outside of the parts from `first` on, before `last`. Border n begins part n + 1."""
        at = self._borders
        if first > min(last, len(at)) or not last:
            return [_Piece([start], stop, True)]
        found = []
        if first and start < at[first - 1]:
            found.append(_Piece([start, int(at[first - 1])], int(at[first - 1]) - 1, True))
        if last <= len(at):
            found.append(_Piece([int(at[last - 1])], stop, False))
        return found

    def _crossing(self, chosen: Array, window: tuple[int, int], first: int, last: int) -> dict[str, Array]:
        """Calls that cross one of the borders before the parts from `first` to `last`: the pieces and parts have their
        times, not their numbers."""
        at, calls = self._borders, self._crossings
        border = np.maximum(at.searchsorted(calls["begin"], "right") + 1, first)
        mine = chosen[calls["location"]] & (border <= last)
        mine[mine] &= at[border[mine] - 1] <= calls["end"][mine]
        calls = calls.take(mine)
        (start, stop), (begin, end) = window, (calls["begin"], calls["end"])
        time = np.minimum(end, stop) - np.maximum(begin, start)
        length, joined = np.maximum(end - begin, 1), calls["calls"]
        share = np.array([a * b // c for a, b, c in zip(joined.tolist(), time.tolist(), length.tolist(), strict=True)])
        count = np.where(end > stop, 1, np.where(time < end - begin, np.maximum(share, 1), joined)).astype(np.int64)
        none = np.zeros(calls.rows, np.int64)
        mean = time // np.maximum(count, 1)
        return {
            "location": calls["location"], "path": calls["path"], "calls": count, "joined": count - 1,
            "inclusive": none, "exclusive": none, "total": none, "min": mean, "max": mean,
        }  # fmt: skip

    def _read(self, locations: Array, pieces: Sequence[_Piece]) -> list[dict[str, Array]]:
        jobs = min(len(os.sched_getaffinity(0)), 16)
        if not len(locations):
            return []
        with ThreadPoolExecutor(jobs) as pool:
            shares = [locations[n::jobs].tolist() for n in range(min(jobs, len(locations)))]
            return [rows for found in pool.map(lambda share: self._read_some(share, pieces), shares) for rows in found]

    def _read_some(self, locations: Sequence[int], pieces: Sequence[_Piece]) -> list[dict[str, Array]]:
        known = np.zeros(self._tree.rows - 1, PATH)
        known["parent"], known["region"] = self._tree["parent"][1:], self._tree["region"][1:]
        found: list[tuple[int, Array]] = []
        with self._trace.reader() as reader:
            batch = BatchBuffer()
            for piece in pieces:
                replay = path_replay(self._trace, np.array(piece.borders), from_border=piece.from_border)
                replay.add_paths(known)
                for location in locations:
                    try:
                        self._replay(_Tools(reader, batch, replay), location, piece)
                    except FormatError as error:
                        if str(error) not in self._trace.problems:
                            self._trace.problems.append(str(error))
                    found.append((location, replay.parts()))
        rows = joined([each for _, each in found], PATH_PART)
        inside = rows["part"] == 1
        columns = {"location": np.repeat([each for each, _ in found], [len(each) for _, each in found])[inside]}
        return [columns | {name: rows[name][inside].astype(np.int64) for name in _COLUMNS[1:]}]

    def _replay(self, tools: _Tools, location: int, piece: _Piece) -> None:
        reader, batch, replay = tools
        first = self._reader.before(location, piece.borders[0])
        if first.number > 1:
            replay.resume(*first)
        else:
            replay.begin()
        place = int(self._trace.locations["id"][location])
        kinds = CALLS if self._trace.definitions.flush_region is None else None  # any event ends a flush
        try:
            reader.read(
                place, batch, lambda: replay.batch(batch), kinds=kinds, stop=piece.stop,
                first=(first.number, first.time),
            )  # fmt: skip
        finally:
            if batch.fields.ended and len(piece.borders) > 1:
                replay.cut(piece.borders[1])
            else:
                replay.fields.to = piece.stop
                replay.end(min(piece.stop, batch.fields.last))
                replay.fields.to = NEVER


def _is_tree(tree: Table) -> bool:
    """False for a damaged table, in whose paths a loop would not end."""
    parent, depth = tree["parent"][1:].astype(np.int64), tree["depth"].astype(np.int64)
    return bool(np.all(parent < np.arange(1, tree.rows)) and np.all(depth[1:] == depth[parent] + 1) and not depth[0])


def _summed(columns: dict[str, Array]) -> Table:
    """Joins rows of the same location and path."""
    first, member = group([columns["location"], columns["path"]])
    counted = columns["calls"] > 0
    found = {name: columns[name][first].astype(np.int64) for name in ("location", "path")}
    for name in SUMS:
        if name in ("min", "max"):
            ends = np.full(len(first), NEVER if name == "min" else -1)
            (np.minimum if name == "min" else np.maximum).at(ends, member[counted], columns[name][counted])
            found[name] = ends
        else:
            found[name] = np.zeros(len(first), np.int64)
            np.add.at(found[name], member, columns[name].astype(np.int64))
    table = Table({name: found.get(name, np.zeros(len(first), kind)) for name, kind in _types().items()})
    return table.take(np.lexsort((table["path"], table["location"])))


def _types() -> dict[str, Any]:
    return {"location": np.int64, "path": np.int64} | NUMBERS


def _by_region(tree: Table, numbers: Table) -> Table:
    """The profile: the sums of the paths that end in a region, and the inclusive times of those without a call of the
    region above."""
    region, outermost = tree["region"], np.ones(tree.rows, bool)
    above = tree["parent"].astype(np.int64)
    while np.any(above):
        outermost &= (above == 0) | (region[above] != region)
        above = tree["parent"][above].astype(np.int64)
    columns = {name: numbers[name] for name in ("location", *SUMS)} | {"path": region[numbers["path"]]}
    columns["inclusive"] = np.where(outermost[numbers["path"]], numbers["inclusive"], 0)
    found = _summed(columns)
    return Table({"region" if name == "path" else name: column for name, column in found.items()})
