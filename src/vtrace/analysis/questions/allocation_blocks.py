# SPDX-License-Identifier: BSD-3-Clause
"""The blocks of malloc and the like from their allocation to free, matched by address over all threads of a process:
bytes and calls by call path, those that are never freed, and those that make up the largest heap.

Where a call path names no function of the program, the call site of a sample of allocations (csrc/memwrap/sites.c)
divides it. A block that is not in the sample has the site of the last one before it that has its size and, as far as
blocks of this size have different sites, its fate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.activity import CLASS_OF, USER
from vtrace.analysis.call_sites import Site, site_of
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import chosen, number
from vtrace.analysis.questions.metrics import BLOCKS, SIZE, MetricMembers, heap_metrics
from vtrace.analysis.questions.path_sums import outermost
from vtrace.analysis.questions.profile import joined_paths
from vtrace.analysis.replay import KnownPaths, Replay
from vtrace.analysis.table import Array, Table, joined, stack
from vtrace.io.archive.batches import ALWAYS, NEVER, Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

ARGUMENT, RESULT = "ARGUMENT_ADDRESS", "RESULT_ADDRESS"
NEEDED = (SIZE, ARGUMENT, RESULT)
"""The attributes that matching needs."""
SITE = "allocation call site"
"""The attribute of the Enter of some allocations: a string that names a stack."""
_CHANGE = np.dtype([("time", "i8"), ("address", "u8"), ("size", "i8"), ("node", "u4"), ("site", "u4")], align=True)
"""A block that begins (size in bytes, call path of the thread, id of the string of its site and 1 more; 0: unknown) or
ends (size -1)."""
_BEGIN = np.dtype(
    [("row", "i8"), ("time", "i8"), ("size", "i8"), ("old", "u8"), ("node", "u4"), ("site", "u4")], align=True
)
"""The Enter of a function that allocates. old: the block that realloc gets, else 0; site: as of a change."""
_LARGEST = np.uint64(1 << 62)
_MOST = 20_000_000
"""The most beginnings and ends of blocks to keep, 32 bytes each. With more there is no answer."""
STRETCHES = 16
"""The parts of equal length of a process's time in which blocks that are never freed are counted."""
_PLACES = 8
"""The most call paths of a process to examine for growth: those with the most bytes that are never freed."""


def has_blocks(trace: Source) -> bool:
    """True if the archive may have the addresses and sizes of blocks."""
    return {*NEEDED} <= {*trace.attributes["name"].tolist()}


@dataclass(frozen=True, kw_only=True)
class Growth:
    """The blocks of a call path that are never freed. size: bytes of each, if only blocks of this size count, since
    the call path names no function of the program; else 0. site: the call in the program, if the path names no function
    and a sample of these allocations knows it. kept, held, alike: (STRETCHES,) bytes at the end of each
    stretch of the process's time: of these blocks, of all blocks of the place, and of all blocks of the process that
    are as large, which the blocks of the place may replace."""

    process: int
    path: int
    site: Site | None
    size: int
    calls: int
    bytes: int
    kept: Array
    held: Array
    alike: Array
    begin: int
    end: int
    """ns: the first and the last of these calls."""


@dataclass(frozen=True, kw_only=True)
class HeapBlocks:
    """by_path: rows (process, path, site: id of a string, -1 unknown): calls, bytes (requested), never_freed_calls,
    never_freed_bytes, peak_bytes (in use when the blocks of the process together are largest). processes: rows process,
    first, last (ns of the process's events), peak_bytes, peak_ns (time of the largest heap), missing (1: the archive
    lacks calls of free, so never_freed is an upper bound). paths: as of Trace.call_tree. sites: the call in the program
    by site; None: not in its own code, or unknown. is_full: there are too many calls; the tables have no rows."""

    by_path: Table
    processes: Table
    growth: list[Growth]
    paths: Table
    sites: dict[int, Site | None]
    is_full: bool

    @property
    def full_text(self) -> str:
        """A line if there are too many calls, else an empty text."""
        text = (
            f"more than {_MOST:,} allocations and frees: they are not matched; VT_MEMTRACE_THRESHOLD=4K records fewer"
        )
        return text * self.is_full


