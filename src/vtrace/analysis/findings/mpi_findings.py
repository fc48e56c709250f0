# SPDX-License-Identifier: BSD-3-Clause
"""Findings about MPI: processes that delay others (imbalance, serialisation, I/O by one process), waits without a known
cause, and transfers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from math import fsum, inf

import numpy as np

from vtrace.analysis.activity import CLASS_OF, IO, MPI
from vtrace.analysis.findings.diagnosis import Diagnosis, MpiAnswers
from vtrace.analysis.findings.finding import BOUND, ESTIMATE, EXACT, Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.late_partners import sleep_in_turn
from vtrace.analysis.findings.late_without_processor import late_without_processor
from vtrace.analysis.findings.own_places import Place, by_place, own_places
from vtrace.analysis.findings.run_facts import (
    RunFacts,
    callers_text,
    hides_code,
    is_unnamed,
    locations_text,
    ranks_text,
)
from vtrace.analysis.findings.run_notes import crowded_hosts, died
from vtrace.analysis.findings.serving_rank import serving_rank
from vtrace.analysis.findings.short_threads import with_first_threads
from vtrace.analysis.findings.sleeping_calls import SleepingCall
from vtrace.analysis.findings.wait_pool import WaitPool, waited_in_mpi
from vtrace.analysis.questions.clock_bounds import ClockBounds
from vtrace.analysis.questions.path_sums import outermost
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Array, Table, add_up, group

_CULPRIT = 0.15
"""The least share of a path's delays that makes a location one of its culprits."""
_AS_GUILTY = 0.3
"""The least part of the largest delays of a location that makes another one a culprit, too."""
_ANOTHER = 0.25
"""The least part of a cause's largest loss in one place for which the sentence names another place."""
_AS_LONG = 0.9
"""The part of the culprits' additional time from which on another location takes as long."""
_MOST = 20
"""The most causes to examine."""
_MOSTLY, _WRONG = 0.5, 0.3
"""The share of waits that wrong order of messages explains, from which on the sentence tells the order."""
_OF_ONE_MESSAGE = ("MPI_Recv", "MPI_Mrecv", "MPI_Wait")
"""Calls that wait for one message."""
_MEETINGS, _EXCHANGE = ("mpi_barrier_wait", "mpi_wait_nxn"), "MPI_Sendrecv"
"""Kinds of waits in operations in which all ranks wait for all others, and the beginning of the names of calls in which
each rank sends before it waits, so that no rank's work waits for another one's."""
_NEARLY_ALL, _SOME = 0.99, 0.01
"""From the first share of a cause's waits in one place on, the text omits the share. A place belongs to the waits of a
cause from the second share of the cause's largest place on."""
_ONE_PER_CULPRIT, _LISTED = ("imbalance", "io_by_few_ranks"), 2
"""Kinds of causes of which the same processes have one; the most further places that a sentence names."""
_AT_ONCE, _EACH = 0.8, 0.9
"""All ranks work at once in a place if the waits are at most the first part of those of turns, and each rank enters the
place before at least the second part of the operations that wait."""
_BY_CHANCE, _CROWDED = 0.75, 0.3
"""Waits for a processor change the rank that takes longer if they are this part of a loss; where ranks share cores."""
_OF_CPU_TIME = 0.25
"""Where ranks share cores, the culprits' CPU time tells that they have more work, from this part of it on."""
_FEW = 0.5
"""At most this part of the ranks are few culprits."""
_MATTERS, _LONGEST = 0.05, 1 << 15
"""Waits for a processor are compared one by one with the longest waits for others, so many, if they are at least the
first part of all these waits."""
_SERVED, _OF_SERVER = 0.6, ("mpi_latesender", "mpi_finalize_wait")
"""Waits in a place are no loss if this part of them is that of a rank which serves the others, by these kinds."""
_UNEVEN = 0.4
"""A path is uneven if its excess on some processes explains this share of the waits; otherwise processes take turns."""


@dataclass
class _Cause:
    """The delays that a call path, and more paths, cause on all culprits. waits_ns: (places,) ns of the caused waits by
    place. part: of the delays in rows that counts. processor_ns: of the loss, delays on other locations, which waited
    for a processor; after _by_culprit also the part that waits of the culprits explain; in_mpi_ns: of it, in MPI.
    culprits_ns: at most so much of the culprits' delays are waits. delays_ns: by location. rows: of the delays. kind:
    of the finding. place: where the culprits of a part of the time outside of recorded calls take longer."""

    path: int
    locations: list[int]
    loss: int
    waits_ns: Array
    part: float = 1.0
    processor_ns: int = 0
    in_mpi_ns: int = 0
    culprits_ns: int = 0
    delays_ns: dict[int, float] = field(default_factory=dict)
    rows: Array = field(default_factory=lambda: np.empty(0, np.int64))
    kind: str = ""
    place: Place | None = None
    more_paths: list[int] = field(default_factory=list)

    def leave_out(self, shares: Array) -> None:
        """Leaves out shares ((places,)) of the waits, which are no loss."""
        left = self.waits_ns * (1 - shares)
        part = float(left.sum() / max(1, self.waits_ns.sum()))
        self.loss, self.processor_ns, self.in_mpi_ns = (
            round(ns * part) for ns in (self.loss, self.processor_ns, self.in_mpi_ns)
        )
        self.waits_ns = left


