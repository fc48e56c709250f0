# SPDX-License-Identifier: BSD-3-Clause
"""The hosts of all ranks, and the ranks that share a directory."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

from vtrace.parallel.ranks import Ranks


class Crew:
    """The host and the view of each rank. Ranks of one view see the same directory.

    hosts, views: by rank; a view is the number of its first rank. mates: the ranks of this rank's view. pid_spaces: of
    all ranks.
    """

    def __init__(self, directory: Path, ranks: Ranks) -> None:
        """Called by all ranks. A file that rank 0 makes in the directory for a moment shows which ranks share the
        directory with rank 0; other ranks compare host and inode."""
        own = (sees_token(directory, ranks), platform.node(), _number(directory), pid_space())
        gathered = ranks.gather({ranks.rank: own})
        everyone = ranks.first(lambda: [*gathered.values()])
        self.hosts = [host for _, host, _, _ in everyone]
        self.pid_spaces = {space for _, _, _, space in everyone}
        leaders: dict[object, int] = {}
        self.views = [
            leaders.setdefault("shared" if seen else (host, number), rank)
            for rank, (seen, host, number, _) in enumerate(everyone)
        ]
        self.view = self.views[ranks.rank]
        self.mates = ranks.split(self.view)


@cache
def pid_space() -> int:
    """The boot and the PID namespace in which this process finds process ids, as csrc/core/process.c has it; -1 if
    unknown. Containers of a host may have the host's name, but process ids of their own."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return int(boot[:18].replace("-", ""), 16) ^ Path("/proc/self/ns/pid").stat().st_ino
    except (OSError, ValueError):
        return -1


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
