# SPDX-License-Identifier: BSD-3-Clause
"""vtrace without a command: show the runs in the current directory, and the next command for each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.io.common.names import PACKED
from vtrace.text import plain, shell_path

_SHOWN = 8


def next_steps() -> Iterator[str]:
    """Lines about the local files and archives in the current directory, the newest first."""
    from vtrace.unify.discover.list_files import prefixes

    here = Path()
    try:
        waiting = set(prefixes(here))
    except VtraceError:
        waiting = set()
    archives = {path.name.removesuffix(PACKED): path for path in here.glob(f"*{PACKED}")}
    archives |= {path.parent.name.removesuffix(".trace"): path for path in here.glob("*.trace/traces.otf2")}
    ages = sorted((_age(archives.get(name), name), name) for name in waiting | set(archives))
    for age, name in ages[:_SHOWN]:
        yield plain(_line(name, name in waiting, name in archives, age))
    if len(ages) > _SHOWN:
        yield f"and {len(ages) - _SHOWN} more runs"
    if not ages:
        yield "No runs in this directory. Record a program, without a rebuild or with its functions:"
        yield "  vtrace run mpiexec -n 4 ./heat"
        yield "  vtrace-cc -O2 heat.c -o heat && mpiexec -n 4 ./heat"
    yield "All commands: vtrace --help"


def _line(name: str, waiting: bool, unified: bool, age: float) -> str:
    word = shell_path(name)
    if waiting and unified:
        return f"{name}: an archive and local files, {_ago(age)}; next: vtunify --force {word}"
    if waiting:
        return f"{name}: local files, {_ago(age)}; next: vtunify {word}"
    return f"{name}: an archive, {_ago(age)}; next: vtrace summary {word}"


def _age(archive: Path | None, name: str) -> float:
    """Seconds since the last change of a run's files: of its archive, or of its newest local file."""
    from vtrace.unify.discover.list_files import candidates, names

    paths = [*candidates(Path(name), names(Path()))]
    changes = [_changed(path) for path in [*paths, *([archive] if archive else [])]]
    return time.time() - max(changes, default=0)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # the file has been unified meanwhile
        return 0


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        number = int(seconds // size)
        if number:
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"