class _WaitPlaces:
    """Places: numbers of pairs of kind and call path of waits. of_wait, of_delay: the place of each row. is_bound:
    (places,) True for kinds whose times are upper bounds. passed: (places,) the share of each place in all indirect
    waits. A row of delays has the place of its direct wait; its indirect waits are later and elsewhere, in places whose
    waits have more time than the direct waits there."""

    def __init__(self, waits: Table, delays: Table, exchanges: Array) -> None:
        """exchanges: (regions,) bool, those of _EXCHANGE."""
        late, wrong_order = (waits.kinds.index(f"mpi_latesender{end}") for end in ("", "_wo"))
        kind = np.where(waits["kind"] == wrong_order, late, waits["kind"])  # delays have both kinds as late senders
        keys = [np.concatenate([kind, delays["kind"]]), np.concatenate([waits["path"], delays["waiting_path"]])]
        first, member = group(keys)
        self.path = keys[1][first]
        self.is_bound = np.isin(keys[0][first], [waits.kinds.index(kind) for kind in waits.bounds])
        self._known = {name: waits[name] for name in ("kind", "path")}
        self.of_wait, self.of_delay = member[: waits.rows], member[waits.rows :]
        meets = np.isin(keys[0][first], [waits.kinds.index(kind) for kind in _MEETINGS])
        self._is_meeting = meets | np.append(exchanges, False)[waits.paths["region"][self.path]]
        has_cause = np.array([not name.endswith(_WITHOUT_CAUSE) for name in waits.kinds], bool)[keys[0][first]]
        whole = add_up(self.of_wait, waits["time_ns"], len(first)) * has_cause
        passed = np.maximum(0, whole - self._sums(self.of_delay, delays["direct_ns"]))
        self.passed = passed / max(1.0, passed.sum())

    def _sums(self, places: Array, values: Array) -> Array:
        found: Array = np.bincount(places, values, len(self.path))
        return found

    def share(self, waits: Table, part_ns: Array) -> Array:
        """(places,) the share that parts ((waits,) ns) of some waits have of them. waits: columns kind, path and
        time_ns, of the places that these waits have."""
        keys = [np.concatenate([known, waits[name]]) for name, known in self._known.items()]
        _, member = group(keys)
        place, rows = np.zeros(len(member), np.int64), len(self.of_wait)
        place[member[:rows]] = self.of_wait
        at = place[member[rows:]]
        found: Array = self._sums(at, part_ns) / np.maximum(1, self._sums(at, waits["time_ns"]))
        return found

    def caused_waits(self, delays: Table, rows: Array) -> Array:
        """(places,) ns of the waits that some rows of delays caused."""
        caused: Array = self.passed * delays["indirect_ns"][rows].sum()
        caused += self._sums(self.of_delay[rows], delays["direct_ns"][rows])
        return caused

    def of_meetings(self, waits_ns: Array) -> bool:
        """True if most of so many ns of waits in each place are in _MEETINGS or _EXCHANGE."""
        return bool(waits_ns[self._is_meeting].sum() >= max(1, _MOSTLY * waits_ns.sum()))

    def certainty(self, waits_ns: Array) -> str:
        """The certainty of a finding with so many ns of waits in each place."""
        return BOUND if waits_ns[self.is_bound].sum() >= max(1, _MOSTLY * waits_ns.sum()) else EXACT


