# SPDX-License-Identifier: BSD-3-Clause
"""The VT_ variables of a recorded run: sizes, shares, flushes, messages, and wrong values (guide, Table 4.5)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, record, run, unify
from support.oracles.check import check
from support.readers.archive import Trace

CHUNK = 65536
IN_CHUNK = (CHUNK - 512) // 8  # records in a chunk
CALLS = 24000  # these calls fill 6 chunks


@pytest.fixture(scope="module")
def many(build: Builder) -> Path:
    return build("many.c")


def kept(trace: Trace, location: int = 0) -> int:
    """The number of enters and leaves of a location, including the leaves that vtunify adds."""
    kinds = trace.kinds(location)
    return kinds["Enter"] + kinds["Leave"]


@pytest.mark.parametrize(
    ("size", "chunks"),
    [
        ("100K", 2),  # the main thread has 70 %, in whole chunks, at least 2
        ("1", 2),  # the minimum is 100 KB
        ("350k", 4),  # 70 % are 245 KiB
        ("358400", 4),  # the same size in bytes
        ("256K", 3),  # 70 % are 179.2 KiB
    ],
)
def test_one_buffer_then_the_location_stops(many: Path, tmp_path: Path, size: str, chunks: int) -> None:
    done = run(many, tmp_path, str(CALLS), env={"VT_BUFFER_SIZE": size, "VT_MAX_FLUSHES": "1"})
    assert done.stdout == f"done {CALLS}\n"
    unify(tmp_path, "many")
    trace = check(tmp_path / "many.trace")
    # The record of the stop may replace the last records of the last chunk.
    assert (chunks - 1) * IN_CHUNK < kept(trace) <= chunks * IN_CHUNK + 2
    assert trace.kinds()["MeasurementOnOff"] == 1
    assert len([line for line in done.stderr.splitlines() if "VT_MAX_FLUSHES" in line]) == 1


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_last_flush_that_is_allowed(many: Path, tmp_path: Path, most: int) -> None:
    """After this number of flushes the location stops: with its time, a marker, complete stacks and one line."""
    calls = 4 * CALLS
    done = run(many, tmp_path, str(calls), env={"VT_BUFFER_SIZE": "256K", "VT_MAX_FLUSHES": str(most)})
    said = unify(tmp_path, "many").stderr
    trace = check(tmp_path / "many.trace")
    assert trace.kinds()["BufferFlush"] == most
    (off,) = [event for event in trace.events if event.kind == "MeasurementOnOff"]
    (marker,) = trace.markers
    missing = 2 * (calls + 1) - kept(trace) + 1  # vtunify adds the leave of main
    assert (marker.category, marker.time, marker.scope) == ("recording stopped", off.time, "LOCATION:0")
    assert marker.text == f"vtrace: recording stopped, VT_MAX_FLUSHES={most} reached: {missing:,} events missing"
    assert most * 3 * IN_CHUNK - 32 * most < kept(trace) <= most * 3 * IN_CHUNK + 2
    assert trace.events[-1].time == off.time, "open regions must end at the stop"
    for text in (done.stderr, said):
        (line,) = [line for line in text.splitlines() if "VT_MAX_FLUSHES" in line]
        assert f"{missing} events" in line.replace(",", "")


@pytest.mark.parametrize(("size", "flushes"), [("1G", "1"), ("1M", "1"), ("", "1"), ("100K", "0"), ("100K", "")])
def test_nothing_stops(many: Path, tmp_path: Path, size: str, flushes: str) -> None:
    """The buffer holds all events, or recording goes on after a flush, which is the default."""
    trace = record(many, tmp_path, str(CALLS), env={"VT_BUFFER_SIZE": size, "VT_MAX_FLUSHES": flushes})
    assert trace.calls() == {"main": 1, "work": CALLS}
    assert (trace.kinds()["BufferFlush"] >= 2) == (size == "100K")
    assert "MeasurementOnOff" not in trace.kinds()


def test_share_of_threads(build: Builder, tmp_path: Path) -> None:
    """Without VT_THREAD_BUFFER_SIZE a thread has 10 % of VT_BUFFER_SIZE, and the main thread 70 %."""
    program = build("threads.c", flags=("-O1", "-pthread"))
    trace = record(program, tmp_path, "together", "1", "34000", env={"VT_BUFFER_SIZE": "650K", "VT_MAX_FLUSHES": "1"})
    assert 7 * IN_CHUNK < kept(trace, 0) <= 8 * IN_CHUNK + 2  # 455 KiB: 8 chunks
    assert IN_CHUNK < kept(trace, 1) <= 2 * IN_CHUNK + 2 + 2  # 65 KiB: 2 chunks; vtunify closes body and work


def test_thread_buffer_size(build: Builder, tmp_path: Path) -> None:
    """With VT_THREAD_BUFFER_SIZE the main thread has all of VT_BUFFER_SIZE."""
    program = build("threads.c", flags=("-O1", "-pthread"))
    env = {"VT_BUFFER_SIZE": "192K", "VT_THREAD_BUFFER_SIZE": "320K", "VT_MAX_FLUSHES": "1"}
    trace = record(program, tmp_path, "together", "1", "24000", env=env)
    assert 2 * IN_CHUNK < kept(trace, 0) <= 3 * IN_CHUNK + 2
    assert 4 * IN_CHUNK < kept(trace, 1) <= 5 * IN_CHUNK + 4


@pytest.mark.parametrize(("level", "lines"), [("0", [0]), ("", [1]), ("1", [1]), ("2", range(2, 99))])
def test_messages_at_each_level(many: Path, tmp_path: Path, level: str, lines: Sequence[int]) -> None:
    done = run(many, tmp_path, env={"VT_VERBOSE": level} | ({"VT_BUFFER_SIZE": "abc"} if level == "0" else {}))
    said = done.stderr.splitlines()
    assert len(said) in lines
    assert done.stdout == "done 10\n"
    assert all(line.startswith("vtrace: ") for line in said)
    assert sum(line.endswith("vtunify many") for line in said) == (level != "0")


@pytest.mark.parametrize("name", ["results", "last week's", "a&b $c"])
def test_command_that_is_named_works_from_here(many: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    done = run(many, tmp_path / name, env={"VT_FILE_PREFIX": "x y"})
    (operand,) = shlex.split(done.stderr.split("vtunify ")[1])
    unify(tmp_path / name, operand)
    done = run(many, tmp_path, env={"VT_PFORM_GDIR": name, "c": "$c"})
    (operand,) = shlex.split(done.stderr.split("vtunify ")[1])
    unify(tmp_path, operand)
    assert names(tmp_path / name) == {"x y.trace", "many.trace"}


@pytest.mark.parametrize("ranks", [2])
def test_only_rank_0_prints(build: Builder, tmp_path: Path, ranks: int) -> None:
    program = build("ranks_threads.c", compiler="mpicc", flags=("-O1", "-pthread"), output="heat")
    done = run(program, tmp_path, ranks=ranks)
    assert len(done.stderr.splitlines()) == 1, done
    assert "vtunify heat" in done.stderr


WRONG = [
    {
        "VT_BUFFER_SIZE": "abc", "VT_SYNC_FLUSH_LEVEL": "101", "VT_SYNC_FLUSH": "sometimes",
        "VT_MAX_STACK_DEPTH": "deep", "VT_MAX_THREADS": "70000", "VT_FILE_UNIQUE": "0x3", "VT_MEMTRACE": "2",
        "VT_IOTRACE": "all", "VT_THREAD_BUFFER_SIZE": "2G", "VT_MAX_FLUSHES": "-1", "VT_MAX_SIZE": "much",
        "VT_CLEAN": "maybe", "VT_COMPRESSION": "gzip", "VT_VERBOSE": "3", "VT_MPITRACE": "some",
        "VT_PFORM_LDIR": "/dev/null",
    },
    {
        "VT_BUFFER_SIZE": "-1", "VT_THREAD_BUFFER_SIZE": "1T", "VT_MAX_FLUSHES": "1.5", "VT_VERBOSE": "loud",
        "VT_PFORM_GDIR": "/nonexistent/place",
    },
    {"VT_BUFFER_SIZE": "10 M"}, {"VT_BUFFER_SIZE": "999999999999999999999999"},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=["each setting", "again", "blank", "overflow"])
def test_wrong_values_change_nothing(many: Path, tmp_path: Path, wrong: dict[str, str]) -> None:
    """One line gives the value that is used instead; the program's output and exit code stay the same."""
    done = run(many, tmp_path, "10", "7", env=wrong, code=7)
    assert done.stdout == "done 10\n"
    for name, value in wrong.items():
        about = [line for line in done.stderr.splitlines() if re.search(rf"\b{name}\b", line)]
        assert len(about) == 1, done
        assert value in about[0]
    unify(tmp_path, "many")
    assert check(tmp_path / "many.trace").calls() == {"main": 1, "work": 10}


def test_empty_values_are_defaults(many: Path, tmp_path: Path) -> None:
    settings = ("VT_BUFFER_SIZE", "VT_FILE_PREFIX", "VT_PFORM_GDIR", "VT_PFORM_LDIR", "VT_CLEAN", "VT_MAX_FLUSHES")
    done = run(many, tmp_path, env=dict.fromkeys(settings, ""))
    assert len(done.stderr.splitlines()) == 1
    assert names(tmp_path) == {"many.1.def.z", "many.1.events.z", "many.uctl"}
