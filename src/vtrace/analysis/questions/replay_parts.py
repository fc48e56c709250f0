# SPDX-License-Identifier: BSD-3-Clause
"""Replays a long run in parts at the same time: each from one collective of all processes to a later one. The parts
depend on the run only, so any number of threads and ranks gives the same sums."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vtrace.analysis.questions.lent_files import Offer, offered, opened
from vtrace.analysis.questions.mpi_comms import Comms
from vtrace.analysis.selection import EVERYTHING
from vtrace.analysis.shared_scan import share
from vtrace.analysis.table import Array
from vtrace.errors import VtraceError
from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.reader_abi import (
    CALL_WAIT,
    COLLECTIVE_OF_ALL,
    DELAY,
    MPI_END,
    SHARE,
    WAIT,
    MatcherFields,
    matcher,
)
from vtrace.io.common.arrays import distinct, view

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.parallel.ranks import Ranks

_PART, _PARTS, _LEAST = 1 << 17, 16, 1 << 10
"""The least number of ends in a part, the most parts, and the least number of ends of a location in a part."""
_THREADS = 4
"""The most parts to replay at the same time in a process: each has up to 40 MiB of buffers."""
_NEAR, _TRIES = 64, 8
"""Ends of a location to read at a time, and how many collectives may divide the run near a place."""
_KEY = 64
"""Bits of a number by which records are sorted."""
_COUNTS = "messages collectives unmatched_sends unmatched_receives unmatched_collectives reversed length jumps".split()


class Matching(NamedTuple):
    """What to find. nodes: number of call paths; bounds: of the window, ns; calls: the most single calls; faster,
    saved: as of MpiReplay.modelled."""

    nodes: int
    causes: bool
    bounds: tuple[int, int]
    calls: int = 0
    faster: Array | None = None
    saved: float = 0


class Matched(NamedTuple):
    """Results: records of reader_abi, sums by name, the shortest call (ns). needs: True if calls need calls of the part
    before; leaves: if calls may need calls of the next part."""

    places: Array
    waits: Array
    calls: Array
    critical: Array
    delays: Array
    totals: Array
    counts: dict[str, int]
    shortest: int
    needs: bool
    leaves: bool


def match(comms: Comms, job: Matching, places: Array) -> Matched:
    """Replays the ends of places (records PLACE; the result has others). Raises MemoryError, VtraceError."""
    places, fields = places.copy(), MatcherFields()
    if job.faster is not None:
        fields.faster, fields.saved = job.faster.ctypes.data, job.saved
    fields.comms = comms.address
    fields.places, fields.nplaces = places.ctypes.data, len(places)
    fields.nnodes, fields.want_causes = job.nodes, job.causes
    fields.want_calls, fields.calls_max = job.calls > 0, max(job.calls, 1)
    fields.from_, fields.to = job.bounds
    with tempfile.TemporaryFile() as log:
        fields.log_file = log.fileno()
        code = matcher().vt_match(ctypes.byref(fields))
    kinds = {"waits": WAIT, "calls": CALL_WAIT, "critical": SHARE, "delays": DELAY}
    waits, calls, critical, delays = (
        view(getattr(fields, name), getattr(fields, f"n{name}"), kind).copy() for name, kind in kinds.items()
    )
    totals = view(fields.totals, job.nodes, np.int64).copy()
    matcher().vt_match_free(ctypes.byref(fields))
    if code:
        raise MemoryError if code == 1 else VtraceError(f"{tempfile.gettempdir()}: cannot use a temporary file")
    counts = {name: int(getattr(fields, name)) for name in (*_COUNTS, "most")}
    leaves = fields.released + fields.unmatched_sends + fields.unmatched_collectives > 0
    return Matched(
        places=places,
        waits=waits,
        calls=calls,
        critical=critical,
        delays=delays,
        totals=totals,
        counts=counts,
        shortest=int(fields.shortest),
        needs=fields.crossing > 0,
        leaves=leaves,
    )


# ---- The parts of a run ----


class _Cut(NamedTuple):
    """A collective of all processes, for each location with ends: its place among the ends, and its record MPI_END."""

    at: Array
    ends: Array


def _read(place: Any, first: int, count: int) -> Array:
    """Ends of a location (record PLACE); none if the file cannot be read."""
    first = max(first, 0)
    found = np.empty(max(0, min(count, int(place["count"]) - first)), MPI_END)
    code = matcher().vt_ends_read(np.array(place).ctypes.data, first, len(found), found.ctypes.data)
    return found[:0] if code else found


def _ends_near(place: Any, moment: int) -> tuple[int, Array]:
    """Ends of a location around the first that starts at a moment (ns) or later, and the place of the first of them."""
    count, low, begin, end = int(place["count"]), 0, int(place["first"]), int(place["last"])
    high, bisects = count, False
    while True:  # every other step bisects, since ends may be uneven in time
        part = 0.5 if bisects else min(max(0.0, (moment - begin) / max(1, end - begin)), 1.0)
        bisects = not bisects
        at = max(0, min(low + int((high - low) * part) - _NEAR // 2, count - _NEAR))
        ends = _read(place, at, _NEAR)
        enters = ends["enter"]
        if len(enters) and enters[0] >= moment and low < at < high:
            high, end = at, int(enters[0])
        elif len(enters) and enters[-1] < moment and low < at + _NEAR < high:
            low, begin = at + _NEAR, int(enters[-1])
        else:
            break
    inside = int(np.searchsorted(enters, moment))
    if inside >= _NEAR // 4:
        return at, ends
    at = max(0, at + inside - _NEAR // 2)
    return at, _read(place, at, _NEAR)


def _divides(ends: Array, at: int, worlds: set[int]) -> bool:
    """True for the place of a collective in which all processes (worlds: their communicators) wait for all, if its call
    has no other end."""
    if not 0 < at < len(ends) - 1 or int(ends["comm"][at]) not in worlds:
        return False
    before, own, after = ends["call"][at - 1 : at + 2].tolist()
    return bool(before != own != after)


def _cut(places: Array, worlds: set[int], near: int) -> _Cut | None:
    """The collective near an end of the first location at which the run can be divided; None: there is none."""
    head = _read(places[0], near, 4 * _NEAR)
    collectives = np.flatnonzero(head["what"] & 0xFF == COLLECTIVE_OF_ALL).tolist()
    for own in [at for at in collectives if _divides(head, at, worlds)][:_TRIES]:
        enter, leave = int(head["enter"][own]), int(head["leave"][own])
        at, ends = [near + own], np.repeat(head[own : own + 1], len(places))
        for row, place in enumerate(places[1:], 1):
            first, block = _ends_near(place, leave)
            overlaps = (block["enter"] < leave) & (block["leave"] > enter) & (block["what"] & 0xFF == COLLECTIVE_OF_ALL)
            found = np.flatnonzero(overlaps).tolist()
            if len(found) != 1 or not _divides(block, found[0], worlds):
                break
            at.append(first + found[0])
            ends[row] = block[found[0]]
        else:
            cut = _Cut(np.array(at), ends)
            *_, former, last = np.sort(cut.ends["enter"])
            if former < last < cut.ends["leave"].min():  # the critical path goes through the last process
                return cut
    return None


def _cuts(places: Array, comms: Comms) -> list[_Cut]:
    """Collectives that divide a run (places: with ends) into parts of about the same size."""
    counts = places["count"].astype(np.int64)
    if len(counts) < 2 or len(distinct(places["process"])) < len(places):
        return []  # the threads of a process are not at one place in the run
    parts = min(_PARTS, int(counts.sum()) // _PART, int(counts.min()) // _LEAST)
    worlds = comms.of_all(places["process"]) if parts > 1 else set()
    found: list[_Cut] = []
    for number in range(1, parts) if worlds else ():
        cut = _cut(places, worlds, int(counts[0]) * number // parts)
        if cut and (not found or bool(np.all(cut.at > found[-1].at))):
            found.append(cut)
    return found


def _part(places: Array, rows: Array, before: _Cut | None, after: _Cut | None, *, causes: bool) -> Array:
    """The places for the part between two cuts (None: start or end of the run). rows: of the locations to replay."""
    found = places.copy()
    if before:
        found["begin"][rows], found["start"][rows] = before.at, before.ends["leave"]
        found["times_begin"][rows] = before.ends["call"] if causes else 0
    if after:
        found["ntimes"] = 0
        found["count"][rows], found["last"][rows], found["useful"][rows] = (
            after.at + 1, after.ends["enter"], after.ends["useful"]
        )  # fmt: skip
        found["ntimes"][rows] = after.ends["call"] if causes else 0
    return found


# ---- All parts ----


def replayed(trace: Source, comms: Comms, job: Matching, places: Array, *, paths: Sequence[Array]) -> Matched:
    """Replays all ends of known processes. paths: the arrays that places names in `joined`. Ranks share the parts if
    they can read the ends. Raises MemoryError, VtraceError."""
    rows = np.flatnonzero((places["count"] > 0) & (places["process"] < comms.fields.nprocesses))
    is_whole = job.bounds == EVERYTHING.bounds and not job.calls and job.faster is None
    cuts = _cuts(places[rows], comms) if is_whole else []
    if not cuts:
        return match(comms, job, places)
    parts = [
        _part(places, rows, before, after, causes=job.causes)
        for before, after in zip([None, *cuts], [*cuts, None], strict=True)
    ]
    if trace.ranks.size > 1 and not places["ends"].any() and not places["times"].any():
        offers = {number: offered(number) for number in distinct(places["file"][rows]).tolist()}
        found = share(trace, _take_parts, comms, job, offers, {array.ctypes.data: array for array in paths}, parts)
    else:
        found = {}
    if not _depend(found, len(cuts)):
        missing = {number: part for number, part in enumerate(parts) if number not in found}
        found |= _match_all(comms, job, missing, trace.threads, last=len(cuts))
    if _depend(found, len(cuts)):
        return match(comms, job, places)
    return _joined([found[number] for number in range(len(parts))], rows, cuts)


def _match_all(
    comms: Comms, job: Matching, parts: dict[int, Array], threads: int | None, *, last: int
) -> dict[int, Matched]:
    """Replays parts (by number), until one depends on another. last: the number of the run's last part."""
    found: dict[int, Matched] = {}
    numbers, threads = [*parts], min(threads or len(os.sched_getaffinity(0)), len(parts), _THREADS)
    with ThreadPoolExecutor(max(1, threads)) as pool:
        for first in range(0, len(parts), max(1, threads)):
            now = numbers[first : first + threads]
            found |= zip(now, pool.map(partial(match, comms, job), [parts[number] for number in now]), strict=True)
            if _depend(found, last):
                break
    return found


