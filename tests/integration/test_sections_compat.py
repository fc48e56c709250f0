# SPDX-License-Identifier: BSD-3-Clause
"""The section routines of the Advanced Profiler and of Tofu PA: drop-in headers and library."""

from __future__ import annotations

import json
from pathlib import Path

import otf2
import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import names, prefix_of, run, unify, vtrace
from support.tools import PROGRAMS, call, need

OUTER = ["outer/1=1", "cross/0=1", "outer/1=0", "cross/0=0"]
HIDDEN = ["hidden/1=1", "hidden/1=0"]
TOFU, SECOND = ["tofupa/4095=1", "tofupa/4095=0"], ["tofupa/2=1", "tofupa/2=0"]
LANGUAGES = ("c", "c++", "declared", "fortran")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("install")
    vtrace(where, "compat", "--install", "tools")
    return where / "tools"


@pytest.fixture(scope="module", params=LANGUAGES)
def program(request: pytest.FixtureRequest, tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled without vtrace: C and C++ with the headers only, else with the library."""
    headers, library = ("-I", tools / "include"), ("-L", tools / "lib", "-lfapp")
    made = tmp_path_factory.mktemp(request.param) / "sections"
    source, words = {
        "c": ("c", ["gcc", "-Wall", "-Wextra", "-Werror", *headers]),
        "c++": ("c", ["g++", "-x", "c++", "-Wall", "-Wextra", "-Werror", *headers]),
        "declared": ("c", ["gcc", "-DDECLARED"]), "fortran": ("f90", ["gfortran"]),
    }[request.param]  # fmt: skip
    more = library if request.param in LANGUAGES[2:] else ()
    call([need(words[0]), *words[1:], PROGRAMS / f"sections_fapp.{source}", "-o", made, *more], made.parent)
    return made


def recorded(where: Path) -> list[str]:
    """The values of the sections' metrics: NAME/NUMBER=VALUE."""
    with otf2.reader.open(str(where / "sections.trace" / "traces.otf2")) as trace:
        return [
            f"{event.metric.member.name}={event.value}"
            for _, event in trace.events
            if isinstance(event, otf2.events.Metric) and event.metric.member.unit == "section"
        ]


ALL = ["all/0=1", *OUTER, *HIDDEN, *TOFU, *SECOND, "all/0=0"]
LEVELS: list[tuple[dict[str, str], list[str]]] = [
    ({}, OUTER),
    ({"FJ_TOFUPA_LEVEL": "0"}, OUTER),
    ({"FJ_TOFUPA_LEVEL": "1"}, [*OUTER, *TOFU]),
    ({"FJ_TOFUPA_LEVEL": "2", "VT_SECTION_LEVEL": "1"}, ALL),
]


@pytest.mark.parametrize(
    ("program", "settings", "expected"),
    [("c", *level) for level in LEVELS] + [(language, *LEVELS[-1]) for language in LANGUAGES[1:]],
    indirect=["program"],
)
def test_levels(program: Path, tmp_path: Path, settings: dict[str, str], expected: list[str]) -> None:
    """At most -L, by default 0; strictly below FJ_TOFUPA_LEVEL, by default -1; regions from 1 to 4095."""
    vtrace(tmp_path, "run", "--unify", program, env=settings)
    assert recorded(tmp_path) == expected


def test_without_vtrace(program: Path, tmp_path: Path) -> None:
    run(program, tmp_path)
    assert not names(tmp_path)


def test_example_of_the_guide(build: Builder, tools: Path, tmp_path: Path) -> None:
    """Region 1 has three calls of MPI, region 0 the time from MPI_Init to MPI_Finalize."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build("sections_tofu.c", flags=("-vt:inst", "manual", "-I", str(tools / "include")))
    mpi.run(program, tmp_path, ranks=2, env={"FJ_TOFUPA_LEVEL": "100"})
    unify(tmp_path, prefix_of(program))
    archive = tmp_path / f"{prefix_of(program)}.trace"
    done = vtrace(tmp_path, "profile", archive, "--by", "section", "--json")
    rows = {(row["process"], row["section"]): row for row in json.loads(done.stdout)["sections_by_process"]}
    begun, ended = _ends(archive)
    for rank in ("MPI Rank 0", "MPI Rank 1"):
        assert {name for process, name in rows if process == rank} == {"all/0", "tofupa/0", "tofupa/1"}
        assert [rows[rank, f"tofupa/{number}"]["mpi_calls"] for number in (0, 1)] == [6, 3]
        assert rows[rank, "tofupa/0"]["elapsed_ns"] == ended[rank] - begun[rank]


def _ends(archive: Path) -> tuple[dict[str, int], dict[str, int]]:
    """The leave of MPI_Init and the enter of MPI_Finalize, by process."""
    begun, ended = {}, {}
    with otf2.reader.open(str(archive / "traces.otf2")) as trace:
        for location, event in trace.events:
            if isinstance(event, otf2.events.Leave) and event.region.name == "MPI_Init":
                begun[location.group.name] = event.time
            if isinstance(event, otf2.events.Enter) and event.region.name == "MPI_Finalize":
                ended[location.group.name] = event.time
    return begun, ended
