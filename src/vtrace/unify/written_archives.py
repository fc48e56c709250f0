# SPDX-License-Identifier: BSD-3-Clause
"""Writes the archive and its account, and inside it, for samples that are to be apart, the archive with samples."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from vtrace.io.archive.writer import Archive
from vtrace.io.common.names import BY_RUN
from vtrace.io.local.repair_kernel import Repaired
from vtrace.io.local.starts import Starts
from vtrace.io.sidecar.samples_archive import IN, OF, place, placed
from vtrace.unify.account.account import Account, account, identity_of, write_tables
from vtrace.unify.clocks.clocks import Clocks
from vtrace.unify.discover.discover import Discovered
from vtrace.unify.merge.merge import Merged
from vtrace.unify.model.context import Context
from vtrace.unify.reading.reading import Reading
from vtrace.unify.writing.expected import expected_archive
from vtrace.unify.writing.packing import pack
from vtrace.unify.writing.writing import EventListener, write_events


class Prepared(NamedTuple):
    """The results of the phases before writing."""

    found: Discovered
    reading: Reading
    clocks: Clocks
    merged: Merged
    repaired: Repaired | None


def write_archives(
    prepared: Prepared, archive: Archive, listen: Callable[[Path], EventListener] | None, context: Context
) -> Account:
    """Writes the events of all locations, the definitions and the account; all ranks call write_archives. listen: as of
    vtrace.unify.run.unify."""
    merged, ranks, properties, whole = prepared.merged, context.ranks, dict[str, str](), archive
    accounted = None
    starts = dict[int, Starts]() if context.request.packed else None
    if prepared.reading.are_apart:
        rest = merged.without_samples()
        unused = None if starts is None else dict[int, Starts]()
        accounted = _write(prepared, rest, archive=archive, properties=placed(IN), context=context, starts=unused)
        properties = placed(OF, ranks.first(lambda: identity_of(archive, rest.definitions)))
        whole = Archive(place(archive.directory), ranks, has_events=starts is None)
    listener = _listener(prepared, archive, listen, context) if listen else None
    written = _write(
        prepared, merged, archive=whole, properties=properties, context=context, listener=listener, starts=starts
    )
    if context.request.by_run:
        ranks.first(lambda: _mark(archive))
    if extend := context.request.extend:
        ranks.first(lambda: extend(archive.directory))
    if starts is not None:
        run, heap_class = prepared.found.run, merged.heap_class
        pack(run, starts, archive.directory, heap_class=heap_class, samples=merged.samples, ranks=ranks)
    return accounted or written


def _mark(archive: Archive) -> None:
    with suppress(OSError):  # then the next run does not replace the archive
        (archive.directory / BY_RUN).touch()


def _listener(
    prepared: Prepared, archive: Archive, listen: Callable[[Path], EventListener], context: Context
) -> EventListener:
    run, definitions = prepared.found.run, prepared.merged.definitions
    with expected_archive(
        archive.directory, definitions, run=run, kernel=context.kernel, ranks=context.ranks
    ) as anchor:
        return context.ranks.together(partial(listen, anchor))


def _write(
    prepared: Prepared, merged: Merged, archive: Archive, properties: dict[str, str], *, context: Context,
    listener: EventListener | None = None, starts: dict[int, Starts] | None = None,
) -> Account:  # fmt: skip
    """properties: further ones of the archive."""
    run, crew = prepared.found.run, prepared.found.crew
    results = write_events(
        run,
        crew,
        archive=archive,
        heap_class=merged.heap_class,
        with_samples=merged.samples,
        context=context,
        listener=listener,
        starts=starts,
    )
    if listener:
        listener.end(context.ranks)
    made = account(
        run,
        prepared.reading,
        clocks=prepared.clocks,
        repaired=prepared.repaired,
        merged=merged,
        results=results,
        context=context,
    )
    merged.definitions.properties |= properties
    archive.finish(merged.definitions, made.markers)
    context.ranks.first(lambda: write_tables(archive, merged.definitions, made.rows, prepared.clocks))
    return made
