# SPDX-License-Identifier: BSD-3-Clause
"""vtrace compat fapp: the options, layouts and numbers of the Advanced Profiler."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import vtrace
from support.readers import fapp_report
from support.synthetic_runs import fapp_run
from support.tools import PROGRAMS, call, command, need
from vtrace import __version__
from vtrace.analysis.trace import open_trace
from vtrace.compat.fapp import number, seconds
from vtrace.compat.fapp_hardware import dealt

NOTES = {"date": "Fri Nov 27 04:00:00 2026", "frequency": "2000", "event": "Statistics", "items": ["mpi"], "pa": 0}
RULE, STARS = "-" * 105, "*" * 105
LAYOUT = f"""\
{RULE}
Advanced Performance Profiler (layout; written by vtrace {__version__})
Measured time           : Fri Nov 27 04:00:00 2026
CPU frequency           : Process 0 - Process 1 2000 (MHz)
Type of program         : MPI 2
Virtual coordinate      : (2, 0, 0)
{RULE}

Basic profile

{STARS}
Application
{STARS}

Kind    Elapsed(s)  User(s)  System(s)    Call
{RULE}
AVG         4.0000   1.7500     0.8750       1  all 0
MAX         4.0000   2.0000     1.0000       1
MIN         4.0000   1.5000     0.7500       1
{RULE}
AVG         2.5000   1.7500     0.8750  1.5000  loop 1
MAX         3.0000   2.0000     1.0000       2
MIN         2.0000   1.5000     0.7500       1

{STARS}
Process 0
{STARS}

  Elapsed(s)  User(s)  System(s)  Call
{RULE}
      4.0000   1.5000     0.7500     1  all 0
      3.0000   1.5000     0.7500     2  loop 1

MPI profile

{STARS}
Application
{STARS}

Kind    Elapsed(s)  Wait(s)         Byte    Call  0KB-4KB  4KB-64KB  64KB-1024KB  1024KB-
{RULE}
AVG         0.2500   0.0000  664634.5000  2.5000   0.5000    0.5000       0.5000        1  MPI_Send all 0
MAX         0.4000   0.0000      1048576       4        1         1            1        1
MIN         0.1000   0.0000       280693       1        0         0            0        1
{RULE}
AVG         0.2500   0.0000  664634.5000  2.5000   0.5000    0.5000       0.5000        1  MPI_Send loop 1
MAX         0.4000   0.0000      1048576       4        1         1            1        1
MIN         0.1000   0.0000       280693       1        0         0            0        1

{STARS}
Process 0
{STARS}

  Elapsed(s)  Wait(s)    Byte  Call  0KB-4KB  4KB-64KB  64KB-1024KB  1024KB-
{RULE}
      0.4000   0.0000  280693     4        1         1            1        1  MPI_Send all 0
{RULE}
      0.4000   0.0000  280693     4        1         1            1        1  MPI_Send loop 1
