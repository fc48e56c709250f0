# SPDX-License-Identifier: BSD-3-Clause
"""Warns if an archive does not have the last run with its name: a later run may have left local files beside it."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from vtrace.errors import VtraceError
from vtrace.io.common.names import PACKED
from vtrace.io.local.heads import FileHead, read_head
from vtrace.text import plain, shell_word

_LOOKED_AT = 32
"""Maximum number of heads to read, from the files that were changed last: a large run leaves many thousands."""
_KEPT = "u_"
"""Prefix of the archive's name if vtunify -k kept the local files."""


def warn_if_stale(anchor: Path, about: Any) -> None:
    """Prints one line on stderr if local files beside an archive are not in the archive, with the command that helps.

    about: the archive's property VTRACE::ABOUT; archives of other tools have none.
    """
    if text := stale(anchor, about):
        click.echo(f"vtrace: {plain(text)}", err=True)


def stale(anchor: Path, about: Any) -> str | None:
    """Returns the line of warn_if_stale; None if the archive has all local files beside it."""
    about = about if isinstance(about, dict) else {}
    archive = anchor if anchor.suffix == PACKED else anchor.parent
    archive = archive if archive.name else Path(os.path.abspath(archive))
    name = archive.name.removesuffix(".trace").removesuffix(PACKED)
    if name == archive.name or not about:
        return None
    keep = name.startswith(_KEPT) and about.get("prefix") == name.removeprefix(_KEPT)
    prefix = archive.with_name(name.removeprefix(_KEPT) if keep else name)
    newest = max(_latest(prefix), key=lambda head: head.start, default=None)
    if newest is None or newest.run.hex() == about.get("run"):
        return None
    word = shell_word(prefix)
    start = about.get("start")
    if isinstance(start, int) and newest.start < start:
        hint = f"vtunify --partial -o NAME {word} unifies the remaining files into another archive"
        return f"warning: local files of an earlier run of {prefix.name} are beside {archive} ({hint})"
    begun = datetime.fromtimestamp(newest.start // 10**9).astimezone().isoformat(" ")
    packed = "--packed " if archive.suffix == PACKED else ""
    hint = f"vtunify {packed}{'-k ' if keep else ''}--force {word}"
    return f"warning: {archive} is not the last run, which began at {begun} and left local files ({hint})"


def _latest(prefix: Path) -> list[FileHead]:
    """Returns the heads of the prefix's local files that were changed last, without unreadable ones."""
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
