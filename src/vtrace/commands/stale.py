# SPDX-License-Identifier: BSD-3-Clause
"""Warns of an archive that is not the last run under its name: local files of another run may lie beside it."""

from __future__ import annotations

import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from vtrace.errors import VtraceError
from vtrace.io.local.heads import FileHead, read_head
from vtrace.text import plain

_LOOKED_AT = 32
"""Most heads that are read, of the files that were changed last: a large run leaves many thousands."""
_KEPT = "u_"
"""Prefix of the archive's name where vtunify -k kept the local files."""


def tell_of_stale(anchor: Path, about: Any) -> None:
    """Says on stderr, in one line, that local files beside an archive are not in it, with the command that helps.

    about: the archive's property VTRACE::ABOUT; archives of other tools have none.
    """
    if text := stale(anchor, about):
        click.echo(f"vtrace: {plain(text)}", err=True)


def stale(anchor: Path, about: Any) -> str | None:
    """Returns the line of tell_of_stale; None where the archive holds all local files beside it."""
    about = about if isinstance(about, dict) else {}
    archive = anchor.parent
    name = archive.name.removesuffix(".trace")
    if name == archive.name or not about:
        return None
    keep = name.startswith(_KEPT) and about.get("prefix") == name.removeprefix(_KEPT)
    prefix = archive.with_name(name.removeprefix(_KEPT) if keep else name)
    newest = max(_latest(prefix), key=lambda head: head.start, default=None)
    if newest is None or newest.run.hex() == about.get("run"):
        return None
    word = shlex.quote(os.path.relpath(prefix))
    start = about.get("start")
    if isinstance(start, int) and newest.start < start:
        hint = f"vtunify --partial -o NAME {word} makes another archive of what is left of them"
        return f"warning: local files of an earlier run of {prefix.name} lie beside {archive} ({hint})"
    begun = datetime.fromtimestamp(newest.start // 10**9).astimezone().isoformat(" ")
    hint = f"vtunify {'-k ' if keep else ''}--force {word}"
    return f"warning: {archive} is not the last run, which began at {begun} and left local files ({hint})"


def _latest(prefix: Path) -> list[FileHead]:
    """Returns the heads of the prefix's local files that were changed last, without those that cannot be read."""
    from vtrace.unify.discover.list_files import candidates, names

    try:
        paths = [path for path in candidates(prefix, names(prefix.parent)) if path.suffix != ".tmp"]
    except VtraceError:
        return []
    found = []
    for path in sorted(paths, key=_changed, reverse=True)[:_LOOKED_AT]:
        try:
            head = read_head(path)
        except VtraceError:
            continue
        if head.prefix == prefix.name:
            found.append(head)
    return found


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