"""
HARDWARE = {
    "Cache": [
        {"Inst": ["3500000000", "1500000000", "2000000000"], "L1I miss(%)": ["1.0000"] * 3,
         "L1D miss(%)": ["5.0000"] * 3},
        {"L2 miss(%)": ["1.0000"] * 3, "L2 dm miss(%)": ["75.0000"] * 3, "L2 pf miss(%)": ["25.0000"] * 3},
    ],
    "Instructions_SIMD": [
        {"Inst": ["3500000000", "1500000000", "2000000000"], "MIPS": ["1750.0000", "1000.0000", "1000.0000"],
         "MIPS/PEAK(%)": ["17.1875", "12.5000", "12.5000"]},
        {"LS_SIMD-or(%)": ["20.0000"] * 3, "Float_SIMD-or(%)": ["15.0000"] * 3, "Fma_SIMD-or(%)": ["10.0000"] * 3,
         "Fixed_SIMD-or(%)": ["5.0000"] * 3},
        {"SIMD(%)": ["50.0000"] * 3, "LS_SIMD_rate(%)": ["66.6667"] * 3,
         "Prefetch": ["175000000", "75000000", "100000000"], "Indirect_pf": ["70000000", "30000000", "40000000"]},
    ],
    "Instructions_NOSIMD": [
        {"Inst": ["3500000000", "1500000000", "2000000000"], "MIPS": ["1750.0000", "1000.0000", "1000.0000"],
         "MIPS/PEAK(%)": ["17.1875", "12.5000", "12.5000"]},
        {"LS-or(%)": ["10.0000"] * 3, "Float-or(%)": ["4.0000"] * 3, "Fma-or(%)": ["3.0000"] * 3,
         "Fixed-or(%)": ["2.0000"] * 3},
        {"NOSIMD(%)": ["19.0000"] * 3, "LS_rate(%)": ["33.3333"] * 3,
         "Prefetch": ["175000000", "75000000", "100000000"], "Indirect_pf": ["70000000", "30000000", "40000000"]},
    ],
    "MEM_access": [
        {"LS_SIMD-or(%)": ["20.0000"] * 3, "LS-or(%)": ["10.0000"] * 3,
         "Mem throughput(GB/s)": ["2.2400", "1.2800", "1.2800"]},
        {"mem_write(%)": ["20.0000"] * 3, "Mem throughput PEAK(GB/s)": ["300.0000"] * 3,
         "Mem throughput/PEAK(%)": ["0.7467", "0.4267", "0.4267"]},
    ],
    "Performance": [
        {"2-4icmit(S)": ["1.4000", "0.6000", "0.8000"], "1i_cmit(S)": ["0.7000", "0.3000", "0.4000"],
         "op_wait(S)": ["0.3500", "0.1500", "0.2000"], "cache_wait(S)": ["0.1750", "0.0750", "0.1000"]},
        {"Mem_wait(S)": ["0.5250", "0.2250", "0.3000"], "fetch_wait(S)": ["0.1750", "0.0750", "0.1000"],
         "other_wait(S)": ["0.1750", "0.0750", "0.1000"]},
    ],
    "Statistics": [
        {"MFLOPS": ["875.0000", "500.0000", "500.0000"], "MFLOPS/PEAK(%)": ["2.1484", "1.5625", "1.5625"]},
        {"MIPS": ["1750.0000", "1000.0000", "1000.0000"], "MIPS/PEAK(%)": ["17.1875", "12.5000", "12.5000"],
         "Floating-op(%)": ["38.0952"] * 3},
    ],
    "TLB": [
        {"Inst": ["3500000000", "1500000000", "2000000000"], "uTLB-op(%)": ["1.0000"] * 3,
         "mTLB-op(%)": ["0.5000"] * 3},
    ],
}  # fmt: skip
"""By event: the items of loop/1: average of the processes, average of the threads of process 0, its thread 1."""
BYTES = 4096
LENGTHS: dict[str, dict[str, tuple[int, int | None]]] = {
    "messages/1": {
        "MPI_Irecv": (512 * BYTES, 512 * BYTES), "MPI_Isend": (16 * BYTES, 16 * BYTES),
        "MPI_Sendrecv": (513 * BYTES, 513 * BYTES), "MPI_Sendrecv_replace": (4 * BYTES, 4 * BYTES),
        "MPI_Bsend": (BYTES, BYTES), "MPI_Recv": (BYTES, BYTES),
    },
    "probed/1": {
        "MPI_Bsend": (BYTES, BYTES), "MPI_Mrecv": (512 * 8, 512 * 8), "MPI_Imrecv": (512 * BYTES, 512 * BYTES)
    },
    "collective/2": {
        "MPI_Bcast": (2 * BYTES, BYTES), "MPI_Gather": (3 * BYTES, BYTES), "MPI_Allgather": (3 * BYTES, 3 * BYTES),
        "MPI_Alltoall": (4 * BYTES, 4 * BYTES), "MPI_Reduce": (2 * BYTES, BYTES), "MPI_Allreduce": (8, 8),
        "MPI_Reduce_scatter_block": (3 * BYTES, 3 * BYTES), "MPI_Scan": (2 * BYTES, 2 * BYTES),
        "MPI_Iallreduce": (2 * BYTES, 2 * BYTES),
    },
    "one_sided/3": {"MPI_Put": (BYTES, BYTES), "MPI_Compare_and_swap": (8, None)},
}  # fmt: skip
"""By section and function: the length on rank 0, which is the root, and on rank 1 (None: not called)."""
CALLS = {"MPI_Sendrecv": 3, "probed/1 MPI_Bsend": 2, "MPI_Mprobe": 2}
NO_LENGTH = {"messages/1": ["MPI_Waitall"], "probed/1": ["MPI_Mprobe", "MPI_Wait"], "collective/2": ["MPI_Barrier"],
             "one_sided/3": ["MPI_Win_lock", "MPI_Win_unlock"]}  # fmt: skip


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of an archive with known numbers."""
    made = fapp_run.write(tmp_path_factory.mktemp("fapp") / "known").parent
    note(made)
    return made