def _depend(found: dict[int, Matched], last: int) -> bool:
    """True if a part depends on another."""
    return any(part.needs or (part.leaves and number < last) for number, part in found.items())


def _take_parts(  # noqa: PLR0917
    _: Callable[[], Source], ranks: Ranks, threads: int, comms: Comms, job: Matching, offers: dict[int, Offer],
    paths: dict[int, Array], parts: Sequence[Array],
) -> dict[int, Matched]:  # fmt: skip
    """Replays this rank's parts. Returns on rank 0 those of all ranks, by number, but none of ranks that cannot open
    the files. offers: by the descriptor in parts; paths: by the address in parts."""

    def work() -> dict[int, Matched]:
        with ExitStack() as stack:
            files = {}
            for number, offer in offers.items():
                if (file := opened(offer)) is None:
                    return {}
                files[number] = stack.enter_context(file).fileno()
            own = {number: parts[number].copy() for number in range(ranks.rank, len(parts), ranks.size)}
            for part in own.values():
                part["file"] = [files.get(number, 0) for number in part["file"].tolist()]
                part["joined"] = [paths[at].ctypes.data if at else 0 for at in part["joined"].tolist()]
            return _match_all(comms, job, own, threads, last=len(parts) - 1)

    return ranks.gather(ranks.together(work))


