# SPDX-License-Identifier: BSD-3-Clause
"""The times of a run by call path and location, which all findings share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.activity import (
    ACTIVITIES,
    CLASS_OF,
    CLASSES,
    IO,
    LIBRARY,
    MEMORY,
    MPI,
    OPENMP,
    RUNTIME_MARK,
    TRACING,
    USER,
)
from vtrace.analysis.call_sites import in_headers
from vtrace.analysis.definition_tables import has_line, source_text
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.sampled_places import SampledPlaces
from vtrace.analysis.findings.sleeping_calls import (
    OUTERMOST,
    SleepingCall,
    bare_name,
    is_for_interpreter,
    longer_sleep,
    longest_sleep,
    sleeping_call,
)
from vtrace.analysis.long_calls import BODY, LongCalls
from vtrace.analysis.own_code import is_own_python, module_of_python
from vtrace.analysis.processor_waits import BlockedTimes, ProcessorWaits
from vtrace.analysis.questions.activity_times import Extent, activity_times
from vtrace.analysis.questions.costs import CostQuestion, Costs
from vtrace.analysis.questions.path_sums import folded, outermost, without_recursion
from vtrace.analysis.questions.profile import CallTree, path_names
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, add_up
from vtrace.console import ranges
from vtrace.io.archive.properties import PID

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_WAITING = ("mpi/p2p", "mpi/collective", "mpi/rma", "mpi/management", "mpi/management/init",
            "mpi/management/finalize", "openmp/sync", "threads")  # fmt: skip
"""Activities in which a thread may wait for others."""
_WORK = (USER, LIBRARY, MEMORY, OPENMP)
"""Classes of work."""
_FORKS = ("fork", "vfork", "posix_spawn", "posix_spawnp")
"""Regions of libc that start a process; their paradigm is NONE."""
_PROCESS_WAITS = ("wait", "waitpid", "wait3", "wait4", "waitid", "system", "vfork", "posix_spawn", "posix_spawnp")
"""Regions of libc in which a process waits for another one; their paradigm is NONE. vfork waits for the child."""
OUTSIDE = "the program outside of recorded calls"
"""The place of time in functions that were not recorded."""
TASKS, CONSTRUCTS = ("TASK", "TASK_UNTIED"), ("LOOP", "SECTIONS", "SINGLE", "WORKSHARE", "PARALLEL")
"""Roles of regions of OpenMP that contain code of the program."""
_MAKERS = re.compile(r"p?mpix?_(comm|intercomm|cart|graph|dist_graph)_", re.IGNORECASE)
"""Regions that create, free and query communicators."""


@dataclass
class RunFacts:
    """The call tree of a selection: paths and numbers as in Trace.call_tree; times: (locations, classes + 1) ns as in
    activity_times; extent: rows location, first, last (ns)."""

    trace: Source
    window: Selection
    paths: Table
    numbers: Table
    extent: Table
    times: Array
    costs: Costs | None = None
    """The samples of the selection, if they were read with the other numbers."""
    call_waits: Callable[[], Table] | None = None
    """Gives the waits of single calls of MPI (Trace.call_waits); None: unknown."""
    naps: Table = field(default_factory=lambda: Table(dict.fromkeys(("location", "path", "ns"), np.empty(0, np.int64))))
    """location, path, ns: sleep between calls in a row that poll for messages of others, which is no work."""

    @classmethod
    def of(cls, trace: Source, window: Selection, tree: CallTree, extent: Extent) -> RunFacts:
        """The facts from a pass over a selection. The other questions of the pass use the same rows of call paths."""
        paths, numbers = tree.answer()
        found = cls(trace, window, paths=paths, numbers=numbers, extent=extent.answer(), times=np.empty((0, 0)))
        found.times = activity_times(trace, found.profile, found.extent, window)
        return found

    @cached_property
    def profile(self) -> Table:
        """The numbers with the region of each path; a region has a row for each of its call paths."""
        return Table({**self.numbers, "region": self.paths["region"][self.numbers["path"]]})

    @cached_property
    def rows(self) -> list[int]:
        """The locations with events or sleep, without helper threads."""
        helper = self.trace.locations["helper"]
        used = {*self.extent["location"].tolist()}
        return [row for row in self.window.rows(self.trace) if row in used and not helper[row]]

    @cached_property
    def whole(self) -> int:
        """The ns of all threads, each from its first to its last event or sleep: the denominator of all shares. A
        thread of OpenMP counts as long as its process's first thread, since it is idle before its first event."""
        of = self.times.sum(axis=1)
        idle = (max(0, int(of[self.masters[process]] - of[row])) for process, row in self.workers)
        return max(1, int(of[self.rows].sum()) + sum(idle))

    @cached_property
    def elapsed(self) -> int:
        """The ns from the first to the last event of all threads; without events those of the trace."""
        first, last = self.window.start, self.window.stop
        if self.extent.rows:
            found = int(self.extent["first"].min()), int(self.extent["last"].max())
            first = found[0] if first is None else max(first, found[0])
            last = found[1] if last is None else min(last, found[1])
        return max(1, (self.trace.duration if last is None else last) - (first or 0))

    @cached_property
    def sampled(self) -> SampledPlaces | None:
        """The samples by recorded call; None without samples in the archive."""
        if not self.trace.contexts.rows:
            return None
        if self.costs is None:
            question = CostQuestion()
            ask(self.trace, [question], self.window)
            self.costs = question.answer()
        return SampledPlaces(self.trace, self.costs) if self.costs.samples.rows else None

    @cached_property
    def activity(self) -> Array:
        """(paths,) the activity of each path's region; user for the root."""
        found: Array = np.append(self.trace.regions["activity"], ACTIVITIES.index("user"))[self.paths["region"]]
        return found

    @cached_property
    def waiting(self) -> Array:
        """(paths,) bool: True if the innermost call may wait for other threads or processes."""
        waits = np.isin(self.activity, [ACTIVITIES.index(path) for path in _WAITING])
        found: Array = waits | self.for_process[self.paths["region"]]
        return found

    @cached_property
    def for_process(self) -> Array:
        """(regions + 1,) bool: calls that wait for another process."""
        regions = self.trace.regions
        found = np.isin(regions["name"].astype(str), _PROCESS_WAITS) & (regions["paradigm"] == "NONE")
        return np.append(found, False)

    @cached_property
    def for_thread(self) -> Array:
        """(regions + 1,) bool: calls that may wait for other threads of the process."""
        activities = [ACTIVITIES.index(path) for path in ("openmp/sync", "threads")]
        return np.append(np.isin(self.trace.regions["activity"], activities), False)

    @cached_property
    def unrecorded(self) -> int:
        """The number of started processes without records; 0 in a run with ranks, which other programs start."""
        trace, pid = self.trace, self._pids
        if np.any(trace.processes["rank"] >= 0):
            return 0
        images = zip(*(trace.processes[column].tolist() for column in ("host", "group")), strict=True)
        recorded = {(host, pid.get(group, group)) for host, group in images}
        starts = np.isin(trace.regions["name"].astype(str), _FORKS) & (trace.regions["paradigm"] == "NONE")
        starts = np.append(starts, False)[self.paths["region"]]
        return max(0, int(self.numbers["calls"][starts[self.numbers["path"]]].sum()) - len(recorded) + 1)

    @cached_property
    def starts_unrecorded(self) -> Array:
        """(locations,) bool: the thread's process has started a process of the archive that has no events. The images
        of one process have one number."""
        trace, pid = self.trace, self._pids
        groups, hosts = (trace.processes[column].tolist() for column in ("group", "host"))
        images = [(host, pid.get(group, group)) for host, group in zip(hosts, groups, strict=True)]
        recorded = {images[process] for process in self.masters if process >= 0}
        silent = [group for group, one in zip(groups, images, strict=True) if one not in recorded]
        parents = {*trace.groups["creator"][silent].tolist()} if silent else set()
        starts = np.array([group in parents for group in groups] + [False], bool)
        return starts[trace.places.process]

    @cached_property
    def _pids(self) -> dict[int, str]:
        """The numbers of processes by group."""
        pids = self.trace.group_properties.take(self.trace.group_properties["name"] == PID)
        return dict(zip(pids["group"].tolist(), pids["value"].tolist(), strict=True))

    @cached_property
    def working(self) -> Array:
        """(paths,) bool: True if the innermost call is work of the program; False for the root."""
        found: Array = np.isin(CLASS_OF[self.activity], _WORK) & ~self.waiting
        found[0] = False
        return found

    @cached_property
    def io(self) -> Array:
        """(paths,) bool: calls of I/O, without the calls that the MPI library makes for itself."""
        found = (CLASS_OF[self.activity] == IO) | (self.activity == ACTIVITIES.index("mpi/io"))
        result: Array = found & ~library_work(self.trace, self.paths)
        return result

    @cached_property
    def masters(self) -> dict[int, int]:
        """By process its first location, which represents the program."""
        found: dict[int, int] = {}
        for row in self.rows:
            found.setdefault(int(self.trace.places.process[row]), row)
        return found

    @cached_property
    def in_mpi(self) -> list[int]:
        """The locations that may wait for others in MPI: masters, and other threads that call MPI."""
        waits = self.waiting & ~self.management & (CLASS_OF[self.activity] == MPI)
        calls = {*self.numbers["location"][waits[self.numbers["path"]]].tolist()}
        return [*self.masters.values(), *sorted(calls.intersection(self.rows) - {*self.masters.values()})]

    @cached_property
    def ranked(self) -> list[int]:
        """masters of the processes that are ranks."""
        return [
            row for process, row in self.masters.items() if process >= 0 and self.trace.processes["rank"][process] >= 0
        ]

    @cached_property
    def parallel(self) -> Array:
        """(paths,) bool: inside of parallel regions of OpenMP."""
        roles = np.append(self.trace.regions["role"], "")
        found: Array = outermost(self.paths["parent"], roles[self.paths["region"]] == "PARALLEL") > 0
        return found

    @cached_property
    def workers(self) -> list[tuple[int, int]]:
        """Process and location of the threads that work in parallel regions, without each process's first thread."""
        others = {*self.rows} - {*self.masters.values()}
        working = np.unique(self.numbers["location"][self.parallel[self.numbers["path"]]]).tolist()
        return [(int(self.trace.places.process[row]), row) for row in working if row in others]

    def exclusive(self, locations: list[int]) -> Array:
        """(paths,) the exclusive ns on these locations."""
        mine = np.isin(self.numbers["location"], locations)
        return add_up(self.numbers["path"][mine], self.numbers["exclusive"][mine], self.paths.rows)

    def spent(self, locations: list[int]) -> Array:
        """(paths,) exclusive, with the ns outside of recorded calls at the root."""
        found = self.exclusive(locations)
        found[0] += int(self.times[locations, -1].sum())
        return found

    def running(self, locations: list[int]) -> int:
        """The ns of these locations without the start and the end of MPI."""
        return int(self.exclusive(locations)[~self.management].sum())

    @cached_property
    def management(self) -> Array:
        """(paths,) bool: calls that start, end and manage MPI, and calls that create and free communicators. Some tools
        record the latter as collective operations; archives do not name the processes that these calls wait for."""
        found = np.isin(self.activity, [n for n, path in enumerate(ACTIVITIES) if path.startswith("mpi/management")])
        makers = np.array([bool(_MAKERS.match(str(name))) for name in self.trace.regions["name"]] + [False], bool)
        result: Array = found | (makers[self.paths["region"]] & (CLASS_OF[self.activity] == MPI))
        return result

    def class_time(self, number: int) -> int:
        """The ns of all threads in calls of a class."""
        return int(self.times[self.rows, number].sum())

    @property
    def has_mpi(self) -> bool:
        """True if calls of MPI were recorded."""
        return self.class_time(MPI) > 0

    @property
    def tracing(self) -> int:
        """The ns in which threads wrote buffers, over all threads."""
        return self.class_time(TRACING)

    def by_class(self) -> dict[str, int]:
        """The ns of all threads by class, and outside of all regions."""
        sums = self.times[self.rows].sum(axis=0).tolist()
        return dict(zip([*CLASSES, "outside"], sums, strict=True))

    # ---- texts for reports ----

    def names(self, path: int, paths: Table | None = None) -> tuple[str, ...]:
        """The names of a call path, the outermost first. paths: the table that has the path, None: self.paths."""
        return tuple(path_names(self.paths if paths is None else paths, self.trace.regions["name"], path))

    def region(self, path: int, paths: Table | None = None) -> str:
        """The name of a path's innermost region, "" for the root."""
        row = int((self.paths if paths is None else paths)["region"][path])
        return str(self.trace.regions["name"][row]) if row >= 0 else ""

    def path_class(self, path: int, paths: Table | None = None) -> int:
        """The class of a path's innermost region; MPI's calls on files are I/O."""
        row = int((self.paths if paths is None else paths)["region"][path])
        activity = ACTIVITIES[self.trace.regions["activity"][row]] if row >= 0 else "user"
        return IO if activity == "mpi/io" else int(CLASS_OF[ACTIVITIES.index(activity)])

    def source(self, path: int, paths: Table | None = None) -> str:
        """file:line of a path's innermost region of the program, "" if unknown."""
        paths = self.paths if paths is None else paths
        return path_source(self.trace, paths, path) or path_source(self.trace, paths, _caller(self.trace, paths, path))

    def finding(
        self,
        kind: str,
        loss: int,
        path: int,
        paths: Table | None = None,
        *,
        locations: Array | list[int],
        **values: Any,
    ) -> Finding:
        """A finding about a call path. loss: ns. locations: those that lose time. values: other fields of the finding,
        or fields with other values than those of the path and the selection."""
        known: dict[str, Any] = {
            "share": loss / self.whole, "region": self.region(path, paths), "source": self.source(path, paths),
            "callpath": self.names(path, paths), "ranks": self.ranks_of(locations),
            "start": self.window.start, "stop": self.window.stop,
        }  # fmt: skip
        return Finding(kind=kind, loss_ns=loss, **known | values)

    @cached_property
    def long_calls(self) -> LongCalls:
        """Where the program makes calls in which threads wait long."""
        return LongCalls(self.trace)

    @cached_property
    def processor_waits(self) -> ProcessorWaits:
        """The waits of threads for a processor."""
        return ProcessorWaits(self.trace)

    @cached_property
    def _lives(self) -> tuple[Array, Array]:
        """(waits,) ns each: the first and the last event of the location of each wait for a processor in the selection:
        waits before and after them are in no time of a thread."""
        rows, stop = self.trace.locations.rows, self.window.stop
        first, last = np.full(rows, self.window.start or 0), np.full(rows, np.inf if stop is None else stop)
        at = self.extent["location"]
        first[at], last[at] = np.maximum(first[at], self.extent["first"]), np.minimum(last[at], self.extent["last"])
        return first[self.processor_waits.location], last[self.processor_waits.location]

    @cached_property
    def _may_wait(self) -> tuple[Array, Array]:
        """(regions + 1,) bool each: regions of work and, last, the time outside of calls; calls of MPI that may wait,
        but for its start and end."""
        activity = self.trace.regions["activity"]
        waits = np.isin(activity, [ACTIVITIES.index(path) for path in _WAITING])
        manages = np.isin(activity, [n for n, path in enumerate(ACTIVITIES) if path.startswith("mpi/management")])
        return np.append(~waits, True), np.append(waits & ~manages & (CLASS_OF[activity] == MPI), False)

    @property
    def waits_in_mpi(self) -> Array:
        """(regions + 1,) bool: calls of MPI that may wait, but for the start and end of MPI."""
        return self._may_wait[1]

    @property
    def counted_waits(self) -> Array:
        """(waits,) ns of the waits of processor_waits in the selection: at work, and in calls of MPI that may wait."""
        waits, (works, in_mpi) = self.processor_waits, self._may_wait
        found: Array = waits.within(*self._lives) * (works | in_mpi)[waits.region]
        return found * np.isin(waits.location, self.rows)

    def waited_at_work(self) -> Array:
        """(locations,) ns that each location waited for a processor while it worked, in the selection."""
        return self.processor_waits.by_location(*self._lives, regions=self._may_wait[0])

    def waited_between(self, locations: Array, begins: Array, ends: Array, *, in_mpi: bool = False) -> Array:
        """(n,) ns that each location waited for a processor between two times (ns): while it worked; in_mpi: also in
        calls of MPI that may wait."""
        works, waits = self._may_wait
        regions = works | waits if in_mpi else works
        return self.processor_waits.between(locations, begins, ends, counts=regions[self.processor_waits.region])

    def waited_for_threads_between(self, locations: Array, begins: Array, ends: Array) -> Array:
        """(n,) ns that each location waited for a processor between two times (ns) in calls that wait for threads."""
        for_threads = ~self._may_wait[0] & np.append(CLASS_OF[self.trace.regions["activity"]] != MPI, False)
        counts = for_threads[self.processor_waits.region]
        return self.processor_waits.between(locations, begins, ends, counts=counts)

    def slept_for_threads_between(self, locations: Array, begins: Array, ends: Array) -> Array:
        """(n,) ns that each location slept between two times (ns) until another thread of the process woke it."""
        counts = self.asleep_for_thread & ~self.asleep_until_time
        return self.blocked.between(locations, begins, ends, counts=counts)

    @cached_property
    def blocked(self) -> BlockedTimes:
        """The times in which threads slept."""
        return BlockedTimes(self.trace)

    @cached_property
    def path_of_blocked(self) -> Array:
        """(times,) the row of the call path of each such time; -1: unknown."""
        return self.blocked.paths(self.paths)

    @cached_property
    def sleeps_at_work(self) -> Array:
        """(regions + 1,) bool: regions whose calls neither may wait for others nor are I/O, and, last, the time outside
        of calls: a thread that sleeps there works less than it seems."""
        found = np.zeros(self.trace.regions.rows + 1, bool)
        found[self.paths["region"]] = ~(self.waiting | self.io)
        return found

    @cached_property
    def asleep_at_work(self) -> Array:
        """(times,) bool: the sleep is in such regions, and not for another thread of the process."""
        found: Array = self.sleeps_at_work[self.blocked.region] & ~self.asleep_for_thread
        return found

    @cached_property
    def asleep_for_child(self) -> Array:
        """(times,) bool: the sleep is in a call that waits for another process."""
        found: Array = self.for_process[self.blocked.region]
        return found

    @cached_property
    def asleep_until_time(self) -> Array:
        """(times,) bool: the wait for another thread may be one for a time only, outside of recorded waits."""
        found: Array = self.sleeps_at_work[self.blocked.region] & self.asleep_for_thread & self.blocked.is_timed
        for at in np.flatnonzero(found).tolist():
            found[at] = not is_for_interpreter(self.blocked.sites[at])
        return found

    @cached_property
    def asleep_for_thread(self) -> Array:
        """(times,) bool: the thread waits for another thread of its process."""
        process = self.trace.places.process
        several = np.bincount(process[self.rows] + 1, minlength=self.trace.processes.rows + 1) > 1
        found: Array = self.blocked.is_for_thread & several[process[self.blocked.location] + 1]
        return found

    def longer_sleep(self, inside: Array, locations: Sequence[int], others: Sequence[int]) -> SleepingCall | None:
        """The call that sleeps longer on some locations than on others in call paths ((paths,) bool), if this is most
        of the difference there; without others the call with most of the time."""
        ns = self.asleep_in(inside)
        if not ns.any():
            return None
        spent = self.spent_in(inside)
        difference = float(spent[[*locations]].mean() - (spent[[*others]].mean() if others else 0))
        return longer_sleep(self.blocked, ns, locations, others, difference=difference)

    def inner_sleep(
        self, paths: Table, path: int, locations: Sequence[int], others: Sequence[int], *, inside: Array | None = None
    ) -> SleepingCall | None:
        """longer_sleep in the code of a path, if this tells more than the path: a path may name no function, and other
        functions may be inlined into the one that it names. inside: (paths,) bool, the paths with this code; None:
        those with the same names."""
        hides = hides_code(self.trace, paths, path)
        if not hides and self.path_class(path, paths) != USER:
            return None
        names = self.names(path, paths)
        inside = self.paths_named(names) if inside is None else inside
        call = self.longer_sleep(inside, locations, others)
        if hides or not call:
            return call
        if bare_name(call.function) not in names[-1]:
            return call.inside(names[-1])
        around = names[-2] if len(names) > 1 else ""  # if the caller is another one, it is inlined into this
        return call if call.caller and bare_name(call.callers[-1]) not in around else None

    def longest_sleep(
        self, inside: Array, locations: Sequence[int], others: Sequence[int], *, whole: bool = False
    ) -> tuple[SleepingCall | None, float]:
        """The call that sleeps longest on some locations, by the mean of others, in call paths ((paths,) bool); the
        difference in ns. whole: see sleeping_calls."""
        return longest_sleep(self.blocked, self.asleep_in(inside), locations, others, whole=whole)

    def grown_sleep(
        self, names: tuple[str, ...], location: int, windows: Sequence[tuple[int, int]], *, usual: float, growth: float
    ) -> SleepingCall | None:
        """The call that sleeps longer in some windows (begin, end; ns) on a location than in the rest of the selection,
        in a call path that names no function (hides_code), if this is most of the growth (ns). usual: see
        SampledPlaces.grown."""
        if not hides_code(self.trace, self.paths, find_path(self, names)):
            return None
        inside = np.sum([self.blocked.within(begin, end) for begin, end in windows], axis=0)
        asleep = self.asleep_in(self.paths_named(names))
        part = np.minimum(inside, asleep)
        more = (1 + usual) * part - usual * asleep
        return longer_sleep(self.blocked, more, [location], [], difference=growth)

    def slept_in(self, call: SleepingCall, locations: Sequence[int]) -> float:
        """The ns that locations sleep in calls with the same key, outside of recorded calls."""
        ns = self.asleep_in(self.paths_named(())) * np.isin(self.blocked.location, locations)
        rows = np.flatnonzero(ns).tolist()
        calls = ((site, sleeping_call(site)) for site in {self.blocked.sites[at] for at in rows})
        same = {site for site, one in calls if one and one.key == call.key}
        return float(sum(ns[at] for at in rows if self.blocked.sites[at] in same))

    def asleep_in(self, inside: Array) -> Array:
        """(times,) ns of the sleep in these call paths that is not for another thread of the process."""
        ns = self.blocked.within(self.window.start, self.window.stop)
        found: Array = ns * ((self.path_of_blocked >= 0) & inside[self.path_of_blocked] & ~self.asleep_for_thread)
        return found

    @cached_property
    def path_of_wait(self) -> Array:
        """(waits,) the row of the call path of each wait for a processor; -1: unknown."""
        return self.processor_waits.paths(self.paths)

    def of_processor(
        self, loss: int, slow: Sequence[int], others: Sequence[int], *, times: Array, waited: Array
    ) -> int:
        """The part of a loss of others (ns) that waits for a processor explain, by their share in the ns that some
        locations take longer: at most as much as each of the others would wait for these waits. times, waited:
        (locations,) ns in the place that is compared, and of these without a processor. All of the loss, if the slow
        ones take about as long as the others but for these waits."""
        longer, more = (float(of[slow].mean() - (of[others].mean() if len(others) else 0)) for of in (times, waited))
        if more > _LARGE * longer and longer - more < _EVEN * float((times - waited)[slow].mean()):
            return loss
        return round(min(loss * part_of(more, longer), max(0.0, more) * max(1, len(others))))

    def waited_in(self, paths: Array) -> Array:
        """(locations,) ns that each location waited for a processor at work in these call paths ((paths,) bool)."""
        inside = self._may_wait[0][self.processor_waits.region] & (self.path_of_wait >= 0) & paths[self.path_of_wait]
        ns = self.processor_waits.within(*self._lives) * inside
        found: Array = np.bincount(self.processor_waits.location, ns, self.trace.locations.rows)
        return found

    def spent_in(self, paths: Array) -> Array:
        """(locations,) ns in these call paths ((paths,) bool), without calls from there and naps; of the root the time
        outside of recorded calls."""
        n = self.numbers.take(paths[self.numbers["path"]])
        outside: Array = self.times[:, -1] * paths[0]
        return outside + add_up(n["location"], n["exclusive"], self.trace.locations.rows) - self._naps_in(paths)

    def _naps_in(self, paths: Array) -> Array:
        """(locations,) ns of the naps in these call paths ((paths,) bool)."""
        naps = self.naps.take(paths[self.naps["path"]])
        return add_up(naps["location"], naps["ns"], self.trace.locations.rows)

    def take_naps(self, naps: Table, paths: Table) -> None:
        """Sets the naps. paths: the table that has their call paths."""
        own = {one: np.flatnonzero(self.paths_named(self.names(one, paths))) for one in {*naps["path"].tolist()}}
        rows = [
            (location, *own[path][:1], ns) for location, path, ns in zip(*naps.values(), strict=True) if len(own[path])
        ]
        self.naps = Table(dict(zip(("location", "path", "ns"), np.array(rows, np.int64).reshape(-1, 3).T, strict=True)))

    def without_recursion(self, paths: Table) -> Array:
        """(paths,) the row of the call path that stands for each one: the same functions without recursion."""
        _, names = np.unique(self.trace.regions["name"].astype(str), return_inverse=True)
        return folded(paths["parent"], np.append(names, -1)[paths["region"]])

    @cached_property
    def folded(self) -> Array:
        """without_recursion of the call paths of the selection."""
        return self.without_recursion(self.paths)

    def paths_named(self, names: tuple[str, ...]) -> Array:
        """(paths,) bool, read-only: the call paths with these names, but for recursion; without names the root."""
        if names not in self._named:
            self._named[names] = _mask(_find_paths(self, names), self.paths.rows)
            self._named[names].flags.writeable = False
        return self._named[names]

    @cached_property
    def _named(self) -> dict[tuple[str, ...], Array]:
        """Answers of paths_named."""
        return {}

    def calls(self, names: tuple[str, ...]) -> Array:
        """(locations,) the calls of the call paths with these names."""
        n = self.numbers.take(self.paths_named(names)[self.numbers["path"]])
        return add_up(n["location"], n["calls"], self.trace.locations.rows)

    @cached_property
    def working_time(self) -> Array:
        """(locations,) ns outside of calls of MPI that may wait."""
        n = self.numbers.take((self.waiting & (CLASS_OF[self.activity] == MPI))[self.numbers["path"]])
        waits = add_up(n["location"], n["exclusive"], self.trace.locations.rows)
        found: Array = self.times.sum(axis=1) - waits
        return found

    def work(self, names: tuple[str, ...]) -> Array:
        """(locations,) ns in the call paths with these names and below, without calls of MPI that may wait and naps;
        without names outside of recorded calls."""
        if not names:
            outside: Array = self.times[:, -1] - self._naps_in(self.paths_named(()))
            return outside
        inside = outermost(self.paths["parent"], self.paths_named(names)) > 0
        n = self.numbers.take((inside & ~(self.waiting & (CLASS_OF[self.activity] == MPI)))[self.numbers["path"]])
        return add_up(n["location"], n["exclusive"], self.trace.locations.rows) - self._naps_in(inside)

    def longer_path(self, locations: list[int], others: list[int], resting: Array | None = None) -> int:
        """The row of the path, no call that may wait, where locations take longest by the mean of others; -1: none.
        resting: (times,) bool, the sleep that is no work."""
        more = self.spent(locations) / len(locations) - self.spent(others) / len(others)
        if resting is not None:
            ns = self.blocked.within(self.window.start, self.window.stop) * (resting & (self.path_of_blocked >= 0))
            for rows, sign in ((locations, -1), (others, 1)):
                mine = ns * np.isin(self.blocked.location, rows) * (sign / len(rows))
                more += np.bincount(np.maximum(0, self.path_of_blocked), mine, self.paths.rows)
        more[self.waiting] = 0
        path = int(np.argmax(more))
        return path if more[path] > 0 else -1

    def longer_place(self, locations: list[int], others: list[int]) -> str:
        """The place of longer_path in a sentence, "" for none."""
        path = self.longer_path(locations, others)
        return self.function_at(path, locations, others)[0] if path >= 0 else ""

    def function_at(self, path: int, locations: list[int], others: list[int]) -> tuple[str, tuple[str, ...]]:
        """The function in which locations take longer than others in a path, in a sentence, and its call path."""
        if asleep := self.inner_sleep(self.paths, path, locations, others):
            return asleep.text, asleep.names
        if self.sampled and (sampled := self.sampled.longer(self.names(path), locations, others)):
            return sampled.text, sampled.names
        return place_text(self.trace, self.paths, path), self.names(path)

    def call_text(self, paths: Table, path: int) -> str:
        """place_text of a recorded call; with the line that makes the call where that is known."""
        text, region = place_text(self.trace, paths, path), int(paths["region"][path])
        name = str(self.trace.regions["name"][region]) if region >= 0 else ""
        if not name or name.startswith("!$omp") or path_source(self.trace, paths, path):
            return text
        caller = _caller(self.trace, paths, path)
        inside = str(self.trace.regions["name"][int(paths["region"][caller])]) if caller else ""
        source = self.long_calls.source(region, self.rows, inside)
        if not source and self.sampled and not inside:
            source = self.sampled.call_source(region, self.rows)
        if not source:
            return text
        return f"{name} in {inside} ({_short(source)})" if inside else f"{name} ({_short(source)})"

    def ranks_of(self, locations: Sequence[int] | Array) -> tuple[int, ...]:
        """The processes of locations, ascending: ranks in a program with MPI."""
        process = self.trace.places.process[np.asarray(locations, np.int64)]
        return tuple(int(row) for row in np.unique(process) if row >= 0)


