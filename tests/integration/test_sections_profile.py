# SPDX-License-Identifier: BSD-3-Clause
"""vtrace profile --by section and Trace.sections: against the events of a program with MPI and threads."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import vtrace as api
from support.build import mpis
from support.build.builder import Builder
from support.build.parallel import assert_same, unify_mpi
from support.build.run import record, unify, vtrace
from support.oracles import sections
from support.oracles.sections import ADDED
from support.oracles.user_api import MANUAL
from support.recorded_archives import unpack
from support.tools import call
from vtrace.paths import LIB

COUNTERS = ("page-faults", "ru_stime", "ru_utime")
EVER = (-(2**62), 2**62)
CALLS = {"all/0": 1, "program/0": 1, "round/0": 1, "round/1": 1, "round/2": 1, "over/1": 3, "once/1": 1, "team/1": 5}
MPI_CALLS = {"round/0": 1, "round/1": 2, "round/2": 3, "over/1": 3, "once/1": 6, "team/1": 5}
Places = dict[tuple[str, str], sections.Thread]


@pytest.fixture(scope="module")
def archive(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """vtunify and vtunify-mpi write the same archive."""
    where = tmp_path_factory.mktemp("sections")
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build("sections_mpi.c", flags=(*MANUAL, "-pthread"))
    mpi.run(program, where, ranks=2, env={"VT_METRICS": ":".join(COUNTERS)})
    unify(where, "-k", "-o", "sections_mpi", program.name)
    unify_mpi(mpi, where, "-o", "same", program.name, ranks=2)
    assert_same(where / "sections_mpi.trace", where / "same.trace")
    return where / "sections_mpi.trace"


@pytest.fixture(scope="module")
def known(archive: Path) -> Places:
    return sections.read(archive)


def table(archive: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        vtrace(archive.parent, "profile", archive, "--by", "section", "--json", *words).stdout
    )
    return found


def test_the_oracle_knows_the_program(known: Places) -> None:
    for name, count in CALLS.items():
        found = [one.sums(name) for one in known.values() if name in one.openings]
        assert {sums["calls"] for sums in found} == {count}
        assert len(found) == {"all/0": 4, "once/1": 1}.get(name, 2)
        assert name not in MPI_CALLS or {sums["mpi_calls"] for sums in found} == {MPI_CALLS[name]}


def expected(sums: dict[str, int], whole: int) -> dict[str, Any]:
    """The columns of a row; CPU times in ns, of us. Without a reading, counters are unknown."""
    user, system = (sums[name] * 1000 if name in sums else None for name in ("ru_utime", "ru_stime"))
    share = sums["elapsed_ns"] / whole
    return {**{key: sums[key] for key in ADDED}, "user_ns": user, "system_ns": system, "share": pytest.approx(share)}


def by_process(known: Places, window: tuple[int, int] = EVER) -> dict[tuple[str, str], dict[str, int]]:
    """The sums of the threads; the whole run of a process lasts from the first to the last event of its threads."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for (process, _), one in known.items():
        for name in one.openings:
            sums = one.sums(name, window)
            if sums:
                of = found.setdefault((process, name), {})
                found[process, name] = {key: of.get(key, 0) + sums[key] for key in sums if not of or key in of}
    for process in {process for process, _ in known}:
        times = [one.openings["all/0"][0] for (of, _), one in known.items() if of == process]
        begin, end = max(window[0], min(t[0] for t in times)), min(window[1], max(t[1] for t in times))
        found[process, "all/0"] |= {"calls": 1, "elapsed_ns": end - begin}
    return found


def values(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in (*ADDED, "user_ns", "system_ns", "share")}


def test_threads(archive: Path, known: Places) -> None:
    found = {(row["thread"], row["section"]): values(row) for row in table(archive)["sections_by_thread"]}
    assert found == {
        (f"{process}, {thread}", name): expected(one.sums(name), one.sums("all/0")["elapsed_ns"])
        for (process, thread), one in known.items()
        for name in one.openings
    }


def check_processes(found: dict[str, Any], known: Places, window: tuple[int, int] = EVER) -> None:
    """Compares the processes, and the application with its processes."""
    sums = by_process(known, window)
    rows = {(row["process"], row["section"]): values(row) for row in found["sections_by_process"]}
    assert rows == {key: expected(one, sums[key[0], "all/0"]["elapsed_ns"]) for key, one in sums.items()}
    for kind, of in (("average", lambda x: sum(x) / len(x)), ("maximum", max), ("minimum", min)):
        application = {row["section"]: row for row in found["sections"] if row["kind"] == kind}
        assert {*application} == {name for _, name in rows}
        for name, row in application.items():
            each = [one for (_, section), one in rows.items() if section == name]
            assert row["processes"] == len(each)
            for column in (*ADDED, "user_ns", "system_ns"):
                known_values = [one[column] for one in each]
                value = None if None in known_values else of(known_values)
                assert row[column] == (None if value is None else pytest.approx(value, rel=1e-12)), (name, column)


def test_processes_and_application(archive: Path, known: Places) -> None:
    found = table(archive)
    check_processes(found, known)
    assert [row["section"] for row in found["sections"]][::3][:2] == ["all/0", "program/0"]
    assert sum("unfinished/1" in note for note in found["notes"]) == 2


