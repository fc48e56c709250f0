# SPDX-License-Identifier: BSD-3-Clause
"""Reads mpiP reports by titles of sections and columns, as other programs do; and runs mpi_report.c, whose calls and
bytes are known."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from support.build.builder import AS_WRITTEN
from support.build.mpis import Mpi
from support.build.run import unify, vtrace
from support.tools import PROGRAMS


@dataclass
class ReportSection:
    """A section. number: the number after the title's colon; columns: names of columns; rows: words of each line."""

    number: int | None
    lines: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return self.lines[0].split()

    @property
    def rows(self) -> list[list[str]]:
        return [line.split() for line in self.lines[1:] if line]


@dataclass
class Report:
    """A report. head: the @ lines; tasks: host by rank; sections: by title."""

    head: dict[str, str]
    tasks: dict[int, str]
    sections: dict[str, ReportSection]


RULE = "-" * 75


def parse(text: str) -> Report:
    """Reads a report. A line that mpiP would not write is an assertion error."""
    lines = text.splitlines()
    assert lines[0] == "@ mpiP", lines[0]
    assert lines[1].startswith("@ Command : ")
    head, tasks, sections = {"Command": lines[1][12:].strip()}, {}, {}
    at = 2
    while lines[at].startswith("@"):
        name, value = re.fullmatch(r"@ (.{25}): (.*)", lines[at]).groups()  # type: ignore[union-attr]
        if name.strip() == "MPI Task Assignment":
            rank, host = value.split(" ", 1)
            tasks[int(rank)] = host
        else:
            head[name.strip()] = value
        at += 1
    assert lines[at] == ""
    for number, line in enumerate(lines[at + 1 :], at + 1):
        if title := re.fullmatch(r"@--- (.+?)(?:: (\d+))? -*", line):
            assert lines[number - 1] == lines[number + 1] == RULE
            assert len(line) == 75 or len(title[1]) > 60, line
            section = sections[title[1]] = ReportSection(int(title[2]) if title[2] else None)
        elif line != RULE:
            section.lines.append(line)
    assert [title for title in sections if sections[title].lines == []] == ["End of Report"]
    return Report(head, tasks, sections)


def lines_of(source: str) -> dict[str, int]:
    """Line numbers by NAME of the comments "site: NAME" in a program of tests/programs."""
    text = (PROGRAMS / source).read_text().splitlines()
    return {m[1]: number for number, line in enumerate(text, 1) if (m := re.search(r"site: ([a-z_]+)", line))}


AT = lines_of("mpi_report.c")
RANKS = 3
SENT: dict[str, tuple[str, list[int], list[int] | None]] = {
    "send": ("Send", [100, 200, 300, 400], None),
    "sendrecv": ("Sendrecv", [40], None),
    "ssend": ("Ssend", [5000], [0]),
    "bcast": ("Bcast", [16, 32, 64], None),
    "gather": ("Gather", [12], None),
    "scatter": ("Scatter", [7], None),
    "allgather": ("Allgather", [12], None),
    "allgatherv": ("Allgatherv", [8], None),
    "alltoall": ("Alltoall", [20], None),
    "reduce": ("Reduce", [24], None),
    "allreduce": ("Allreduce", [72], None),
    "alone": ("Allreduce", [4], None),
    "scan": ("Scan", [8], None),
}
OTHERS = {
    "irecv": "Irecv", "wait": "Wait", "recv": "Recv", "barrier": "Barrier", "alltoallv": "Alltoallv",
    "rank": "Comm_rank", "size": "Comm_size", "open": "File_open", "write": "File_write_at", "read": "File_read_at",
    "close": "File_close", "win": "Win_create", "fence": "Win_fence", "put": "Put", "get": "Get",
    "accumulate": "Accumulate", "last": "Win_fence", "free": "Win_free",
}  # fmt: skip
NAMES = {site: sent[0] for site, sent in SENT.items()} | OTHERS


def recorded(mpi: Mpi, where: Path, env: dict[str, str]) -> Path:
    program = mpi.build("mpi_report.c", flags=("-g", *AS_WRITTEN))
    env = {**env, "OMPI_MCA_osc": "^rdma,ucx" if mpi.name == "openmpi" else "^ucx"}
    mpi.run(program, where, str(where / "data"), ranks=RANKS, env=env)
    unify(where, "mpi_report")
    return where


def report(where: Path, *options: str) -> Report:
    return parse(vtrace(where, "mpip", "mpi_report", *options).stdout)


def numbers(found: Report) -> dict[str, str]:
    """Name of the line by number of the call site."""
    names = {str(line): name for name, line in AT.items()}
    return {row[0]: names[row[3]] for row in found.sections["Callsites"].rows if row[1] == "0"}
