# SPDX-License-Identifier: BSD-3-Clause
"""The times in which threads could run but waited for a processor, and those in which they slept, from the sidecar of
an archive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.call_sites import calls_of, libc_name
from vtrace.analysis.own_code import is_python
from vtrace.analysis.table import Table
from vtrace.errors import FormatError
from vtrace.io.common.arrays import Array
from vtrace.io.local import records
from vtrace.io.sidecar import sidecar

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_SECOND = 10**9
_LOCKS = re.compile(r"sem_|pthread_(mutex|cond|barrier|rwlock)_|mtx_|cnd_|futex")
"""The beginning of the names of libc's functions of locks."""
_HELD = re.compile(r"pthread_(mutex|rwlock)_|mtx_")
"""Those of them whose lock another thread holds."""
_ANSWER = re.compile(r"recv|accept")
"""The beginning of the names of libc's functions that wait for the other end of a socket."""
_DATA = re.compile(r"_*p?(read|recv|accept|poll|p?select|epoll_)")
"""The beginning of the names of libc's functions that wait for data, which another process may send."""
_TIMED = re.compile(rf".*(_(timed|clock)(wait|(rd|wr)?lock)|{sidecar.TIMED}$)")
"""Those of them that end at a time."""
_OF_PROCESSES = re.compile(rf"_multiprocessing|/multiprocessing/synchronize\.py:|{sidecar.SHARED}@")
"""Locks between processes: of Python, and those that the runtime knows."""
_ATOMIC = re.compile(
    r"/bits/atomic_(wait|futex)\.h:|\bstd::__(detail::__platform_wait|atomic_wait_address|atomic_futex_unsigned)"
)
"""Functions by which std::atomic, std::barrier, std::future and the like of libstdc++ wait for threads, with futexes
that processes could share."""
_COLUMNS = ("location", "from", "to", "ns", "region", "count", "path")


