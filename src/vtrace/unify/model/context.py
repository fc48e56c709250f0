# SPDX-License-Identifier: BSD-3-Clause
"""The user's request, and the resources of all phases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vtrace.console import Console
from vtrace.errors import FormatError
from vtrace.io.common.names import PACKED
from vtrace.io.local.kernel import Kernel
from vtrace.parallel.ranks import Ranks

ARCHIVE, SIDECAR, NONE = SAMPLES = ("archive", "sidecar", "none")
"""Samples become events of the archive, or of a second archive in its sidecar, or are left out."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The user's request; the fields are the options of vtunify. jobs: threads; 0: one per core, eight at most."""

    prefix: Path
    name: str | None = None
    keep: bool = False
    force: bool = False
    last: Path | None = None
    """With force: where an archive stays that is replaced; None: it is removed."""
    salvage: bool = False
    jobs: int = 0
    partial: bool = False
    last_events: bool = False
    """Of a profile, unify the events that its threads kept (VT_TRIGGER)."""
    packed: bool = False
    """Write a packed archive."""
    by_run: bool = False
    """vtrace run asks: the next run may replace the archive."""
    extend: Callable[[Path], object] | None = None
    """Gets the directory of the finished archive, before it is packed; may add files to its sidecar."""
    repair: bool = True
    """Correct clocks if messages run backwards."""
    samples: str | None = None
    """One of SAMPLES; None: ARCHIVE, but SIDECAR if all processes recorded with VT_SAMPLE_SIDECAR."""

    @property
    def incomplete(self) -> bool:
        """True if ranks, files and buffers may be missing."""
        return self.partial or self.salvage

    @property
    def threads(self) -> int:
        """Threads to use."""
        return self.jobs or min(len(os.sched_getaffinity(0)), 8)

    @property
    def archive(self) -> Path:
        """Directory of the archive: PREFIX.trace, with keep u_PREFIX.trace, with a name NAME.trace. If NAME has no
        directory, the archive is beside the prefix. A packed archive is a file, with .vtz for .trace."""
        ending = PACKED if self.packed else ".trace"
        if self.name is None:
            return self.prefix.with_name(f"{'u_' if self.keep else ''}{self.prefix.name}{ending}")
        chosen = Path(self.name if self.name.endswith(ending) else f"{self.name}{ending}")
        return chosen if "/" in self.name else self.prefix.parent / chosen


@dataclass(frozen=True)
class Context:
    """The request, and the resources of all phases: the ranks that share the work, and the user's console."""

    request: Request
    console: Console
    ranks: Ranks

    @cached_property
    def kernel(self) -> Kernel:
        """The C library that reads local files and writes events; loaded at the first use. Raises VtraceError."""
        return Kernel()

    @contextmanager
    def salvageable(self) -> Iterator[None]:
        """Adds a hint about --salvage to a FormatError raised in this context."""
        try:
            yield
        except FormatError as error:
            if not (error.hint or self.request.salvage):
                error.hint = "--salvage recovers the records before it"
            raise
