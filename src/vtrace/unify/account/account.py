# SPDX-License-Identifier: BSD-3-Clause
"""Accounting, the last phase of unifying: writes the completeness of each location to the archive and the sidecar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vtrace.io.archive.definitions import plain_text
from vtrace.io.archive.overview import ANCHOR
from vtrace.io.archive.writer import Archive, Definitions, Marker
from vtrace.io.common.arrays import Array
from vtrace.io.local.repair_kernel import Repaired
from vtrace.io.sidecar import profile_columns, sidecar
from vtrace.io.sidecar.sidecar import SidecarTable
from vtrace.unify.account.archive_texts import counts, markers, properties, warnings
from vtrace.unify.account.clock_facts import accuracy, clock_table
from vtrace.unify.account.coverage import CoverageRow, ends_of, location_properties, row_of
from vtrace.unify.account.facts import first_of, of_sums, own_facts, sample_sums
from vtrace.unify.account.ledger_intervals import table
from vtrace.unify.clocks.clocks import Clocks
from vtrace.unify.merge.merge import Merged
from vtrace.unify.model.context import Context
from vtrace.unify.model.process import HEAP, Run
from vtrace.unify.model.profiles import PROFILE
from vtrace.unify.reading.reading import Reading
from vtrace.unify.writing.writing import Results

_OF_WAITS = ("from", "to", "ns", "region", "count", "path")


@dataclass(frozen=True)
class Account:
    """The account of the archive: recorded and lost events. Empty on all ranks but rank 0."""

    rows: Sequence[CoverageRow]
    """A row for each location, in their order."""
    counts: Counter[str]
    """Events of each kind."""
    markers: Sequence[Marker]
    """Remarks for viewers."""
    warnings: Sequence[str]


def account(
    run: Run, reading: Reading, clocks: Clocks, repaired: Repaired | None, *, merged: Merged, results: Results,
    context: Context,
) -> Account:  # fmt: skip
    """Collects the results of all locations on rank 0, and completes the archive's definitions there. All ranks call
    account."""
    ranks = context.ranks
    first = first_of(ranks.gather(own_facts(run.processes)))
    rows = [*ranks.gather(_rows(run, results)).values()]
    samples = of_sums(reading.samples, ranks.total(sample_sums(run.processes)))
    if ranks.root:
        _complete(merged.definitions, rows)
        agreement = accuracy(clocks.clocks, repaired)
        merged.definitions.properties = properties(
            run, first, reading=reading, rows=rows, clocks=agreement, samples=samples, definitions=merged.definitions
        )
    return Account(rows, counts(rows), markers(rows), [*warnings(rows, reading.incomplete, samples["lost"])])


def write_tables(archive: Archive, definitions: Definitions, rows: Sequence[CoverageRow], clocks: Clocks) -> None:
    """Writes the sidecar's tables: intervals without recording, with reasons; clocks; waits for a processor;
    times asleep; places of long calls. Only rank 0 calls this function."""
    identity = identity_of(archive, definitions)
    sidecar.write(archive.directory, *sidecar.COVERAGE, identity, table(definitions, rows))
    sidecar.write(archive.directory, *sidecar.CLOCKS, identity, clock_table(clocks))
    if any(len(row.waits) for row in rows):
        sidecar.write(archive.directory, *sidecar.WAITS, identity, waits_table(rows))
    if any(len(row.blocked) for row in rows):
        sidecar.write(archive.directory, *sidecar.BLOCKED, identity, blocked_table(rows))
    if any(row.calls for row in rows):
        sidecar.write(archive.directory, *sidecar.LONG_CALLS, identity, long_calls_table(rows))
    if any(row.profile is not None for row in rows):
        sidecar.write(archive.directory, *sidecar.PROFILE, identity, profile_table([(r.id, r.profile) for r in rows]))
    if any(row.counted is not None for row in rows):
        sidecar.write(archive.directory, *sidecar.COUNTED, identity, profile_table([(r.id, r.counted) for r in rows]))


def waits_table(rows: Sequence[CoverageRow]) -> SidecarTable:
    """Returns the waits of threads for a processor, in ns of the archive, by location and begin."""
    return SidecarTable(_columns([(row.id, row.waits) for row in rows], _OF_WAITS))


def blocked_table(rows: Sequence[CoverageRow]) -> SidecarTable:
    """Returns the times in which threads slept, as waits_table; site: the number of a text, of the call that slept."""
    texts = sorted({text for row in rows for text in row.sites.values()} | {""})
    number = {text: at for at, text in enumerate(texts)}
    found = []
    for row in rows:
        blocked = row.blocked.copy()
        of = np.array([number[row.sites.get(site, "")] for site in np.unique(blocked["site"]).tolist()], np.uint64)
        blocked["site"] = of[np.unique(blocked["site"], return_inverse=True)[1]] if len(blocked) else 0
        found.append((row.id, blocked))
    return SidecarTable(_columns(found, (*_OF_WAITS, "site")), {"site": texts})


def long_calls_table(rows: Sequence[CoverageRow]) -> SidecarTable:
    """Returns the long calls of locations by region and place; site: the number of a text."""
    texts = sorted({call.site for row in rows for call in row.calls})
    number = {text: at for at, text in enumerate(texts)}
    found = sorted((row.id, call.region, number[call.site], call.calls, call.ns) for row in rows for call in row.calls)
    columns = zip(("location", "region", "site", "count", "ns"), zip(*found, strict=True), strict=True)
    return SidecarTable({name: np.array(values, "<u8") for name, values in columns}, {"site": texts})


def profile_table(profiles: Sequence[tuple[int, Array | None]]) -> SidecarTable:
    """Returns the call paths of locations (model/profiles.py)."""
    found = [(id, profile) for id, profile in profiles if profile is not None]
    return SidecarTable(profile_columns.stored(_columns(found, PROFILE.names or ())))


def _columns(found: Sequence[tuple[int, Array]], names: Sequence[str]) -> dict[str, Array]:
    """Columns of the waits of locations, by location."""
    found = sorted(((id, waits) for id, waits in found if len(waits)), key=lambda one: one[0])
    ids = np.repeat(np.array([id for id, _ in found], "<u8"), [len(waits) for _, waits in found])
    return {"location": ids} | {name: np.concatenate([waits[name] for _, waits in found]) for name in names}


def identity_of(archive: Archive, definitions: Definitions) -> str:
    """Returns the identity of a finished archive. Only rank 0 calls this function."""
    texts = {name: plain_text(text) for name, text in definitions.properties.items()}
    return sidecar.identity(archive.directory / ANCHOR, texts)


def _rows(run: Run, results: Results) -> dict[int, CoverageRow]:
    """Returns the rows of this rank's processes, by OTF2's id of the location."""
    found: dict[int, CoverageRow] = {}
    for process in run.processes:
        heap = {HEAP: process.place.heap} if process.place.heap is not None else {}
        ids = process.locations | heap
        found |= {id: row_of(id, process, number, results[id]) for number, id in ids.items()}
    return found


def _complete(definitions: Definitions, rows: Sequence[CoverageRow]) -> None:
    """Adds facts to the definitions that are known after all events are written: times, and counts of locations."""
    definitions.offset, last = ends_of(rows)
    definitions.length = last - definitions.offset
    definitions.realtime += definitions.offset
    if not any(row.result.unmapped for row in rows if row.result):
        definitions.regions.pop()  # the last region, for unknown ones: no event refers to it
    for row in rows:
        location = definitions.locations[row.id]
        location.events = row.result.events if row.result else 0
        location.properties |= location_properties(row)
