# SPDX-License-Identifier: BSD-3-Clause
"""The VT_ variables of a recorded run: sizes, shares, flushes, messages, and wrong values (guide, Table 4.5)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, record, run, unify, vtrace
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


@pytest.mark.parametrize("size", ["1M", "1G"])
def test_larger_units(many: Path, tmp_path: Path, size: str) -> None:
    done = run(many, tmp_path, str(CALLS), env={"VT_BUFFER_SIZE": size, "VT_MAX_FLUSHES": "1"})
    assert "VT_" not in done.stderr
    unify(tmp_path, "many")
    assert check(tmp_path / "many.trace").calls() == {"main": 1, "work": CALLS}


def test_flushes_are_counted(many: Path, tmp_path: Path) -> None:
    found = {}
    for flushes in ("1", "2", "0", ""):
        env = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": flushes, "VT_FILE_PREFIX": f"f{flushes}"}
        run(many, tmp_path, str(CALLS), env=env)
        unify(tmp_path, f"f{flushes}")
        found[flushes] = check(tmp_path / f"f{flushes}.trace")
    for most in ("0", ""):  # with the default recording continues
        assert found[most].calls() == {"main": 1, "work": CALLS}
    assert found["0"].kinds()["BufferFlush"] >= 2
    assert "MeasurementOnOff" not in found["0"].kinds()
    assert 1.8 * kept(found["1"]) < kept(found["2"]) < 2.2 * kept(found["1"])
    assert found["2"].kinds()["MeasurementOnOff"] == 1


def test_default_buffer_holds_this(many: Path, tmp_path: Path) -> None:
    trace = record(many, tmp_path, str(CALLS))
    assert trace.kinds() == {"Enter": CALLS + 1, "Leave": CALLS + 1}


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


@pytest.mark.parametrize(("level", "lines"), [("0", 0), (None, 1), ("1", 1)])
def test_messages_at_each_level(many: Path, tmp_path: Path, level: str | None, lines: int) -> None:
    done = run(many, tmp_path, env={"VT_VERBOSE": level} if level else {})
    said = done.stderr.splitlines()
    assert len(said) == lines
    assert done.stdout == "done 10\n"
    for line in said:
        assert line.startswith("vtrace: ")
        assert line.endswith("vtunify many")


def test_all_messages(many: Path, tmp_path: Path) -> None:
    said = run(many, tmp_path, env={"VT_VERBOSE": "2"}).stderr.splitlines()
    assert len(said) > 1
    assert all(line.startswith("vtrace: ") for line in said)
    assert len([line for line in said if "vtunify many" in line]) == 1


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


def test_messages_on_wrong_values(tmp_path: Path) -> None:
    """The message has the wrong value, the allowed values and the value that is used."""
    said = {
        "VT_BUFFER_SIZE=-1": "is not a size in bytes, K, M or G (at least 100K): 32M is used",
        "VT_THREAD_BUFFER_SIZE=2G": "is too large (100K to 1G): 1G is used",
        "VT_MAX_FLUSHES=-1": "is not a whole number (0 to 4294967295): 0 is used",
        "VT_SYNC_FLUSH_LEVEL=101": "is too large (0 to 100): 100 is used",
        "VT_VERBOSE=3": "is too large (0 to 2): 2 is used",
        "VT_MAX_THREADS=0": "is too small (1 to 65536): 1 is used",
        "VT_CLEAN=maybe": "is not yes or no: yes is used",
    }
    done = vtrace(tmp_path, "settings", env=dict(name.split("=") for name in said))
    assert sorted(done.stderr.splitlines()) == sorted(f"vtrace: {name} {text}" for name, text in said.items())
    done = vtrace(tmp_path, "settings", env={"VT_BUFFER_SIZE": "1K"})
    assert done.stderr == "vtrace: VT_BUFFER_SIZE=1K is too small (at least 100K): 100K is used\n"


def test_no_messages_on_wrong_values_when_silent(many: Path, tmp_path: Path) -> None:
    done = run(many, tmp_path, env={"VT_BUFFER_SIZE": "abc", "VT_VERBOSE": "0"})
    assert done.stderr == ""


def test_empty_values_are_defaults(many: Path, tmp_path: Path) -> None:
    settings = ("VT_BUFFER_SIZE", "VT_FILE_PREFIX", "VT_PFORM_GDIR", "VT_PFORM_LDIR", "VT_CLEAN", "VT_MAX_FLUSHES")
    done = run(many, tmp_path, env=dict.fromkeys(settings, ""))
    assert len(done.stderr.splitlines()) == 1
    assert names(tmp_path) == {"many.1.def.z", "many.1.events.z", "many.uctl"}
