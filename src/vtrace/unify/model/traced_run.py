# SPDX-License-Identifier: BSD-3-Clause
"""One run of a traced program: its processes and their local files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from vtrace.unify.model.process import Process


@dataclass(kw_only=True)
class Run:
    """The newest run under a prefix. After its distribution, each rank has only its own processes."""

    prefix: Path
    id: bytes
    processes: list[Process]
    """The processes, in the archive's order."""
    missing: list[int]
    """Ranks without any file."""
    ranks: int
    """Ranks of the first MPI_COMM_WORLD; 0 without MPI."""
    uctl: Path | None
    """The control file; None if there is none, or if another rank of vtunify-mpi removes it."""
    others: list[Path] = field(default_factory=list)
    """Files of other runs."""
    problems: list[str] = field(default_factory=list)
    """Files that were left out, a text each."""
    count: int = 0
    """Number of processes on all ranks of vtunify-mpi, including those without files."""

    @property
    def running(self) -> list[Process]:
        """Processes that still record."""
        return [process for process in self.processes if process.running]

    def local_files(self) -> list[Path]:
        """Returns all files of the run's processes, in the order for their removal."""
        paths = [path for process in self.processes for path in process.all_files()]
        begun = [f"{self.prefix.name}.uctl.tmp{p.head.pid}" for p in self.processes if p.main and not p.rank]
        paths += [path for path in map(self.prefix.with_name, begun) if path.exists()]  # left by a killed process
        return paths + ([self.uctl] if self.uctl else [])
