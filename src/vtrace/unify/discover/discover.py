# SPDX-License-Identifier: BSD-3-Clause
"""Discovery, the first phase of unifying: the newest run under a prefix, and each rank's processes of the run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.io.local.local_files import read_uctl
from vtrace.parallel.crew import Crew
from vtrace.parallel.ranks import Ranks
from vtrace.unify.discover.check_run import check_run
from vtrace.unify.discover.list_files import ListedFiles, names, read_heads
from vtrace.unify.discover.select_run import assemble, refuse_headless
from vtrace.unify.discover.share import find_buffers, share_buffers, share_processes, take_buffers
from vtrace.unify.model.context import Context
from vtrace.unify.model.process import Process, Run


@dataclass(frozen=True)
class Discovered:
    """The run to unify, with this rank's processes, and the path of its archive."""

    run: Run
    crew: Crew
    """The host and the directory of each rank."""
    archive: Path
    keep_reasons: list[str]
    """Reasons why the local files must stay; empty if they may be removed."""


def discover(context: Context) -> Discovered:
    """Finds the newest run under the prefix and distributes its processes to the ranks; all ranks call this function.

    Raises VtraceError if there is no run, ranks are missing, processes still record or the archive cannot be written,
    and FormatError for a file with a bad head, unless the user asked for --salvage.
    """
    request, ranks = context.request, context.ranks
    crew = Crew(request.prefix.parent, ranks)
    seen = ranks.reduce(ranks.together(lambda: _own_heads(request.prefix, request.salvage, crew)), ListedFiles.join)
    run = ranks.together(lambda: assemble(request.prefix, seen) if ranks.root else _nothing(request.prefix))
    mine = ranks.scatter(share_buffers(run, crew))
    take_buffers(run, ranks.gather(find_buffers(mine, ranks.rank)))
    ranks.together(lambda: refuse_headless(run, request.salvage))
    archive = ranks.first(lambda: request.archive)
    reasons = ranks.first(lambda: check_run(run, crew, archive=archive, request=request, console=context.console))
    shares = ranks.together(lambda: share_processes(run, crew) if ranks.root else [])
    return Discovered(_own_part(run, ranks.scatter(shares), crew, ranks), crew, archive, reasons)


def find_run(prefix: Path, salvage: bool, warn: Callable[[str], None]) -> Run:
    """Returns the newest run under a prefix with all its processes.

    Raises VtraceError if there is none, and FormatError for a file with a bad head; with salvage such a file is left
    out with a warning.
    """
    run = assemble(prefix, read_heads(prefix, names(prefix.parent), salvage))
    for text in run.problems:
        warn(text)
    for process in run.processes:
        process.find_buffer()
    refuse_headless(run, salvage)
    return run


def _nothing(prefix: Path) -> Run:
    """An empty run for other ranks, while only rank 0 has the whole run."""
    return Run(prefix=prefix, id=b"", processes=[], missing=[], ranks=0, uctl=None)


def _own_heads(prefix: Path, salvage: bool, crew: Crew) -> ListedFiles:
    """Reads this rank's share of the heads in its directory; the ranks that see the same directory share them."""
    if not prefix.parent.is_dir() and crew.view:
        return ListedFiles()
    listed = crew.mates.first(lambda: names(prefix.parent))
    part = slice(crew.mates.rank, None, crew.mates.size)
    return read_heads(prefix, listed, salvage=salvage, view=crew.view, part=part)


def _own_part(run: Run, processes: list[Process], crew: Crew, ranks: Ranks) -> Run:
    """Returns the run with this rank's processes. The first rank of a directory has the control file there."""
    known = ranks.first(lambda: replace(run, processes=[], problems=[], others=[]))
    control = run.prefix.with_name(run.prefix.name + ".uctl")
    with suppress(VtraceError):
        if crew.mates.rank == 0 and read_uctl(control).run == known.id:
            return replace(known, prefix=run.prefix, processes=processes, uctl=control)
    return replace(known, prefix=run.prefix, processes=processes, uctl=None)
