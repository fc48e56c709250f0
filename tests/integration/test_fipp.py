# SPDX-License-Identifier: BSD-3-Clause
"""vtrace compat fipp: the options, layouts and numbers of the Instant Profiler."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import vtrace
from support.readers import fipp_report
from support.synthetic_runs import fapp_run, fipp_run
from support.tools import ROOT, Done, call, need
from vtrace.compat.fipp_costs import procedure_name
from vtrace.paths import LIB

LEVELS = ["Application", "Process 0", "Process 0 - Thread 1", "Process 0 - Thread 0", "Process 1",
          "Process 1 - Thread 0", "Process 1 - Thread 1"]  # fmt: skip
"""Processes and threads in the order of their costs, as the guide says of -p and -T."""
PROCEDURES = {
    "solve": (50, 0, 8, "40", "60"), "solve._OMP_1": (29, 5, 0, "50", "58"), "solver._OMP_2_": (7, 0, 0, "12", "20"),
    "deep": (6, 0, 0, "5", "9"), "main": (5, 0, 0, "1", "30"), "memcpy": (3, 0, 0, "--", "--"),
}  # fmt: skip
"""Name: cost, in barriers, in MPI, start, end."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of an archive with known costs."""
    return fipp_run.write(tmp_path_factory.mktemp("fipp") / "known").parent


def shown(archive: Path, *words: str | Path) -> str:
    """The output of fipppx. The last word may be the directory, without -d."""
    return vtrace(archive.parent, "compat", "fipppx", "-A", *words, archive.name).stdout


def test_environment_and_times(archive: Path) -> None:
    text = shown(archive)
    about = fipp_report.environment(text)
    assert about["Type of program"] == "MPI (OpenMP)"
    assert about["Average at sampling interval"] == "10.0 (ms)"
    assert about["Measured range"] == "All ranges"
    assert about["Virtual coordinate"] == "(2, 0, 0)"
    assert {"Measured time", "CPU frequency"} < {*about}
    times = fipp_report.times(text)
    assert times["Application"] == ["1.0000", "1.0000", "--"]
    assert (times["Process 0"][1], times["Process 1"][1]) == ("0.5300", "0.4700")


def test_procedures(archive: Path) -> None:
    """Table 2.24 at all levels: costs are samples, those in MPI and barriers belong to the procedure that called."""
    found = fipp_report.tables(shown(archive, "-pall"))
    assert [level for level, what in found if what == "procedures"] == LEVELS
    costs, mpi = found["Application", "procedures"]
    assert costs.head == ["Cost", "%", "Operation (s)", "Barrier", "%", "Start", "End"]
    assert mpi.head == ["MPI", "%", "Communication (s)", "Start", "End"]
    assert costs.total == ["100", "100.0000", "1.0000", "5", "5.0000", "--", "--", "Application"]
    assert mpi.total == ["8", "8.0000", "0.0800", "--", "--", "Application"]
    for row, of_mpi in zip(costs.rows, mpi.rows, strict=True):
        cost, barrier, in_mpi, start, end = PROCEDURES[row[-1]]
        assert row[:-1] == [
            str(cost), f"{cost:.4f}", f"{cost / 100:.4f}", str(barrier), f"{100 * barrier / cost:.4f}", start, end
        ]  # fmt: skip
        assert of_mpi == [str(in_mpi), f"{100 * in_mpi / cost:.4f}", f"{in_mpi / 100:.4f}", start, end, row[-1]]
    assert [row[-1] for row in costs.rows] == [*PROCEDURES]
    thread = found["Process 0 - Thread 1", "procedures"][0]
    assert [(row[0], row[-1]) for row in thread.rows] == [("25", "solve._OMP_1"), ("3", "memcpy")]