@rule(
    FindingKind(
        "imbalance",
        "waits in MPI because some ranks take longer in a call path; with unknown waits an upper bound "
        "([uneven work](#uneven-work))",
        about=("waits",),
        of_ranks=True,
        action="distribute this work more evenly",
    ),
    FindingKind(
        "serialisation",
        "waits in MPI because ranks take turns: equal times in the call path, one after the other; or all wait for "
        "each other's I/O",
        about=("waits",),
        of_ranks=True,
        action="let ranks do this work at the same time: in parts, in another order",
    ),
    FindingKind(
        "io_by_few_ranks",
        "waits in MPI while some other ranks do I/O",
        about=("waits", "io"),
        of_ranks=True,
        action="let all ranks do their part, for example with MPI-IO",
    ),
    FindingKind("mpi_wait", "other [waits in MPI](#wait-states-of-mpi)", about=("waits",), of_ranks=True),
)
def mpi_waits(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The losses of all findings are at most the sum of all waits. With one selected rank, waits have no causes."""
    if not diagnosis.mpi:
        return
    facts, answers = diagnosis.facts, _without_recursion(diagnosis.facts, diagnosis.mpi)
    exchanges = np.char.startswith(facts.trace.regions["name"].astype(str), _EXCHANGE)
    places = _WaitPlaces(answers.waits, answers.delays, exchanges)
    explained_ns, clocks, pool = np.zeros(len(places.path)), ClockBounds(facts.trace), WaitPool(facts, answers.waits)
    server = serving_rank(facts)
    served = places.share(answers.waits, answers.waits["time_ns"] * _of_server(server, answers.waits))
    late, late_ns = _late_shares(facts, answers, places, server)
    is_crowded = bool(crowded_hosts(facts))
    causes = (
        islice(_causes(facts, answers.delays, places, pool, late_ns=late_ns), _MOST) if len(facts.in_mpi) > 1 else ()
    )
    for cause in _by_culprit(facts, causes, answers, places, pool=pool):
        rows = np.flatnonzero((cause.waits_ns >= _SOME * cause.waits_ns.max())[places.of_wait])
        explained_ns += cause.waits_ns
        if not _serves(server, answers.waits, rows):
            cause.leave_out(served)
            _count_late_waits(cause, late)
            if is_crowded and cause.kind == "imbalance":
                cause.processor_ns = min(cause.processor_ns, cause.loss - _of_cpu_time(facts, cause, answers.delays))
            finding = _cause_finding(facts, answers, places=places, cause=cause, rows=rows)
            yield _with_clock_doubt(finding, answers.waits, rows, clocks)
    others = [*_other_waits(facts, answers.waits, places=places, explained_ns=explained_ns)]
    others = [wait for wait in others if not _serves(server, answers.waits, wait.rows)]
    explained = _of_partners(facts, others, pool)
    for wait, processor_ns in zip(others, explained, strict=True):
        shares = (float(share[places.of_wait[wait.rows[0]]]) for share in late)
        by_late = min(wait.finding.loss_ns, round(sum(shares) * wait.finding.loss_ns))
        told = replace(wait.finding, processor_ns=max(processor_ns, by_late))
        yield _with_clock_doubt(told, answers.waits, wait.rows, clocks)


def _serves(location: int, waits: Table, rows: Array) -> bool:
    """True if a location waits for messages, or for the end, for most of the time of these waits."""
    times = waits["time_ns"][rows]
    return bool(times[_of_server(location, waits)[rows]].sum() >= _SERVED * max(1, times.sum()))


def _of_server(location: int, waits: Table) -> Array:
    """(waits,) bool: a location waits for messages, or for the end."""
    serves = np.array([kind.startswith(_OF_SERVER) for kind in waits.kinds], bool)
    found: Array = (waits["location"] == location) & serves[waits["kind"]]
    return found


def _late_shares(
    facts: RunFacts, answers: MpiAnswers, places: _WaitPlaces, server: int
) -> tuple[list[Array], Array | None]:
    """(places,) each: the shares of waits for ranks without a processor in MPI, and at work, without those of a rank
    that serves others, which are no loss; (locations,) ns of the waits for each rank at work. Unknown if ranks have
    hardly any waits for a processor."""
    if facts.counted_waits.sum() < _MATTERS * max(1, answers.waits["time_ns"].sum()):
        return [np.zeros(len(places.path))] * 2, None
    known = answers.call_waits()
    rows = np.flatnonzero(~_of_server(server, known))
    rows = rows[np.argsort(-known["time_ns"][rows], kind="stable")[:_LONGEST]]
    folded = Table({**known, "path": facts.without_recursion(known.paths)[known["path"]]}).take(rows)
    in_mpi, at_work, late_ns = late_without_processor(facts, known, rows)
    whole = known["time_ns"].sum() / max(1, known["time_ns"][rows].sum())
    return [places.share(folded, each[rows]) for each in (in_mpi, at_work)], whole * late_ns


def _without_recursion(facts: RunFacts, answers: MpiAnswers) -> MpiAnswers:
    """The answers with one path for all depths of a function that calls itself."""
    waits, delays = (
        Table({**one, **{name: facts.without_recursion(one.paths)[one[name]] for name in names}}, **one.notes)
        for one, names in ((answers.waits, ("path",)), (answers.delays, ("path", "waiting_path")))
    )
    return replace(answers, waits=waits, delays=with_first_threads(facts, delays))


def _causes(
    facts: RunFacts, delays: Table, places: _WaitPlaces, pool: WaitPool, *, late_ns: Array | None
) -> Iterator[_Cause]:
    """The causes by call path, the largest loss first. A location is a culprit by its delays without those that its
    waits for a processor in this path explain: each other location waits at most as long as these, and at most as long
    as all that delay others are in this path. late_ns: (locations,) of _late_shares."""
    time = delays["direct_ns"] + delays["indirect_ns"]
    first, member = group([delays["path"]])
    sums = np.bincount(member, time, len(first))
    for number in np.argsort(-sums, kind="stable").tolist():
        rows = np.flatnonzero(member == number)
        at, of = np.unique(delays["location"][rows], return_inverse=True)
        path = int(delays["path"][first[number]])
        part = _possible_part(facts, path, delays, at, delays_ns=fsum(time[rows]))
        by = part * np.bincount(of, time[rows])
        inside = facts.paths_named(facts.names(path, delays.paths))
        waited = np.minimum(by, pool.waited_in(inside)[at] * (len(facts.in_mpi) - 1))
        if late_ns is not None and facts.path_class(path, delays.paths) != MPI:
            waited = np.minimum(waited, late_ns[at])
        own = by - waited
        own = own if own.any() else by
        is_culprit = own >= max(_CULPRIT * own.sum(), _AS_GUILTY * own.max())
        culprits = at[is_culprit].tolist() or [int(at[np.argmax(own)])]
        mine = np.isin(at, culprits)
        others, theirs = (round(waited[each].sum()) for each in (~mine, mine))
        yield _Cause(
            path,
            culprits,
            round(part * fsum(time[rows])),
            part * places.caused_waits(delays, rows),
            part=part,
            processor_ns=others,
            culprits_ns=theirs,
            delays_ns=dict(zip(at.tolist(), by.tolist(), strict=True)),
            rows=rows,
        )


def _are_selected(facts: RunFacts, locations: Array | list[int]) -> bool:
    """True if the times of all these locations are known: culprits may be outside of the selection."""
    return bool(np.isin(locations, facts.rows).all())


def _possible_part(facts: RunFacts, path: int, delays: Table, at: Array, *, delays_ns: float) -> float:
    """The part of the delays (ns) of a path on some locations that this path can cause: each other rank waits at most
    as long as these locations are in the path. All of the delays, if the time of a location is not in the selection."""
    if not _are_selected(facts, at):
        return 1.0
    inside = facts.paths_named(facts.names(path, delays.paths))
    if facts.path_class(path, delays.paths) in (MPI, IO):  # such calls delay others by their whole time
        inside = outermost(facts.paths["parent"], inside) > 0
    most = (len(facts.in_mpi) - 1) * float(facts.spent_in(inside)[at].sum())
    return min(1.0, most / delays_ns) if most else 1.0


def _by_culprit(
    facts: RunFacts, causes: Iterable[_Cause], answers: MpiAnswers, places: _WaitPlaces, *, pool: WaitPool
) -> list[_Cause]:
    """The causes, the largest first. Call paths in which the same processes take longer, or do the I/O, are one
    cause."""
    found: dict[tuple[str, int | tuple[int, ...]], _Cause] = {}
    delays = answers.delays
    for cause in _by_place(facts, causes, answers, places):
        cause.processor_ns = _of_processor(facts, cause, delays, pool)
        if facts.path_class(cause.path, delays.paths) == MPI:
            cause.in_mpi_ns = cause.processor_ns
        key = cause.kind, tuple(cause.locations) if cause.kind in _ONE_PER_CULPRIT else cause.path
        if key not in found:
            found[key] = cause
            continue
        first = found[key]
        first.more_paths += [cause.path] if cause.loss >= _ANOTHER * first.loss else []
        first.loss, first.waits_ns = first.loss + cause.loss, first.waits_ns + cause.waits_ns
        first.processor_ns, first.in_mpi_ns = (
            first.processor_ns + cause.processor_ns,
            first.in_mpi_ns + cause.in_mpi_ns,
        )
    return sorted(found.values(), key=lambda cause: -cause.loss)


def _by_place(facts: RunFacts, causes: Iterable[_Cause], answers: MpiAnswers, places: _WaitPlaces) -> Iterator[_Cause]:
    """The causes with their kinds. Functions inside of a path that names none in which different culprits take longer
    are a cause each, if all ranks meet in the waits, or the culprits are few: many may pass work on from one to the
    next. A culprit that takes longer in none of them is left out."""
    for cause in causes:
        cause.kind = _kind(facts, cause, answers.delays)
        if cause.kind == "imbalance":
            cause.locations = _as_long(facts, cause, answers, places)
        if len(cause.locations) < 2 or not hides_code(facts.trace, answers.delays.paths, cause.path):
            yield cause
            continue
        least = _CULPRIT * sum(cause.delays_ns.values())
        names = facts.names(cause.path, answers.delays.paths)
        own = own_places(facts, names, {row: max(least, cause.delays_ns.get(row, 0)) for row in cause.locations})
        teams = by_place(own)
        if cause.kind == "imbalance" and len(teams) == 1:
            cause.locations = teams[0]
        few = len(cause.locations) <= _FEW * len(facts.in_mpi)
        apart = few or places.of_meetings(cause.waits_ns)
        in_parts = len(teams) > 1 and len(own) == len(cause.locations) and apart
        yield from _parts(cause, teams, own, answers.delays, places=places) if in_parts else [cause]


def _parts(
    cause: _Cause, teams: list[list[int]], own: dict[int, Place], delays: Table, *, places: _WaitPlaces
) -> Iterator[_Cause]:
    """The parts of a cause by team of culprits; the first one has the delays of other locations, too."""
    at, time = delays["location"][cause.rows], (delays["direct_ns"] + delays["indirect_ns"])[cause.rows]
    for number, team in enumerate(teams):
        mine = ~np.isin(at, cause.locations) if number == 0 else np.zeros(len(at), bool)
        mine |= np.isin(at, team)
        rows, loss = cause.rows[mine], round(cause.part * fsum(time[mine]))
        waits = cause.part * places.caused_waits(delays, rows)
        yield _Cause(cause.path, team, loss, waits, part=cause.part, rows=rows, kind="imbalance", place=own[team[0]])


def _as_long(facts: RunFacts, cause: _Cause, answers: MpiAnswers, places: _WaitPlaces) -> list[int]:
    """The culprits, and those that take as long in the path, but arrive a little earlier than these, so that nobody
    waits for them: they wait for the culprits. Ranks that meet in another communicator do not."""
    delays, waits = answers.delays, answers.waits
    spent = facts.spent_in(facts.paths_named(facts.names(cause.path, delays.paths)))
    masters = facts.in_mpi
    least = spent[masters].min()
    longest = spent[cause.locations].mean() - least
    culprits = {*cause.locations}
    here = cause.waits_ns[places.of_wait] >= _MOSTLY * cause.waits_ns.max()
    waiting = {*waits["location"][here & np.isin(waits["partner"], cause.locations)].tolist()}
    as_long = {row for row in masters if row in waiting and spent[row] - least >= _AS_LONG * longest > 0}
    found = culprits | as_long
    return sorted(found) if {*masters} - found else cause.locations


def _kind(facts: RunFacts, cause: _Cause, delays: Table) -> str:
    """The kind of finding about a cause."""
    if _is_io(facts, delays.paths, cause.path):
        return "io_by_few_ranks" if len(cause.locations) < len(facts.in_mpi) else "serialisation"
    everybody = not _without(facts.in_mpi, cause.locations)
    loss = cause.loss - cause.processor_ns
    in_turn = everybody or _excess(facts, facts.names(cause.path, delays.paths)) < _UNEVEN * loss
    return "serialisation" if in_turn else "imbalance"


def _is_io(facts: RunFacts, paths: Table, path: int) -> bool:
    return facts.path_class(path, paths) == IO


def _cause_finding(facts: RunFacts, answers: MpiAnswers, places: _WaitPlaces, cause: _Cause, *, rows: Array) -> Finding:
    """The finding for a cause. rows: the waits in the places of the cause's waits."""
    trace, delays = facts.trace, answers.delays
    names, is_io = facts.names(cause.path, delays.paths), _is_io(facts, delays.paths, cause.path)
    culprits = _who(facts, cause.locations)
    place, source = facts.call_text(delays.paths, cause.path), facts.source(cause.path, delays.paths)
    others = _without(facts.in_mpi, cause.locations) * (cause.kind == "imbalance")
    asleep: Place | None = cause.place
    if not (asleep or is_io):
        asleep = facts.inner_sleep(delays.paths, cause.path, cause.locations, others)
        if asleep and cause.kind == "serialisation" and hides_code(trace, delays.paths, cause.path):
            asleep = sleep_in_turn(facts, answers.call_waits(), names, cause.locations) or asleep
    for_thread = facts.for_thread[delays.paths["region"][cause.path]]  # samples show the caller of such a wait
    shown, select = asleep, f"region={names[-1]}" if names else ""
    if asleep:
        names, place, source = asleep.names, asleep.text, asleep.source
    elif (
        facts.sampled
        and not (is_io or for_thread or facts.path_class(cause.path, delays.paths) == MPI)
        and (sampled := facts.sampled.longer(names, cause.locations, others))
    ):
        shown, names, place, source = sampled, sampled.names, sampled.text, sampled.source
        select = f"region={names[-1]}"
        alike = {name for name in trace.regions["name"].tolist() if names[-1] in name}
        select = f"path=*{names[-1]}*" if alike == {names[-1]} else select  # with the time in functions that it calls
    where = place + callers_text(trace, delays.paths, cause.path) + _other_places_text(facts, delays.paths, cause)
    verb, longer = ("wait", f"longer for threads in {where}") if for_thread else ("take", f"longer in {where}")
    if not shown and others and (late := _late_threads(facts, delays.paths, cause, others)):
        verb, place = "wait", late
        longer = f"longer for threads{f' in {where}' * bool(for_thread)}, which take longer in {late},"
    changes = cause.kind == "serialisation" and _changes(facts, answers, places, cause, shown=shown)
    by_chance = _CROWDED if crowded_hosts(facts) else _BY_CHANCE
    text = f"the rank that {verb}s {longer} changes: "
    text = text if changes else _sentence(facts, delays.paths, cause, where, is_io=is_io, longer=(verb, longer))
    evidence: tuple[str, ...] = ("profile", "--by", "rank")
    if is_io:
        evidence = ("diagnose", "--about", "io")
    elif cause.kind == "serialisation":
        evidence = ("view", "--text")
    elif isinstance(asleep, SleepingCall):
        evidence = ("diagnose", "--about", "processor")
    elif select:
        evidence = (*evidence, "--select", re.sub(r"[,[]", "?", select))  # they separate and begin patterns
    locations = np.unique(answers.waits["location"][rows])
    for_these = answers.waits.take(rows[np.isin(answers.waits["partner"][rows], cause.locations)])
    return facts.finding(
        "imbalance" if changes else cause.kind, cause.loss, cause.path, delays.paths,
        locations=locations[~np.isin(locations, cause.locations)],
        text=text + _waits_text(facts, delays.paths, places, cause) + _order_text(facts, for_these),
        region=names[-1] if names else "", source=source,
        callpath=names, culprit=f"{culprits}, {place}", evidence=evidence,
        certainty=ESTIMATE if cause.kind == "serialisation" and not is_io else places.certainty(cause.waits_ns),
        processor_ns=cause.loss if changes and cause.processor_ns >= by_chance * cause.loss else cause.processor_ns,
    )  # fmt: skip


def _changes(facts: RunFacts, answers: MpiAnswers, places: _WaitPlaces, cause: _Cause, *, shown: Place | None) -> bool:
    """True if all ranks work at once in the place of a cause and then meet, but not always the same one takes longer.
    shown: the place outside of recorded calls."""
    masters, paths = facts.in_mpi, answers.delays.paths
    if not places.of_meetings(cause.waits_ns) or facts.path_class(cause.path, paths) in (IO, MPI):
        return False
    if names := facts.names(cause.path, paths):
        meets = facts.calls(facts.names(int(places.path[np.argmax(cause.waits_ns)]), paths))[masters].max()
        work = facts.work(names)[masters].sum() * bool(facts.calls(names)[masters].min() >= max(1, _EACH * meets))
    elif isinstance(shown, SleepingCall):
        work = facts.slept_in(shown, masters)
    else:
        work = shown.ns * len(masters) if shown and not is_unnamed(shown.names) else 0
    return bool(cause.loss <= _AT_ONCE * (len(masters) - 1) * work)


def _of_processor(facts: RunFacts, cause: _Cause, delays: Table, pool: WaitPool) -> int:
    """The part of a loss that waits for a processor in the cause's path explain: in an imbalance those that the
    culprits have more than the others, if these times are known, else all. Takes the path's waits."""
    if _is_io(facts, delays.paths, cause.path):
        return 0
    inside = facts.paths_named(facts.names(cause.path, delays.paths))
    found = cause.culprits_ns
    if cause.place:
        others, waited = _without(facts.in_mpi, cause.locations), pool.waited_in(inside)
        more = float(waited[cause.locations].mean() - waited[others].mean())
        found = min(cause.loss, round(max(0.0, more) * len(others)))
    elif cause.kind == "imbalance" and _are_selected(facts, cause.locations):
        others, spent = _without(facts.in_mpi, cause.locations), facts.spent_in(inside)
        cause.in_mpi_ns = _leave_out_equal(facts, cause, pool, spent=spent, usual=float(spent[others].mean()))
        cause.processor_ns += cause.in_mpi_ns
        found = facts.of_processor(
            cause.loss - cause.processor_ns, cause.locations, others, times=spent, waited=pool.waited_in(inside)
        )
    if found + cause.processor_ns:
        pool.take(inside, cause.locations if cause.place else facts.rows, inf)
    return min(cause.loss, cause.processor_ns + found)


def _of_cpu_time(facts: RunFacts, cause: _Cause, delays: Table) -> int:
    """The part of a loss that the CPU time of the culprits explains, however long they waited for processors: ns that
    they have more in the cause's path and below it, for each other rank. 0 where waits for a processor are unknown, or
    the difference is small."""
    names, others = facts.names(cause.path, delays.paths), _without(facts.in_mpi, cause.locations)
    if not others or not len(facts.processor_waits.location):
        return 0
    inside = facts.paths_named(names)
    if names:
        inside = outermost(facts.paths["parent"], inside) > 0
    spent = facts.work(names) - facts.waited_in(inside)
    slow = float(spent[cause.locations].mean())
    if slow - spent[others].mean() < _OF_CPU_TIME * slow:
        return 0
    return min(cause.loss, round(float(np.maximum(0, slow - spent[others]).sum())))


def _count_late_waits(cause: _Cause, late: list[Array]) -> None:
    """Counts the waits of a cause for ranks without a processor in MPI, and at work. late: shares ((places,)) of its
    waits."""
    in_mpi, at_work = (round(float((cause.waits_ns * shares).sum())) for shares in late)
    known = cause.processor_ns - cause.in_mpi_ns
    cause.processor_ns = min(cause.loss, max(cause.in_mpi_ns, in_mpi) + max(known, at_work))


def _leave_out_equal(facts: RunFacts, cause: _Cause, pool: WaitPool, *, spent: Array, usual: float) -> int:
    """Leaves out culprits that do not take longer in the path, unless none does: others wait for these since they had
    no processor at the end of the calls of MPI before. spent: (locations,) ns in the path; usual: of those that are no
    culprits. Returns the ns of their delays that such waits for a processor explain."""
    longer = [row for row in cause.locations if spent[row] > usual]
    equal = _without(cause.locations, longer) if longer else []
    cause.locations = _without(cause.locations, equal)
    waiting = len(facts.in_mpi) - 1
    return round(sum(pool.take_of_mpi(row, cause.delays_ns.get(row, 0) / waiting) * waiting for row in equal))


def _who(facts: RunFacts, locations: list[int]) -> str:
    """Locations in a sentence: ranks, or threads if others than the first thread of a rank call MPI."""
    masters = {*facts.masters.values()}
    return (
        ranks_text(facts.trace, locations) if masters.issuperset(locations) else locations_text(facts.trace, locations)
    )


def _without(locations: Iterable[int], left_out: Iterable[int]) -> list[int]:
    without = {*left_out}
    return [row for row in locations if row not in without]


def _order_text(facts: RunFacts, waits: Table) -> str:
    """Words about messages that arrive meanwhile, if many of these waits are for one message, in the wrong order."""
    names = np.append(facts.trace.regions["name"].astype(str), "")[waits.paths["region"][waits["path"]]]
    wrong = (waits["kind"] == waits.kinds.index("mpi_latesender_wo")) & np.isin(names, _OF_ONE_MESSAGE)
    mostly = int(waits["time_ns"][wrong].sum()) >= _WRONG * int(waits["time_ns"].sum()) > 0
    return ", while messages that were sent earlier arrive: receive in the order of sending" * mostly


def _others_do_io(facts: RunFacts, cause: _Cause) -> bool:
    """True if the processes that are no culprits do much of the I/O."""
    n = facts.numbers.take(facts.io[facts.numbers["path"]])
    theirs = n["exclusive"][~np.isin(n["location"], cause.locations)]
    return int(theirs.sum()) >= _CULPRIT * int(n["exclusive"].sum())


def _sentence(facts: RunFacts, paths: Table, cause: _Cause, place: str, *, is_io: bool, longer: tuple[str, str]) -> str:
    """The cause in words, for the loss behind them. longer: verb and object of the sentence about an imbalance."""
    culprits = _who(facts, cause.locations)
    if cause.kind == "imbalance":
        does = f"{longer[0]}{'s' * (len(cause.locations) == 1)} {longer[1]}"
        return f"{culprits} {does} than {_than(facts, paths, cause)}: "
    if cause.kind == "io_by_few_ranks":
        do = "does" if len(cause.locations) == 1 else "do"
        if _others_do_io(facts, cause):
            return f"{culprits} take{'s' * (do == 'does')} longer for I/O than the others, {place}, which wait: "
        return f"{culprits} {do} the I/O alone, {place}, while the others wait: "
    if is_io:
        return f"ranks wait for each other's I/O, {place}: "
    return f"ranks take turns instead of working at once: {place} delays the next rank, "


def _late_threads(facts: RunFacts, paths: Table, cause: _Cause, others: list[int]) -> str:
    """The function in which other threads of the culprits take longer than those of other processes, in a sentence, if
    the culprits wait for them in most of the additional time; "": unknown."""
    names, process = facts.names(cause.path, paths), facts.trace.places.process
    inside = facts.paths_named(names)
    if not facts.for_thread[paths["region"][cause.path]]:
        here = (facts.path_of_blocked >= 0) & inside[facts.path_of_blocked] & facts.asleep_for_thread
        ns = facts.blocked.within(facts.window.start, facts.window.stop) * here
        slept, spent = add_up(facts.blocked.location, ns, len(facts.times)), facts.spent_in(inside)
        more, longer = (float(of[cause.locations].mean() - of[others].mean()) for of in (slept, spent))
        if more < max(1, _MOSTLY * longer):
            return ""
    threads, theirs = (
        [row for row in facts.rows if row not in masters and process[row] in process[masters]]
        for masters in (cause.locations, others)
    )
    path = facts.longer_path(threads, theirs, resting=facts.asleep_for_thread) if threads and theirs else -1
    return facts.function_at(path, threads, theirs)[0] if path >= 0 else ""


def _than(facts: RunFacts, paths: Table, cause: _Cause) -> str:
    """The ranks that take less time in the place of an imbalance. Others may take as long: nobody waits for them."""
    spent = facts.spent_in(facts.paths_named(facts.names(cause.path, paths)))
    others = _without(facts.in_mpi, cause.locations)
    least = spent[others].min() if others else 0
    most = least + _AS_LONG * (spent[cause.locations].mean() - least)
    less = [row for row in others if spent[row] < most]
    return "the others" if cause.place or len(less) in (0, len(others)) else _who(facts, less)


def _other_places_text(facts: RunFacts, paths: Table, cause: _Cause) -> str:
    """Words about the other places of a cause: their names, or their number if there are many."""
    others = [facts.call_text(paths, path) for path in cause.more_paths]
    if len(others) > _LISTED:
        return f" and {len(others)} other places"
    return f" and {', '.join(others)}" if others else ""


def _waits_text(facts: RunFacts, paths: Table, places: _WaitPlaces, cause: _Cause) -> str:
    """Words about the waits of a cause, and the call with most of these waits."""
    text = f"{span(cause.loss)} of waiting"
    largest = int(np.argmax(cause.waits_ns))
    if places.path[largest] <= 0:
        return text
    share, place = cause.waits_ns[largest] / max(1, cause.loss), facts.call_text(paths, places.path[largest])
    return f"{text} in {place}" if share >= _NEARLY_ALL else f"{text}, {100 * share:.0f} % of it in {place}"


def _with_clock_doubt(finding: Finding, waits: Table, rows: Array, clocks: ClockBounds) -> Finding:
    """A finding about some waits. Gets a caveat if clocks may differ by more than some of the waits, and is an estimate
    if by more than most of them."""
    columns = (waits[name][rows] for name in ("location", "partner", "time_ns", "count"))
    share, line = clocks.doubt(*columns)
    if not line:
        return finding
    certainty = ESTIMATE if share > _MOSTLY and finding.certainty == EXACT else finding.certainty
    return replace(finding, certainty=certainty, caveats=(*finding.caveats, line))


def _excess(facts: RunFacts, names: tuple[str, ...]) -> int:
    """ns that the processes together would wait if all met after each did all its calls of a path: the sum of the
    differences to the longest. Time in which a process waits for its own threads counts, since others wait for it."""
    times = facts.work(names)[facts.in_mpi]
    return int((times.max() - times).sum())


_WORDS = {
    "mpi_latesender": "{place} waits {loss} for messages that are sent late",
    "mpi_latesender_wo": "{place} waits {loss} for messages while others arrive in another order",
    "mpi_latereceiver": "{place} waits up to {loss} for receivers that are late",
    "mpi_barrier_wait": "ranks wait {loss} in {place} for the last one",
    "mpi_wait_nxn": "ranks wait {loss} in {place} for the last one",
    "mpi_latebroadcast": "ranks wait {loss} in {place} for its root",
    "mpi_earlyreduce": "the root waits {loss} in {place} for the last of the others",
    "mpi_rma_lock_competition": "{place} waits {loss} for a lock that another process holds",
    "mpi_earlyscan": "ranks wait {loss} in {place} for the ranks before them",
}

_ESTIMATES = ("mpi_rma_lock_competition",)
"""Kinds whose times are lower bounds."""
_WITHOUT_CAUSE = ("_completion", *_ESTIMATES)
"""Endings of the names of kinds of waits that delays do not explain."""


@dataclass(frozen=True, kw_only=True)
class _OtherWait:
    """Waits of one kind and call path. rows: of the table of waits. partners: locations that are waited for. longer:
    the call path of facts in which these take longer; -1: unknown."""

    finding: Finding
    rows: Array
    partners: list[int]
    waiting: list[int]
    longer: int


def _other_waits(facts: RunFacts, waits: Table, places: _WaitPlaces, explained_ns: Array) -> Iterator[_OtherWait]:
    """Waits that no reported delay explains, by kind and call path. explained_ns: (places,) of the other waits."""
    first, member = group([waits["kind"], waits["path"]])
    sums = add_up(member, waits["time_ns"], len(first))
    for number in range(len(first)):
        rows = np.flatnonzero(member == number)
        kind, path = str(waits.kinds[waits["kind"][first[number]]]), int(waits["path"][first[number]])
        at = places.of_wait[first[number]]
        explained = min(explained_ns[at], sums[number])
        explained_ns[at] -= explained
        left = round(sums[number] - explained)
        if left > 0 and not kind.endswith("_completion"):
            yield _other_wait(facts, waits, rows, kind, path=path, loss=left)


def _other_wait(facts: RunFacts, waits: Table, rows: Array, kind: str, *, path: int, loss: int) -> _OtherWait:
    place = facts.call_text(waits.paths, path)
    words = _WORDS.get(kind, f"{{place}} waits {{loss}} ({kind})")
    partners = [row for row in np.unique(waits["partner"][rows]).tolist() if row >= 0]
    certainty = BOUND if kind in waits.bounds else ESTIMATE if kind in _ESTIMATES else EXACT
    culprit = _who(facts, partners) if partners else ""
    text = words.format(place=place, loss=span(loss))
    waiting = np.unique(waits["location"][rows]).tolist()
    late, apart = kind == "mpi_latereceiver", not {*partners} & {*waiting}
    longer = facts.longer_path(partners, waiting) if partners and (late or apart) else -1
    if late and longer >= 0:
        where = facts.longer_place(partners, waiting)
        text += f": {culprit} take{'s' * (len(partners) == 1)} longer in {where}"
        culprit += f", {where}"
    finding = facts.finding(
        "mpi_wait", loss, path, waits.paths, locations=waits["location"][rows], text=text, culprit=culprit,
        certainty=certainty, evidence=("diagnose", "--about", "waits"),
    )  # fmt: skip
    return _OtherWait(finding=finding, rows=rows, partners=partners, waiting=waiting, longer=longer)


def _of_partners(facts: RunFacts, others: list[_OtherWait], pool: WaitPool) -> list[int]:
    """The parts of these losses that waits for a processor explain: those of the partners, where the partners take
    longer, or anywhere in work if this place is unknown. The largest loss takes its waits first."""
    found = [0] * len(others)
    for number in sorted(range(len(others)), key=lambda number: -others[number].finding.loss_ns):
        one = others[number]
        paths = np.arange(facts.paths.rows) == one.longer if one.longer >= 0 else ~facts.waiting
        waited, partners, loss = pool.waited_in(paths), one.partners or facts.rows, one.finding.loss_ns
        if one.longer >= 0:
            times = facts.spent_in(paths)
            found[number] = facts.of_processor(loss, partners, one.waiting, times=times, waited=waited)
            pool.take(paths, partners, found[number] / len(one.waiting) * len(partners))
        else:
            found[number] = min(loss, round(waited[partners].sum()))
            pool.take(paths, partners, found[number])
    return found


@rule(
    FindingKind(
        "transfer",
        "time that messages and collective operations themselves take",
        about=("waits",),
        of_ranks=True,
        action="send fewer and larger messages, or work while they are under way",
    )
)
def transfer(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The time of messages and collective operations themselves, from the replay in which transfers take no time."""
    if not diagnosis.mpi:
        return
    facts, answers, one = diagnosis.facts, diagnosis.mpi, diagnosis.mpi.efficiencies
    if not one.rows or not np.isfinite(one["transfer"][0]):
        return
    mpi = np.where((CLASS_OF[facts.activity] == MPI) & ~facts.io, facts.exclusive(facts.rows), 0)  # io_time has MPI-IO
    start_and_end = int(mpi[facts.management].sum())
    mpi[facts.management] = 0
    loss = int(one["elapsed_ns"][0] - one["ideal_ns"][0]) * max(1, int(one["processes"][0])) - start_and_end
    sure = [n for n, kind in enumerate(answers.waits.kinds) if not str(kind).endswith("_completion")]
    waiting = int(answers.waits["time_ns"][np.isin(answers.waits["kind"], sure)].sum())
    without_processor, _ = waited_in_mpi(facts, answers.waits)
    loss = min(loss, int(mpi.sum()) - waiting) - round(without_processor[facts.rows].sum())
    if loss <= 0:
        return
    path = int(np.argmax(mpi))
    doubts = tuple(_not_transfer(facts, answers.waits))
    ends = _both_ends_text(facts, path, mpi > 0)
    text = f"messages and collective operations themselves take {span(loss)}, most MPI time is in {ends}"
    yield facts.finding(
        "transfer", loss, path, locations=facts.rows, text=text, certainty=BOUND if doubts else ESTIMATE,
        caveats=doubts,
        evidence=("summary", "--only", "messages", "--only", "collectives"),
    )  # fmt: skip


def _both_ends_text(facts: RunFacts, path: int, is_mpi: Array) -> str:
    """The call path with most MPI time, and the one in which other processes spend most of theirs, as the sender that
    sends to all others does. is_mpi: (paths,) bool."""
    text = facts.call_text(facts.paths, path)
    numbers = facts.numbers.take(is_mpi[facts.numbers["path"]] & np.isin(facts.numbers["location"], facts.rows))
    locations, paths, times = numbers["location"], numbers["path"], numbers["exclusive"]
    here = add_up(locations[paths == path], times[paths == path], len(facts.times))
    elsewhere = (paths != path) & (times > 2 * here[locations]) & (2 * times > here.max())
    longer = (paths != path) & (times > here[locations])
    most = np.setdiff1d(np.flatnonzero(here), locations[longer]).tolist()
    if not most or not np.any(elsewhere):
        return text
    other = int(np.argmax(add_up(paths[elsewhere], times[elsewhere], facts.paths.rows)))
    there = locations[elsewhere & (paths == other)].tolist()
    text = f"{text} on {ranks_text(facts.trace, most)} and in {facts.call_text(facts.paths, other)}"
    return f"{text} on {ranks_text(facts.trace, there)}"


def _not_transfer(facts: RunFacts, waits: Table) -> Iterator[str]:
    """Lines about calls with unknown waits, which count as transfer."""
    if unfinished := died(facts.trace):
        yield f"{unfinished}: waits in calls that did not end count as transfer"
    counts = waits.notes["counts"]
    if counts["unmatched_sends"] or counts["unmatched_receives"] or counts["unmatched_collectives"]:
        yield "waits in calls without a partner count as transfer"