def is_unnamed(names: tuple[str, ...]) -> bool:
    """True for the time outside of recorded calls, and for functions that call all others: the code that takes the time
    may be inlined there."""
    return not names or names[-1] in OUTERMOST


def is_body(trace: Source, paths: Table, path: int) -> bool:
    """True for a construct of OpenMP, and for the function that the compiler makes of its body."""
    row = int(paths["region"][path])
    return row >= 0 and (
        str(trace.regions["role"][row]) in (*CONSTRUCTS, *TASKS) or bool(BODY.search(str(trace.regions["name"][row])))
    )


def hides_code(trace: Source, paths: Table, path: int) -> bool:
    """True for a path whose innermost call names no function of the program: outside of recorded calls, a function that
    calls all others, a construct of OpenMP, a function of a header of the system, such as std::function's."""
    row = int(paths["region"][path])
    if row < 0 or str(trace.regions["name"][row]) in OUTERMOST or is_body(trace, paths, path):
        return True
    return bool(CLASS_OF[trace.regions["activity"][row]] == USER) and in_headers(str(trace.regions["file"][row]))


def part_of(part: float, whole: float) -> float:
    """The share of a part in a whole, from 0 to 1; 0 for no part, 1 for a part of nothing."""
    if part <= 0:
        return 0.0
    return min(1.0, part / whole) if whole > 0 else 1.0


