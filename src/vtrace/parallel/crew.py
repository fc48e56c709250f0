# SPDX-License-Identifier: BSD-3-Clause
"""The hosts of all ranks, and the ranks that share a directory."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from vtrace.parallel.ranks import Ranks


class Crew:
    """The host and the view of each rank. Ranks of one view see the same directory.

    hosts, views: by rank; a view is the number of its first rank. mates: the ranks of this rank's view.
    """

    def __init__(self, directory: Path, ranks: Ranks) -> None:
        """Called by all ranks. A file that rank 0 makes in the directory for a moment shows which ranks share the
        directory with rank 0; other ranks compare host and inode."""
        own = (sees_token(directory, ranks), platform.node(), _number(directory))
        gathered = ranks.gather({ranks.rank: own})
        everyone = ranks.first(lambda: [*gathered.values()])
        self.hosts = [host for _, host, _ in everyone]
        leaders: dict[object, int] = {}
        self.views = [
            leaders.setdefault("shared" if seen else (host, number), rank)
            for rank, (seen, host, number) in enumerate(everyone)
        ]
        self.view = self.views[ranks.rank]
        self.mates = ranks.split(self.view)


def sees_token(directory: Path, ranks: Ranks) -> bool:
    """Returns True if this rank sees the same directory as rank 0, which makes a file there for a moment."""
    if ranks.size == 1:
        return True
    name = ranks.first(lambda: f".vtunify-{uuid4().hex}")
    token = directory / name
    if ranks.root:
        with suppress(OSError):
            token.touch(exist_ok=False)
    ranks.total([])
    seen = token.exists()
    ranks.total([])
    if ranks.root:
        with suppress(OSError):
            token.unlink()
    return seen


def ranks_by(names: Sequence[object]) -> dict[object, list[int]]:
    """Returns the ranks of each name; names: by rank."""
    found: dict[object, list[int]] = {}
    for rank, name in enumerate(names):
        found.setdefault(name, []).append(rank)
    return found


def _number(directory: Path) -> tuple[int, int] | None:
    try:
        found = directory.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