class _BlocksPart(Part):
    def __init__(self, owner: AllocationBlocks) -> None:
        self.owner = owner
        self.first, self.last = NEVER, ALWAYS
        self.replay: Replay | KnownPaths | None = None
        self.changes: list[Array] = []
        self.open = np.empty(0, _BEGIN)
        """The allocation that has not returned at the end of the batch."""
        self.blocks = -1
        """The last number of blocks in use that the archive states; -1: none."""

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        if not len(batch):
            return
        self.first, self.last = min(self.first, int(batch.time[0])), max(self.last, int(batch.time[-1]))
        if self.owner.states_blocks and batch.detailed()[number("Metric")]:
            self.read_blocks(batch)
        if self.owner.is_full:
            self.changes.clear()
        elif len(batch.attributes):
            found = self.matched(batch)
            self.changes.append(found)
            self.owner.more(len(found))

    def end(self, replay: Replay | None) -> None:
        self.replay = replay

    def read_blocks(self, batch: Batch) -> None:
        found = chosen(batch, "Metric")
        mine = np.flatnonzero(self.owner.members.rows(found["ref"], found["member"]) == self.owner.blocks_metric)
        if len(mine):
            self.blocks = int(found["value"][mine[-1]])

    def matched(self, batch: Batch) -> Array:
        """The blocks that begin and end in a batch, in order. The Leave of an allocation belongs to the Enter with a
        size before it; of an allocation that calls another one, the inner one counts."""
        begins, frees, results = self.events(batch)
        at = np.searchsorted(begins["row"], results["row"], "right") - 1
        fits = (at >= 0) & (np.diff(at, prepend=-1) > 0)
        fits[fits] &= begins["node"][at[fits]] == results["node"][fits]
        at, results = at[fits], results[fits]
        returned, failed = (np.zeros(len(begins), bool) for _ in range(2))
        returned[at] = True
        failed[at] = (results["value"] == 0) & (begins["size"][at] != 0)
        ended = returned.copy()
        ended[:-1] = True
        self.open = begins[~ended].copy()
        self.open["row"] = -1
        moved = begins[ended & ~failed & (begins["old"] != 0)]
        good = results["value"] != 0
        made, results = begins[at[good]], results[good]
        rows = np.concatenate([frees["row"].astype(np.int64), moved["row"], results["row"].astype(np.int64)])
        found = np.zeros(len(rows), _CHANGE)
        found["time"] = np.concatenate([batch.time[frees["row"]], moved["time"], batch.time[results["row"]]])
        found["address"] = np.concatenate([frees["value"], moved["old"], results["value"]])
        found["size"] = np.concatenate([np.full(len(frees) + len(moved), -1), made["size"]])
        for name in ("node", "site"):
            found[name][len(frees) + len(moved) :] = made[name]
        ordered: Array = found[np.argsort(rows, kind="stable")]
        return ordered

    def events(self, batch: Batch) -> tuple[Array, Array, Array]:
        """The allocations that have begun (_BEGIN); the attributes of those that have returned and of calls of free."""
        all_of = batch.attributes
        sizes, old, results = (all_of.compress(all_of["attribute"] == id_) for id_ in self.owner.ids)
        begins = np.zeros(len(self.open) + len(sizes), _BEGIN)
        new = begins[len(self.open) :]
        begins[: len(self.open)] = self.open
        new["row"], new["time"], new["node"] = sizes["row"], batch.time[sizes["row"]], sizes["node"]
        new["size"] = np.minimum(sizes["value"], _LARGEST)  # a call that fails may ask for any size
        old = old.compress(old["value"] != 0)
        at = np.minimum(np.searchsorted(sizes["row"], old["row"]), max(0, len(sizes) - 1))
        moves = sizes["row"][at] == old["row"] if len(sizes) else np.zeros(len(old), bool)
        new["old"][at[moves]] = old["value"][moves]
        sites = all_of.compress(all_of["attribute"] == self.owner.site_id)
        in_batch, at_site, _ = np.intersect1d(sizes["row"], sites["row"], return_indices=True)
        if len(in_batch):
            new["site"][at_site] = sites["value"][np.searchsorted(sites["row"], in_batch)].astype(np.uint32) + 1
        return begins, old[~moves], results