def _joined(parts: Sequence[Matched], rows: Array, cuts: Sequence[_Cut]) -> Matched:
    """The results of the whole run. rows: of the locations to replay."""
    places = parts[-1].places
    before = 0  # the ideal time at the start of a part is that of all locations
    for part, cut in zip(parts, cuts, strict=False):
        before += int(part.places["ideal"][rows].max()) - int(cut.ends["useful"].max())
    places["ideal"][rows] += before
    counts = {name: sum(part.counts[name] for part in parts) for name in _COUNTS}
    counts["collectives"] -= len(cuts) * len(rows)
    counts["most"] = max(part.counts["most"] for part in parts)
    totals = parts[0].totals.copy()
    for part in parts[1:]:
        totals += part.totals
    return parts[-1]._replace(
        places=places,
        waits=_summed([part.waits for part in parts], ("ns", "count")),
        critical=_summed([part.critical for part in parts], ("ns",)),
        delays=_summed([part.delays for part in parts], ("direct", "indirect", "excess", "count")),
        totals=totals,
        counts=counts,
    )


def _summed(parts: Sequence[Array], sums: Sequence[str]) -> Array:
    """Records whose other fields are equal become one, with their sums."""
    rows = np.concatenate(parts)
    keys = _keys(rows, [name for name in rows.dtype.names or () if name not in sums])
    order = np.lexsort(keys)
    is_first = np.zeros(len(rows), bool)
    for key in keys:
        key = key[order]
        is_first[1:] |= key[1:] != key[:-1]
    is_first[:1] = True
    first = np.flatnonzero(is_first)
    found: Array = rows[order[first]]
    for name in sums if len(rows) else ():
        found[name] = np.add.reduceat(rows[name][order], first)
    return found


def _keys(rows: Array, names: Sequence[str]) -> list[Array]:
    """Fields of 32 bits as few numbers with their order, in which the last field decides first: to sort takes as long
    for each number, and the values of a run are small but for VT_NONE, which comes last."""
    keys: list[Array] = []
    used = _KEY
    for name in names:
        values = rows[name].astype(np.uint64)
        is_none = values == UNDEFINED
        most = int(values[~is_none].max(initial=0)) + 1
        values[is_none] = most
        if used + most.bit_length() > _KEY:
            keys.append(np.zeros(len(rows), np.uint64))
            used = 0
        keys[-1] |= values << np.uint64(used)
        used += most.bit_length()
    return keys
