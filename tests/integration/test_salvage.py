# SPDX-License-Identifier: BSD-3-Clause
"""Runs that did not end normally: vtunify reads the remaining buffers, and says so."""

from __future__ import annotations

import re
import signal
import struct
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify, vtrace
from support.oracles.check import check

HEAD_OF_BLOCK = 368  # bytes of struct vt_block
SEQUENCE = 28  # offset of its sequence number


@pytest.fixture(scope="module")
def endings(build: Builder) -> Path:
    return build("endings.c", flags=("-O1", "-pthread"))


def test_buffer_elsewhere(endings: Path, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    run(endings, tmp_path, "kill", "100", env={"VT_PFORM_LDIR": "scratch"}, code=-signal.SIGKILL)
    assert len(names(tmp_path / "scratch")) == 1
    unify(tmp_path, "endings")
    trace = check(tmp_path / "endings.trace", complete=False)
    assert trace.calls() == {"main": 1, "work": 100}
    assert trace.region("work").file
    assert names(tmp_path / "scratch") == set()
    assert names(tmp_path) == {"endings.trace", "scratch"}


def test_keeplocal_keeps_the_buffer(endings: Path, tmp_path: Path) -> None:
    run(endings, tmp_path, "kill", "100", code=-signal.SIGKILL)
    left = names(tmp_path)
    unify(tmp_path, "-k", "endings")
    assert names(tmp_path) == left | {"u_endings.trace"}
    unify(tmp_path, "endings")
    assert check(tmp_path / "endings.trace", complete=False).calls() == {"main": 1, "work": 100}


def test_flushed_blocks_and_the_rest_in_the_buffer(endings: Path, tmp_path: Path) -> None:
    env = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
    run(endings, tmp_path, "kill", "20000", env=env, code=-signal.SIGKILL)
    assert [name for name in names(tmp_path) if ".events" in name]
    unify(tmp_path, "endings")
    trace = check(tmp_path / "endings.trace", complete=False)
    assert trace.calls() == {"main": 1, "work": 20000}
    assert trace.edges() == {(None, "main"): 1, ("main", "work"): 20000}


def test_end_is_marked(endings: Path, tmp_path: Path) -> None:
    run(endings, tmp_path, "kill", "100", code=-signal.SIGKILL)
    unify(tmp_path, "endings")
    trace = check(tmp_path / "endings.trace", complete=False)
    assert len(trace.markers) == 1
    assert trace.markers[0].scope in ("LOCATION:0", "LOCATION_GROUP:0")
    assert trace.markers[0].time == trace.events[-1].time
    assert '"died": true' in vtrace(tmp_path, "info", "--json", "endings").stdout
    shown = vtrace(tmp_path, "info", "endings").stdout
    assert re.search(r"^  complete +no: process \S+ ended early$", shown, re.MULTILINE)


def test_clean_end_has_no_marker(endings: Path, tmp_path: Path) -> None:
    run(endings, tmp_path, "return", "100")
    unify(tmp_path, "endings")
    assert check(tmp_path / "endings.trace").markers == []
    assert re.search(r"^  complete +yes$", vtrace(tmp_path, "info", "endings").stdout, re.MULTILINE)


@pytest.mark.parametrize("written", [40, HEAD_OF_BLOCK + 50])
def test_buffer_replaces_a_cut_block(endings: Path, tmp_path: Path, written: int) -> None:
    """A process was killed while it wrote a block: the chunk of this block is still in the buffer."""
    env = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0", "VT_COMPRESSION": "no"}
    run(endings, tmp_path, "kill", "20000", env=env, code=-signal.SIGKILL)
    (events,) = (name for name in names(tmp_path) if ".events" in name)
    data = (tmp_path / events).read_bytes()
    begin = data.rindex(b"VTB1")
    block = bytearray(data[begin : begin + written])
    (sequence,) = struct.unpack_from("<I", block, SEQUENCE)
    struct.pack_into("<I", block, SEQUENCE, sequence + 1)
    (tmp_path / events).write_bytes(data + block)
    unify(tmp_path, "endings")
    trace = check(tmp_path / "endings.trace", complete=False)
    assert trace.edges() == {(None, "main"): 1, ("main", "work"): 20000}


def test_missing_buffer_is_named(endings: Path, tmp_path: Path) -> None:
    """The buffer is missing, as on a cluster where it is on the disk of another node: the message names the buffer."""
    env = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
    run(endings, tmp_path, "kill", "20000", env=env, code=-signal.SIGKILL)
    (buffer,) = (name for name in names(tmp_path) if name.endswith(".buffer"))
    (tmp_path / buffer).unlink()
    left = names(tmp_path)
    done = unify(tmp_path, "endings", check=False)
    assert buffer in done.stderr, str(done)
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert names(tmp_path) == left
    else:
        calls = check(tmp_path / "endings.trace", complete=False).calls()
        assert 8000 < calls["work"] < 20000


def test_rank_that_is_killed(build: Builder, tmp_path: Path) -> None:
    """mpiexec ends all ranks after one of them dies: the archive has all their published events."""
    program = build("dies.c", compiler="mpicc")
    run(program, tmp_path, ranks=3, code=None)
    unify(tmp_path, "dies")
    trace = check(tmp_path / "dies.trace", complete=False)
    assert {location.group for location in trace.locations.values()} == {f"MPI Rank {rank}" for rank in range(3)}
    assert [trace.calls(rank)["work"] for rank in range(3)] == [20, 21, 22]
    assert trace.markers


@pytest.mark.parametrize("file", ["many.1.events.z", "many.2.events.z"])
def test_salvage_takes_the_blocks_before_the_damage(build: Builder, tmp_path: Path, file: str) -> None:
    """Without --salvage vtunify refuses a damaged file; with --salvage it uses the blocks before the damage, and names
    the file."""
    env = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
    run(build("many.c"), tmp_path, "20000", env=env)
    events = tmp_path / "many.1.events.z"
    if file == events.name:
        with events.open("r+b") as opened:
            opened.truncate(events.stat().st_size - 9)
    else:  # a file with another format beside the local files
        (tmp_path / file).write_text("what is this?\n")
    refused = unify(tmp_path, "many", check=False)
    assert refused.returncode == 1
    assert "--salvage" in refused.stderr
    done = unify(tmp_path, "--salvage", "many")
    assert file in done.stderr
    calls = check(tmp_path / "many.trace", complete=False).calls()
    assert 8000 < calls["work"] <= 20000
    assert (calls["work"] == 20000) == (file != events.name)


def test_killed_before_the_head_of_a_file_was_written(endings: Path, tmp_path: Path) -> None:
    """A process was killed between creating a file and writing its head: all events are in the buffer."""
    run(endings, tmp_path, "kill", "100", code=-signal.SIGKILL)
    (definitions,) = (name for name in names(tmp_path) if name.endswith(".def.z"))
    with (tmp_path / definitions).open("r+b") as opened:
        opened.truncate(0)
    unify(tmp_path, "endings")
    assert check(tmp_path / "endings.trace", complete=False).calls() == {"main": 1, "work": 100}
    assert names(tmp_path) == {"endings.trace"}


def test_killed_before_a_file_got_its_name(endings: Path, tmp_path: Path) -> None:
    run(endings, tmp_path, "kill", "100", code=-signal.SIGKILL)
    (definitions,) = (name for name in names(tmp_path) if name.endswith(".def.z"))
    (tmp_path / definitions.replace(".def.z", ".events.z.tmp")).write_bytes(b"")
    (tmp_path / definitions.replace(".def.z", ".2.def.z.tmp")).write_bytes((tmp_path / definitions).read_bytes())
    unify(tmp_path, "endings")
    assert check(tmp_path / "endings.trace", complete=False).calls() == {"main": 1, "work": 100}
    assert names(tmp_path) == {"endings.trace"}