class AllocationBlocks(Question[_BlocksPart, HeapBlocks]):
    """Answers with the blocks of all processes. In a part of a run a block that is freed later counts as never freed,
    and blocks from before count nowhere."""

    replay = paths = attributes = True
    kinds = frozenset({"Metric"})

    def __init__(self, most: int = _MOST) -> None:
        super().__init__()
        self.most, self.kept, self.is_full = most, 0, False
        self._lock = Lock()

    def arguments(self) -> tuple[Any, ...]:
        return (self.most,)

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        ids = dict(zip(trace.attributes["name"].tolist(), trace.attributes["id"].tolist(), strict=True))
        self.ids = [ids.get(name, -1) for name in NEEDED]
        self.site_id = ids.get(SITE, -1)
        self.members = MetricMembers(trace)
        self.blocks_metric = heap_metrics(trace).get(BLOCKS, -2)
        self.states_blocks = self.blocks_metric >= 0

    def part(self, trace: Source, location: int) -> _BlocksPart:
        return _BlocksPart(self)

    def more(self, count: int) -> None:
        """Counts kept changes. With too many all are dropped."""
        with self._lock:
            self.kept += count
            self.is_full |= self.kept > self.most

    def adopt(self, location: int, part: _BlocksPart) -> None:
        super().adopt(location, part)
        self.more(sum(map(len, part.changes)))

    def answer(self) -> HeapBlocks:
        tree, maps, _ = joined_paths(self.parts)
        process = self.trace.places.process
        of: dict[int, list[_BlocksPart]] = {}
        for location, part in self.parts.items():
            if int(process[location]) >= 0 and part.first <= part.last:
                of.setdefault(int(process[location]), []).append(part)
        found: list[_Process] = []
        for row, parts in sorted(of.items()) if not self.is_full else ():
            one = _Process(row, parts, maps, least=_threshold(self.trace))
            if len(one.size):
                found.append(one)
        named, strings = self._names_function(tree), self.trace.definitions.strings
        for one in found:
            one.find_sites(named)
        ids = np.unique(np.concatenate([np.zeros(1, np.int64), *(one.site for one in found)])) - 1
        sites = {each: site_of(strings.get(each, "")) for each in ids.tolist()}
        growth = [each for one in found for each in one.growth(named, sites)]
        by_path = stack([one.by_path() for one in found], dict.fromkeys(_BY_PATH, np.int64))
        rows = stack([one.facts() for one in found], dict.fromkeys(_PROCESS, np.int64))
        return HeapBlocks(
            by_path=by_path, processes=rows, growth=growth, paths=tree, sites=sites, is_full=self.is_full
        )  # fmt: skip

    def _names_function(self, tree: Table) -> Array:
        """(paths,) bool: call paths with a function of the program."""
        user = np.append(CLASS_OF[self.trace.regions["activity"]] == USER, False)[tree["region"]]
        found: Array = outermost(tree["parent"], user) > 0
        return found


_BY_PATH = ("process", "path", "site", "calls", "bytes", "never_freed_calls", "never_freed_bytes", "peak_bytes")
_PROCESS = ("process", "first", "last", "peak_bytes", "peak_ns", "missing")


