# SPDX-License-Identifier: BSD-3-Clause
"""VT_FILTER_SPEC, VT_GROUPS_SPEC and VT_MAX_STACK_DEPTH: the archive lacks exactly the calls that the rules exclude."""

from __future__ import annotations

from pathlib import Path

import otf2
import pytest

from support.build import compilers
from support.build.builder import Builder
from support.build.run import filtered, record, run, unify, vtrace
from support.oracles.check import check


@pytest.fixture(scope="module")
def many(build: Builder) -> Path:
    return build("many.c", compiler="clang")


@pytest.mark.parametrize(
    ("rules", "calls"),
    [
        ("work -- 0\n", {"main": 1}),
        ("main -- 0\n", {"work": 100}),
        ("other;work;more -- 0", {"main": 1}),
        ("w?r* -- 0\r\n", {"main": 1}),
        ("work -- 7\n", {"main": 1, "work": 7}),
        ("* -- 3\n", {"main": 1, "work": 3}),
        ("work -- -1\n* -- 0\n", {"work": 100}),
        ("wor -- 0\nork -- 0\n# work -- 0\n", {"main": 1, "work": 100}),
        ("@ 1 - 9\nwork -- 0\n@ 0\nmain -- 0", {"work": 100}),
        ("Application -- 5 G\n", {"main": 1, "work": 5}),
        ("SCOREP_REGION_NAMES_BEGIN\n EXCLUDE *\n INCLUDE w[m-p]rk\nSCOREP_REGION_NAMES_END\n", {"work": 100}),
        ("SCOREP_REGION_NAMES_BEGIN EXCLUDE work SCOREP_REGION_NAMES_END\n", {"main": 1}),
        (
            "SCOREP_REGION_NAMES_BEGIN\nEXCLUDE w*\nINCLUDE main\n work\nSCOREP_REGION_NAMES_END",
            {"main": 1, "work": 100},
        ),
    ],
)
def test_rules(many: Path, tmp_path: Path, rules: str, calls: dict[str, int]) -> None:
    assert filtered(many, tmp_path, rules, "100").calls() == calls


def test_all_functions_excluded(many: Path, tmp_path: Path) -> None:
    """Rules exclude all functions of a program: it runs normally, and its result does not change."""
    (tmp_path / "rules").write_text("* -- 0\n")
    done = run(many, tmp_path, "100", "3", code=3, env={"VT_FILTER_SPEC": "rules"})
    assert (done.stdout, done.stderr) == ("done 100\n", "")


@pytest.mark.parametrize(
    ("rules", "calls"),
    [
        ("solve -- 0\n", {"main": 1, "solve.other": 4, ".part.0": 5}),
        ("solve.* -- 0\n", {"main": 1, "solve": 5, ".part.0": 5}),
        (".part.0 -- 0\n", {"main": 1, "solve": 5, "solve.other": 4}),
    ],
)
def test_clones(build: Builder, tmp_path: Path, rules: str, calls: dict[str, int]) -> None:
    """A rule names a function without the suffixes of its clones."""
    assert filtered(build("clones.c"), tmp_path, rules).calls() == calls


AREA = {"geometry::area"}
SCOREP = "SCOREP_REGION_NAMES_BEGIN {} SCOREP_REGION_NAMES_END"


@pytest.mark.parametrize(
    ("rules", "hidden"),
    [
        ("geometry::area -- 0", AREA),
        ("geometry::area(int, int) -- 0", AREA),
        ("geometry::area(int) -- 0", set()),
        ("_ZN8geometry4areaEii -- 0", set()),
        (SCOREP.format("EXCLUDE MANGLED _ZN8geometry4area*"), AREA),
        (SCOREP.format("EXCLUDE geometry::area(int,\\ int)"), AREA),
        ("geometry::Sq* -- 0", {"geometry::Square::size", "geometry::Square::Square"}),
    ],
)
def test_names_as_the_user_reads_them(build: Builder, tmp_path: Path, rules: str, hidden: set[str]) -> None:
    program = build("shapes.cc", compiler="g++")
    whole = record(program, tmp_path).calls()
    (tmp_path / "shapes.trace").rename(tmp_path / "whole.trace")
    found = filtered(program, tmp_path, rules).calls()
    assert found == {name: n for name, n in whole.items() if name not in hidden}


def test_libraries_that_come_and_go(build: Builder, tmp_path: Path) -> None:
    """dlopen maps the second library at the address of the first. The names stay right, and the trace lacks the
    allocations of reading the libraries' symbols."""
    shared = ("-O1", "-fPIC", "-shared")
    libraries = [
        str(build("plugin.c", flags=(*shared, f"-DNAME={name}"), output=f"lib{name}.so")) for name in ("one", "two")
    ]
    program = build("loader.c", flags=("-O1", "-ldl"))
    env = {"VT_MEMTRACE": "yes"}
    whole = record(program, tmp_path, *libraries, env=env).calls()
    (tmp_path / "loader.trace").rename(tmp_path / "whole.trace")
    found = filtered(program, tmp_path, "one;entry -- 0\ntwo -- 3\n", *libraries, **env).calls()
    assert found == {name: n for name, n in whole.items() if name not in ("one", "entry")} | {"two": 3}


