# SPDX-License-Identifier: BSD-3-Clause
"""Missing files, and files cut at the end of a block: vtunify notices since a process recorded how much it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.synthetic_runs.local_files import write_defs, write_events
from support.synthetic_runs.two_ranks import define, head, message, names, read_back, run, two_ranks
from vtrace.errors import VtraceError
from vtrace.io.local.local_files import open_local
from vtrace.io.local.records import DEFINITIONS


def ended(location: int, records: int, *more: str) -> list[list[Any]]:
    """Definitions of a location of rank 1 that recorded this number of events. more: property and value."""
    found = [d for d in define(1, 2, location=location) if d[0] != DEFINITIONS["SUMMARY"]]
    found.append([DEFINITIONS["SUMMARY"], location, records, 0, 0, 0, 0, 0, 9000, 0])
    return found + ([[DEFINITIONS["PROPERTY"], *more]] if more else [])


def write_third_thread(heat: Path) -> None:
    """Writes the files of location 2 of rank 1."""
    more = head(1, 2)
    write_defs(heat.parent / "heat.20002.def.z", define(1, 2, location=2, ended=True), **more, location=2)
    chunk = message(1)
    chunk.location = 2
    write_events(heat.parent / "heat.20002.events.z", [chunk], **more, location=2)


@pytest.fixture
def heat(tmp_path: Path) -> Path:
    """Rank 1 has a second thread with 10 records in two blocks, and 5 records of its main thread."""
    heat = two_ranks(tmp_path)
    more = head(1, 2, buffer="/nowhere/heat.buffer")
    for location, records in ((0, 5), (1, 10)):
        name = f"heat.{2 << 16 | location:x}" if location else "heat.2"
        write_defs(tmp_path / f"{name}.def.z", ended(location, records), **more, location=location)
        chunks = [message(1) for _ in range(records // 5)]
        for number, chunk in enumerate(chunks):
            chunk.location, chunk.sequence = location, number
            chunk.ticks += 1000 * number
            chunk.end_ticks += 1000 * number
        write_events(tmp_path / f"{name}.events.z", chunks, **more, location=location)
    return heat


def cut_last_block(path: Path) -> None:
    with open_local(path) as file:
        at = int(file.blocks[-1]["address"]) - file.base
    path.write_bytes(path.read_bytes()[:at])


def refused(heat: Path, *texts: str) -> None:
    before = names(heat)
    with pytest.raises(VtraceError) as error:
        run(heat)
    for text in texts:
        assert text in str(error.value)
    assert "--partial" in str(error.value)
    assert names(heat) == before


def partly(heat: Path) -> tuple[list[str], list[int]]:
    """Unifies with --partial; returns the archive's shortfalls and each location's number of events. Checks that the
    local files stay.
    """
    before = names(heat)
    run(heat, partial=True)
    assert names(heat) == before | {"heat.trace"}
    trace = read_back(heat)
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert not coverage["complete"]
    return coverage["shortfalls"], [len(trace.of(n)) for n in sorted(trace.locations)]


def test_whole(heat: Path) -> None:
    run(heat)
    trace = read_back(heat)
    assert [len(trace.of(n)) for n in sorted(trace.locations)] == [5, 5, 10]
    assert json.loads(trace.properties["VTRACE::COVERAGE"])["complete"]


def test_events_of_a_rank(heat: Path) -> None:
    (heat.parent / "heat.2.events.z").unlink()
    refused(heat, f"rank 1: {heat}.2.events.z is missing, with 5 records")
    assert partly(heat) == (
        ["rank 1 lacks local files", "5 events lost (5 in files that are missing)"], [5, 0, 10],
    )  # fmt: skip


def test_events_of_a_thread(heat: Path) -> None:
    (heat.parent / "heat.20001.events.z").unlink()
    refused(heat, f"rank 1: {heat}.20001.events.z is missing, with 10 records")
    assert partly(heat)[1] == [5, 5, 0]


def test_end_of_events(heat: Path) -> None:
    """The file of events is cut at the end of a block."""
    cut_last_block(heat.parent / "heat.20001.events.z")
    refused(heat, f"rank 1: {heat}.20001.events.z ends too early: 5 of 10 records are missing")
    shortfalls, events = partly(heat)
    assert shortfalls == ["rank 1 lacks local files", "5 events lost (5 in files that are missing)"]
    assert events == [5, 5, 5]


def test_definitions(heat: Path) -> None:
    (heat.parent / "heat.2.def.z").unlink()
    refused(heat, f"rank 1: {heat}.2.def.z is missing")
    assert partly(heat)[0] == ["rank 1 lacks local files"]


def test_definitions_of_a_thread(heat: Path) -> None:
    (heat.parent / "heat.20001.def.z").unlink()
    refused(heat, f"rank 1: {heat}.20001.def.z is missing")


def test_end_of_definitions(heat: Path) -> None:
    cut_last_block(heat.parent / "heat.20001.def.z")
    refused(heat, f"rank 1: {heat}.20001.def.z ends too early")


def test_both_files_of_a_thread(heat: Path) -> None:
    for path in heat.parent.glob("heat.20001.*"):
        path.rename(path.with_name(path.name.replace("20001", "20002")))
    write_third_thread(heat)
    refused(heat, f"rank 1: the files of thread 1 beside {heat}.2.")


def test_both_files_of_the_last_thread(heat: Path) -> None:
    """The process recorded its number of locations."""
    write_defs(heat.parent / "heat.2.def.z", ended(0, 5, "locations", "3"), **head(1, 2))
    refused(heat, f"rank 1: the files of thread 2 beside {heat}.2.")
    for path in heat.parent.glob("heat.20001.*"):
        path.unlink()
    refused(heat, f"rank 1: the files of threads 1, 2 beside {heat}.2.")
    assert partly(heat) == (["rank 1 lacks local files"], [5, 5])


def test_both_files_of_the_main_thread(heat: Path) -> None:
    """The main thread's files are missing. The missing files would say that the process ended, so the missing buffer is
    not an error."""
    for path in heat.parent.glob("heat.2.*"):
        path.unlink()
    refused(heat, f"rank 1: the files of the main thread beside {heat}.20001.")
    assert partly(heat) == (["rank 1 lacks local files"], [5, 0, 8])  # the messages' communicator is unknown


def test_number_of_no_thread(heat: Path) -> None:
    """A thread that started while the process ended has no files, and threads after it have."""
    write_defs(heat.parent / "heat.2.def.z", ended(0, 5, "locations", "2"), **head(1, 2))
    for path in heat.parent.glob("heat.20001.*"):
        path.unlink()
    write_third_thread(heat)
    run(heat)
    trace = read_back(heat)
    assert [len(trace.of(location)) for location in trace.locations] == [5, 5, 5]


def test_many_files(heat: Path) -> None:
    for rank in range(6):
        write_defs(heat.parent / f"heat.{rank + 1:x}.def.z", define(rank, 6), **head(rank, 6))
        (heat.parent / f"heat.{rank + 1:x}.events.z").unlink(missing_ok=True)
    for path in heat.parent.glob("heat.2*"):
        path.unlink()
    write_defs(heat.parent / "heat.2.def.z", define(1, 6), **head(1, 6))
    refused(heat, f"rank 0: {heat}.1.events.z is missing, with 2 records", "2 more are missing or end too early")
