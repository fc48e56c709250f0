# SPDX-License-Identifier: BSD-3-Clause
"""Texts about recorded and lost events: the archive's properties and markers, and warnings."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from vtrace import __version__
from vtrace.console import ranges, some
from vtrace.io.archive.overview import PROPERTY
from vtrace.io.archive.writer import Definitions, Marker
from vtrace.io.local.records import CLOCK_CNTVCT, CLOCK_NANOSECONDS, CLOCK_TSC
from vtrace.reasons import LOSSES, SMALL_DISK, THINNED
from vtrace.unify.account.coverage import CoverageRow, calls_of, ends_of, shortfalls, sums, untimed
from vtrace.unify.account.facts import Facts, settings_of
from vtrace.unify.merge.system import shortened
from vtrace.unify.model.missing_records import FILE
from vtrace.unify.model.process import Run
from vtrace.unify.reading.incomplete_processes import IncompleteProcess, by_signal, labels
from vtrace.unify.reading.reading import Reading

CLOCK_NAMES = {CLOCK_TSC: "rdtsc", CLOCK_CNTVCT: "cntvct_el0", CLOCK_NANOSECONDS: "CLOCK_MONOTONIC_RAW"}


def counts(rows: Sequence[CoverageRow]) -> Counter[str]:
    """Returns the number of events of each kind in the archive."""
    total: Counter[str] = Counter()
    for row in rows:
        if row.result:
            total.update(row.result.counts)
    return Counter({kind: n for kind, n in sorted(total.items()) if n})


def properties(
    run: Run, first: Facts, reading: Reading, rows: Sequence[CoverageRow], *, clocks: dict[str, Any],
    samples: dict[str, Any], definitions: Definitions,
) -> dict[str, str]:  # fmt: skip
    """Returns the archive's properties as JSON texts: user, command, time, settings, and sums over all locations.
    clocks: result of accuracy; samples: of facts.of_sums."""
    known = first.properties
    about = {
        "command": shortened(known.get("command", [])),
        "executable": known.get("executable", ""),
        "directory": known.get("directory", ""),
        "user": first.owner,
        "run": run.id.hex(),
        "prefix": run.prefix.name,
        "recorded_by": first.tool,
        "unified_by": f"vtrace {__version__}",
        "unified_on": platform.node(),
        "clock": CLOCK_NAMES.get(first.clock, "unknown"),
        "start": first.start,
        "ranks": run.ranks if first.world else 0,
        "processes": run.count,
        "missing_ranks": ranges(run.missing),
    }
    about |= {key: value for key, value in known.items() if key.startswith("shim.")}
    missing = [*([reading.separate] if reading.separate else []), *shortfalls(run.missing, reading.incomplete, rows)]
    no_interval = untimed(reading.separate, reading.incomplete)
    coverage = {"complete": not missing, "shortfalls": missing, "untimed": no_interval} | sums(rows)
    values: dict[str, Any] = {
        "ABOUT": about,
        "SETTINGS": settings_of(known),
        "EVENTS": dict(counts(rows)),
        "COVERAGE": coverage,
    }
    values["CLOCKS"] = clocks
    if (calls := calls_of(row.profile for row in rows)) is not None:
        values["PROFILE"] = {"calls": calls}
    if (calls := calls_of(row.counted for row in rows)) is not None:
        values["COUNTED"] = {"calls": calls}
    if names := sorted({name for row in rows for name in row.left_out_names}):
        values["LEFT_OUT"] = {"functions": names}
    iterations, left_out = (sum(row.iterations[part] for row in rows) for part in (0, 1))
    if iterations:
        values["ITERATIONS"] = {"all": iterations, "left_out": left_out}
    if reading.samples:
        values["SAMPLES"] = samples
    if definitions.loops:
        values["LOOPS"] = list(definitions.loops)
    if definitions.inlined:
        values["INLINED"] = list(definitions.inlined)
    if of_user := _user_properties(rows):
        values["USER"] = of_user
    return {PROPERTY + name: json.dumps(value) for name, value in values.items()}


def markers(rows: Sequence[CoverageRow]) -> list[Marker]:
    """Returns markers for viewers at the times where recording stopped before the end or began late."""
    found: list[Marker] = []
    begin, end = ends_of(rows)
    for row in rows:
        found += row.markers
        if row.result and row.result.limit_ns is not None:
            why = f"{row.setting} reached" if "=" in row.setting else row.setting
            lost = "an unknown number of events" if row.unknown else some(row.lost, "event")
            text = f"vtrace: recording stopped, {why}: {lost} missing"
            found.append(Marker(row.result.limit_ns, "recording stopped", text, row.id))
        if row.result and row.result.dropped:
            since = max(row.result.dropped_ns, begin)  # the first event may come later
            text = f"vtrace: ring: {some(row.result.dropped, 'record')} before {(since - begin) / 1e9:.6f} s dropped"
            found.append(Marker(since, "recording begins", text, row.id))
        for gap in row.gaps:
            if gap.reason.startswith(THINNED):
                text = f"vtrace: calls below {gap.reason.removeprefix(THINNED)} are only counted (VT_BUDGET)"
                found.append(Marker(min(max(gap.begin, begin), end), "fewer calls recorded", text, row.id))
        if row.number == 0 and row.died:
            text = f"{row.label} ended without completing its files"
            last = min(max(row.result.last_ns if row.result else 0, begin), end)
            found.append(Marker(last, "process ended early", text, row.id))
    return sorted(found, key=lambda marker: (marker.time, marker.location))


_KEEPS = {loss.stop: loss.keeps for loss in LOSSES.values() if loss.keeps}


def warnings(rows: Sequence[CoverageRow], incomplete: Sequence[IncompleteProcess], lost_samples: int) -> Iterator[str]:
    """Yields a line for each kind of loss or inconsistency."""
    results = [row.result for row in rows if row.result]
    limited = [row for row in rows if row.result and row.result.limit_ns is not None]
    for setting in sorted({row.setting for row in limited}):
        stopped = [row for row in limited if row.setting == setting]
        lost = sum(row.lost for row in stopped)
        by_space = setting.endswith("(from the free space)")
        keeps = SMALL_DISK.keeps if by_space else _KEEPS.get(setting.partition("=")[0], "")
        hint = f" ({keeps})" if keeps else ""
        uncounted = any(row.unknown for row in stopped)
        what = "an unknown number of events are" if uncounted else f"{some(lost, 'event')} {_verb(lost, 'is', 'are')}"
        yield f"recording stopped on {_locations(stopped)} at {setting}: {what} missing{hint}"
    yield from _early_ends(incomplete)
    ids = {row.id for row in limited}
    unrecorded = {row.id: lost for row in rows if row.id not in ids and (lost := row.lost - row.lost_by.get(FILE, 0))}
    if unrecorded:
        where = _locations([row for row in rows if row.id in unrecorded])
        count = sum(unrecorded.values())
        yield f"{some(count, 'event')} {_verb(count, 'was', 'were')} not recorded on {where}"
    if unknown := [row for row in rows if row.unknown and not row.missing]:
        where = _locations(unknown)
        yield f"an unknown number of events were not recorded on {where}: no process was left to count them"
    clamped = sum(row.clamped for row in rows)
    if clamped:
        moved = f"{_verb(clamped, 'was', 'were')} set to the previous time"
        yield f"{some(clamped, 'time')} would have gone backwards and {moved}"
    unmapped, stray = sum(r.unmapped for r in results), sum(r.stray_leaves for r in results)
    if unmapped:
        what = f"{some(unmapped, 'event')} {_verb(unmapped, 'refers', 'refer')} to undefined objects"
        yield f"{what}: UNKNOWN in the archive, or left out"
    if stray:
        what = some(stray, "leave without an enter", "leaves without an enter")
        yield f"{what} {_verb(stray, 'was', 'were')} left out"
    if lost_samples:
        yield f"{some(lost_samples, 'sample')} {_verb(lost_samples, 'was', 'were')} not recorded, or overwritten"
    yield from _user_warnings(rows)


def _early_ends(incomplete: Sequence[IncompleteProcess]) -> Iterator[str]:
    dead = [process for process in incomplete if process.died and not process.buffer_unseen]
    there = [process for process in dead if process.head.buffer or process.head.unbuffered]
    read = [process for process in there if not process.in_memory]
    partial = [process for process in there if process.in_memory]
    hidden = [process for process in incomplete if process.buffer_unseen]
    memory = [process for process in dead if process not in there]
    for those, what in (
        (read, "the archive has the events recorded until then"),
        (
            partial,
            "a part of the buffers was memory, so the archive has the events of each thread until the first lost one",
        ),
        (hidden, "the buffers were not read, so events are missing"),
        (memory, "the buffers were memory, so the last events are lost"),
    ):
        for name, each in by_signal(those):
            yield f"{labels(each)}{f', ended by {name},' * bool(name)} did not complete the files: {what}"


def _locations(rows: Sequence[CoverageRow]) -> str:
    if len(rows) == 1:
        return rows[0].label + (f" thread {rows[0].number}" if rows[0].number else "")
    return some(len(rows), "location")


def _verb(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def _user_properties(rows: Sequence[CoverageRow]) -> dict[str, Any]:
    """Returns comments of the user API on the run, and counts of its unpaired calls that are not 0."""
    comments = list(dict.fromkeys(note for row in rows for note in row.notes))
    found: dict[str, Any] = {"comments": comments} if comments else {}
    return found | {word: n for word, n in _unpaired_calls(rows).items() if n}


def _unpaired_calls(rows: Sequence[CoverageRow]) -> dict[str, int]:
    """Counts unpaired calls of the user API, of locations without losses."""
    whole = [row.result for row in rows if row.result and not row.lost and not row.died]
    unmatched = sum(row.result.unmatched for row in rows if row.result)
    return {"unended": sum(r.unended for r in whole), "unbegun": sum(r.unbegun for r in whole), "unmatched": unmatched}


def _user_warnings(rows: Sequence[CoverageRow]) -> Iterator[str]:
    """Yields a text for each kind of unpaired calls of the user API."""
    found = _unpaired_calls(rows)
    if n := found["unended"]:
        what = "region was begun" if n == 1 else "regions were begun"
        yield (
            f"{n:,} {what} by the user API and not ended (VT_USER_START without VT_USER_END): ended with the region "
            "around it"
        )
    if n := found["unbegun"]:
        what = "region was ended" if n == 1 else "regions were ended"
        yield f"{n:,} {what} by the user API and not begun (VT_USER_END without VT_USER_START): left out"
    if n := found["unmatched"]:
        what = "message of the user API has" if n == 1 else "messages of the user API have"
        yield f"{n:,} {what} no other end with the same communicator and tag: left out"
