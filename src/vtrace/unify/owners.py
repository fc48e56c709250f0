# SPDX-License-Identifier: BSD-3-Clause
"""Local files that belong to another user than the one who unifies."""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from vtrace.unify.find import several


def of_others(paths: Iterable[Path], own: Collection[int]) -> dict[Path, int]:
    """Those whose owner is none of the user ids own, with the owner; files that cannot be seen are left out."""
    found = {}
    for path in paths:
        with suppress(OSError):
            owner = path.lstat().st_uid
            if owner not in own:
                found[path] = owner
    return found


def mixed(paths: Iterable[Path]) -> dict[Path, int]:
    """Files of others among those of a run that are not all one user's."""
    found = of_others(paths, ())
    return {path: owner for path, owner in found.items() if owner != os.geteuid()} if len({*found.values()}) > 1 else {}


def told(files: dict[Path, int]) -> str:
    """A few of the files, and whose they are."""
    users = ", ".join(sorted({_name(owner) for owner in files.values()}))
    return f"{several(files)} {'belongs' if len(files) == 1 else 'belong'} to another user ({users})"


def users_of(directory: Path) -> set[int]:
    """Whom files belong to that this process creates there: a network file system may give them to another user."""
    return {os.geteuid(), directory.stat().st_uid}


def _name(owner: int) -> str:
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return str(owner)
