# SPDX-License-Identifier: BSD-3-Clause
"""What readers find in an archive: definitions, events, markers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LIVES = frozenset(
    """pthread_create pthread_join pthread_tryjoin_np pthread_timedjoin_np pthread_clockjoin_np pthread_detach
    thrd_create thrd_join thrd_detach fork _Fork vfork posix_spawn posix_spawnp execve execv execvp execvpe execl execlp
    execle fexecve wait waitpid wait3 wait4 waitid""".split()
)
"""Functions that begin and end threads and processes: they are recorded in every program."""


@dataclass(frozen=True)
class Location:
    """One stream of events. process is its location group's id, group that one's name, host the name of its node,
    declared the definition's number of events.
    """

    id: int
    name: str
    group: str
    host: str
    kind: str
    declared: int
    process: int


@dataclass(frozen=True)
class Region:
    """A function. line is 0 and file None where unknown."""

    id: int
    name: str
    canonical: str
    file: str | None
    line: int
    role: str
    paradigm: str
    description: str


@dataclass(frozen=True)
class Comm:
    """A communicator. members are location ids in rank order, None for one like MPI_COMM_SELF."""

    id: int
    name: str
    members: tuple[int, ...] | None
    parent: int | None


@dataclass(frozen=True)
class Window:
    """A window of one-sided communication; comm: id of its communicator."""

    name: str
    comm: int


@dataclass(frozen=True)
class Handle:
    """An I/O handle; ids of its communicator and parent, path and system node of its file, state: access mode and
    status flags of a handle that was open before."""

    name: str
    file: str | None
    scope: str | None
    paradigm: str
    flags: str
    comm: int | None
    parent: int | None
    state: tuple[str, str] | None


@dataclass(frozen=True)
class Event:
    """kind is OTF2's name (Enter, MpiSend, ...); attrs has ids for definitions, names for enumerations (OFF, BCAST),
    names joined by | for flags; more: its generic attributes by their names."""

    location: int
    time: int
    kind: str
    attrs: dict[str, Any]
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Printed:
    """What otf2-print says of one event; region is the id of an Enter or Leave."""

    location: int
    time: int
    kind: str
    region: int | None
    text: str


@dataclass(frozen=True)
class Marker:
    """A marker; scope as otf2-marker prints it (GLOBAL, LOCATION:3)."""

    category: str
    time: int
    scope: str
    text: str
