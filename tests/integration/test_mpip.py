# SPDX-License-Identifier: BSD-3-Clause
"""vtrace mpip: counts and sizes follow from the program, and times agree with a second sum over the events."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import vtrace
from support.readers.archive import Trace, read
from support.readers.mpip_report import AT, NAMES, RANKS, SENT, numbers, parse, recorded, report
from support.tools import PROGRAMS
from vtrace import open as vtrace_open


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory, build: Builder) -> Path:
    """A directory with the archive mpi_report.trace, recorded with call sites."""
    return recorded(mpis.find("mpich-wheel", build), tmp_path_factory.mktemp("report"), {"VT_MPI_CALLSITES": "2"})


def test_header(where: Path) -> None:
    found = report(where, "-p", "-t", "10.5", "-s", "512")
    assert found.head["Command"].endswith(f"mpi_report {where}/data")
    assert found.head["Version"].startswith("3.4.1")
    assert found.head["MPIP env var"] == "-p -s 512 -t 10.5"
    for name in ("Start time", "Stop time"):
        assert re.fullmatch(r"\d{4} \d\d \d\d \d\d:\d\d:\d\d", found.head[name])
    assert list(found.tasks) == [0, 1, 2]
    assert found.head["Callsite source"] == "return addresses"


def test_call_sites(where: Path) -> None:
    found = report(where)
    section = found.sections["Callsites"]
    assert section.columns == ["ID", "Lev", "File/Address", "Line", "Parent_Funct", "MPI_Call"]
    assert section.number == len(NAMES) == len(numbers(found))
    innermost = [row for row in section.rows if row[1] == "0"]
    assert {(row[2], row[3], row[5]) for row in innermost} == {
        ("mpi_report.c", str(AT[site]), name) for site, name in NAMES.items()
    }
    assert [int(row[3]) for row in innermost] == sorted(AT.values())  # sites have the order of the source lines
    outer = [row for row in section.rows if row[1] == "1"]
    assert {tuple(row[4:]) for row in outer} == {("main",)}
    assert len(outer) == len(NAMES) - 2
    assert {row[4] for row in innermost} == {"messages", "collectives", "files", "windows", "main"}


SENT_COLUMNS = ["Name", "Site", "Rank", "Count", "Max", "Mean", "Min", "Sum"]


def sizes(rows: list[list[str]], names: dict[str, str]) -> dict[tuple[str, str], list[float]]:
    return {(names[row[1]], row[2]): [float(word) for word in row[3:]] for row in rows}


def of_sizes(bytes_: list[int], ranks: int = 1) -> list[float]:
    values = [max(bytes_), sum(bytes_) / len(bytes_), min(bytes_), ranks * sum(bytes_)]
    return [ranks * len(bytes_), *(float(f"{value:.4f}") for value in values)]


def test_sent_bytes(where: Path) -> None:
    found = report(where, "-e")
    names = numbers(found)
    section = found.sections["Callsite Message Sent statistics (all, sent bytes)"]
    assert section.columns == SENT_COLUMNS
    expected = {}
    for site, (_, bytes_, ranks) in SENT.items():
        ranks = list(range(RANKS)) if ranks is None else ranks
        expected |= {(site, str(rank)): of_sizes(bytes_) for rank in ranks}
        expected[site, "*"] = of_sizes(bytes_, len(ranks))
    assert sizes(section.rows, names) == expected
    top = found.sections["Aggregate Sent Message Size (top twenty, descending, bytes)"]
    assert top.columns == ["Call", "Site", "Count", "Total", "Avrg", "Sent%"]
    total = sum(e[4] for (_, rank), e in expected.items() if rank == "*")
    assert [(names[row[1]], int(row[2]), float(row[3])) for row in top.rows][:2] == [
        ("ssend", 1, 5000.0),
        ("send", 12, 3000.0),
    ]
    assert {row[0] for row in top.rows} == {call for call, _, _ in SENT.values()}
    for row in top.rows:
        assert float(row[5]) == float(f"{100 * expected[names[row[1]], '*'][4] / total:.2f}")
    assert sum(float(row[5]) for row in top.rows) == pytest.approx(100, abs=0.1)


def test_files_and_windows(where: Path) -> None:
    found = report(where, "-e")
    names = numbers(found)
    io = sizes(found.sections["Callsite I/O statistics (all, I/O bytes)"].rows, names)
    assert io == {
        **{("write", str(rank)): of_sizes([200, 200]) for rank in range(RANKS)},
        **{("read", str(rank)): of_sizes([100 + rank]) for rank in range(RANKS)},
        ("write", "*"): of_sizes([200, 200], RANKS),
        ("read", "*"): of_sizes([100, 101, 102]),
    }
    rma = sizes(found.sections["Callsite RMA statistics (all, origin bytes)"].rows, names)
    expected = {"put": 48, "get": 32, "accumulate": 8}
    assert rma == {(site, rank): of_sizes([size]) for site, size in expected.items() for rank in "012"} | {
        (site, "*"): of_sizes([size], RANKS) for site, size in expected.items()
    }
    assert [row[5] for row in found.sections["Aggregate RMA Origin Size (top twenty, descending, bytes)"].rows] == [
        "54.55", "36.36", "9.09"
    ]  # fmt: skip


def test_histograms(where: Path) -> None:
    found = report(where, "-p", "-y", "-e")
    section = found.sections["Aggregate Point-To-Point Sent (top twenty, descending)"]
    total = sum(sum(b) * len(range(RANKS) if r is None else r) for _, b, r in SENT.values())
    assert section.lines[0].split("  ")[0] == "Call"
    rows = [(row[0], float(row[1]), row[2:5], row[5:]) for row in section.rows]
    small = ["0", "-", "7"]
    expected = [
        ("Ssend", 5000, ["4096", "-", "8191"]), ("Send", 2100, ["256", "-", "511"]), ("Send", 600, ["128", "-", "255"]),
        ("Send", 300, ["64", "-", "127"]), ("Sendrecv", 120, ["32", "-", "63"]),
    ]  # fmt: skip
    assert rows == [(name, float(f"{100 * n / total:.3f}"), small, data) for name, n, data in expected]
    section = found.sections["Aggregate Collective Time (top twenty, descending)"]
    kinds = {(row[0], row[5]) for row in section.rows}
    assert kinds == {
        ("Barrier", "0"), ("Alltoallv", "0"), ("Bcast", "16"), ("Bcast", "32"), ("Bcast", "64"), ("Gather", "8"),
        ("Scatter", "0"), ("Allgather", "8"), ("Allgatherv", "8"), ("Alltoall", "16"), ("Reduce", "16"),
        ("Allreduce", "64"), ("Allreduce", "0"), ("Scan", "8"),
    }  # fmt: skip
    times = found.sections["Callsite Time statistics (all, milliseconds)"].rows
    mpi = float(found.sections["MPI Time (seconds)"].rows[-1][2])
    bcast = sum(float(row[3]) * float(row[5]) for row in times if row[0] == "Bcast" and row[2] == "*")
    shown = sum(float(row[1]) for row in section.rows if row[0] == "Bcast")
    assert shown == pytest.approx(bcast / mpi / 10, rel=0.1, abs=0.01)


class Recomputed:
    """The times of MPI calls, summed over the events as the otf2 package reads them."""

    def __init__(self, trace: Trace) -> None:
        self.app: dict[int, int] = {}
        self.calls: dict[tuple[int, str, str], list[int]] = defaultdict(list)
        opened: dict[int, tuple[int, str]] = {}
        begun: dict[int, int] = {}
        for event in trace.events:
            if event.kind not in ("Enter", "Leave") or trace.region_of(event).paradigm != "MPI":
                continue
            rank, name = event.location, trace.region_of(event).name.removeprefix("MPI_")
            if event.kind == "Enter":
                opened[rank] = event.time, str(event.more.get("call site", ""))
                if name == "Finalize":
                    self.app[rank] = event.time - begun[rank]
            elif name == "Init":
                begun[rank] = event.time
            elif name != "Finalize":
                enter, site = opened[rank]
                self.calls[rank, name, site.split(" <- ")[0].rpartition(":")[2]].append(event.time - enter)

    def mpi(self, rank: int) -> int:
        return sum(sum(times) for (of, *_), times in self.calls.items() if of == rank)


def test_times(where: Path) -> None:
    """Every time in the report equals the rounded sum of nanoseconds in the events."""
    again = Recomputed(read(where / "mpi_report.trace"))
    found = report(where)
    section = found.sections["MPI Time (seconds)"]
    assert section.columns == ["Task", "AppTime", "MPITime", "MPI%"]
    app, mpi = sum(again.app.values()), sum(map(again.mpi, range(RANKS)))
    rows = [(str(rank), again.app[rank], again.mpi(rank)) for rank in range(RANKS)]
    assert section.rows == [
        [name, f"{a / 1e9:.3g}", f"{m / 1e9:.3g}", f"{100 * m / a:.2f}"] for name, a, m in [*rows, ("*", app, mpi)]
    ]
    names = numbers(found)
    section = found.sections["Callsite Time statistics (all, milliseconds)"]
    assert section.columns == ["Name", "Site", "Rank", "Count", "Max", "Mean", "Min", "App%", "MPI%"]
    assert section.number == len(again.calls)
    expected = []
    for (rank, name, line), times in again.calls.items():
        spans = [f"{value / 1e6:.3g}" for value in (max(times), sum(times) / len(times), min(times))]
        shares = [f"{100 * sum(times) / whole:.2f}" for whole in (again.app[rank], again.mpi(rank))]
        expected.append([name, line, str(rank), str(len(times)), *spans, *shares])
    lines = {number: str(AT[site]) for number, site in names.items()}
    assert sorted([r[0], lines[r[1]], *r[2:]] for r in section.rows if r[2] != "*") == sorted(expected)
    assert [(row[0], int(row[1])) for row in section.rows] == sorted((row[0], int(row[1])) for row in section.rows)
    total = [row for row in section.rows if row[2] == "*"]
    assert sum(int(row[3]) for row in total) == sum(len(times) for times in again.calls.values())
    assert sum(float(row[8]) for row in total) == pytest.approx(100, abs=0.005 * len(total))


def test_aggregate_time(where: Path) -> None:
    again = Recomputed(read(where / "mpi_report.trace"))
    found = report(where)
    section = found.sections["Aggregate Time (top twenty, descending, milliseconds)"]
    assert section.columns == ["Call", "Site", "Time", "App%", "MPI%", "COV"]
    by_line: dict[str, dict[int, int]] = defaultdict(dict)
    for (rank, _, line), times in again.calls.items():
        by_line[line][rank] = sum(times)
    app, mpi = sum(again.app.values()), sum(map(again.mpi, range(RANKS)))
    order = sorted(by_line, key=lambda line: -sum(by_line[line].values()))[:20]
    expected = []
    for line in order:
        values = list(by_line[line].values())
        whole, mean = sum(values), sum(values) / len(values)
        spread = (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5 / mean if len(values) > 1 else 0
        expected.append(
            [line, f"{whole / 1e6:.3g}", f"{100 * whole / app:.2f}", f"{100 * whole / mpi:.2f}", f"{spread:.2f}"]
        )
    names = numbers(found)
    assert [[str(AT[names[row[1]]]), *row[2:]] for row in section.rows] == expected


def test_concise(where: Path) -> None:
    again = Recomputed(read(where / "mpi_report.trace"))
    found = report(where, "-c")
    assert list(found.sections) == [
        "Task Time Statistics (seconds)",
        "Aggregate Time (top twenty, descending, milliseconds)",
        "Aggregate Sent Message Size (top twenty, descending, bytes)",
        "Aggregate I/O Size (top twenty, descending, bytes)",
        "Aggregate RMA Origin Size (top twenty, descending, bytes)",
        "Callsites",
        "Callsite Time statistics (all callsites, milliseconds)",
        "Callsite Message Sent statistics (all callsites, sent bytes)",
        "Callsite I/O statistics (all callsites, I/O bytes)",
        "Callsite RMA statistics (all callsites, origin bytes)",
        "End of Report",
    ]
    rows = {row[0]: row[1:] for row in found.sections["Task Time Statistics (seconds)"].rows}
    app = {rank: ns / 1e9 for rank, ns in again.app.items()}
    assert rows["Max"][0] == f"{max(app.values()):.6f}"
    assert rows["Max"][2] == str(max(app, key=lambda rank: app[rank]))
    assert rows["Min"][0] == f"{min(app.values()):.6f}"
    assert rows["Aggregate"][0] == f"{sum(app.values()):.6f}"
    section = found.sections["Callsite Message Sent statistics (all callsites, sent bytes)"]
    assert section.number == len(SENT)
    names = numbers(found)
    sent = {names[row[1]]: row[2:6] for row in section.rows}
    assert sent["send"] == ["3", "1000", "1000", "1000"]
    assert sent["ssend"] == ["1", "5000", "5000", "5000"]
    both = vtrace(where, "mpip", "mpi_report", "-v").stdout
    assert both.count("@ mpiP\n") == 2
    assert both.index("MPI Time (seconds)") < both.index("Task Time Statistics (seconds)")


def test_options(where: Path, tmp_path: Path) -> None:
    assert [title for title in report(where, "-d").sections if title.startswith("Callsite")] == []
    assert {row[1] for row in report(where, "-k", "1").sections["Callsites"].rows} == {"0"}
    whole = report(where, "-n").sections["Callsites"].rows
    assert {row[2] for row in whole} == {str(PROGRAMS / "mpi_report.c")}
    none = report(where, "-k", "0", "-d")
    assert "Callsites" not in none.sections
    names = [row[0] for row in none.sections["Aggregate Time (top twenty, descending, milliseconds)"].rows]
    assert len(names) == len(set(names))
    every, few = (
        report(where, *words).sections["Callsite Time statistics (all, milliseconds)"].rows
        for words in ((), ("-t", "20"))
    )
    assert few == [row for row in every if row[2] == "*" or float(row[8]) >= 20]
    assert len([row for row in few if row[2] == "*"]) == len(NAMES)
    done = vtrace(where, "mpip", "mpi_report", "-s", "7", "-z")
    assert (done.stdout, "-s is ignored" in done.stderr, "-z: no report" in done.stderr) == ("", True, True)
    done = vtrace(where, "mpip", "mpi_report", "-k", "5", "-o", str(tmp_path / "a.mpiP"))
    assert "the trace has stacks of at most 2 frames" in done.stderr
    assert "next: vtrace summary " in done.stderr
    parse((tmp_path / "a.mpiP").read_text())
    done = vtrace(where, "mpip", "mpi_report", "-f", str(tmp_path), "-v")
    paths = sorted(tmp_path.glob("mpi_report.3.*.mpiP"))
    assert [path.name.split(".")[3] for path in paths] == ["1", "2"]
    assert all(parse(path.read_text()).sections for path in paths)
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == list(map(str, paths))


def test_the_variable_of_mpip(tmp_path: Path, build: Builder) -> None:
    """vtrace run writes the report for which MPIP asks, with call sites and barriers, under the pid of rank 0; vtrace
    mpip takes the options, too. What has no meaning here is told."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build("mpi_messages.c", flags=("-g",), plain=True)
    launch = (*mpi.launch, "-n", "2", program)
    done = vtrace(tmp_path, "run", "--unify", "-o", "a", *launch, env={**mpi.env, "MPIP": "-c -g -k2 -bb -f . -q"})
    (path,) = tmp_path.glob("*.mpiP")
    found = parse(path.read_text())
    assert found.head["MPIP env var"] == "-f . -c -k 2"
    assert found.head["Callsite source"] == "return addresses"
    assert "Task Time Statistics (seconds)" in found.sections
    pids = {str(row["value"]) for row in vtrace_open(tmp_path / "a").group_properties.records()}
    assert found.head["Collector PID"] in pids
    assert f".{found.head['Collector PID']}.1.mpiP" in path.name
    assert "MPIP: -g: " in done.stderr
    assert "MPIP: -q: mpiP has no such option" in done.stderr
    again = vtrace(tmp_path, "mpip", "a", "-l", env={"MPIP": "-z -e"})
    assert "-l: a report from a trace needs no memory" in again.stderr
    assert parse(again.stdout).head["MPIP env var"] == "-e"
    silent = vtrace(tmp_path, "run", "--unify", "-o", "b", *launch, env={**mpi.env, "MPIP": "-z"})
    assert len([*tmp_path.glob("*.mpiP")]) == 1, silent.stderr


