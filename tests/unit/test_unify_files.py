# SPDX-License-Identifier: BSD-3-Clause
"""Files that several processes use, handles of each process, and attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.readers.contents import Handle
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import unified, world, write_child, write_rank
from vtrace.io.local.records import IO_PARADIGMS

POSIX, ISOC, MPI, HDF5 = IO_PARADIGMS.values()
PRE_CREATED = 1


def handle(number: int, name: str, file: int | None = None, paradigm: int = POSIX, **more: Any) -> list[Any]:
    known = {"flags": 0, "comm": None, "parent": None, "access": None, "status": None, **more}
    return ["IO_HANDLE", number, name, file, paradigm, *known.values()]


def use(*handles: int) -> Chunk:
    chunk = Chunk()
    for number in handles:
        chunk.record("IO_BEGIN", 1, number, 0, 8, 1).record("IO_COMPLETE", 1, number, 8, 1)
    return chunk


def used(location: int, trace: Any) -> list[str]:
    """Names of handles with an operation that begins on this location."""
    return [trace.handles[e.attrs["handle"]].name for e in trace.of(location) if e.kind == "IoOperationBegin"]


def test_files_of_two_hosts(tmp_path: Path) -> None:
    """Equal paths mean one file on one host, but two files on two hosts, unless MPI opens the file on both hosts."""
    for rank, host in enumerate(("node1", "node1", "node2")):
        shift = 10 * rank
        definitions = [
            world(rank, 3), ["IO_FILE", shift + 1, "/tmp/scratch"], ["IO_FILE", shift + 2, "/home/result"],
            handle(shift + 1, "scratch", shift + 1),
            handle(shift + 2, "result", shift + 2, MPI, comm=1, parent=shift + 1),
        ]  # fmt: skip
        write_rank(tmp_path, rank, 3, definitions, {0: [use(shift + 1, shift + 2)]}, host=host)
    trace = unified(tmp_path)
    assert trace.files == {
        0: ("/tmp/scratch", "node1"), 1: ("/home/result", "node"), 2: ("/tmp/scratch", "node2"),
    }  # fmt: skip
    assert trace.handles == {
        2 * rank + n: Handle(*words, None)
        for rank in range(3)
        for n, words in enumerate([
            ("scratch", "/tmp/scratch", "node2" if rank == 2 else "node1", "POSIX", "NONE", None, None),
            ("result", "/home/result", "node", "MPI-IO", "NONE", 0, 2 * rank),
        ])
    }  # fmt: skip
    for rank in range(3):
        assert [e.attrs["handle"] for e in trace.of(rank) if e.kind == "IoOperationBegin"] == [2 * rank, 2 * rank + 1]


def test_a_file_of_mpi_on_one_host_only(tmp_path: Path) -> None:
    """MPI opens the file on one host only, so vtunify does not know whether the hosts share it."""
    for rank, host in enumerate(("node1", "node2")):
        definitions = [world(rank, 2), ["IO_FILE", 1, "/tmp/data"], handle(1, "data", 1, (POSIX, MPI)[rank])]
        write_rank(tmp_path, rank, 2, definitions, {0: [use(1)]}, host=host)
    assert unified(tmp_path).files == {0: ("/tmp/data", "node1"), 1: ("/tmp/data", "node2")}


def test_handles_that_were_open_before(tmp_path: Path) -> None:
    definitions = [
        world(0, 1), handle(1, "stdin", flags=PRE_CREATED, access=0, status=2), handle(2, "stderr", flags=PRE_CREATED),
        handle(3, "socket", paradigm=ISOC),
    ]  # fmt: skip
    write_rank(tmp_path, 0, 1, definitions, {0: [use(1, 2, 3)]})
    trace = unified(tmp_path)
    assert trace.handles == {
        0: Handle("stdin", None, None, "POSIX", "PRE_CREATED", None, None, ("READ_ONLY", "APPEND")),
        1: Handle("stderr", None, None, "POSIX", "PRE_CREATED", None, None, ("READ_WRITE", "NONE")),
        2: Handle("socket", None, None, "ISOC", "NONE", None, None, None),
    }  # fmt: skip
    assert (used(0, trace), trace.files) == (["stdin", "stderr", "socket"], {})


def test_forked_children(tmp_path: Path) -> None:
    """Inherited handles that a child uses, and their parents, are pre-created in the child. The child's own definitions
    replace those that its parent made under the same id after the fork. The same applies to the child's own child.
    """
    parent = [
        world(0, 1), ["IO_FILE", 1, "/data"], handle(1, "fd 3", 1), handle(2, "stream", 1, ISOC, parent=1),
        handle(3, "unused", 1), handle(4, "later", 1),
    ]  # fmt: skip
    write_rank(tmp_path, 0, 1, parent, {0: [use(1, 2, 3, 4)]})
    write_child(tmp_path, 100, [["IO_FILE", 2, "/own"], handle(4, "child's", 2)], use(2, 4))
    write_child(tmp_path, 200, [], use(4), pid=300)
    trace = unified(tmp_path)
    assert [used(location, trace) for location in range(3)] == [
        ["fd 3", "stream", "unused", "later"], ["stream", "child's"], ["child's"],
    ]  # fmt: skip
    open_before = ("PRE_CREATED", None, ("READ_WRITE", "NONE"))
    assert [(h.name, h.file, h.flags, h.parent, h.state) for n, h in trace.handles.items() if n > 3] == [
        ("fd 3", "/data", *open_before), ("stream", "/data", "PRE_CREATED", 4, open_before[2]),
        ("child's", "/own", "NONE", None, None), ("child's", "/own", *open_before),
    ]  # fmt: skip
    assert trace.files == {0: ("/data", "node1"), 1: ("/own", "node1")}


def test_the_handle_below_hdf5(tmp_path: Path) -> None:
    """A file of HDF5 lies above the last handle of the same path, and a dataset above its file."""
    definitions = [
        world(0, 1), ["IO_FILE", 1, "/data"], ["IO_FILE", 2, "/data"], ["IO_FILE", 3, "/other"], handle(1, "first", 1),
        handle(2, "fd", 1), handle(3, "other", 3), handle(4, "data", 2, HDF5), handle(5, "/u10", 2, HDF5, parent=4),
        handle(6, "memory", None, HDF5),
    ]  # fmt: skip
    write_rank(tmp_path, 0, 1, definitions, {0: [use(1, 2, 3, 4, 5, 6)]})
    handles = unified(tmp_path).handles
    below = {h.name: None if h.parent is None else handles[h.parent].name for h in handles.values()}
    assert below == {"first": None, "fd": None, "other": None, "data": "fd", "/u10": "data", "memory": None}


def test_what_is_not_defined(tmp_path: Path) -> None:
    """A handle loses references to a file, communicator or parent that is undefined or defined later. Operations on
    an undefined handle or file are left out.
    """
    definitions = [world(0, 1), handle(1, "bare", 9, comm=9, parent=9), handle(2, "early", parent=3), handle(3, "late")]
    chunk = use(1, 2, 3, 4).record("IO_DUPLICATE", 1, 1, 4).record("IO_DELETE", 1, 1, POSIX)
    write_rank(tmp_path, 0, 1, definitions, {0: [chunk]})
    trace = unified(tmp_path)
    nothing = Handle("", None, None, "POSIX", "NONE", None, None, None)
    assert [vars(h) | {"name": ""} for h in trace.handles.values()] == [vars(nothing)] * 3
    assert trace.kinds() == {"IoOperationBegin": 3, "IoOperationComplete": 3}


def test_deleted_files(tmp_path: Path) -> None:
    """The event of a deletion has the number of the I/O paradigm in the archive."""
    chunk = Chunk().record("IO_DELETE", 1, 1, POSIX).record("IO_DELETE", 1, 1, ISOC).record("IO_DELETE", 1, 1, MPI)
    write_rank(tmp_path, 0, 1, [world(0, 1), ["IO_FILE", 1, "/tmp/x"]], {0: [chunk]})
    trace = unified(tmp_path)
    assert [e.attrs for e in trace.events] == [{"io_paradigm": n, "file": 0} for n in range(3)]
    assert [p.text.split(",")[0] for p in trace.printed] == [
        'I/O Paradigm: "POSIX I/O" <0>', 'I/O Paradigm: "ISO C I/O" <1>', 'I/O Paradigm: "MPI-IO" <2>',
    ]  # fmt: skip


def test_attributes(tmp_path: Path) -> None:
    """Equal attributes of two processes become one. Attributes of type STRING without a text are left out."""
    for rank in range(2):
        definitions = [
            world(rank, 2), ["ATTRIBUTE", 1 + rank, "offset", "in the file", 4], ["ATTRIBUTE", 3, "text", "", 11],
            ["IO_FILE", 1, f"/f{rank}"], ["ATTRIBUTE", 4, "file", "", 23], ["REGION", 1, "work", 1, 1, None, 0, None],
        ]  # fmt: skip
        chunk = Chunk().record("ATTRIBUTE", 1, 1 + rank, 2**40 + rank).record("ATTRIBUTE", 0, 3, 1)
        write_rank(tmp_path, rank, 2, definitions, {0: [chunk.record("ATTRIBUTE", 0, 4, 1).record("ENTER", 0, 1)]})
    trace = unified(tmp_path)
    assert [[e.more for e in trace.of(rank)] for rank in range(2)] == [
        [{"offset": 2**40, "file": 0}, {}], [{"offset": 2**40 + 1, "file": 1}, {}],
    ]  # fmt: skip