_LARGE, _EVEN = 0.5, 0.1
"""The share of waits in a difference from which on the rest must be so large by the time of the slower locations."""
_NAMED = 3
"""A sentence names at most so many processes without ranks."""


def library_work(trace: Source, paths: Table) -> Array:
    """(paths,) bool: paths inside calls of MPI whose I/O is the library's own."""
    marked = np.append(trace.marks >> RUNTIME_MARK & 1, 0).astype(bool)[paths["region"]]
    marked[0] = False
    found: Array = outermost(paths["parent"], marked) > 0
    return found


def location_text(trace: Source, location: int) -> str:
    """A location in a sentence: rank 3, or rank 3 thread OMP 1, or the thread's name in a program of one process."""
    process = int(trace.places.process[location])
    name = str(trace.locations["name"][location])
    several = np.count_nonzero((trace.places.process == process) & ~trace.locations["helper"]) > 1
    if trace.processes.rows < 2:
        return name
    rank = int(trace.processes["rank"][process]) if process >= 0 else -1
    text = f"rank {rank}" if rank >= 0 else str(trace.processes["name"][process])
    return f"{text}, {name}" if several else text


def locations_text(trace: Source, locations: list[int]) -> str:
    """Locations in a sentence: rank 3, ranks 0-2, 4 threads."""
    if len(locations) == 1:
        return location_text(trace, locations[0])
    process = trace.places.process[np.array(locations, np.int64)]
    rows = sorted({int(row) for row in process if row >= 0})
    if trace.processes.rows < 2:
        return f"{len(locations)} threads"
    if len(rows) == 1:
        name = f"rank {rows[0]}" if trace.processes["rank"][rows[0]] >= 0 else trace.processes["name"][rows[0]]
        return f"{len(locations)} threads of {name}"
    if np.all(trace.processes["rank"][rows] >= 0):
        return f"ranks {ranges(rows)}"
    names = ", ".join(str(name) for name in trace.processes["name"][rows[:_NAMED]])
    return names if len(rows) <= _NAMED else f"{len(rows)} processes ({names} ...)"