def note(archive: Path, **changed: Any) -> None:
    (archive / "fapp.json").write_text(json.dumps(NOTES | changed))


def shown(archive: Path, *words: str | Path) -> str:
    """The output of fapppx. The last word is the directory, without -d."""
    return vtrace(archive.parent, "compat", "fapppx", "-A", *words, archive.name).stdout


def test_text_by_hand(archive: Path) -> None:
    assert shown(archive, "-plimit=1") == LAYOUT


@pytest.mark.parametrize("event", HARDWARE)
def test_hardware_by_hand(archive: Path, event: str) -> None:
    note(archive, event=event)
    found = fapp_report.tables(shown(archive, "-Inompi,hwm"))
    note(archive)
    title = next(title for title, _ in found if title.startswith("Performance monitor"))
    assert title.replace("Instruction_", "Instructions_").partition(":")[2].strip() == event
    levels = (("Application", "AVG"), ("Process 0", "AVG"), ("Process 0 - Thread 1", ""))
    for place, (level, kind) in enumerate(levels):
        tables = found[title, level]
        assert [dict(zip(t.head, t.cells("loop 1", kind), strict=True)) for t in tables] == [
            {"Elapsed(s)": ["2.0000", "1.5000", "2.0000"][place]} | {head: values[place] for head, values in of.items()}
            for of in HARDWARE[event]
        ]
    assert found[title, "Process 0"][0].cells("loop 1", "MAX")[0] == "2.0000"


def test_damaged_notes(archive: Path) -> None:
    """Values that fapp -C does not write count as unknown; a file that is not JSON is an error."""
    note(archive, event="Branch", frequency="fast", items="mpi", pa="1")
    table = fapp_report.tables(shown(archive, "-Ihwm"))["Performance monitor event: Statistics", "Application"][0]
    assert table.cells("loop 1", "AVG") == ["2.0000", "875.0000", "-"]
    (archive / "fapp.json").write_text("{")
    done = vtrace(archive.parent, "compat", "fapppx", "-A", "known", check=False)
    note(archive)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "fapp.json: cannot be read" in done.stderr


def test_csv(archive: Path) -> None:
    rows = list(csv.reader(io.StringIO(shown(archive, "-Impi,hwm", "-tcsv"))))
    at = rows.index(["MPI profile - Process 0"])
    assert rows[at + 1 : at + 4] == [
        ["Elapsed(s)", "Wait(s)", "Byte", "Call", "0KB-4KB", "4KB-64KB", "64KB-1024KB", "1024KB-", "Name", "Number",
         "Function"],
        *([["0.4000", "0.0000", "280693", "4", "1", "1", "1", "1", name, number, "MPI_Send"]
           for name, number in (("all", "0"), ("loop", "1"))]),
    ]  # fmt: skip
    at = rows.index(["Basic profile - Application"])
    assert rows[at + 6] == ["MAX", "3.0000", "2.0000", "1.0000", "2", "loop", "1"]


def test_names_are_data(tmp_path: Path) -> None:
    """Control characters in the name of a section are escaped; a missing process is disregarded, as in
    the guide."""
    fapp_run.write(tmp_path / "odd.trace", section="\x1b[31mred/1")
    for kind in ("text", "csv"):
        text = shown(tmp_path / "odd", "-t", kind)
        assert "\x1b" not in text
        assert "[31mred" in text
    words = [*command("vtrace"), "compat", "fapppx", "-A", "-p9", "-d", "odd"]
    done = call(words, tmp_path)
    assert "vtrace: warning: -p: there is no process 9 (the archive has 0 to 1): disregarded\n" in done.stderr
    assert done.stdout == shown(tmp_path / "odd")


def test_options_select(archive: Path, tmp_path: Path) -> None:
    """-p names processes before those that take longest, and reads the first; -I and -o."""
    levels = [level for title, level in fapp_report.tables(shown(archive, "-p1,limit=1")) if "Basic" in title]
    assert levels == ["Application", "Process 1"]
    alone = fapp_report.tables(shown(archive, "-pinput=1"))["Basic profile", "Application"][0]
    assert alone.cells("loop 1", "MIN")[0] == "3.0000"
    assert "MPI profile" not in shown(archive, "-Inompi")
    assert shown(archive, "-o", tmp_path / "report.txt") == ""
    assert (tmp_path / "report.txt").read_text() == shown(archive)