def test_window(archive: Path, known: Places) -> None:
    """From the middle of an MPI call to the middle of another one: both count with their part inside."""
    calls = known["MPI Rank 0", "Master thread"].mpi
    start, stop = (sum(calls[place]) // 2 for place in (3, -3))
    part = table(archive, "--from", f"{start}ns", "--to", f"{stop}ns")
    inside = {key: one for key, one in known.items() if one.times[0] < stop and one.times[-1] > start}
    check_processes(part, inside, (start, stop))
    of_rank = {(row["process"], row["section"]) for row in table(archive, "--ranks", "1")["sections_by_process"]}
    assert of_rank == {key for key in by_process(known) if key[0] == "MPI Rank 1"}


def test_python(archive: Path, known: Places) -> None:
    """Each opening, with the increases of the counters."""
    trace = api.open(archive)
    found = trace.sections()
    labels = [(str(p), str(t)) for p, t in zip(
        trace.processes["name"][trace.places.process], trace.locations["name"], strict=True)]  # fmt: skip
    rows = [
        (*labels[row["location"]], found.sections[row["section"]], row["begin"], row["end"], row["mpi_ns"],
         {name: int(row[f"@{name}"]) for name in COUNTERS})
        for row in found.records()
    ]  # fmt: skip
    assert sorted(rows, key=str) == sorted((
        (process, thread, name, begin, end, one.mpi_within(begin, end),
         {counter: after[counter] - before[counter] for counter in COUNTERS})
        for (process, thread), one in known.items()
        for name, openings in one.openings.items()
        for begin, end, before, after in openings
    ), key=str)  # fmt: skip
    odd = [(found.sections[row["section"]], row["starts"], row["stops"]) for row in found.unpaired.records()]
    assert odd == [("unfinished/1", 1, 0)] * 2


def test_metrics(archive: Path, known: Places, tmp_path: Path) -> None:
    """Counters and derived values by section, the most first."""
    events = tmp_path / "my.events"
    events.write_text("EVENT,PER_SECOND,DERIVED_INFIX,N0/N1,page-faults,elapsed\n")
    done = vtrace(tmp_path, "profile", archive, "--by", "section", "--metrics", "page-faults,PER_SECOND", "--csv",
                  "--events", events)  # fmt: skip
    sums = by_process(known)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["section"] for row in rows} == {name for _, name in sums}
    faults = [int(row["page-faults"]) for row in rows]
    assert faults == sorted(faults, reverse=True)
    for row, count in zip(rows, faults, strict=True):
        each = [one for (_, name), one in sums.items() if name == row["section"]]
        assert count == sum(one["page-faults"] for one in each)
        assert row["section"] == "all/0" or float(row["PER_SECOND"]) == pytest.approx(
            count / sum(one["elapsed_ns"] / 1e9 for one in each)
        )


def test_shown(archive: Path) -> None:
    done = vtrace(archive.parent, "profile", archive, "--by", "section", "--top", "2")
    assert "average, maximum and minimum of the processes" in done.stdout
    assert "the first 6 of 24: --top shows more" in done.stdout
    assert "section unfinished/1 of MPI Rank 0, Master thread: 1 start without stop: left out" in done.stderr
    text = vtrace(archive.parent, "profile", archive, "--by", "section", "--csv").stdout
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# sections", "# sections_by_process", "# sections_by_thread"
    ]  # fmt: skip


@pytest.mark.parametrize("words", [
    ("--sort", "calls"), ("--source", "x.c"), ("--select", "region=solve"), ("--metrics", "nothing"),
    ("--metrics", "page-faults", "--select", "region=solve"), ("sections_mpi",),
])  # fmt: skip
def test_refused(archive: Path, words: tuple[str, ...]) -> None:
    done = vtrace(archive.parent, "profile", archive, "--by", "section", *words, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), str(done)


def test_without_counters(build: Builder, tmp_path: Path) -> None:
    """CPU times are unknown. Sections without a stop are left out."""
    record(build("sections.c", flags=(*MANUAL, "-pthread")), tmp_path)
    rows = table(tmp_path / "sections.trace")["sections_by_process"]
    assert {row["user_ns"] for row in rows} == {row["system_ns"] for row in rows} == {None}
    assert {row["section"]: row["calls"] for row in rows} == {
        "all/0": 1, "outer/1": 2, "cross/2": 1, "again/1": 1, "again/2": 1, "off/1": 2
    }  # fmt: skip


def test_reserved_name(tmp_path: Path) -> None:
    text = "from vtrace.user import section\nwith section('all'), section('tofupa'), section('mine'): pass\n"
    env = {"LD_PRELOAD": str(LIB / "libvtrace.so.1"), "VT_FILE_PREFIX": "py"}
    done = call([sys.executable, "-c", text], tmp_path, env)
    assert "the program's own section all/0 is not recorded: the name means the whole run" in done.stderr
    unify(tmp_path, "py")
    rows = table(tmp_path / "py.trace")["sections_by_thread"]
    assert {row["section"]: row["calls"] for row in rows} == {"all/0": 1, "mine/0": 1}


@pytest.mark.parametrize(
    ("name", "said"),
    [("scorep-io", "user s"), ("scorep-heat2d", "MPI s"), ("scorep-sampling", "no calls and no sections")],
)
def test_other_tools(tmp_path: Path, name: str, said: str) -> None:
    """Other tools' archives have only the whole run; Score-P's ru_utime has the unit s and the exponent -6."""
    unpack(name, tmp_path)
    shown = vtrace(tmp_path, "profile", name, "--by", "section").stdout
    assert said in shown
    assert {row["section"] for row in table(tmp_path / name)["sections"]} == ({"all/0"} if "all/0" in shown else set())