STATISTICS = """\
 Performance monitor event:Statistics

*
 Application - performance monitor
*

  Elapsed(s)  MFLOPS  MFLOPS/PEAK(%)
-
      1.0000    5000          3.9062  Application
-
      1.0000    1500          2.3438  Process 0
      1.0000    3500          5.4688  Process 1

  Elapsed(s)   MIPS  MIPS/PEAK(%)  Floating-op(%)
-
      1.0000  10000       31.2500         38.0952  Application
-
      1.0000   3000       18.7500         38.0952  Process 0
      1.0000   7000       43.7500         38.0952  Process 1

*
 Process 0 - performance monitor
*

  Elapsed(s)  MFLOPS  MFLOPS/PEAK(%)
-
      1.0000    1500          2.3438  Process 0
-
      1.0000    1000          3.1250  Thread 1
      1.0000     500          1.5625  Thread 0
"""
"""Figure 2.20, with short rules: counts of fapp_run, once in the first thread to four times in the last."""


def test_hardware_monitor(tmp_path: Path) -> None:
    archive = fipp_run.write(tmp_path / "counted", counters=fapp_run.COUNTS).parent
    (archive / "fipp.json").write_text(json.dumps({"frequency": "2000"}))
    text = re.sub(r"\*{9,}", "*", re.sub("-{9,}", "-", shown(archive, "-Icpu,hwm")))
    assert STATISTICS in text
    (archive / "fipp.json").write_text(json.dumps({"frequency": "2000", "event": "MEM_access"}))
    rows = list(csv.reader(io.StringIO(shown(archive, "-Ihwm", "-tcsv"))))
    at = rows.index(["Performance monitor event:MEM_access Application"])
    assert rows[at + 1 : at + 3] == [
        ["Elapsed(s)", "LS_SIMD-or(%)", "LS-or(%)", "Mem throughput(GB/s)", "Name"],
        ["1.0000", "20", "10", "12.8000", "Application"],
    ]


def test_hardware_monitor_without_counters(archive: Path) -> None:
    rows = list(csv.reader(io.StringIO(shown(archive, "-Ihwm", "-tcsv"))))
    at = rows.index(["Performance monitor event:Statistics Application"])
    assert rows[at + 2] == ["1.0000", "--", "--", "Application"]


@pytest.mark.parametrize(
    ("name", "symbol", "file", "shown"),
    [
        ("solve._omp_fn.0", "solve._omp_fn.0", "s.c", "solve._OMP_1"),
        ("solve, parallel region at s.f90:5", "solve_._omp_fn.1", "s.f90", "solve._OMP_2_"),
        ("solve(long), task at s.cc:9", "_Z5solvel._omp_fn.1", "s.cc", "solve(long)._TSK_2"),
        ("solve(long) [clone ._omp_fn.0]", "_Z5solvel._omp_fn.0", "s.cc", "solve(long) [clone ._omp_fn.0]"),
        ("parallel region at s.c:5", ".omp_outlined.", "s.c", "parallel region at s.c:5"),
        ("solve", "solve", "s.c", "solve"),
    ],
)
def test_names_of_procedures(name: str, symbol: str, file: str, shown: str) -> None:
    """Table 2.25; a mangled symbol is not a name."""
    assert procedure_name(name, symbol, file) == shown


def test_lines_and_sources(archive: Path, tmp_path: Path) -> None:
    """Tables 2.27 and 2.29."""
    (tmp_path / "prog.c").write_text("".join(f"line {number};\n" for number in range(1, 61)))
    done = vtrace(archive.parent, "compat", "fipp", "-A", f"-Icpu,src:/nowhere:{tmp_path}", "-d", archive.name)
    rows = fipp_report.tables(done.stdout)["Application", "lines"][0].rows
    assert [(row[0], row[-2], row[-1]) for row in rows] == [
        ("48", "45", "solve"), ("29", "52", "solve._OMP_1"), ("7", "14", "solver._OMP_2_"), ("5", "10", "main"),
        ("2", "47", "solve"),
    ]  # fmt: skip
    listing = done.stdout.partition(" Sources profile")[2].splitlines()
    assert " -----> prog.c" in listing
    assert any(line.split() == ["45", "48", "line", "45;"] for line in listing)
    assert any(line.split() == ["46", "line", "46;"] for line in listing)
    assert "deep.f90: no such file here" in done.stderr