def ranks_text(trace: Source, locations: list[int]) -> str:
    """The processes of locations in a sentence: rank 3, or ranks 0-2."""
    masters: dict[int, int] = {}
    for location in locations:
        masters.setdefault(int(trace.places.process[location]), location)
    ranks = sorted(row for row in masters if row >= 0)
    if len(ranks) == len(masters) and np.all(trace.processes["rank"][ranks] >= 0):
        return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranges(ranks)}"
    return locations_text(trace, [*masters.values()])


def path_source(trace: Source, paths: Table, path: int) -> str:
    """file:line of a path's region, "" if unknown, or if it is in a header of the system. (Some tools write a file for
    library functions that is no file.)"""
    row = int(paths["region"][path])
    is_known = row >= 0 and has_line(trace.regions["line"][row]) and not in_headers(str(trace.regions["file"][row]))
    return source_text(trace.regions, row) if is_known else ""


def _caller(trace: Source, paths: Table, path: int) -> int:
    """The nearest path above of the program's own code, 0 for none."""
    kinds, files, at = CLASS_OF[trace.regions["activity"]], trace.regions["file"], paths["region"]
    path = int(paths["parent"][path])
    while path > 0 and (kinds[at[path]] != USER or in_headers(str(files[at[path]]))):
        path = int(paths["parent"][path])
    return max(0, path)


