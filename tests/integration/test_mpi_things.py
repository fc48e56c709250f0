# SPDX-License-Identifier: BSD-3-Clause
"""A table of languages and of the things that vtrace records of MPI: each language has each thing."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.oracles.user_api import MANUAL
from support.readers.archive import Trace
from support.tools import PROGRAMS, command, need

LANGUAGES = {
    "C": ("mpi_things.c", "mpicc", ()),
    "C++": ("mpi_things.c", "mpicxx", ()),
    "mpif.h": ("mpi_things.F90", "mpifort", ("-DMPIF", "-fallow-argument-mismatch")),
    "mpi": ("mpi_things.F90", "mpifort", ("-fallow-argument-mismatch",)),
    "mpi_f08": ("mpi_things.F90", "mpifort", ("-DF08",)),
    "mpi4py": ("mpi_things.py", "", ()),
}
"""Source, compiler command, and flags."""

CALLS = "Comm_dup Comm_set_name Send Bcast Reduce File_open File_write_at File_close Comm_free".split()
"""The calls of rank 0 between MPI_Init and MPI_Finalize."""


@dataclass(frozen=True)
class Recorded:
    """A run of a language's program. source: its file."""

    cwd: Path
    source: str

    @cached_property
    def trace(self) -> Trace:
        return check(self.cwd / "things.trace")

    def calls(self, rank: int) -> list[str]:
        """The calls in CALLS; mpi4py makes others between them, and takes functions with large counts."""
        names = [self.trace.region_of(e).name.removeprefix("MPI_") for e in self.trace.of(rank) if e.kind == "Enter"]
        names = [name.removesuffix("_c") for name in names]
        return [name for name in names if name in (*CALLS, "Recv")]


@pytest.fixture(scope="module", params=["mpich", pytest.param("openmpi", marks=pytest.mark.full)])
def mpi(request: pytest.FixtureRequest, build: Builder) -> Mpi:
    """The MPIs with Fortran."""
    return mpis.find(request.param, build)


