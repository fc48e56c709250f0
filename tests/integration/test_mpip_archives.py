# SPDX-License-Identifier: BSD-3-Clause
"""vtrace mpip on archives without call sites, without lines, of other tools, and without MPI."""

from __future__ import annotations

from pathlib import Path

from support.build import mpis
from support.build.builder import AS_WRITTEN, Builder
from support.build.mpis import Mpi
from support.build.run import record, unify, vtrace
from support.readers.archive import read
from support.readers.mpip_report import AT, NAMES, RANKS, SENT, parse, recorded, report
from support.tools import call, command, need


def test_without_call_sites(mpi: Mpi, tmp_path: Path) -> None:
    """Without call sites, the report names the functions around the calls and says so; the sums are the same."""
    recorded(mpi, tmp_path, {})
    done = vtrace(tmp_path, "mpip", "mpi_report", "-e")
    assert "VT_MPI_CALLSITES=1" in done.stderr
    found = parse(done.stdout)
    assert "functions around the calls" in found.head["Callsite source"]
    rows = found.sections["Callsites"].rows
    assert {(row[4], row[5]) for row in rows} == {
        *(("messages", name) for name in ("Irecv", "Send", "Wait", "Sendrecv", "Ssend", "Recv")),
        *(("collectives", NAMES[site]) for site in (*list(SENT)[3:], "barrier", "alltoallv")),
        *(("files", NAMES[site]) for site in ("open", "write", "read", "close")),
        *(("windows", NAMES[site]) for site in ("win", "fence", "put", "get", "accumulate", "free")),
        *(("main", name) for name in ("Comm_rank", "Comm_size")),
    }
    assert {row[2] for row in rows} == {"mpi_report.c"}
    sent = found.sections["Callsite Message Sent statistics (all, sent bytes)"].rows
    total = {row[0]: row[3:] for row in sent if row[2] == "*"}
    assert total["Allreduce"] == ["6", "72.0000", "38.0000", "4.0000", "228.0000"]
    assert total["Send"] == ["12", "400.0000", "250.0000", "100.0000", "3000.0000"]


def test_lines_from_another_executable(build: Builder, tmp_path: Path) -> None:
    """A stripped program was recorded; the option -x names a program with debug information, which gives the lines."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build("mpi_report.c", flags=("-g", *AS_WRITTEN))
    stripped = tmp_path / "mpi_report"
    call([need("strip"), "-o", stripped, program], tmp_path)
    mpi.run(stripped, tmp_path, ranks=RANKS, env={"VT_MPI_CALLSITES": "1"})
    unify(tmp_path, "mpi_report")
    rows = report(tmp_path).sections["Callsites"].rows
    sites = (
        NAMES.keys() - {"open", "write", "read", "close"} - {"win", "fence", "put", "get", "accumulate", "last", "free"}
    )
    assert len(rows) == len(sites)
    assert all(row[2].startswith("0x") for row in rows)
    found = report(tmp_path, "-x", str(program))
    assert {row[3] for row in found.sections["Callsites"].rows} == {str(AT[site]) for site in sites}
    assert len(found.sections["Callsites"].rows) == len(rows)


def test_foreign_archive(build: Builder, tmp_path: Path) -> None:
    """An archive of EZTrace, with one region around all calls: the report has its functions and bytes."""
    mpi = mpis.find("openmpi", build)
    program = mpi.build("foreign_mpi.c", plain=True)
    call([*mpi.launch, "-n", "2", need("eztrace"), "-t", "openmpi", program], tmp_path, env=mpi.env)
    found = parse(vtrace(tmp_path, "mpip", "foreign_mpi_trace").stdout)
    sites = {row[-1]: row for row in found.sections["Callsites"].rows}
    assert sites["Send"][-2] == "Working"
    top = found.sections["Aggregate Sent Message Size (top twenty, descending, bytes)"].rows
    assert [row[0:1] + row[2:5] for row in top if row[0] == "Send"] == [["Send", "10", "40", "4"]]
    assert len(found.tasks) == 2


def test_no_mpi(build: Builder, tmp_path: Path) -> None:
    record(build("nested.c"), tmp_path)
    done = call([*command("vtrace"), "mpip", "nested"], tmp_path, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no MPI calls in this trace" in done.stderr
    done = call([*command("vtrace"), "mpip", "x", "-o", "a", "-f", "b"], tmp_path, check=False)
    assert done.returncode == 2


def test_recording_off_is_no_time_of_the_application(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    mpi.run(mpi.build("mpi_pcontrol.c"), tmp_path, ranks=2)
    unify(tmp_path, "mpi_pcontrol")
    rows = parse(vtrace(tmp_path, "mpip", "mpi_pcontrol", "-e").stdout).sections["MPI Time (seconds)"].rows
    trace = read(tmp_path / "mpi_pcontrol.trace")
    for rank in (0, 1):
        at = {}
        for event in trace.of(rank):
            name = trace.region_of(event).name if event.kind in ("Enter", "Leave") else ""
            at[event.kind, name or event.attrs.get("measurement_mode")] = event.time
        whole = at["Enter", "MPI_Finalize"] - at["Leave", "MPI_Init"]
        off = at["MeasurementOnOff", "ON"] - at["MeasurementOnOff", "OFF"]
        assert 0 < off < whole
        assert rows[rank][1] == f"{(whole - off) / 1e9:.3f}"


def test_ranks_that_abort(build: Builder, tmp_path: Path) -> None:
    """Ranks that abort: the time of the application lasts until their last event."""
    mpi = mpis.find("mpich-wheel", build)
    mpi.run(mpi.build("mpi_aborts.c"), tmp_path, ranks=2, code=3)
    unify(tmp_path, "--salvage", "mpi_aborts")
    found = parse(vtrace(tmp_path, "mpip", "mpi_aborts").stdout)
    assert [row[0] for row in found.sections["MPI Time (seconds)"].rows] == ["0", "1", "*"]
    assert all(float(row[1]) > 0 for row in found.sections["MPI Time (seconds)"].rows)