def _caller_of_installed(trace: Source, paths: Table, path: int) -> str:
    """Words about the nearest caller that is the program's own, for a function of an installed module of Python; else
    ""."""
    names, files = trace.regions["name"], trace.regions["file"]
    if not module_of_python(str(files[int(paths["region"][path])])):
        return ""
    while (path := int(paths["parent"][path])) > 0:
        row = int(paths["region"][path])
        if is_own_python(str(files[row])):
            return f", called by {names[row]}"
    return ""


def place_text(trace: Source, paths: Table, path: int) -> str:
    """A path in a sentence: step (heat.c:41), or sort (numpy.py:9, called by step), or MPI_Recv in exchange
    (heat.c:60), or MPI_Recv."""
    row = int(paths["region"][path])
    if row < 0:
        return OUTSIDE
    name, source = str(trace.regions["name"][row]), path_source(trace, paths, path)
    if name.startswith("!$omp"):
        return name
    if source:
        return f"{name} ({_short(source)}{_caller_of_installed(trace, paths, path)})"
    caller = _caller(trace, paths, path)
    if not caller:
        return name
    inside = str(trace.regions["name"][int(paths["region"][caller])])
    where = path_source(trace, paths, caller)
    return f"{name} in {inside}" + (f" ({_short(where)})" if where else "")


