# SPDX-License-Identifier: BSD-3-Clause
"""Old files (docs/file-format.md): vtunify reads local files of its own format version, and refuses others in one line;
archives of all versions and of Score-P stay readable; programs that vtrace-cc of an older release has linked run with
the libraries of this one. tests/archives has the recorded runs and the programs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import vtrace
from support.build.run import names, record, unify
from support.oracles.check import check
from support.oracles.user_api import ALL, MARKERS, story
from support.recorded_archives import unpack
from vtrace import __version__, paths
from vtrace.io.local import records

VERSION_AT = 8
"""Offset of the format version in a local file's head, docs/file-format.md."""
SCOREP = {"heat2d": (14800, 5332), "omp": (5204, 1801), "io": (12045, 2008), "sampling": (119, 0)}
"""Numbers of events and calls in each archive of Score-P, tests/archives/README.md."""


def test_local_files_of_this_version(tmp_path: Path) -> None:
    """The local files of user.c, recorded once with this version, still give the same events."""
    unpack(f"local-{records.FORMAT_VERSION}-user", tmp_path)
    done = unify(tmp_path, "-k", "user")
    assert done.stderr.count("warning") == 0, str(done)
    trace = check(tmp_path / "u_user.trace")
    assert story(trace) == ALL
    assert [(marker.category, marker.text) for marker in trace.markers] == MARKERS
    assert json.loads(trace.properties["VTRACE::USER"]) == {"comments": ["on a Monday"]}


@pytest.mark.parametrize("version", [records.FORMAT_VERSION - 1, records.FORMAT_VERSION + 1])
def test_local_files_of_another_version(tmp_path: Path, version: int) -> None:
    """Local files of another version: one line gives the file, version, writer and remedy, and the files stay."""
    unpack(f"local-{records.FORMAT_VERSION}-user", tmp_path)
    writers = set()
    for path in [*tmp_path.glob("user.*.def.z"), *tmp_path.glob("user.*.events.z")]:
        data = bytearray(path.read_bytes())
        writers.add(bytes(data[data.index(b"vtrace ") :].partition(b"\0")[0]).decode())
        data[VERSION_AT : VERSION_AT + 2] = version.to_bytes(2, "little")
        path.write_bytes(data)
    (writer,) = writers
    before = names(tmp_path)
    done = unify(tmp_path, "-k", "user", check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), str(done)
    assert f"format {version} at byte {VERSION_AT}, written by {writer}; " in done.stderr
    assert f"vtrace {__version__} reads format {records.FORMAT_VERSION}" in done.stderr
    assert "unify with the version that wrote it" in done.stderr
    assert names(tmp_path) == before


@pytest.mark.parametrize("version", range(3, records.FORMAT_VERSION + 1))
def test_archive_of_each_version(tmp_path: Path, version: int) -> None:
    """An archive written by vtunify when this version was new still gives the same events."""
    archive = unpack(f"archive-{version}-user", tmp_path).with_name("user.trace")
    trace = check(archive)
    assert story(trace) == ALL
    opened = vtrace.open(archive)
    assert int(opened.profile()["calls"].sum()) == trace.kinds()["Enter"] + trace.kinds()["BufferFlush"]
    assert sorted(row["text"] for row in opened.markers().records()) == sorted(text for _, text in MARKERS)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the programs are for x86-64")
@pytest.mark.parametrize("release", ["0.1"])
def test_programs_of_each_release(tmp_path: Path, release: str) -> None:
    """Programs that an older vtrace-cc has linked, with its hooks inside, record the same with libraries of today."""
    place, env = unpack(f"program-{release}", tmp_path), {"LD_LIBRARY_PATH": str(paths.LIB)}
    assert story(record(place / "user", tmp_path, env=env)) == ALL
    wanted = {"main": 1, "near": 3, "helper": 8, "far": 5, "lib_work": 10, "lib_inner": 10}
    assert record(place / "two", tmp_path, env=env).calls() == wanted


@pytest.mark.parametrize("name", SCOREP)
def test_archives_of_score_p(tmp_path: Path, name: str) -> None:
    trace = vtrace.open(unpack(f"scorep-{name}", tmp_path))
    events, calls = SCOREP[name]
    assert trace.creator == "Score-P 8.4"
    assert len(trace.events()["time"]) == events
    assert int(trace.profile()["calls"].sum()) == calls


def test_messages_of_score_p(tmp_path: Path) -> None:
    messages = vtrace.open(unpack("scorep-heat2d", tmp_path)).messages()
    assert (len(messages["bytes"]), int(messages["bytes"].sum())) == (800, 1_280_000)


def test_reads_of_score_p(tmp_path: Path) -> None:
    found = vtrace.open(unpack("scorep-io", tmp_path)).io()
    assert (int(found["reads"].sum()), int(found["bytes_read"].sum())) == (2000, 130_000)