class ProcessorWaits:
    """The waits of all locations, in columns (waits,) sorted by location and begin. location, region: rows of the
    trace, region -1: outside of calls. begin, end, ns: ns; of an interval only the sum of its waits is known, which
    counts as spread over the interval."""

    table = sidecar.WAITS
    """Name and version."""

    def __init__(self, trace: Source) -> None:
        """Without the table there are no waits."""
        known = waits_of(trace, self.table)
        table = known.columns if known else {name: np.empty(0, np.uint64) for name in _COLUMNS}
        location = trace.definitions.ids["locations"].rows(table["location"])
        order = np.lexsort((table["from"], location))
        order = order[location[order] >= 0]
        table = {name: column[order] for name, column in table.items()}
        self._trace, self._path, self.count = trace, table["path"], table["count"].astype(np.int64)
        self._columns, self._names = table, known.names if known else {}
        self.location = location[order]
        self.region = trace.definitions.ids["regions"].rows(table["region"])
        scale = _SECOND / trace.resolution
        self.begin, self.end = ((table[name].astype(np.float64) - trace.offset) * scale for name in ("from", "to"))
        self.ns = np.clip(np.nan_to_num(table["ns"].astype(np.float64)), 0, np.maximum(0, self.end - self.begin))

    def sums(self, mine: Array) -> tuple[Array, Array]:
        """Ascending times, and the ns of waits until each. mine: (waits,) bool, those of a location."""
        times = np.maximum.accumulate(np.stack([self.begin[mine], self.end[mine]], 1).ravel())
        ns = np.cumsum(np.stack([np.zeros(len(times) // 2), self.ns[mine]], 1).ravel())
        return times, ns

    def paths(self, tree: Table) -> Array:
        """(waits,) the call path of each wait, a row of the tree; -1: unknown, or not in the tree. tree: of
        Trace.call_tree."""
        known = path_hashes(tree, self._trace.regions["id"].tolist())
        order = np.argsort(known, kind="stable")
        at = order[np.minimum(np.searchsorted(known[order], self._path), len(known) - 1)]
        return np.where(known[at] == self._path, at, -1)

    def within(self, begin: int | Array | None = None, end: int | Array | None = None) -> Array:
        """(waits,) the ns of each wait in a window (ns; None: open), the same for all or one for each."""
        first = self.begin if begin is None else np.maximum(self.begin, begin)
        last = self.end if end is None else np.minimum(self.end, end)
        found: Array = self.ns * np.clip((last - first) / np.maximum(1, self.end - self.begin), 0, 1)
        return found

    def by_location(self, begin: int | Array | None = None, end: int | Array | None = None, *, regions: Array) -> Array:
        """(locations,) ns that each location waited in a window (ns; None: open). regions: (regions + 1,) bool, those
        whose calls count if no call in them is open; the last one for the time outside of calls."""
        ns = self.within(begin, end) * regions[self.region]
        found: Array = np.bincount(self.location, ns, self._trace.locations.rows)
        return found

    def between(self, locations: Array, begins: Array, ends: Array, *, counts: Array) -> Array:
        """(n,) ns that locations waited between times (ns). counts: (waits,) bool, those that count."""
        found = np.zeros(len(locations))
        for location in np.unique(self.location[counts & np.isin(self.location, locations)]).tolist():
            times, sums = self.sums(counts & (self.location == location))
            rows = np.flatnonzero(locations == location)
            until_begin, until_end = (np.interp(at[rows].astype(np.float64), times, sums) for at in (begins, ends))
            found[rows] = np.maximum(0, until_end - until_begin)
        return found


def path_hashes(tree: Table, ids: Sequence[int]) -> Array:
    """(paths,) the column `path` of waits in each call path. tree: of Trace.call_tree. ids: OTF2's, of its regions."""
    hashes = [records.PATH_START]
    for parent, region in zip(tree["parent"].tolist()[1:], tree["region"].tolist()[1:], strict=True):
        hashes.append((hashes[parent] ^ ids[region] % 2**64) * records.PATH_FACTOR % 2**64)
    return np.array(hashes, np.uint64)


class BlockedTimes(ProcessorWaits):
    """The times in which threads slept in the kernel, as the waits for a processor; not those of less than a
    millisecond between two readings."""

    table = sidecar.BLOCKED

    @cached_property
    def sites(self) -> list[tuple[str, ...]]:
        """(times,) the calls that slept, each innermost first as function@file:line; (): unknown."""
        stacks = [_without_process(calls_of(text)) for text in self._names.get("site", [])]
        known = self._columns.get("site", self.location)
        numbers = (known if known.dtype.kind == "u" else np.zeros(len(known), np.uint64)).tolist()
        found = [stacks[number] if number < len(stacks) else () for number in numbers]
        # without samples the stack is not known beyond the interpreter, but the recorded call is
        callers = self.python_regions
        whole = {site: not site or any(call.startswith(sidecar.PYTHON) for call in site) for site in {*found}}
        return [
            site if whole[site] or region not in callers else (*site, callers[region])
            for site, region in zip(found, self.region.tolist(), strict=True)
        ]

    @cached_property
    def is_known(self) -> Array:
        """(times,) bool: the call that slept is known."""
        return np.array([len(site) > 0 for site in self.sites], bool)

    @cached_property
    def is_for_thread(self) -> Array:
        """(times,) bool: the call waits for another thread, by a lock, condition variable, barrier or semaphore that is
        not known as one between processes; it may also wait for a time."""
        return self._in(_LOCKS) & ~self.is_for_process

    @cached_property
    def is_for_lock(self) -> Array:
        """(times,) bool: the call waits for a lock that another thread holds."""
        return self._in(_HELD)

    @cached_property
    def is_for_answer(self) -> Array:
        """(times,) bool: the call waits for the other end of a socket."""
        return self._in(_ANSWER)

    @cached_property
    def is_for_data(self) -> Array:
        """(times,) bool: the call waits for data, or is not known."""
        return self._in(_DATA) | ~self.is_known

    @cached_property
    def is_timed(self) -> Array:
        """(times,) bool: is_for_thread, of calls that end at a time, too. Nothing tells what has ended them."""
        return self._in(_TIMED) & self.is_for_thread

    @cached_property
    def is_for_process(self) -> Array:
        """(times,) bool: the call waits for another process."""
        known = {site: any(map(_OF_PROCESSES.search, site)) for site in {*self.sites}}
        found: Array = self._in(_LOCKS) & np.array([known[site] for site in self.sites], bool)
        return found

    def _in(self, functions: re.Pattern[str]) -> Array:
        """(times,) bool: the function that sleeps is one of these functions of libc."""
        return np.array([len(site) > 0 and bool(functions.match(libc_name(site[0]))) for site in self.sites], bool)

    @cached_property
    def python_regions(self) -> dict[int, str]:
        """The recorded functions of Python, as calls of sites, by their rows."""
        names, files, lines = (self._trace.regions[column].tolist() for column in ("name", "file", "line"))
        calls = enumerate(zip(names, files, lines, strict=True))
        return {row: f"{sidecar.PYTHON}{name}@{file}:{line}" for row, (name, file, line) in calls if is_python(file)}


def _without_process(site: tuple[str, ...]) -> tuple[str, ...]:
    """The calls of a stack; one of std::atomic and the like waits for a thread of the process."""
    if not any(map(_ATOMIC.search, site)):
        return site
    return (site[0].replace(f"{sidecar.SHARED}@", "@"), *site[1:])


def waits_of(trace: Source, name: tuple[str, int] = sidecar.WAITS) -> sidecar.SidecarTable | None:
    """A table of waits (unify/account/account.py); None: there is none, or it is damaged."""
    try:
        of = sidecar.identity(trace.anchor, trace.properties)
        table = sidecar.read(trace.anchor.parent, *name, of)
    except FormatError:
        return None
    return table if table and all(name in table.columns for name in _COLUMNS) else None