def test_call_graph(archive: Path) -> None:
    """Table 2.28. From 128 levels on the nested level is uncertain."""
    graphs = fipp_report.graph(shown(archive, "-Icall", "-p1,0"))
    assert [*graphs] == [f"Process {p} - Thread {t}" for p, t in ((1, 0), (1, 1), (0, 1), (0, 0))]
    first = graphs["Process 0 - Thread 0"]
    assert first[:3] == [
        (20.0, "0", "main", 5, 25), (48.0, "1", "solve", 12, 20), (32.0, "2", "MPI_Send", 8, 8)
    ]  # fmt: skip
    deep = [line for line in graphs["Process 1 - Thread 1"] if line[2] == "deep"]
    assert [line[1] for line in deep] == [*map(str, range(1, 128)), *["???"] * (fipp_run.DEEP - 127)]
    assert deep[-1][3:] == (6, 6)


def test_options_select(archive: Path, tmp_path: Path) -> None:
    """-l, -f, -p, -T, -o and -I choose levels and rows."""
    rows = fipp_report.tables(shown(archive, "-l", "1", "-f", "memcpy"))["Application", "procedures"][0].rows
    assert [row[-1] for row in rows] == ["solve", "memcpy"]
    found = fipp_report.tables(shown(archive, "-p1,limit=1", "-T1,limit=1"))
    assert [level for level, what in found if what == "lines"] == ["Application", "Process 1", "Process 1 - Thread 1"]
    assert found["Application", "procedures"][0].total[0] == "100"
    found = fipp_report.tables(shown(archive, "-pinput=1"))
    assert found["Application", "procedures"][0].total[0] == "53"
    assert not fipp_report.tables(shown(archive, "-Inocpu,call"))
    assert shown(archive, "-o", tmp_path / "report.txt") == ""
    assert (tmp_path / "report.txt").read_text() == shown(archive)
    balance = shown(archive, "-Icpu,balance").split("-- Parallel balance of cost --")[1].splitlines()
    assert balance[1] == " solve 40 - 60"
    assert [line.split()[-4:] for line in balance[3:5]] == [
        ["66.6667", "20", "Process", "0"], ["100.0000", "30", "Process", "1"]
    ]  # fmt: skip


def test_csv(archive: Path) -> None:
    """Tables with a title and a head, and an empty line between two; neither balance nor sources."""
    text = shown(archive, "-tcsv", "-Icpu,balance,src,call")
    parts = [[*csv.reader(io.StringIO(part))] for part in text.split("\n\n")]
    titles = [part[0][0] for part in parts[1:]]
    assert titles[0] == "Time statistics"
    assert titles.count("Application - procedures") == 2
    assert "Call graph Process 0 - Thread 0" in titles
    table = parts[1 + titles.index("Application - procedures")]
    assert table[1] == ["Cost", "%", "Operation (s)", "Barrier", "%", "Start", "End", "Name"]
    assert {len(row) for row in table[1:]} == {8}
    assert "balance" not in text
    assert "-----" not in text


def test_limit_of_collection_and_libraries(archive: Path, tmp_path: Path) -> None:
    """fipp -C -l names further procedures __other__; -Puserfunc gives the costs of libraries to their callers."""
    (tmp_path / "fipp.trace").symlink_to(archive)
    (tmp_path / "fipp.json").write_text(json.dumps({"limit": 2, "userfunc": True, "sections": False, "x": 1}))
    rows = fipp_report.tables(vtrace(tmp_path, "compat", "fipp", "-A", ".").stdout)["Application", "procedures"][0].rows
    assert [(row[0], row[-1]) for row in rows] == [("50", "solve"), ("32", "solve._OMP_1"), ("18", "__other__")]


def costs(where: Path) -> dict[str, tuple[int, int]]:
    """By function: ns and samples in the archive of fipp -C."""
    rows = json.loads(vtrace(where, "profile", "fipp", "--by", "function", "--top", "1000", "--json").stdout)["profile"]
    return {row["function"]: (row["exclusive_ns"], row["samples"]) for row in rows}


def collect(where: Path, *words: str | Path, check: bool = True) -> Done:
    return vtrace(where, "compat", "fipp", "-C", *words, check=check)


