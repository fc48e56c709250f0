# SPDX-License-Identifier: BSD-3-Clause
"""Checks before unifying: all ranks have files, no process still records, and the archive can be written."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from vtrace.console import Console, few_names, ranges
from vtrace.errors import VtraceError
from vtrace.io.common.names import ANCHOR
from vtrace.io.packed.container import is_packed
from vtrace.parallel.crew import Crew
from vtrace.unify.discover.select_run import prefixes_of_run
from vtrace.unify.model.context import Request
from vtrace.unify.model.file_owners import mixed, owners_text
from vtrace.unify.model.process import Process, Run

_SHOWN = 8
"""The most patterns of file names in a message."""


def check_run(run: Run, crew: Crew, archive: Path, request: Request, *, console: Console) -> list[str]:
    """Adds processes for missing ranks to the run, and returns the reasons why the local files must stay.

    Raises VtraceError for an incomplete run, unless the request allows it, and if the archive must not or cannot be
    written.
    """
    for text in run.problems:
        console.warn(text)
    _check_free(archive, request.force)
    if foreign := mixed(run.local_files()):
        console.warn(owners_text(foreign))
    if run.others:
        console.note(f"files of other runs are left alone: {few_names(run.others)} (vtrace clean --all removes them)")
    reasons = []
    if run.running:
        names = ", ".join(
            f"{p.label} (process {p.head.pid})" if p.main and p.world else p.label for p in run.running[:4]
        )
        if not request.salvage:
            raise VtraceError(
                f"{run.prefix.name} is still running: {names}", "--salvage recovers the events recorded so far"
            )
        reasons.append(f"{names} still running")
    if run.missing:
        which = f"{'rank' if len(run.missing) == 1 else 'ranks'} {ranges(run.missing)} of {run.ranks}"
        if not request.incomplete:
            raise _missing(run, crew, which)
        reasons.append(f"no local files of {which}")
        console.warn(f"no local files of {which}")
        _add_missing(run)
    return reasons


def _add_missing(run: Run) -> None:
    """Adds a process without files for each missing rank."""
    known = run.processes[0].head
    for rank in run.missing:
        head = replace(known, rank=rank, host="missing", pid=0, start=0, buffer="", parent=None, forked=False)
        run.processes.append(Process(head, rank=rank, main=True, missing=True))
    run.processes.sort(key=lambda p: (not p.main, (p.main and p.rank) or 0))
    run.count = len(run.processes)
    for number, process in enumerate(run.processes):
        process.number = number


def _missing(run: Run, crew: Crew, which: str) -> VtraceError:
    where = str(run.prefix.parent.resolve())
    hint = "start vtunify-mpi on each node of the run, or copy them there, or use --partial to go on without them"
    places = len(set(crew.views))
    if places > 1:
        where = f"all {places} directories that the ranks see"
        hint = "start a rank on each node of the run, or use --partial to go on without them"
    elif others := prefixes_of_run(run):
        hint = f"{', '.join(others)} ran with it: give all programs one VT_FILE_PREFIX, or use --partial"
    files = [f"{run.prefix.name}.{rank + 1 if rank < 0xFFFF else (rank + 1) << 16:x}.*" for rank in run.missing]
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return VtraceError(f"the local files of {which} ({', '.join(files[:_SHOWN])}{more}) are missing in {where}", hint)


def _check_free(archive: Path, force: bool) -> None:
    directory = archive.parent
    if os.path.lexists(archive):
        if not force:
            raise VtraceError(f"{archive} exists", "--force replaces it, -o NAME writes to another place")
        if not (archive / ANCHOR).exists() and not _empty(archive) and not is_packed(archive):
            raise VtraceError(f"{archive} exists and is not an archive of vtrace", "-o NAME writes to another place")
    if not directory.is_dir():
        raise VtraceError(f"{directory} is not a directory", "-o NAME needs an existing directory")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise VtraceError(f"no permission to write into {directory}", "-o DIR/NAME writes to another place")


def _empty(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())