def test_mpi_calls_and_ranks(build: Builder, tmp_path: Path) -> None:
    program = build("ranks_threads.c", compiler="mpicc", flags=("-O1", "-pthread"), output="heat")
    whole = record(program, tmp_path, "5", ranks=2)
    assert whole.calls(0)["work"] == 5
    (tmp_path / "heat.trace").rename(tmp_path / "whole.trace")
    trace = filtered(program, tmp_path, "MPI_Barrier -- 0\n@ 1\nwork -- 0\n", "5", ranks=2)
    assert "MPI_Barrier" not in trace.calls()
    assert trace.calls(0)["work"] == 5
    second = next(n for n, location in trace.locations.items() if location.group == "MPI Rank 1")
    assert "work" not in trace.calls(second)


def test_limits_of_mpi_calls(build: Builder, tmp_path: Path) -> None:
    """Each rank counts its own calls. Both ranks omit the same calls, so collectives have all members."""
    program = build("mpi_rounds.c", compiler="mpicc")
    trace = filtered(program, tmp_path, "MPI_Barrier -- 3\nMPI_Comm_rank -- 5\n", "100", "10", ranks=2)
    for rank in (0, 1):
        assert (trace.calls(rank)["MPI_Barrier"], trace.calls(rank)["MPI_Comm_rank"]) == (3, 1)
    assert trace.kinds()["MpiCollectiveEnd"] == 6


def test_limits_of_io_and_threads(build: Builder, tmp_path: Path) -> None:
    program = build("threads.c", flags=("-O1", "-pthread"))
    assert filtered(program, tmp_path, "pthread_* -- 2\n", "together", "4", "60").entered()["pthread_create"] == 2
    streams = build("io_streams.c", flags=("-O1", "-pthread"))
    whole = record(streams, tmp_path, env={"VT_IOTRACE": "yes"}).calls()
    (tmp_path / "io_streams.trace").rename(tmp_path / "whole.trace")
    found = filtered(streams, tmp_path, "fputc;fread;fwrite;fseek -- 1\n", VT_IOTRACE="yes").calls()
    limited = {name: n for name, n in whole.items() if name in ("fputc", "fread", "fwrite", "fseek")}
    assert max(limited.values()) > 1
    assert found == whole | {name: min(n, 1) for name, n in limited.items()}


def test_a_handler_meets_a_new_library(build: Builder, tmp_path: Path) -> None:
    """A signal handler interrupts malloc and calls a new library with hooks. vtrace cannot read that library's symbols
    inside of malloc, so it records the library's functions until malloc ends."""
    flags = ("-vt:inst", "hooks", "-O1", "-fPIC", "-shared")
    library = build("late_lib.cc", compiler="g++", flags=flags, output="liblate.so")
    program = build("late.c", flags=("-O1", "-ldl", "-fno-builtin"))
    trace = filtered(program, tmp_path, "late::* -- 0\n", str(library))
    assert trace.calls() == {"main": 1, "entry": 3, "late::inner": 1}


def test_a_handler_meets_sleds_of_a_new_library(build: Builder, tmp_path: Path) -> None:
    """The symbols of a library with sleds are read when the library is loaded, before a handler can call it."""
    compilers.need_sleds()
    library = build("late_lib.cc", compiler="g++", flags=("-O1", "-fPIC", "-shared"), output="liblate.so")
    program = build("late.c", flags=("-O1", "-ldl", "-fno-builtin"))
    trace = filtered(program, tmp_path, "late::* -- 0\n", str(library))
    assert trace.calls() == {"main": 1, "entry": 3}


def test_a_rank_off(build: Builder, tmp_path: Path) -> None:
    program = build("ranks_threads.c", compiler="mpicc", flags=("-O1", "-pthread"), output="heat")
    trace = filtered(program, tmp_path, "@ 1 - 7 -- OFF\n", "5", ranks=2)
    second = next(n for n, location in trace.locations.items() if location.group == "MPI Rank 1")
    assert trace.calls(second) == {}
    assert trace.calls(0)["work"] == 5


def test_groups(many: Path, tmp_path: Path) -> None:
    (tmp_path / "groups").write_text("# mine\nSMALL = w*; tiny\nBIG=main\n")
    trace = filtered(many, tmp_path, "SMALL -- 0 G\n", "100", VT_GROUPS_SPEC="groups")
    assert trace.calls() == {"main": 1}