@pytest.mark.parametrize("language", ["c", pytest.param("c++", marks=pytest.mark.full), "fortran"])
def test_sections(build: Builder, tmp_path: Path, language: str) -> None:
    """-S range samples only between fipp_start and fipp_stop; the CPU time is within 5 standard errors."""
    flags: tuple[str | Path, ...] = ("-O1", "-I", LIB / "compat" / "include")
    compiler = {"c": "gcc", "c++": "g++", "fortran": "gfortran"}[language]
    source = "sampled_sections." + ("f90" if language == "fortran" else "c")
    if language == "fortran":
        need("gfortran")
        flags = ("-O1", "-fno-inline", "-L", LIB / "compat" / "lib", "-lfipp")
        program = tmp_path / "sections"
        call(["gfortran", ROOT / "tests" / "programs" / source, "-o", program, *flags], tmp_path)
    else:
        program = build(source, compiler=compiler, flags=flags, plain=True)
    call([program, "1"], tmp_path)  # without vtrace
    done = collect(tmp_path, "-d", "range", "-S", "range", "-i", "10", program, "1000")
    inside, outside = map(int, done.stdout.split())
    found = costs(tmp_path / "range")
    assert not any("outside" in name for name in found)
    assert max(found, key=lambda name: found[name]).startswith("inside")
    share, total = inside / (inside + outside), sum(ns for ns, _ in found.values())
    effective = 0.7 * sum(count for _, count in found.values()) / share  # the distances of samples are random
    assert abs(total / (inside + outside) - share) < 5 * math.sqrt(share * (1 - share) / effective)


def test_system_time_of_sections(build: Builder, tmp_path: Path) -> None:
    """With -S range, user and system time are those that the process used in its sections."""
    program = build("sampled_sections.c", flags=("-O1", "-I", LIB / "compat" / "include"), compiler="gcc", plain=True)
    done = collect(tmp_path, "-d", "range", "-S", "range", "-i", "10", program, "600")
    inside = int(done.stdout.split()[0]) / 1e9
    times = fipp_report.times(vtrace(tmp_path, "compat", "fipp", "-A", "-d", "range").stdout)
    elapsed, user, system = map(float, times["Application"])
    assert 0.98 * inside < user + system < 1.02 * inside + 0.02
    assert user + system < elapsed + 0.01


LIBRARY = """
double library_work(long n) { double x = 1; while (n--) x = x * 1.0000001 + 1e-9; return x; }
"""
CALLER = """
#include <stdlib.h>
double library_work(long n);
int main(int argc, char **argv)
{
    double x = 0;
    for (long i = 0; i < atol(argv[1]); i++) x += library_work(1000000);
    return x < 0;
}
"""