@pytest.fixture(scope="module")
def collected(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of fapp -C of sections_lengths, compiled with the headers alone."""
    where = tmp_path_factory.mktemp("collected")
    mpi = mpis.find("mpich-wheel", build)
    vtrace(where, "compat", "--install", "tools")
    call([mpi.mpicc, "-Wall", "-Werror", "-Itools/include", PROGRAMS / "sections_lengths.c", "-o", "lengths"], where)
    fapp = where / "tools" / "bin" / "fapp"
    done = call([fapp, "-C", "-d", "prof", "-Ihwm", *mpi.launch, "-n", "2", "./lengths"], where)
    assert "events of SPARC64 XIfx that this machine does not have: 1FLOPS_instructions" in done.stderr
    return where / "prof"


def test_formulas_of_the_user(build: Builder, tmp_path: Path) -> None:
    """-C records the events that PAPI_USER_EVENTS_FILE takes for the guide's, and -A shows their items."""
    (tmp_path / "my.events").write_text(
        "EVENT,floating_point_operations,DERIVED_INFIX,N0*1000000000,page-faults\n"
        "EVENT,effective_instruction_counts,NOT_DERIVED,minor-faults\n"
    )
    environ = {"PAPI_USER_EVENTS_FILE": str(tmp_path / "my.events")}
    program = build("sections.c", flags=("-DVTRACE", "-pthread"))
    words = [*command("vtrace"), "compat"]
    done = call([*words, "fapp", "-C", "-d", "prof", "-Hevent=Statistics", program], tmp_path, env=environ)
    assert "SPARC64 XIfx that this machine does not have: 2FLOPS_instructions" in done.stderr
    assert "faults" not in done.stderr.partition("\n")[0]
    archive = tmp_path / "prof" / "fapp"
    assert {"page-faults", "minor-faults"} <= {*open_trace(archive).metric_members["name"].tolist()}
    text = call([*words, "fapppx", "-A", "-Ihwm", "-d", "prof"], tmp_path, env=environ).stdout
    table = fapp_report.tables(text)["Performance monitor event: Statistics", "Application"][0]
    assert float(table.cells("all 0", "AVG")[0]) > 0
    rows = call(
        [*command("vtrace"), "profile", archive, "--by", "rank", "--metrics", "MIPS", "--json"], tmp_path, env=environ
    ).stdout
    assert json.loads(rows)["metrics"][0]["MIPS"] > 0


def test_no_negative_zero() -> None:
    assert (seconds(-0.00001), seconds(-0.0002), number(-0.00001)) == ("0.0000", "-0.0002", "0.0000")


@pytest.mark.parametrize("count", [0, 1, 4, 5, 34, 100])
def test_counters_of_eleven_runs(count: int) -> None:
    """All runs together have all counters, each run as few as possible; four fit into any processor."""
    names = [f"c{number}" for number in range(count)]
    runs = [dealt(names, run, 11) for run in range(1, 12)]
    assert sorted({name for run in runs for name in run}) == sorted(names)
    assert max(map(len, runs)) <= max(4, -(-count // 11))
    if count <= 4:
        assert all(run == names for run in runs)


def test_message_lengths(collected: Path) -> None:
    """Table 3.24, on both ranks, and the class of each length."""
    found = fapp_report.tables(shown(collected, "-Impi"))
    limits = (0, 4 << 10, 64 << 10, 1 << 20)
    for rank in (0, 1):
        table = found["MPI profile", f"Process {rank}"][0]
        for section, functions in LENGTHS.items():
            rows = _functions(table, section)
            expected = {name: lengths[rank] for name, lengths in functions.items() if lengths[rank] is not None}
            assert {*rows} == {*expected, *NO_LENGTH[section]}
            for name, length in expected.items():
                assert length is not None
                calls = CALLS.get(f"{section} {name}", CALLS.get(name, 1))
                classes = ["0"] * 4
                classes[sum(length >= limit for limit in limits) - 1] = str(calls)
                assert rows[name][2:] == [str(length), str(calls), *classes], (section, name, rank)
            for name in NO_LENGTH[section]:
                assert rows[name][2:] == ["-", str(CALLS.get(name, 1)), "-", "-", "-", "-"]
            assert all(0 <= float(row[1]) <= float(row[0]) + 1e-4 for row in rows.values())


def _functions(table: fapp_report.FigureTable, section: str) -> dict[str, list[str]]:
    """The functions of a section: those from the one that has the section's name on."""
    found, inside = {}, False
    for _, cells, text in table.rows:
        name, _, behind = text.partition(" ")
        if behind:
            inside = behind == section.replace("/", " ")
        if inside:
            found[name] = cells
    return found


def test_basic_of_a_run(collected: Path) -> None:
    """The same numbers as vtrace profile; hidden/4 is above the level, unfinished/5 has no stop."""
    done = vtrace(collected.parent, "profile", "prof/fapp", "--by", "section", "--json")
    rows = {row["section"]: row for row in json.loads(done.stdout)["sections_by_process"] if "0" in row["process"]}
    shown_text = vtrace(collected.parent, "compat", "fapp", "-A", "-d", "prof")
    assert "section unfinished/5 of MPI Rank 0: 1 start without stop: left out" in shown_text.stderr
    table = fapp_report.tables(shown_text.stdout)["Basic profile", "Process 0"][0]
    assert {text for _, _, text in table.rows} == {"all 0", "messages 1", "probed 1", "collective 2", "one_sided 3"}
    functions = fapp_report.tables(shown_text.stdout)["MPI profile", "Process 0"][0]
    for _, cells, text in table.rows:
        row = rows[text.replace(" ", "/")]
        calls = _functions(functions, row["section"]).values()
        assert sum(int(one[3]) for one in calls) == row["mpi_calls"]
        assert sum(float(one[0]) for one in calls) == pytest.approx(row["mpi_ns"] / 1e9, abs=5e-5 * len(calls))
        times = (row["elapsed_ns"], row["user_ns"], row["system_ns"])
        assert cells == [*(f"{ns / 1e9:.4f}" for ns in times), str(row["calls"])]
    assert fapp_report.environment(shown_text.stdout)["Virtual coordinate"] == "(2, 0, 0)"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the program sections_memory."""
    where = tmp_path_factory.mktemp("memory")
    vtrace(where, "compat", "--install", "tools")
    words = ["-Wall", "-Werror", "-pthread", "-Itools/include", PROGRAMS / "sections_memory.c", "-o", "memory"]
    call([need("gcc"), *words], where)
    return where


def memory_tables(memory: Path, item: str) -> dict[tuple[str, str], list[fapp_report.FigureTable]]:
    vtrace(memory, "compat", "fapp", "-C", "-d", item, f"-I{item}", "./memory")
    return fapp_report.tables(vtrace(memory, "compat", "fapp", "-A", "-Ilpg", "-d", item).stdout)


def test_memory_usage(memory: Path) -> None:
    """Table 3.43: the large block has a mapping of its own, with a page for its head; the small ones are in the
    arena."""
    (table,) = memory_tables(memory, "lpgusage")["LPGUsage profile", "Process 0"]
    grow, shrink = (dict(zip(table.head, table.cells(f"{name} 1"), strict=True)) for name in ("grow", "shrink"))
    mapped = (1 << 20) + os.sysconf("SC_PAGE_SIZE")
    assert table.cells("spread 1")[table.head.index("Arena")] == "1"
    for row, sign in ((grow, 1), (shrink, -1)):
        assert (int(row["Mmapped"]), int(row["Mmapped_Total"]), row["Arena"]) == (sign, sign * mapped, "0")
        assert int(row["Memory_Total"]) == int(row["Arena_Total"]) + int(row["Mmapped_Total"])
        assert int(row["Arena_Total"]) == int(row["Arena_Inuse"]) + int(row["Arena_Free"])
    assert 50 * 1000 <= int(grow["Arena_Inuse"]) <= 100 * 1024
    assert -50 * 1024 - 1024 <= int(shrink["Arena_Inuse"]) <= -40 * 1000
    assert grow["Arena_rate(E)"] == shrink["Arena_rate(S)"]
    assert float(grow["Arena_rate(S)"]) < float(grow["Arena_rate(E)"])


def test_memory_calls(memory: Path) -> None:
    """Tables 3.44 to 3.46."""
    found = memory_tables(memory, "lpgstats")
    calls, *libraries, arenas, seeks = found["LPGStats profile", "Process 0"]
    assert calls.title == "allocstats_total"
    program = next(table for table in libraries if table.title == "memory")
    assert program.cells("malloc grow 1")[0] == "100"
    for place, (_, cells, name) in enumerate(calls.rows):
        assert int(cells[0]) == sum(int(table.rows[place][1][0]) for table in libraries), name
    rows = {text: cells for _, cells, text in calls.rows}
    names = [text for _, _, text in calls.rows]
    grow, shrink = names.index("malloc grow 1"), names.index("malloc shrink 1")
    assert [name.split()[0] for name in names[grow : grow + 7]] == [
        "malloc", "calloc", "memalign", "valloc", "pvalloc", "p_memalign", "free"
    ]  # fmt: skip
    counts = [[cells[0] for _, cells, _ in calls.rows[at : at + 7]] for at in (grow, shrink)]
    assert counts == [["100", "1", "0", "0", "0", "1", "50"], ["0", "0", "0", "0", "0", "0", "52"]]
    assert rows["malloc grow 1"][4:] == ["1000", "1000", "1000"]
    assert calls.rows[grow + 1][1][4:] == ["1048576"] * 3
    assert calls.rows[grow + 6][1][4:] == ["0", "0", "0"]
    least, most, mean = map(float, rows["malloc grow 1"][1:4])
    assert 0 <= least <= mean <= most
    assert {cell for table in (arenas, seeks) for _, cells, _ in table.rows for cell in cells} == {"-"}
    average = found["LPGStats profile", "Application"][0].cells("malloc grow 1", "AVG")
    assert average == rows["malloc grow 1"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("-C", "./x"), 2, "Missing option '-d'"),
        (("-C", "-d", "new", "-Hevent_number=1,2", "./x"), 2, "those of SPARC64 XIfx"),
        (("-C", "-d", "new", "-Hevent=Branch", "./x"), 2, "-Hevent=Branch: unknown"),
        (("-C", "-d", "new", "-Hpa=12", "./x"), 2, "-Hpa=12: unknown"),
        (("-C", "-d", "new", "-Hmethod=raw", "./x"), 2, "-Hmethod=raw needs -Hpa=N"),
        (("-C", "-d", "new", "-Impi", "-Hpa=1", "./x"), 2, "-Hpa and -Impi exclude each other"),
        (("-C", "-d", "new", "-Ilpgusage,hwm", "./x"), 2, "-Ilpgusage and -Ihwm exclude each other"),
        (("-C", "-d", "new", "-Ilpgstats", "-H", "./x"), 2, "-Ilpgstats and -H exclude each other"),
        (("-C", "-d", "new", "-Icpu", "./x"), 2, "-Icpu: unknown item (one of mpi, nompi, hwm"),
        (("-C", "-d", ".", "./x"), 1, ". is not empty"),
        (("-A",), 2, "-d is missing"),
        (("-A", "-l", "3", "-d", "known"), 2, "-l needs -Hpa"),
        (("-A", "-p", "first", "-d", "known"), 2, "-pfirst: first is not a value"),
        (("-A", "-d", "nothing"), 1, "nothing"),
        ((), 0, ""),
        (("-d", "known"), 2, "fapp needs -C or -A"),
    ],
)
def test_errors(archive: Path, words: tuple[str, ...], code: int, says: str) -> None:
    done = vtrace(archive.parent, "compat", "fapp", *words, check=False)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (archive.parent / "new").exists()


@pytest.mark.parametrize(
    ("words", "sections"), [((), {"all/0", "outer/1"}), (("-Hpa=1",), {"all/0", "cross/0"})], ids=["", "pa"]
)
def test_routines_that_measure(tmp_path: Path, words: tuple[str, ...], sections: set[str]) -> None:
    """start_collection measures only with -Hpa, and fapp_start only without (guide, 3.2.1 and 3.2.2)."""
    vtrace(tmp_path, "compat", "--install", "tools")
    call([need("gcc"), "-Itools/include", PROGRAMS / "sections_fapp.c", "-o", "solve"], tmp_path)
    vtrace(tmp_path, "compat", "fapp", "-C", "-d", "prof", *words, "./solve")
    trace = open_trace(tmp_path / "prof" / "fapp.trace")
    assert {name for name in trace.sections().sections if not name.startswith("tofupa/")} == sections
