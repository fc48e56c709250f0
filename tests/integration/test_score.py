# SPDX-License-Identifier: BSD-3-Clause
"""vtrace score: bytes and time by region, and filters that meet the requested size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, record, run, unify, vtrace
from support.oracles.check import check
from vtrace.reports.score import Score, filter_text, kind_of, to_leave_out


@pytest.fixture
def local(build: Builder, tmp_path: Path) -> Path:
    run(build("many.c"), tmp_path, "1000")
    return tmp_path


def test_local_files_and_archives_score_alike(local: Path) -> None:
    before = {path.name: path.read_bytes() for path in local.iterdir()}
    rows = json.loads(vtrace(local, "score", "many", "--json").stdout)
    assert [(r["name"], r["kind"], r["calls"], r["bytes"], r["most"]) for r in rows] == [
        ("work", "function", 1000, 16000, 16000),
        ("main", "function", 1, 16, 16),
    ]
    assert {path.name: path.read_bytes() for path in local.iterdir()} == before
    unify(local, "many")
    assert json.loads(vtrace(local, "score", "many.trace", "--json").stdout) == rows


def test_the_filter_meets_the_size(build: Builder, local: Path) -> None:
    shown = vtrace(local, "score", "many")
    assert "16,016 bytes" in shown.stdout
    done = vtrace(local, "score", "many", "--fit", "1K", "-o", "many.filter")
    assert "next: run with VT_FILTER_SPEC=many.filter" in done.stdout
    assert "work -- 0" in (local / "many.filter").read_text().splitlines()
    run(build("many.c"), local, "1000", env={"VT_FILTER_SPEC": "many.filter"})
    unify(local, "many")
    assert check(local / "many.trace").calls() == {"main": 1}


def test_the_fullest_process_counts(build: Builder, tmp_path: Path) -> None:
    program = build("mpi_rounds.c", compiler="mpicc", output="rounds")
    record(program, tmp_path, "1000", "2", ranks=2)
    rows = {row["name"]: row for row in json.loads(vtrace(tmp_path, "score", "rounds", "--json").stdout)}
    assert (rows["work"]["calls"], rows["work"]["bytes"], rows["work"]["most"]) == (2200, 35200, 32000)
    assert (rows["MPI_Barrier"]["kind"], rows["MPI_Barrier"]["calls"]) == ("MPI", 4)


def test_too_small_a_size_is_reported(local: Path) -> None:
    done = vtrace(local, "score", "many", "--fit", "3")
    assert done.stdout.splitlines()[-1] == "work -- 0"
    assert "16 bytes per process remain" in done.stderr


@pytest.mark.parametrize(
    "words", [["many", "--fit", "lots"], ["many", "-o", "x"], ["many", "--fit", "-1"], ["many", "--fit", "5T"]]
)
def test_usage(local: Path, words: list[str]) -> None:
    before = names(local)
    done = vtrace(local, "score", *words, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert names(local) == before


def test_short_calls_go_first() -> None:
    found = [
        Score(name="long", kind="function", calls=10, bytes=160, most=160, exclusive=10_000),
        Score(name="short", kind="function", calls=10, bytes=160, most=160, exclusive=10),
        Score(name="main", kind="function", calls=1, bytes=16, most=16, exclusive=1),
        Score(name="MPI_Send", kind="MPI", calls=100, bytes=4800, most=4800, exclusive=1),
    ]
    assert [s.name for s in to_leave_out(found, 5136)] == []
    assert [s.name for s in to_leave_out(found, 5000)] == ["short"]
    assert [s.name for s in to_leave_out(found, 0)] == ["short", "long"]


def test_names_that_the_grammar_reads() -> None:
    names = ["f::{lambda(int, int)#1}::operator()", "print(char const*)"]
    text, _ = filter_text(
        [Score(name=name, kind="function", calls=1, bytes=16, most=16, exclusive=1) for name in names], "x", names
    )
    assert text.splitlines()[-2:] == ["f::{lambda(int, int)?1}::operator() -- 0", "print(char const?) -- 0"]


@pytest.mark.parametrize(
    ("paradigm", "role", "kind"),
    [
        ("COMPILER", "FUNCTION", "function"),
        ("USER", "FUNCTION", "function"),
        ("MPI", "POINT2POINT", "MPI"),
        ("NONE", "FILE_IO_METADATA", "I/O"),
        ("NONE", "DEALLOCATE", "memory"),
        ("PTHREAD", "THREAD_WAIT", "other"),
        ("OPENMP", "LOOP", "OMP"),
    ],
)
def test_kinds(paradigm: str, role: str, kind: str) -> None:
    assert kind_of(paradigm, role) == kind


_WORK = """
{begin}
void work(int i) {{ kept += i; }}
void work_more(int i) {{ for (int k = 0; k < 300000; k++) kept += i; }}
void rework(int i) {{ for (int k = 0; k < 300000; k++) kept -= i; }}
void setup(void) {{ kept = 0; }}
void setup_unused(void) {{ kept = 1; }}
void tidy(void) {{ kept = 2; }}
{end}
int main(int argc, char **argv)
{{
    (void)argv;
    {using}
    for (int i = 0; i < 100; i++) {{ work(i); tidy(); }}
    for (int i = 0; i < 60; i++) work_more(i);
    for (int i = 0; i < 40; i++) rework(i);
    for (int i = 0; i < 80; i++) setup();
    if (argc > 1) setup_unused();
    return 0;
}}
"""
_LANGUAGES = {
    "gcc": (".c", {"begin": "static volatile int kept;", "using": "", "end": ""}),
    "g++": (".cpp", {"begin": "namespace ns { volatile int kept;", "using": "using namespace ns;", "end": "}"}),
}


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_the_compiler_option_excludes_the_functions_of_the_filter(
    build: Builder, tmp_path: Path, compiler: str
) -> None:
    """The option that gcc gets excludes the filter's functions. gcc matches parts of names: work is part of work_more
    and rework, setup is part of the name of a function that is never called."""
    suffix, words = _LANGUAGES[compiler]
    source = tmp_path / f"parts{suffix}"
    source.write_text(_WORK.format(**words))
    before = record(build(source, compiler=compiler, flags=["-O0"]), tmp_path).calls()
    where = "ns::" if compiler == "g++" else ""
    assert set(before) == {where + name for name in ("work", "work_more", "rework", "setup", "tidy")} | {"main"}

    done = vtrace(tmp_path, "score", "parts.trace", "--fit", str(101 * 16), "-o", "some.filter")
    assert _rules(tmp_path / "some.filter") == {where + name for name in ("work", "setup", "tidy")}
    vtrace(tmp_path, "score", "parts.trace", "--fit", "0", "-o", "all.filter")
    assert _rules(tmp_path / "all.filter") == set(before) - {"main"}
    flags = [_flag(tmp_path / f"{name}.filter") for name in ("some", "all")]

    without = {name: calls for name, calls in before.items() if name != where + "tidy"}
    assert _calls(build, source, compiler, flags[0], tmp_path) == without
    assert _calls(build, source, compiler, flags[1], tmp_path) == {"main": 1, where + "setup": 80}
    assert "not by gcc's flag" in done.stderr
    assert "its name is a part of " in done.stderr


def _rules(path: Path) -> set[str]:
    return {line.removesuffix(" -- 0").removesuffix("()").removesuffix("(int)")
            for line in path.read_text().splitlines() if line.endswith(" -- 0")}  # fmt: skip


def _flag(path: Path) -> str:
    lines = [line for line in path.read_text().splitlines() if "-finstrument" in line]
    assert len(lines) == 1
    return lines[0].removeprefix("#").strip()


def _calls(build: Builder, source: Path, compiler: str, flag: str, where: Path) -> dict[str, int]:
    run(build(source, compiler=compiler, flags=["-O0", flag]), where)
    unify(where, "parts", "--force")
    return check(where / "parts.trace").calls()
