# SPDX-License-Identifier: BSD-3-Clause
"""Local files that belong to another user than this process's."""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from vtrace.console import few_names


def of_others(paths: Iterable[Path], own: Collection[int]) -> dict[Path, int]:
    """Returns the files that belong to none of the user ids in own, with their owners; inaccessible files are left
    out."""
    found = {}
    for path in paths:
        with suppress(OSError):
            owner = path.lstat().st_uid
            if owner not in own:
                found[path] = owner
    return found


def mixed(paths: Iterable[Path]) -> dict[Path, int]:
    """Returns the files of other users with their owners, if the files of a run have several owners; else none."""
    found = of_others(paths, ())
    return {path: owner for path, owner in found.items() if owner != os.geteuid()} if len({*found.values()}) > 1 else {}


def owners_text(files: dict[Path, int]) -> str:
    """Returns a text with some of the files and their owners."""
    users = ", ".join(sorted({_name(owner) for owner in files.values()}))
    return f"{few_names(files)} {'belongs' if len(files) == 1 else 'belong'} to another user ({users})"


def users_of(directory: Path) -> set[int]:
    """Returns the possible owners of files that this process creates in a directory: a network file system may change
    the owner."""
    return {os.geteuid(), directory.stat().st_uid}


def _name(owner: int) -> str:
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return str(owner)