@pytest.fixture(scope="module")
def calls_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program and a library, both compiled with -g."""
    place = tmp_path_factory.mktemp("library")
    (place / "work.c").write_text(LIBRARY)
    (place / "main.c").write_text(CALLER)
    call([need("gcc"), "-g", "-O1", "-shared", "-fPIC", "work.c", "-o", "libwork.so"], place)
    call([need("gcc"), "-g", "-O1", "main.c", "-L.", "-lwork", "-Wl,-rpath,$ORIGIN", "-o", "calls"], place)
    return place / "calls"


@pytest.mark.parametrize("options", [(), ("-Lshared",), ("-Icall", "-Puserfunc")], ids=["", "shared", "userfunc"])
def test_libraries(calls_library: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    """A library with debug information: without -Lshared it has no lines, and with -Puserfunc its costs are main's."""
    collect(tmp_path, "-d", "prof", "-i", "10", *options, calls_library, "120")
    tables = fipp_report.tables(vtrace(tmp_path, "compat", "fipp", "-A", "-l0", "-d", "prof").stdout)
    rows = {row[-1]: row for row in tables["Application", "procedures"][0].rows}
    lines = {row[-1] for row in tables["Application", "lines"][0].rows}
    if "-Puserfunc" in options:
        assert "library_work" not in rows
        assert float(rows["main"][1]) > 90
        return
    assert float(rows["library_work"][1]) > 90
    assert (rows["library_work"][-3:-1] == ["2", "2"], "library_work" in lines) == (("-Lshared" in options),) * 2
    assert "library_work" in lines or rows["library_work"][-3:-1] == ["--", "--"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-H", "event=Statistics"), "events of SPARC64 XIfx"), (("-H", "mode=usr", "-i", "20"), "include kernel mode"),
        (("-m", "2147483"), "-m 2147483: 131072 is used, the maximum"),
    ],
)  # fmt: skip
def test_options_with_a_blank_and_the_most_memory(
    build: Builder, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    program = build("sampled_loops.c", flags=("-g", "-O1"), plain=True)
    done = collect(tmp_path, "-d", "prof", *words, program, "400")
    assert said in done.stderr
    assert "too large" not in done.stderr
    assert costs(tmp_path / "prof")


def test_collecting_whole_program(build: Builder, tmp_path: Path) -> None:
    """Without -S range the routines do nothing; -i is the interval, and the exit code is the program's."""
    flags = ("-O1", "-I", LIB / "compat" / "include")
    program = build("sampled_sections.c", compiler="gcc", flags=flags, plain=True)
    done = collect(tmp_path, "-Icall", "-Puserfunc", "-H", "-m", "3000", "-l5", "-i20", "-d", "prof", program, "1000")
    assert "events of SPARC64 XIfx that this machine does not have" in done.stderr
    assert {*costs(tmp_path / "prof")} > {"inside", "outside"}
    notes = json.loads((tmp_path / "prof" / "fipp.json").read_text())
    assert (notes["limit"], notes["userfunc"], notes["sections"], notes["event"]) == (5, True, False, "Statistics")
    again = collect(tmp_path, "-d", "prof", program, check=False)
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)
    assert "is not empty" in again.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-C", "./x"), "-d"), (("-C", "-d", "p", "-i", "5", "./x"), "-i"), (("-C", "-d", "p"), "PROGRAM"),
        (("-C", "-d", "p", "-Puserfunc", "./x"), "-Icall"), (("-C", "-d", "p", "-Ifoo", "./x"), "-Ifoo"),
        (("-C", "-d", "p", "-Hevent=Foo", "./x"), "event=Foo"), (("-d", "p", "./x"), "-C or -A"),
        (("-A",), "-d"), (("-A", "-p", "x", "-d", "p"), "-px"), (("-A", "-Tlimit=x", "-d", "p"), "limit=x"),
        (("-A", "-Icall,foo", "-d", "p"), "foo"), (("-A", "-t", "html", "-d", "p"), "-t"),
    ],
)  # fmt: skip
def test_wrong_options(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = vtrace(tmp_path, "compat", "fipp", *words, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), str(done)
    assert said in done.stderr


def test_no_samples(tmp_path: Path) -> None:
    done = vtrace(tmp_path, "compat", "fipppx", "-A", "missing", check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), str(done)


def test_install(tmp_path: Path, archive: Path) -> None:
    """vtrace compat --install: the commands under their own names, the header and the library."""
    vtrace(tmp_path, "compat", "--install", "tools")
    made = {str(path.relative_to(tmp_path / "tools")) for path in (tmp_path / "tools").rglob("*") if path.is_file()}
    headers = {"fj_tool/fapp.h", "fj_tool/fipp.h", "fj_tool/fjtofupa.h", "fjcoll.h", "perf.hh"}
    compilers = ("vtfccpx", "vtFCCpx", "vtfrtpx", "vtfcc", "vtFCC", "vtfrt", "vtcc", "vtcxx", "vtf77", "vtf90")
    commands = (
        "cpupa",
        "fapp",
        "fapppx",
        "fipp",
        "fipppx",
        "tofupa",
        "vtunifypx",
        "vtunify",
        "vtunify-mpi",
        *compilers,
    )
    libraries = ("libfapp.a", "libfipp.a", "tracer_quiet.o", "tracer_one_flush.o")
    files = {f"bin/{name}" for name in commands} | {f"lib/{name}" for name in libraries}
    assert made == files | {f"include/{name}" for name in headers}
    done = call([tmp_path / "tools" / "bin" / "fipppx", "-A", archive], tmp_path)
    assert done.stdout == shown(archive)
