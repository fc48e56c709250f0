# SPDX-License-Identifier: BSD-3-Clause
"""Unifying: turns the local files of a run into one archive. Calls the phases in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from vtrace.console import Console
from vtrace.parallel.ranks import ALONE, Ranks
from vtrace.unify.account.account import Account
from vtrace.unify.clean_up import clean_up
from vtrace.unify.clocks.clocks import align_clocks
from vtrace.unify.clocks.repair import repair
from vtrace.unify.discover.discover import discover
from vtrace.unify.merge.merge import Merged, merge
from vtrace.unify.model.context import Context, Request
from vtrace.unify.model.file_owners import users_of
from vtrace.unify.reading.reading import read_definitions
from vtrace.unify.writing.output import Output
from vtrace.unify.writing.writing import EventListener
from vtrace.unify.written_archives import Prepared, write_archives

__all__ = ["EventListener", "Request", "WrittenArchive", "unify"]


class WrittenArchive(NamedTuple):
    """The finished archive. Only rank 0 has the counts. seconds: from the first to the last event or marker."""

    archive: Path
    ranks: int
    processes: int
    locations: int
    events: int
    messages: int
    collectives: int
    seconds: float


def unify(
    request: Request, console: Console, ranks: Ranks = ALONE, listen: Callable[[Path], EventListener] | None = None
) -> WrittenArchive:
    """Unifies the newest run under a prefix; all ranks call unify. Returns the archive.

    listen: gets the anchor file of an archive that has only the expected definitions, and gives a listener for the
    events; not called for an archive with samples inside another one. Raises VtraceError; then no file is changed. Only
    rank 0 prints messages and has all definitions.
    """
    context = Context(request, console, ranks)
    found = discover(context)
    run = found.run
    reading = read_definitions(run, found.crew, context)
    clocks = align_clocks(run, context)
    merged = merge(run, clocks.zero, reading.samples, context)
    with Output(found.archive, ranks, request.last) as out:
        for text in out.others:
            console.warn(text)
        repaired = repair(run, clocks, definitions=merged.definitions, near=out.archive.directory, context=context)
        accounted = write_archives(
            Prepared(found, reading, clocks=clocks, merged=merged, repaired=repaired), out.archive, listen, context
        )
        out.publish()
    for text in accounted.warnings:
        console.warn(text)
    owners = ranks.first(lambda: users_of(found.archive))
    clean_up(run, owners, [*found.keep_reasons, *reading.keep_reasons], context)
    return _written(found.archive, merged, accounted, run.count)


def _written(archive: Path, merged: Merged, accounted: Account, processes: int) -> WrittenArchive:
    counts, definitions = accounted.counts, merged.definitions
    return WrittenArchive(
        archive=archive,
        ranks=merged.mpi,
        processes=processes,
        locations=len(accounted.rows),
        events=sum(counts.values()),
        messages=counts["MpiSend"] + counts["MpiIsend"],
        collectives=counts["MpiCollectiveEnd"] + counts["NonBlockingCollectiveComplete"],
        seconds=definitions.length / definitions.resolution,
    )
