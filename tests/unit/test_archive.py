# SPDX-License-Identifier: BSD-3-Clause
"""Archives as two independent readers see them, and errors when an archive cannot be written."""

from __future__ import annotations

import errno
import gc
import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import otf2
import pytest

from support.readers.archive import read
from support.synthetic_runs import local_files as lf
from support.synthetic_runs.transcoding import definitions, maps, stream_of
from support.tools import call, need
from vtrace.errors import VtraceError
from vtrace.io.archive import writer as archive_module
from vtrace.io.archive.definitions import DEFINITION_CHUNK, chunk_bytes, plain_text
from vtrace.io.archive.writer import (
    Archive,
    Comm,
    Definitions,
    Group,
    Location,
    LocationGroup,
    Marker,
    Region,
    SystemNode,
)
from vtrace.io.common.held_directory import HeldDirectory
from vtrace.io.local.kernel import Kernel, Transcoded


def machine(ranks: int, **changes: object) -> Definitions:
    """One host with this number of processes of two threads each, and MPI_COMM_WORLD over their first threads."""
    return Definitions(
        nodes=[SystemNode("machine", "machine", None, "MACHINE"), SystemNode("hö", "node", 0, "SHARED_MEMORY")],
        groups=[LocationGroup(f"MPI Rank {n}", 1) for n in range(ranks)],
        locations=[Location(f"Thread {n % 2}", n // 2) for n in range(2 * ranks)],
        regions=[
            Region(name="unknown", canonical="unknown"),
            Region(name="f(int)", canonical="_Z1fi", description="what", role=1, paradigm=2, file="/src/f.c", line=17),
        ],
        comm_groups=[
            Group("COMM_LOCATIONS", 4, "", np.arange(0, 2 * ranks, 2)),
            Group("COMM_GROUP", 4, "", range(ranks)),
            Group("COMM_SELF", 4),
        ],
        comms=[Comm("MPI_COMM_WORLD", 1), Comm("MPI_COMM_SELF", 2), Comm("half", 1, 0, 1)],
        length=1000,
        **changes,  # type: ignore[arg-type]
    )


def fill(archive: Archive, locations: int) -> None:
    for number in range(locations):
        with archive.event_writer(number):
            pass


def test_definitions_reach_the_readers(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "t.trace")
    fill(archive, 4)
    archive.finish(
        machine(2, realtime=1_700_000_000_000_000_000, offset=5, properties={"VTRACE::LOST": "3"}, creator="vtrace 1"),
        [Marker(7, "limit", "stopped", 3), Marker(9, "died", "rank 1"), Marker(8, "limit", "stopped", 1)],
    )
    trace = read(tmp_path / "t.trace")
    assert (trace.offset, trace.length, trace.resolution) == (5, 1000, 10**9)
    assert trace.realtime == 1_700_000_000_000_000_000
    assert [(x.name, x.group, x.host, x.kind) for x in trace.locations.values()] == [
        ("Thread 0", "MPI Rank 0", "hö", "CPU_THREAD"), ("Thread 1", "MPI Rank 0", "hö", "CPU_THREAD"),
        ("Thread 0", "MPI Rank 1", "hö", "CPU_THREAD"), ("Thread 1", "MPI Rank 1", "hö", "CPU_THREAD"),
    ]  # fmt: skip
    f = trace.region("f")
    assert (f.id, f.name, f.canonical, f.file, f.line) == (1, "f(int)", "_Z1fi", "/src/f.c", 17)
    assert (f.role, f.paradigm) == ("FUNCTION", "COMPILER")
    assert [(c.name, c.members, c.parent) for c in trace.comms.values()] == [
        ("MPI_COMM_WORLD", (0, 2), None), ("MPI_COMM_SELF", None, None), ("half", (0, 2), 0),
    ]  # fmt: skip
    told = sum(path.stat().st_size for path in tmp_path.rglob("*.evt"))
    assert trace.properties == {"VTRACE::LOST": "3", "VTRACE::EVENT_BYTES": str(told)}
    assert [(m.category, m.time, m.scope, m.text) for m in sorted(trace.markers, key=lambda m: m.time)] == [
        ("limit", 7, "LOCATION:3", "stopped"), ("limit", 8, "LOCATION:1", "stopped"), ("died", 9, "GLOBAL", "rank 1"),
    ]  # fmt: skip
    with otf2.reader.open(str(tmp_path / "t.trace/traces.otf2")) as reader:
        assert [node.name for node in reader.definitions.system_tree_nodes] == ["machine", "hö"]
    shown = call([need("otf2-print"), "-G", "-Werror", tmp_path / "t.trace/traces.otf2"], tmp_path)
    assert not shown.stderr
    for text in ("Domain: MACHINE", "Domain: SHARED_MEMORY", "Flags: {CREATE_DESTROY_EVENTS}", 'Descr.: "what"'):
        assert text in shown.stdout


def calls(count: int, sequence: int) -> lf.Chunk:
    """A chunk of count calls of function 1, ten ticks each."""
    chunk = lf.Chunk(0, sequence, 1000 + sequence * count * 10)
    for _ in range(count):
        chunk.enter(1, 4).leave(1, 6)
    return chunk


def test_many_locations_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads with several archive handles write the same bytes as one thread alone."""
    kernel = Kernel()
    paths = []
    for number in range(6):
        chunks = [calls(4000 + number, sequence) for sequence in range(12)]
        paths.append(lf.write_events(tmp_path / f"e{number}", chunks))
    written = []
    for workers in (1, 4):
        where = tmp_path / f"{workers}.trace"
        monkeypatch.setattr(archive_module, "AT_ONCE", 6 // workers)
        archive = Archive(where)

        def transcode(number: int, archive: Archive = archive) -> Transcoded:
            with archive.event_writer(number) as writer:
                return kernel.transcode(writer, stream_of(paths[number]), maps())

        with ThreadPoolExecutor(workers) as pool:
            results = list(pool.map(transcode, range(6)))
        assert len([*where.glob("part*")]) == (5 if workers == 4 else 0)
        archive.finish(machine(3))
        assert sorted(path.name for path in where.iterdir()) == ["traces", "traces.def", "traces.otf2"]
        assert [result.events for result in results] == [24 * (4000 + number) for number in range(6)]
        assert archive.events == {number: result.events for number, result in enumerate(results)}
        written.append({path.name: path.read_bytes() for path in where.rglob("*") if path.suffix in (".evt", ".def")})
    assert written[0] == written[1]
    shown = call([need("otf2-print"), "-Werror", "--silent", tmp_path / "4.trace/traces.otf2"], tmp_path)
    assert not shown.stderr
    with otf2.reader.open(str(tmp_path / "4.trace/traces.otf2")) as reader:
        declared = [location.number_of_events for location in reader.definitions.locations]
        assert declared == [archive.events[number] for number in range(6)]


def test_a_file_system_without_many_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of definitions are equal, whether a file may have enough names or not."""
    link, links = os.link, iter([True, False, True, False, False, True, True])

    def may_fail(source: str, path: str) -> None:
        if not next(links):
            raise OSError(errno.EMLINK, os.strerror(errno.EMLINK))
        link(source, path)

    monkeypatch.setattr(os, "link", may_fail)
    archive = Archive(tmp_path / "t.trace")
    fill(archive, 8)
    archive.finish(machine(4))
    files = [tmp_path / "t.trace" / "traces" / f"{number}.def" for number in range(8)]
    assert len({file.read_bytes() for file in files}) == 1
    assert len({file.stat().st_ino for file in files}) == 4
    assert len(read(tmp_path / "t.trace").locations) == 8


def test_more_definitions_than_fit_into_one_chunk(tmp_path: Path) -> None:
    d = definitions()
    d.regions = [Region(name=f"function {n}", canonical=f"f{n}") for n in range(30_000)]
    archive = Archive(tmp_path / "t.trace")
    fill(archive, 1)
    archive.finish(d)
    assert (tmp_path / "t.trace/traces.def").stat().st_size > 4 * DEFINITION_CHUNK
    with otf2.reader.open(str(tmp_path / "t.trace/traces.otf2")) as reader:
        assert [region.name for region in reader.definitions.regions] == [region.name for region in d.regions]


def test_a_large_group_gets_larger_chunks(tmp_path: Path) -> None:
    large = definitions()
    large.comm_groups.append(Group("COMM_GROUP", 4, "large", np.full(400_000, 0xFFFFFFFE)))
    assert chunk_bytes(definitions()) == DEFINITION_CHUNK
    assert chunk_bytes(large) > 400_000 * 5
    archive = Archive(tmp_path / "t.trace")
    fill(archive, 1)
    archive.finish(large)
    call([need("otf2-print"), "-G", tmp_path / "t.trace/traces.otf2"], tmp_path)


def test_a_group_beyond_all_chunks(tmp_path: Path) -> None:
    large = definitions()
    large.comm_groups.append(Group("COMM_GROUP", 4, "large", np.zeros(4_000_000)))
    archive = Archive(tmp_path / "t.trace")
    fill(archive, 1)
    with pytest.raises(VtraceError, match=r"t\.trace: a group of 4000000 members"):
        archive.finish(large)


@pytest.mark.parametrize(
    ("text", "plain"),
    [("a\0b", "a b"), ("\udcffx", "?x"), ("ö" * 40_000, "ö" * 30_000), ("x" + "ö" * 40_000, "x" + "ö" * 29_999)],
)
def test_texts_are_made_fit_for_readers(tmp_path: Path, text: str, plain: str) -> None:
    assert plain_text(text) == plain
    d = definitions()
    d.regions[1] = Region(name=text, canonical=text)
    archive = Archive(tmp_path / "t.trace")
    fill(archive, 1)
    archive.finish(d)
    with otf2.reader.open(str(tmp_path / "t.trace/traces.otf2")) as reader:
        assert reader.definitions.regions[1].name == plain


def test_an_existing_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keep").touch()
    with pytest.raises(VtraceError, match=f"{tmp_path} exists already"):
        Archive(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["keep"]


def test_a_directory_that_cannot_be_made(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(VtraceError, match=r"cannot create the archive .*file/t\.trace: Not a directory"):
        Archive(tmp_path / "file" / "t.trace")
    assert capfd.readouterr() == ("", ""), "libotf2 prints its own messages"


def test_a_forgotten_location_is_noticed(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "t.trace")
    with pytest.raises(ValueError, match="location 0 has no events file"):
        archive.finish(definitions())
    assert not (tmp_path / "t.trace/traces.otf2").exists()


def test_an_aborted_archive_has_no_anchor(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "t.trace")
    fill(archive, 1)
    archive.abort()
    archive.abort()
    assert not (tmp_path / "t.trace/traces.otf2").exists()


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    """Limits the size of files: a write beyond the limit fails as on a full disk (Python ignores SIGXFSZ). The limit
    must end within the test, because pytest's own output may be a larger file.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("blocks", [1, 60])
def test_a_full_disk(tmp_path: Path, blocks: int, capfd: pytest.CaptureFixture[str]) -> None:
    """A small trace fails when its location is closed, a large one while its events are written."""
    stream = stream_of(lf.write_events(tmp_path / "e", [calls(4000, sequence) for sequence in range(blocks)]))
    archive = Archive(tmp_path / "t.trace")
    with (
        file_limit(4096),
        pytest.raises(VtraceError, match=r"is the disk full.*reached") as caught,
        archive.event_writer(0) as writer,
    ):
        Kernel().transcode(writer, stream, maps())
    assert str(tmp_path) in str(caught.value)
    archive.abort()
    assert capfd.readouterr() == ("", "")


def test_a_full_disk_at_the_definitions(tmp_path: Path) -> None:
    many = definitions()
    many.regions += [Region(name=f"function {n}", canonical=f"function {n}") for n in range(2000)]
    archive = Archive(tmp_path / "t.trace")
    fill(archive, 1)
    with file_limit(8192), pytest.raises(VtraceError, match=r"t\.trace: OTF2 could not write the definitions"):
        archive.finish(many)
    assert not (tmp_path / "t.trace/traces.otf2").exists()


def test_after_an_error_in_the_kernel_the_first_error_is_told(tmp_path: Path) -> None:
    stream = stream_of(lf.write_events(tmp_path / "e", [lf.Chunk().enter(1).word(0)]))
    archive = Archive(tmp_path / "t.trace")
    with pytest.raises(VtraceError, match="unknown kind of record"), archive.event_writer(0) as writer:
        Kernel().transcode(writer, stream, maps())
    archive.abort()


def test_roles_and_paradigms_are_numbers_of_otf2(tmp_path: Path) -> None:
    d = definitions()
    d.regions[1] = Region(name="MPI_Barrier", canonical="MPI_Barrier", role=15, paradigm=4)
    archive = Archive(tmp_path / "t.trace")
    with archive.event_writer(0) as writer:
        Kernel().transcode(writer, stream_of(lf.write_events(tmp_path / "e", [calls(1, 0)])), maps())
    archive.finish(d)
    region = read(tmp_path / "t.trace").regions[1]
    assert (region.role, region.paradigm) == ("BARRIER", "MPI")


def test_another_user_takes_the_name_of_the_directory(tmp_path: Path) -> None:
    """In a directory in which all may rename, the archive goes where it began, and nothing that a link points to
    changes."""
    victim, name = tmp_path / "victim", tmp_path / "t.trace"
    (victim / "traces").mkdir(parents=True)
    precious = [victim / "traces.otf2", victim / "traces/0.evt", victim / "traces/0.def", victim / "traces.def"]
    for path in precious:
        path.write_text("precious")
    archive = Archive(name)
    name.rename(tmp_path / "renamed")
    name.symlink_to(victim)
    fill(archive, 4)
    archive.finish(machine(2))
    assert [path.read_text() for path in precious] == ["precious"] * 4
    assert len(read(tmp_path / "renamed").locations) == 4
    aborted = Archive(tmp_path / "second.trace")
    (tmp_path / "second.trace").rename(tmp_path / "gone")
    (tmp_path / "second.trace").symlink_to(victim)
    aborted.abort()
    assert (victim / "traces.otf2").read_text() == "precious"


@pytest.mark.filterwarnings("error")
def test_a_directory_that_cannot_be_held(tmp_path: Path) -> None:
    """One error, also when the object of the failed attempt is deleted."""
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("missing", "link"):
        with pytest.raises(VtraceError, match=f"cannot open the directory .*{name}"):
            HeldDirectory(tmp_path / name)
    with pytest.raises(VtraceError, match="is not the directory that vtrace has made"):
        HeldDirectory(tmp_path, tmp_path.stat().st_ino + 1)
    gc.collect()