def test_groups_come_into_the_archive(many: Path, tmp_path: Path) -> None:
    (tmp_path / "groups").write_text("SMALL = w*; tiny # those\nBIG=main\nNONE=x*\n")
    record(many, tmp_path, "100", env={"VT_GROUPS_SPEC": "groups"})
    with otf2.reader.open(str(tmp_path / "many.trace" / "traces.otf2")) as trace:
        found = {
            g.name: [m.name for m in g.members] for g in trace.definitions.groups if g.name in ("SMALL", "BIG", "NONE")
        }
    assert found == {"SMALL": ["work"], "BIG": ["main"]}


def test_stack_depth_passes_exceptions(build: Builder, tmp_path: Path) -> None:
    """Frames that an exception or longjmp leaves without a leave hook no longer count for the depth."""
    for compiler in ("g++", "clang++"):
        program = build("shapes.cc", compiler=compiler, output=f"shapes-{compiler}")
        whole = record(program, tmp_path, env={"VT_FILE_PREFIX": f"shapes-{compiler}"}).calls()
        (tmp_path / f"shapes-{compiler}.trace").rename(tmp_path / f"whole-{compiler}.trace")
        found = record(program, tmp_path, env={"VT_MAX_STACK_DEPTH": "2"}).calls()
        assert found["catcher"] == whole["catcher"] == 3
        assert found["settled"] == whole["settled"]
        assert "throws" not in found


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (b"work\n", b'rules:1: ignored "work": without -- and a limit'),
        (b"a -- 1\nwork -- many\n", b'rules:2: ignored "many": not a number of calls (0: never, -1: always)'),
        (b" ; -- 3\n", b'rules:1: ignored "3": no names before --'),
        (b"@ 3 - 1\n", b'rules:1: ignored "3 - 1": not a rank or a range of ranks'),
        (
            b"SCOREP_REGION_NAMES_BEGIN\nwork\nSCOREP_REGION_NAMES_END\n",
            b'rules:2: ignored "work": before EXCLUDE or INCLUDE',
        ),
        (b"\0\1\2", b"is not a text file: all functions are recorded"),
        (b"x" * 2_000_000, b"has more than 1048576 bytes: all functions are recorded"),
    ],
)
def test_bad_rules_are_reported_and_skipped(many: Path, tmp_path: Path, rules: bytes, said: bytes) -> None:
    (tmp_path / "rules").write_bytes(rules)
    done = run(many, tmp_path, "20", env={"VT_FILTER_SPEC": "rules"})
    assert done.stdout == "done 20\n"
    about = [line for line in done.stderr.splitlines() if "VT_FILTER_SPEC" in line]
    assert len(about) == 1
    assert said.decode() in about[0]
    unify(tmp_path, "many")
    assert check(tmp_path / "many.trace").calls() == {"main": 1, "work": 20}
    checked = vtrace(tmp_path, "filter", "rules", check=False)
    assert (checked.returncode, checked.stdout.count(", 1 left out\n")) == (1, 1), str(checked)


def test_a_missing_file(many: Path, tmp_path: Path) -> None:
    done = run(many, tmp_path, env={"VT_FILTER_SPEC": "nowhere"})
    assert len([line for line in done.stderr.splitlines() if "nowhere" in line]) == 1
    done = run(many, tmp_path, env={"VT_FILTER_SPEC": "."})
    assert f"VT_FILTER_SPEC={tmp_path}/. cannot be read (is a directory): all functions are recorded" in done.stderr
    assert vtrace(tmp_path, "filter", "nowhere", check=False).returncode == 1
    assert vtrace(tmp_path, "filter", check=False).returncode == 2


def test_explain(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("a;b* -- 0\n@ 2\nc -- 9\n@ 3 -- OFF\n")
    done = vtrace(tmp_path, "filter", "rules", "--explain", "bee(int)", "--explain", "c")
    assert done.stdout == "bee(int) is not recorded: rules:1: b*\nc is recorded: none of the 4 rules matches\n"
    assert vtrace(tmp_path, "filter", "rules").stdout == "rules: 4 rules\n"
    (tmp_path / "calls").write_text("LIBC-I/O -- 0 G\nLIBC-MALLOC -- 5 G\n")
    done = vtrace(tmp_path, "filter", "calls", "--explain", "fopen", "--explain", "calloc")
    assert done.stdout == "fopen is not recorded: calls:1: LIBC-I/O\ncalloc is recorded 5 times: calls:2: LIBC-MALLOC\n"
    assert vtrace(tmp_path, "filter", "rules", "--explain", "c", "--rank", "2").stdout == (
        "c is recorded 9 times: rules:3: c\n"
    )
    assert (
        "rules:4: *"
        in vtrace(tmp_path, "filter", "rules", "--explain", "MPI_Send", "--group", "MPI", "--rank", "3").stdout
    )