def callers_text(trace: Source, paths: Table, path: int) -> str:
    """Words about the caller of a path's region, if this is a function of the program that several functions of the
    program call, also through one of them; else ""."""
    regions, at, through = paths["region"], path, ""
    user = np.append(CLASS_OF[trace.regions["activity"]] == USER, False)
    if not path_source(trace, paths, path) or _caller_of_installed(trace, paths, path):
        return ""
    while user[regions[at]]:
        above, same = int(paths["parent"][at]), np.flatnonzero(regions == regions[at])
        if np.count_nonzero(user[np.unique(regions[paths["parent"][same]])]) > 1:
            return f", called by {through}{place_text(trace, paths, above)}"
        at, through = above, f"{trace.regions['name'][regions[above]]} in "
    return ""


def named_place(facts: RunFacts, names: tuple[str, ...]) -> str:
    """place_text of the path with these names."""
    row = find_path(facts, names)
    return facts.call_text(facts.paths, row) if row or not names else names[-1]


def find_path(facts: RunFacts, names: tuple[str, ...]) -> int:
    """The row of facts.paths with these names, 0 for none."""
    return min(_find_paths(facts, names), default=0)


def _find_paths(facts: RunFacts, names: tuple[str, ...]) -> set[int]:
    """The rows of facts.paths with these names, but for recursion: several if regions share a name, or call themselves
    again."""
    known: Array = facts.trace.regions["name"]
    paths, folded_rows, at = facts.paths, facts.folded, {0}
    is_first, above = folded_rows == np.arange(paths.rows), folded_rows[paths["parent"]]
    for name in without_recursion(names):
        below = np.flatnonzero(_mask(at, paths.rows)[above] & is_first)
        at = {int(row) for row in below if row and str(known[paths["region"][row]]) == name}
    return {*np.flatnonzero(_mask(at, paths.rows)[folded_rows]).tolist()}


def _mask(rows: set[int], count: int) -> Array:
    """(count,) bool: True for these rows. numpy.isin takes ten times as long for few rows."""
    found = np.zeros(count, bool)
    found[[*rows]] = True
    return found


def _short(source: str) -> str:
    """A source without its directories."""
    return source.rpartition("/")[2]
