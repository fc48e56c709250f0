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
