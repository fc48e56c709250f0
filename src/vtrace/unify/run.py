# SPDX-License-Identifier: BSD-3-Clause
"""Unifying: turns the local files of a run into one archive. Calls the phases in order; removes the local files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from vtrace.console import QUIET, Console, few_names
from vtrace.parallel.ranks import ALONE, Ranks
from vtrace.unify.account.account import Account
from vtrace.unify.account.coverage import calls_of
from vtrace.unify.clocks.clocks import align_clocks
from vtrace.unify.clocks.repair import repair
from vtrace.unify.discover.discover import discover
from vtrace.unify.merge.merge import Merged, merge
from vtrace.unify.model.context import Context, Request
from vtrace.unify.model.file_owners import of_others, owners_text, users_of
from vtrace.unify.model.process import Run
from vtrace.unify.reading.reading import read_definitions
from vtrace.unify.writing.output import Output
from vtrace.unify.writing.writing import EventListener
from vtrace.unify.written_archives import Prepared, write_archives

__all__ = ["EventListener", "Request", "WrittenArchive", "unify"]


class WrittenArchive(NamedTuple):
    """The finished archive. Only rank 0 has the counts. seconds: from the first to the last event or marker. calls: in
    the profile of a run with VT_MODE=PROFILE; None: it is no such run. counted: calls that are only counted, with
    VT_BUDGET or VT_KEEP. left_out: the most functions that a process has left out, with VT_BUDGET. last: the
    archive of the last events of a profile, with VT_TRIGGER."""

    archive: Path
    ranks: int
    processes: int
    locations: int
    events: int
    messages: int
    collectives: int
    seconds: float
    calls: int | None = None
    counted: int | None = None
    left_out: int = 0
    last: Path | None = None


def unify(
    request: Request, console: Console, ranks: Ranks = ALONE, listen: Callable[[Path], EventListener] | None = None
) -> WrittenArchive:
    """Unifies the newest run under a prefix; all ranks call unify. Returns the archive.

    listen: gets the anchor file of an archive that has only the expected definitions, and gives a listener for the
    events, of two archives those with samples. Raises VtraceError; then no file is changed. Only rank 0 prints messages
    and has all definitions.
    """
    context = Context(request, console, ranks)
    found = discover(context)
    run = found.run
    for process in run.processes:
        process.last_events = request.last_events
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
    last = _unify_last(run, found.archive, context)
    _clean_up(run, owners, [*found.keep_reasons, *reading.keep_reasons], context)
    return _written(found.archive, merged, accounted, run.count)._replace(last=last)


def _unify_last(run: Run, archive: Path, context: Context) -> Path | None:
    """Unifies the last events of a profile into NAME-last.trace, beside the archive; all ranks call _unify_last. None:
    there are none."""
    request, ranks = context.request, context.ranks
    if not ranks.total([sum(process.contents.has_last_events and process.counts for process in run.processes)])[0]:
        return None
    name = str(archive.with_name(f"{archive.stem}-last{archive.suffix}"))
    again = replace(request, name=name, last_events=True, keep=True, last=None, extend=None)
    return unify(again, Console(context.console.name, QUIET), ranks).archive  # its warnings are those of the profile


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
        calls=calls_of(row.profile for row in accounted.rows),
        counted=calls_of(row.counted for row in accounted.rows),
        left_out=max((row.left_out for row in accounted.rows), default=0),
    )


def _clean_up(run: Run, owners: set[int], keep_reasons: Sequence[str], context: Context) -> None:
    """Removes this rank's local files of a run with an archive; all ranks call _clean_up.

    The files stay if the user keeps them, or if the archive lacks some of their events (the reasons). Files of other
    owners (user ids) stay, too.
    """
    ranks, console = context.ranks, context.console
    if context.request.keep:
        return
    if keep_reasons:
        console.note(f"the local files stay: {'; '.join(keep_reasons[:4])}")
        return
    left: list[Path] = []
    files = run.local_files()
    others = of_others(files, owners)
    for path in files:
        if path in others:
            continue
        try:
            path.unlink(missing_ok=True)
            console.detail(f"removed {path}", level=3)
        except OSError:
            left.append(path)
    others = ranks.reduce(others, dict.__or__)
    if others:
        console.note(f"{owners_text(others)}: not removed")
    left = ranks.reduce(left, list.__add__)
    if left:
        console.warn(f"no permission to remove {few_names(left)}")
