# SPDX-License-Identifier: BSD-3-Clause
"""The newest run under a prefix: its files, its processes, and the ranks that are missing."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from itertools import compress
from pathlib import Path

from vtrace.errors import FormatError, NoFilesError, VtraceError
from vtrace.io.local.local_files import FileHead, Uctl, read_head
from vtrace.io.local.records import BUFFER, DEFINITION_DATA, EVENTS
from vtrace.unify.discover.list_files import BEFORE_HEAD, LOCAL, ListedFile, ListedFiles, candidates, names, prefixes
from vtrace.unify.model.process import Process, Run
from vtrace.unify.model.running_processes import is_process

_SHOWN = 4
_MISSING_RANKS, _BYTES_A_RANK = 4096, 64
"""A rank without files gets a location, too. The first number limits missing ranks; more may be missing if the files
have the second number of bytes for each rank. A file with a larger number of ranks is damaged.
"""


def assemble(prefix: Path, seen: ListedFiles) -> Run:
    """Returns the newest run among the files that were seen. Raises VtraceError if there is none.

    Does not search left-over buffers, since only ranks on their hosts may see them.
    """
    files = [found for found in seen.files.values() if found.head.run not in seen.counted]
    if not files:
        raise _nothing(prefix)
    files.sort(key=lambda found: found.head.path.name)
    known = {uctl.run: uctl for uctl, _ in seen.uctls if uctl is not None}
    including = _including_runs([found.head for found in files])
    newest = max((found.head for found in files), key=lambda h: (h.start, h.run in known)).run
    newest = including.get(newest, newest)
    own = [including.get(found.head.run, found.head.run) == newest for found in files]
    processes = _processes(
        [*compress(files, own), *(found for found in seen.before.values() if found.head.run == newest)]
    )
    uctl = known.get(newest)
    ranks = _world_size(processes, uctl)
    missing = sorted(set(range(ranks)) - {p.rank for p in processes if p.main})
    others = [found.head.path for found, is_own in zip(files, own, strict=True) if not is_own]
    others += [path for one, path in seen.uctls if one is None or one.run != newest]
    others += _join_empty(sorted(seen.empty), processes)
    control = next((path for one, path in seen.uctls if one is not None and one.run == newest), None)
    return Run(
        prefix=prefix,
        id=newest,
        processes=processes,
        missing=missing,
        ranks=ranks,
        uctl=control,
        others=others,
        problems=seen.problems,
        count=len(processes),
    )


def _including_runs(heads: Sequence[FileHead]) -> dict[bytes, bytes]:
    """Returns by run id the run that includes it. At MPI_Init ranks take the run id of rank 0, but the shells that
    started them keep their run ids."""
    runs = {head.process: head.run for head in heads}
    parents = ((head.run, runs.get((head.host, *head.parent))) for head in heads if head.parent)
    return {before: run for run, before in parents if before and before != run}


def refuse_headless(run: Run, salvage: bool) -> None:
    """Raises FormatError for a file without a head whose process left no buffer, unless salvage is on."""
    for process in run.processes:
        headless = [path for path in process.empty if path.suffix not in BEFORE_HEAD]
        if headless and not process.buffer and not salvage:
            raise FormatError(f"{headless[0]} is empty", "--salvage goes on without it")


def prefixes_of_run(run: Run) -> list[str]:
    """Returns other prefixes in the directory that belong to the same run: programs started together with different
    names."""
    found = []
    for name in set(prefixes(run.prefix.parent)) - {run.prefix.name}:
        try:
            heads = map(read_head, candidates(run.prefix.with_name(name), names(run.prefix.parent)))
            if any(head.prefix == name and head.run == run.id for head in heads):
                found.append(name)
        except VtraceError:
            pass  # an unreadable file gives no hint
    return sorted(found)


def _nothing(prefix: Path) -> NoFilesError:
    where = prefix.parent.resolve()
    archive = prefix if prefix.suffix == ".trace" else prefix.with_name(prefix.name + ".trace")
    message = f"no local files {prefix.name}.*.def* or {prefix.name}.*.events* in {where}"
    if os.path.isdir(archive):
        return NoFilesError(message, f"{archive.name} is there already: vtrace info {archive}")
    import difflib  # for this mistake only

    known = prefixes(prefix.parent)
    near = difflib.get_close_matches(prefix.name, known, n=3, cutoff=0.5) or known[:_SHOWN]
    if near:
        return NoFilesError(message, f"there are files of {', '.join(near)}")
    hint = "was the program compiled with vtrace-cc and run? if it ran with VT_PFORM_GDIR=DIR: vtunify DIR/PREFIX, or "
    hint += "vtunify-mpi on the nodes if each has a DIR of its own"
    return NoFilesError(message, hint)


def _processes(files: list[ListedFile]) -> list[Process]:
    """Returns the processes that wrote the files: the ranks of the first world come first, then others by start, those
    of a later world together.
    """
    found: dict[tuple[str, int, int], Process] = {}
    order = (DEFINITION_DATA, EVENTS, BUFFER)
    for file in sorted(files, key=lambda f: (order.index(f.head.content), f.head.location, f.head.path.name)):
        head = file.head
        process = found.get(head.process)
        if process is None:
            process = found[head.process] = Process(head, views=file.views)
        if process.views != file.views:
            process.views &= file.views
        process.bytes += file.bytes
        if head.content == BUFFER:
            process.buffer = head.path
            if process.head.rank is None:  # with a full disk, the other files have no rank
                process.head = head
        else:
            process.files.append(head)
    for process in found.values():
        process.files.sort(key=lambda head: head.location)
    # A shell that starts ranks may be rank 0 of a world without MPI, and begin before or after ranks of other shells.
    ranked = sorted(
        (p for p in found.values() if p.head.rank is not None), key=lambda p: (not p.head.world, p.head.start)
    )
    taken: set[tuple[int, int]] = set()
    for process in ranked:
        rank, world = process.head.rank, process.head.world
        if rank is not None and (world, rank) not in taken:
            taken.add((world, rank))
            process.rank, process.main = rank, world == ranked[0].head.world
    begun = {p.head.world: p.head.start for p in ranked if p.head.world}  # the last start, after all shells
    mpi = bool(ranked) and bool(ranked[0].head.world)  # otherwise processes follow their parents
    processes = sorted(found.values(), key=lambda p: (mpi and not p.main, begun.get(p.head.world, p.head.start),
                                                      p.rank or 0, p.head.start, p.head.process))  # fmt: skip
    for number, process in enumerate(processes):
        process.number = number
    return processes


def _world_size(processes: Sequence[Process], uctl: Uctl | None) -> int:
    """Returns the ranks of the first world, by heads with a checksum, else by those of buffers and the control file.

    Raises FormatError for an impossible number.
    """
    mains = [process.head for process in processes if process.main]
    sizes = [h.world_size for h in mains if h.content != BUFFER] or [h.world_size for h in mains]
    size = max(sizes or [uctl.ranks if uctl else 0])
    there = sum(process.bytes for process in processes)
    if size > max(_MISSING_RANKS + len(mains), there // _BYTES_A_RANK):
        where = next((h.path for h in mains if h.world_size == size), "the uctl file")
        found = f"a run of {size:,} ranks, but {len(mains):,} of them left files, {there:,} bytes together"
        raise FormatError(
            f"{where}: {found}", "the file is damaged: move it away; or copy the files of the other ranks, too"
        )
    return size


def _join_empty(paths: Iterable[Path], processes: Sequence[Process]) -> list[Path]:
    """Assigns each empty file to the process in its name, or to the first process if its own process has ended without
    another file. Returns the files of other runs."""
    owners = {f"x{p.head.host}-{p.head.pid}-{p.head.start:x}": p for p in processes}
    owners |= {f"{p.rank + 1:x}": p for p in processes if p.main and p.rank is not None}
    others = []
    for path in paths:
        match = LOCAL.fullmatch(path.name)
        name = match["id"] if match else ""
        if not name.startswith("x") and int(name or "0", 16) > 0xFFFF:
            name = f"{int(name, 16) >> 16:x}"
        owner = owners.get(name) or owners.get(name.rpartition(".")[0])
        dead = path.suffix in BEFORE_HEAD and _is_dead(name)
        if owner or dead:
            (owner or next(iter(processes))).empty.append(path)
        else:
            others.append(path)
    return others


def _is_dead(name: str) -> bool:
    match = re.fullmatch(r"x(.+)-(\d+)-[0-9a-f]+(?:\.[0-9a-f]+)?", name)
    return match is not None and match[1] == platform.node() and not is_process(int(match[2]))