@pytest.fixture(scope="module", params=LANGUAGES)
def recorded(request: pytest.FixtureRequest, mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    source, compiler, flags = LANGUAGES[request.param]
    where = tmp_path_factory.mktemp("things")
    if compiler:
        compiler = need(f"{compiler}.{mpi.name}")
        program = [str(mpi.builder(source, compiler=compiler, flags=(*MANUAL, "-g", "-w", *flags)))]
    else:
        program, mpi = [sys.executable, str(PROGRAMS / source)], mpis.find("mpich-wheel", mpi.builder)
    options = ["--counters", "page-faults,ru_utime", "-o", "things"]
    launch = [*command("vtrace"), "run", *options, *mpi.launch, "-n", "2", *program[:-1]]
    env = {**mpi.env, **(mpi.yielding if not compiler else {}), "VT_MPI_CALLSITES": "1"}
    run(Path(program[-1]), where, launch=launch, env=env)
    unify(where, "things")
    return Recorded(where, source)


def calls(found: Recorded) -> None:
    """A call is recorded once, by the name of the C function."""
    assert found.calls(0) == CALLS
    assert found.calls(1) == ["Recv" if name == "Send" else name for name in CALLS]


def counters(found: Recorded) -> None:
    """Each enter and each leave of MPI has the time of a reading of the counters."""
    for rank in (0, 1):
        events = found.trace.of(rank)
        read = {e.time for e in events if e.kind == "Metric"}
        of_mpi = [e for e in events if e.kind in ("Enter", "Leave") and is_mpi(found, e.attrs)]
        assert len(of_mpi) >= 18
        assert [e for e in of_mpi if e.time not in read] == []
    rows = json.loads(vtrace(found.cwd, "profile", "things", "--metrics", "page-faults,ru_utime", "--json").stdout)
    assert "MPI_Init" in json.dumps(rows)


def is_mpi(found: Recorded, attrs: dict[str, Any]) -> bool:
    return bool(found.trace.regions[attrs["region"]].paradigm == "MPI")


def call_sites(found: Recorded) -> None:
    sites = [e.more.get("call site") for e in found.trace.of(0) if e.kind == "Enter" and is_mpi(found, e.attrs)]
    assert None not in sites
    where = "mpi4py" if found.source.endswith(".py") else found.source
    assert len([site for site in sites if where in str(site)]) >= 9
    if where == found.source:
        lines = (PROGRAMS / where).read_text().splitlines()
        named = [int(re.findall(r":(\d+)(?: <- |$)", str(site))[0]) for site in sites if where in str(site)]
        assert ["MPI_Send" in lines[line - 1] for line in named].count(True) == 1


def sections(found: Recorded) -> None:
    for rank in (0, 1):
        marks = [e.attrs for e in found.trace.of(rank) if e.kind == "Metric"]
        assert marks, rank
    shown = json.loads(vtrace(found.cwd, "profile", "things", "--by", "section", "--json").stdout)
    rows = {row["section"]: row for row in shown["sections"]}
    assert "exchange/1" in rows, rows


def messages(found: Recorded) -> None:
    sends = [e.attrs for e in found.trace.of(0) if e.kind == "MpiSend"]
    receives = [e.attrs for e in found.trace.of(1) if e.kind == "MpiRecv"]
    assert [(e["receiver"], e["msg_tag"], e["msg_length"]) for e in sends] == [(1, 7, 12)]
    assert [(e["sender"], e["msg_tag"], e["msg_length"]) for e in receives] == [(0, 7, 12)]
    posted = [e.more["posted bytes"] for e in found.trace.of(1) if "posted bytes" in e.more]
    assert posted == [24]


def names(found: Recorded) -> None:
    pairs = [comm for comm in found.trace.comms.values() if comm.name == "pair"]
    assert [comm.members for comm in pairs] == [(0, 1)]
    (send,) = (e for e in found.trace.of(0) if e.kind == "MpiSend")
    assert send.attrs["communicator"] == pairs[0].id


def collectives(found: Recorded) -> None:
    ends = [[e.attrs for e in found.trace.of(rank) if e.kind == "MpiCollectiveEnd"] for rank in (0, 1)]
    of = [[e for e in rank if e["collective_op"] in ("BCAST", "REDUCE")] for rank in ends]
    shown = [[(e["collective_op"], e["root"], e["size_sent"], e["size_received"]) for e in rank] for rank in of]
    assert shown == [[("BCAST", 1, 0, 8), ("REDUCE", 0, 12, 24)], [("BCAST", 1, 16, 8), ("REDUCE", 0, 12, 0)]]


def io(found: Recorded) -> None:
    for rank in (0, 1):
        begins = [e for e in found.trace.of(rank) if e.kind == "IoOperationBegin"]
        assert [(e.attrs["bytes_request"], e.more["Offset"]) for e in begins] == [(20, 24 * rank)]
        ends = [e.attrs["bytes_result"] for e in found.trace.of(rank) if e.kind == "IoOperationComplete"]
        assert ends == [20]
    assert {Path(path).name for path, _ in found.trace.files.values()} == {"things.dat"}


THINGS: list[Callable[[Recorded], None]] = [
    calls, counters, call_sites, sections, messages, names, collectives, io
]  # fmt: skip


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: thing.__name__)
def test_each_language_has_each_thing(recorded: Recorded, thing: Callable[[Recorded], None]) -> None:
    thing(recorded)


def test_recording_begins_at_a_call_of_fortran(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.builder("mpi_things.F90", compiler=need(f"mpifort.{mpi.name}"), flags=(*MANUAL, "-g", "-w", "-DF08"))
    env = {**mpi.env, "VT_START_AFTER": "MPI_Bcast:1", "VT_STOP_AFTER": "MPI_File_open:1"}
    run(program, tmp_path, launch=[*mpi.launch, "-n", "2"], env=env)
    unify(tmp_path, "mpi_things")
    calls = check(tmp_path / "mpi_things.trace").calls(0)
    assert calls == {"MPI_Bcast": 1, "MPI_Reduce": 1, "MPI_File_open": 1}
