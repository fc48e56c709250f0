# SPDX-License-Identifier: BSD-3-Clause
"""Types for the content of an archive: definitions, events, markers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

LIVES = frozenset(
    """pthread_create pthread_join pthread_tryjoin_np pthread_timedjoin_np pthread_clockjoin_np pthread_detach
    thrd_create thrd_join thrd_detach fork _Fork vfork posix_spawn posix_spawnp execve execv execvp execvpe execl execlp
    execle fexecve wait waitpid wait3 wait4 waitid""".split()
)
"""Functions that begin and end threads and processes. vtrace records them in every program."""


@dataclass(frozen=True)
class Location:
    """A location. process, group: id and name of its location group; host: name of its node; declared: number of events
    in its definition.
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
    """A region. line is 0 and file None if unknown."""

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
    """A communicator. members: location ids by rank, None for a communicator like MPI_COMM_SELF."""

    id: int
    name: str
    members: tuple[int, ...] | None
    parent: int | None


@dataclass(frozen=True)
class Window:
    """An RMA window. comm: id of its communicator."""

    name: str
    comm: int


@dataclass(frozen=True)
class Handle:
    """An I/O handle. file, scope: path and system node of its file; comm, parent: ids; state: access mode and status
    flags of a pre-created handle.
    """

    name: str
    file: str | None
    scope: str | None
    paradigm: str
    flags: str
    comm: int | None
    parent: int | None
    state: tuple[str, str] | None


@dataclass(slots=True)  # not frozen: making one would take three times as long, and tests make millions
class Event:
    """An event. kind: OTF2's name (Enter, MpiSend, ...); attrs: ids of definitions, names of enumerators (OFF, BCAST),
    names of flags joined by |; more: generic attributes by name.
    """

    location: int
    time: int
    kind: str
    attrs: dict[str, Any]
    more: dict[str, Any] = field(default_factory=dict)


class Printed(NamedTuple):
    """otf2-print's line of an event. region: id of the region of an Enter or Leave."""

    location: int
    time: int
    kind: str
    region: int | None
    text: str


@dataclass(frozen=True)
class Marker:
    """A marker. scope: as otf2-marker prints it (GLOBAL, LOCATION:3)."""

    category: str
    time: int
    scope: str
    text: str