def _threshold(trace: Source) -> int:
    """The bytes from which on blocks were recorded. A realloc to fewer bytes is recorded, but not the free after it."""
    text = str(trace.vtrace.get("SETTINGS", {}).get("VT_MEMTRACE_THRESHOLD", "0"))
    scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    digits = text.rstrip("KMGkmg")
    return int(digits) * scale if digits.isdecimal() else 0


def _sums(member: Array, values: Array | None, *, most: int) -> Array:
    """(most,) int64, exact below 2**53."""
    return np.bincount(member, values, most).astype(np.int64)


def numbers_of(sites: dict[int, Site | None]) -> tuple[list[Site | None], Array, Array]:
    """The different calls; the sites, ascending; the place in the list of calls of each of these."""
    places = {site: number for number, site in enumerate(dict.fromkeys(sites.values()))}
    known = sorted(sites)
    return [*places], np.array(known, np.int64), np.array([places[sites[site]] for site in known], np.int64)


class _Process:
    """The blocks of one process: time, size, path (rows of call paths) and the change that ends each; n: never."""

    def __init__(self, process: int, parts: list[_BlocksPart], maps: dict[int, Array], *, least: int):
        self.process = process
        self.first, self.last = min(part.first for part in parts), max(part.last for part in parts)
        self._stated = max(part.blocks for part in parts)
        changes = joined([each for part in parts for each in part.changes], _CHANGE)
        path = np.concatenate([
            np.empty(0, np.int64),
            *(maps[id(part.replay)][each["node"]] for part in parts for each in part.changes),
        ])  # fmt: skip
        order = np.argsort(changes["time"], kind="stable")
        changes, path = changes[order], path[order]
        self.n = len(changes)
        begins = np.flatnonzero(changes["size"] >= 0)
        self.begin, self.size, self.path = begins, changes["size"][begins], path[begins]
        self.site = changes["site"][begins].astype(np.int64)
        self.end = self._ends(changes["address"])[begins]
        self.times = changes["time"]
        if least:
            self._keep(self.size >= least)

    def _keep(self, kept: Array) -> None:
        self.begin, self.size, self.path, self.site, self.end = (
            each[kept] for each in (self.begin, self.size, self.path, self.site, self.end)
        )

    def find_sites(self, named: Array) -> None:
        """Gives each block a site where a sample tells; blocks of call paths with a function of the program have none.
        named: (paths,) bool: with a function of the program."""
        self.site[named[self.path]] = 0
        if not self.site.any():
            return
        at, _ = self._peak
        _, alike = np.unique(np.stack([self.path, self.size]), axis=1, return_inverse=True)
        fate = self.never * 2 + ((self.begin <= at) & (self.end > at))
        sampled, alike = self.site > 0, alike.reshape(-1)
        pairs = np.unique(np.stack([alike[sampled], self.site[sampled]]), axis=1)[0]
        one_site = np.bincount(pairs, minlength=int(alike.max()) + 1)[alike] == 1
        self._spread(alike * 4 + fate, ~named[self.path])
        self._spread(alike * 2 + self.never, ~named[self.path])  # the peak may find a single block that is freed soon
        self._spread(alike, one_site & ~named[self.path])

    def _spread(self, key: Array, wanted: Array) -> None:
        """Gives wanted blocks without a site that of the last block before with the same key, else of the next one."""
        by = np.argsort(key, kind="stable")
        site, group, place = self.site[by], key[by], np.arange(len(by))
        before = np.maximum.accumulate(np.where(site > 0, place, -1))
        after = np.minimum.accumulate(np.where(site > 0, place, len(by))[::-1])[::-1]
        missing = (site == 0) & wanted[by]
        for near in (np.maximum(after, 0).clip(max=len(by) - 1), np.maximum(before, 0)):
            good = missing & (group[near] == group) & (site[near] > 0)
            self.site[by[good]] = site[near[good]]

    def _ends(self, address: Array) -> Array:
        """The next change with the same address. If that is another allocation, the free before it is missing in the
        archive."""
        by = np.argsort(address, kind="stable")
        same = address[by[1:]] == address[by[:-1]]
        ends = np.full(self.n, self.n, np.int64)
        ends[by[:-1][same]] = by[1:][same]
        return ends

    @cached_property
    def never(self) -> Array:
        """(blocks,) bool."""
        found: Array = self.end == self.n
        return found

    @cached_property
    def _peak(self) -> tuple[int, int]:
        """The change after which the blocks are largest, and their bytes."""
        change = np.zeros(self.n + 1, np.int64)
        change[self.begin] = self.size
        freed = ~self.never
        change[self.end[freed]] -= self.size[freed]
        held = np.cumsum(change[: self.n])
        at = int(np.argmax(held))
        return at, int(held[at])

    def by_path(self) -> dict[str, Array]:
        at, _ = self._peak
        peak, never = (self.begin <= at) & (self.end > at), self.never
        (path, site), member = np.unique(np.stack([self.path, self.site]), axis=1, return_inverse=True)
        sums = partial(_sums, member.reshape(-1), most=len(path))
        columns = {
            "calls": sums(None), "bytes": sums(self.size),
            "never_freed_calls": sums(never), "never_freed_bytes": sums(self.size * never),
            "peak_bytes": sums(self.size * peak),
        }  # fmt: skip
        return {"process": np.full(len(path), self.process), "path": path, "site": site - 1, **columns}

    def facts(self) -> dict[str, list[int]]:
        at, held = self._peak
        missing = 0 <= self._stated < int(self.never.sum())
        values = (self.process, self.first, self.last, held, int(self.times[at]), int(missing))
        return {name: [value] for name, value in zip(_PROCESS, values, strict=True)}

    def growth(self, named: Array, sites: dict[int, Site | None]) -> Iterator[Growth]:
        """The places with the most bytes that are never freed. named: (paths,) bool: with a function of the program.
        sites: by site of blocks."""
        calls, known, numbers = numbers_of(sites)
        place, never = self.path * len(calls) + numbers[np.searchsorted(known, self.site - 1)], self.never
        used, place = np.unique(place, return_inverse=True)
        sums = _sums(place, self.size * never, most=len(used))
        for at in np.argsort(-sums, kind="stable")[:_PLACES].tolist():
            if not sums[at]:
                return
            mine, (path, site) = place == at, divmod(int(used[at]), len(calls))
            size = 0
            if not named[path] and (sizes := self.size[mine & never]).any():
                values, counts = np.unique(sizes, return_counts=True)
                if calls[site] is None or len(values) == 1:
                    size = int(values[np.argmax(values * counts)])
                    mine &= self.size == size
            yield self._growth(path, calls[site], size, blocks=np.flatnonzero(mine))

    def _growth(self, path: int, site: Site | None, size: int, *, blocks: Array) -> Growth:
        kept = blocks[self.never[blocks]]
        sizes, of = self.size[kept], self.times[self.begin[kept]]
        alike = np.flatnonzero((self.size >= sizes.min()) & (self.size <= sizes.max()))
        return Growth(
            process=self.process,
            path=path,
            site=site,
            size=size,
            calls=len(of),
            bytes=int(sizes.sum()),
            kept=self._held(kept),
            held=self._held(blocks),
            alike=self._held(alike),
            begin=int(of[0]),
            end=int(of[-1]),
        )

    def _held(self, blocks: Array) -> Array:
        """(STRETCHES,) the bytes of blocks at the end of each stretch."""
        edges = np.linspace(self.first, self.last, STRETCHES + 1)[1:-1]

        def until(changes: Array, sizes: Array) -> Array:
            return np.cumsum(np.bincount(np.searchsorted(edges, self.times[changes]), sizes, STRETCHES))

        freed = blocks[~self.never[blocks]]
        held: Array = until(self.begin[blocks], self.size[blocks]) - until(self.end[freed], self.size[freed])
        return held