@pytest.mark.parametrize("library", ["mpich-wheel", "openmpi"])
def test_reports_during_the_run(tmp_path: Path, build: Builder, library: str) -> None:
    """MPI_Pcontrol(2) begins the data anew, 3 and 4 ask for a verbose and a concise report of the calls until then."""
    mpi = mpis.find(library, build)
    program = mpi.build("mpi_controlled.c", flags=("-g",), plain=True)
    launch = (*mpi.launch, "-n", "2", program)
    vtrace(tmp_path, "run", "--unify", "-o", "a", *launch, env={**mpi.env, "VT_MPI_CALLSITES": "1"})
    vtrace(tmp_path, "mpip", "a", "-f", ".")
    counts = []
    for number, kind in enumerate(("MPI Time (seconds)", "Task Time Statistics (seconds)", "MPI Time (seconds)"), 1):
        (path,) = tmp_path.glob(f"*.{number}.mpiP")
        found = parse(path.read_text())
        assert kind in found.sections
        (times,) = (section for title, section in found.sections.items() if title.startswith("Callsite Time"))
        verbose = kind.startswith("MPI")
        rows = [row for row in times.rows if row[0] in ("Barrier", "Allreduce") and (not verbose or row[2] == "*")]
        counts.append({row[0]: int(row[3 if verbose else 2]) for row in rows})
    assert counts[0] == {"Barrier": 10}
    assert counts[1].keys() == {"Barrier", "Allreduce"}
    assert counts[2] == {"Barrier": 14, "Allreduce": 14}
    assert not [*tmp_path.glob("*.4.mpiP")]
