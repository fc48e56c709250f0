# SPDX-License-Identifier: BSD-3-Clause
"""The tiles of archives agree with a slow computation, bin by bin, at all levels; and the behaviour for tiles that are
damaged, foreign or cannot be written."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_reading import archive

import vtrace
from support.build import mpis
from support.build.builder import Builder
from support.build.run import run, unify
from support.build.run import vtrace as command
from support.oracles import slow_tiles
from support.oracles.slow import FLUSH
from support.readers.archive import read
from support.recorded_archives import unpack
from support.synthetic_runs.archives import Foreign
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import world, write_rank
from support.tools import call, need
from support.tools import command as program
from vtrace.analysis.activity import CLASSES, RUNTIME
from vtrace.analysis.trace import Trace
from vtrace.console import QUIET, Console
from vtrace.errors import FormatError
from vtrace.io.archive.batches import BatchBuffer
from vtrace.io.sidecar import sidecar
from vtrace.io.sidecar.tile_file import BESIDE, COLUMN, DATA, TileFile
from vtrace.timeline.group_tiles import row_groups, summed
from vtrace.timeline.tile_cache import tiles_of
from vtrace.timeline.tile_pass import WrittenTiles
from vtrace.unify.run import Request
from vtrace.unify.run import unify as unify_run

PROGRAMS = ("mpi_messages", "mpi_io", "ranks_threads", "nested", "heap")
FOREIGN = ("scorep-heat2d", "scorep-omp")
SEEDS = range(12)
MANY_BINS = 7
"""A seed whose archive has several tiles in a level."""


def opened(trace: Trace) -> TileFile:
    return tiles_of(trace, Console("test", QUIET))


def some_archive(where: Path, seed: int) -> Path:
    """An archive of random calls: equal times, leaves without enter, many regions, flushes, an empty location."""
    draw = random.Random(seed)
    events: list[list[tuple[Any, ...]]] = [[]]
    length = draw.choice([1, 1000, 10**6, 10**10])
    nregions = draw.choice([1, 5, 60])
    for _ in range(2):
        times = sorted(draw.randrange(length + 1) for _ in range(draw.choice([1, 300, 40_000])))
        stack: list[int] = []
        each: list[tuple[Any, ...]] = []
        for time in times:
            kind = draw.random()
            if kind < 0.45 and len(stack) < 20:
                stack.append(draw.randrange(nregions))
                each.append((time, "Enter", stack[-1]))
            elif kind < 0.9 and stack:
                each.append((time, "Leave", stack.pop()))
            elif kind < 0.92:
                each.append((time, "Leave", draw.randrange(nregions)))
                if each[-1][2] in stack:
                    while stack.pop() != each[-1][2]:
                        pass
            elif kind < 0.93:
                each.append((time, "BufferFlush", time + draw.randrange(1 + length // 50)))
            else:
                each.append((time, "MpiIrecvRequest", 1))
        events.append(each)
    made = Foreign(where)
    for location, rows in enumerate(events):
        made.events(location, rows)
    made.begin_definitions()
    made.machine(groups=1, length=length + draw.choice([0, 1, length // 3]))
    for location in range(len(events)):
        made.location(location)
    for region in range(nregions):
        made.region(region, f"f{region}", paradigm=draw.choice([1, 4]))
    return made.close()


def one_archive(what: str | int, build: Builder, where: Path) -> Path:
    """The archive of a program of PROGRAMS, one of tests/archives, or a random one by its seed."""
    if isinstance(what, int):
        return some_archive(where / "some.trace", what)
    if what in PROGRAMS:
        return archive(what, build, where) / "traces.otf2"
    return unpack(what, where) / "traces.otf2"


@pytest.fixture(
    scope="module",
    params=[*PROGRAMS, *FOREIGN, *SEEDS[:8], *(pytest.param(n, marks=pytest.mark.full) for n in SEEDS[8:])],
)
def anchor(request: pytest.FixtureRequest, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return one_archive(request.param, build, tmp_path_factory.mktemp("tiles"))


def check_regions(columns: Any, known: slow_tiles.Bin, ids: list[int]) -> None:
    """The two named regions have at least their times, and no region has more than its own and the rest."""
    rest, named = int(columns[COLUMN["REST"]]), {}
    for region, time in (("REGION", "TIME"), ("SECOND", "SECOND_TIME")):
        if number := int(columns[COLUMN[region]]):
            named[ids[number - 1]] = int(columns[COLUMN[time]])
    for region, time in named.items():
        assert time <= known.regions[region] <= time + rest
    most = max(named.values(), default=0)
    assert all(time <= most + rest for time in known.regions.values())
    assert sum(time > 0 for time in known.regions.values()) >= len(named) > 0 or not known.regions
    if not rest and len(named) == 2:
        assert sorted(known.regions.values())[-2:] == sorted(named.values())


def test_each_bin(anchor: Path) -> None:
    trace, slow = vtrace.open(anchor), read(anchor.parent)
    tiles = opened(trace)
    ids = [FLUSH if row == trace.definitions.flush_region else n for row, n in enumerate(trace.regions["id"].tolist())]
    classes = dict(zip(ids, trace.regions["class"].tolist(), strict=True))
    checked = 0
    for row, location in enumerate(trace.locations["id"].tolist()):
        steps = slow_tiles.follow(slow, location, trace.duration, classes, RUNTIME)
        for level in tiles.levels(row):
            found = tiles.bins(row, level, 0, 1 << 60)
            known = slow_tiles.bins(steps, 1 << level, trace.duration)
            assert found.shape == (COLUMN["FIRST_CLASS"] + len(CLASSES), len(known))
            assert found[COLUMN["EVENTS"]].tolist() == [bin_.events for bin_ in known]
            assert found[COLUMN["DEPTH"]].tolist() == [bin_.depth for bin_ in known]
            times = found[COLUMN["FIRST_CLASS"] :].T.tolist()
            assert times == [[bin_.classes[kind] for kind in range(len(CLASSES))] for bin_ in known]
            for number, bin_ in enumerate(known):
                check_regions(found[:, number], bin_, ids)
                checked += bool(bin_.regions)
        assert tiles.levels(row)
    assert checked or trace.duration <= 2000


def joined(bins: list[slow_tiles.Bin]) -> slow_tiles.Bin:
    found = slow_tiles.Bin()
    for each in bins:
        found.regions += each.regions
        found.classes += each.classes
        found.events += each.events
        found.depth = max(found.depth, each.depth)
    return found


@pytest.mark.parametrize("what", ["ranks_threads", "scorep-heat2d", 3])
def test_rows_of_groups(what: str | int, build: Builder, tmp_path: Path) -> None:
    """Processes, nodes and all are the sums of their locations."""
    anchor = one_archive(what, build, tmp_path)
    trace, slow = vtrace.open(anchor), read(anchor.parent)
    tiles = opened(trace)
    ids = [FLUSH if row == trace.definitions.flush_region else n for row, n in enumerate(trace.regions["id"].tolist())]
    classes = dict(zip(ids, trace.regions["class"].tolist(), strict=True))
    steps = [
        slow_tiles.follow(slow, location, trace.duration, classes, RUNTIME)
        for location in trace.locations["id"].tolist()
    ]
    groups = row_groups(trace)
    assert groups[-1].members == tuple(range(trace.locations.rows))
    for group in summed(groups):
        assert group.row >= trace.locations.rows
        for level in tiles.levels(group.row):
            found = tiles.bins(group.row, level, 0, 1 << 60)
            each = [slow_tiles.bins(steps[member], 1 << level, trace.duration) for member in group.members]
            known = [joined(list(bins)) for bins in zip(*each, strict=True)]
            assert found[COLUMN["EVENTS"]].tolist() == [bin_.events for bin_ in known]
            assert found[COLUMN["DEPTH"]].tolist() == [bin_.depth for bin_ in known]
            times = found[COLUMN["FIRST_CLASS"] :].T.tolist()
            assert times == [[bin_.classes[kind] for kind in range(len(CLASSES))] for bin_ in known]
            for number, bin_ in enumerate(known):
                check_regions(found[:, number], bin_, ids)
        assert tiles.levels(group.row)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_batches_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    for seed in (1, 4):
        path = some_archive(tmp_path / f"{seed}.trace", seed)
        opened(vtrace.open(path))
        folder = path.parent / sidecar.FOLDER
        expected = {file.name: file.read_bytes() for file in folder.iterdir()}
        shutil.rmtree(folder)
        with monkeypatch.context() as patched:
            patched.setattr("vtrace.analysis.scan.BatchBuffer", lambda: BatchBuffer(size))
            opened(vtrace.open(path))
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == expected


def test_rows_with_few_tiles_share_frames(tmp_path: Path) -> None:
    index = opened(vtrace.open(some_archive(tmp_path / "a.trace", 2)))._index
    assert index.row.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert len(set(index.offset.tolist())) == 1


def test_parts_of_a_level(tmp_path: Path) -> None:
    trace = vtrace.open(some_archive(tmp_path / "a.trace", MANY_BINS))
    tiles = opened(trace)
    level = tiles.levels(1)[0]
    whole = tiles.bins(1, level, 0, 1 << 60)
    assert whole.shape[1] > 300
    for first, stop in ((0, 1), (3, 300), (255, 257), (256, 256), (whole.shape[1] - 1, 1 << 40)):
        assert np.array_equal(tiles.bins(1, level, first, stop), whole[:, first:stop])


def damaged(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "cut":
        del data[len(data) // 2 :]
    elif how == "flipped":
        data[-3] ^= 0x40
    else:
        data[:8] = b"not this"
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["tiles", DATA])
@pytest.mark.parametrize("how", ["cut", "flipped", "other"])
def test_damaged_tiles(tmp_path: Path, name: str, how: str) -> None:
    """A damaged table is rebuilt, after one line; a damaged tile is one line."""
    path = some_archive(tmp_path / "a.trace", 2)
    opened(vtrace.open(path)).close()
    damaged(path.parent / sidecar.FOLDER / name, how)
    done = command(tmp_path, "view", "--text", "a", check=False)
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert (name, done.stderr.count("\n")) == (DATA, 1)
        assert "remove the file" in done.stderr
        os.remove(path.parent / sidecar.FOLDER / name)
        done = command(tmp_path, "view", "--text", "a")
    if name == "tiles" or how == "other":
        assert "rebuilding the tiles" in done.stderr
        assert "rebuilding the tiles" not in command(tmp_path, "view", "--text", "a").stderr


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_no_file_has_the_name_of_tiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    """The tiles go to the cache, from which they are taken the next time; what has their name stays."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tiles = some_archive(tmp_path / "a.trace", 2).parent / sidecar.FOLDER / "tiles"
    tiles.parent.mkdir(exist_ok=True)
    make(tiles)
    first, second = (command(tmp_path, "view", "--text", "a") for _ in range(2))
    assert first.stdout == second.stdout
    name = f"vtrace: a.trace/{sidecar.FOLDER}/tiles"
    assert f"{name} cannot be read: not a regular file: rebuilding the tiles\n" in first.stderr
    assert f"{name} is not a regular file: the tiles of the timeline are in {tmp_path}/cache/" in first.stderr
    assert f"{name} cannot be read: not a regular file: the tiles in {tmp_path}/cache/" in second.stderr
    assert "rebuilding" not in second.stderr
    assert tiles.exists()


def test_tiles_of_another_archive(tmp_path: Path) -> None:
    one, other = (some_archive(tmp_path / f"{seed}.trace", seed) for seed in (3, 4))
    opened(vtrace.open(one))
    shutil.copytree(one.parent / sidecar.FOLDER, other.parent / sidecar.FOLDER)
    trace = vtrace.open(other)
    with pytest.raises(FormatError, match="another archive"):
        TileFile.open(other.parent, sidecar.identity(other, trace.properties))
    assert "belongs to another archive: rebuilding the tiles" in command(tmp_path, "view", "--text", "4").stderr


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = some_archive(tmp_path / "a.trace", 5)
    (path.parent / sidecar.FOLDER).write_text("a file where the folder would be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first, second = (command(tmp_path, "view", "--text", "a") for _ in range(2))
    assert "cannot be written" in first.stderr
    assert str(tmp_path / "cache") in first.stderr
    assert second.stdout == first.stdout
    assert len([*tmp_path.glob(f"cache/vtrace/*/{sidecar.FOLDER}/{DATA}")]) == 1


@pytest.mark.parametrize(
    ("most", "said"), [(100, "no room for the tiles"), (280, "bundles cannot be"), (550, "tiles cannot")]
)
def test_a_full_disk(tmp_path: Path, most: int, said: str) -> None:
    """One line, and no file of tiles is left. most: bytes of a file."""
    some_archive(tmp_path / "a.trace", 2)
    words = [need("prlimit"), f"--fsize={most}", *program("vtrace"), "view", "--text", "a"]
    done = call(words, tmp_path, {"XDG_CACHE_HOME": str(tmp_path / "cache")}, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert said in done.stderr
    assert [path for path in tmp_path.rglob("*tiles*") if path.is_file()] == []


def tiles_made(archive: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (archive / sidecar.FOLDER).glob("tiles*")}


def check_made(archive: Path) -> None:
    """The tiles beside the archive are those that vtrace view would write."""
    made = tiles_made(archive)
    assert set(made) == {"tiles", DATA, *(name for name, _ in BESIDE.values())}
    for file in made:
        os.remove(archive / sidecar.FOLDER / file)
    opened(vtrace.open(archive))
    assert tiles_made(archive) == made


AGAIN = "reading the events once more for the tiles"


def write_small(where: Path) -> None:
    """Writes the local files of a call between a comment and a marker, with prefix t."""
    records = Chunk(0, 0, 1000)
    for kind, delta, *rest in [("COMMENT", 100, 0, 1), ("ENTER", 300, 4), ("LEAVE", 400, 4), ("MARKER", 100, 1, 1)]:
        records.record(kind, delta, *rest)
    known: list[list[Any]] = [world(0, 1), ["TEXT", 1, "here"], ["MARKER", 1, "place", 1]]
    write_rank(where, 0, 1, [*known, ["REGION", 4, "work", 1, 1, "a.c", 3]], {0: [records]})


def test_markers_before_all_events(tmp_path: Path) -> None:
    """The trace's time has them, and vtunify expects this time."""
    write_small(tmp_path)
    assert AGAIN not in unify(tmp_path, "-v", "--tiles", "t").stderr
    trace = vtrace.open(tmp_path / "t.trace")
    assert (trace.duration, trace.markers()["time"].tolist()) == (800, [0, 800])
    check_made(tmp_path / "t.trace")
    lines = command(tmp_path, "view", "--text", "--width", "60", "t").stdout.splitlines()
    begin = lines[1].index("|")
    assert lines[2][begin:] == "." * 18 + "=" * 24 + "." * 6
    assert lines[3][begin:] == "v" + " " * 46 + "v"


@pytest.mark.parametrize("what", PROGRAMS)
def test_tiles_from_the_written_events(what: str, build: Builder, tmp_path: Path) -> None:
    check_made(archive(what, build, tmp_path, "--tiles"))


def test_vtunify_makes_the_same_tiles(build: Builder, tmp_path: Path) -> None:
    """vtunify builds the tiles from the events that it writes, vtunify-mpi from the archive."""
    mpi = mpis.find("mpich-wheel", build)
    mpi.run(mpi.build("mpi_messages.c", flags=("-O1",)), tmp_path, ranks=3)
    words = [*mpi.launch, "-n", "2", *program("vtunify-mpi"), "-v", "-k", "--tiles", "mpi_messages"]
    done = call(words, tmp_path)
    assert AGAIN in done.stderr
    assert AGAIN not in unify(tmp_path, "-v", "--tiles", "mpi_messages").stderr
    for name in ("u_mpi_messages.trace", "mpi_messages.trace"):
        check_made(tmp_path / name)
    assert "next: vtrace summary" in done.stdout
    assert unify(tmp_path, "--tiles", "mpi_messages").returncode == 0


def test_tiles_in_the_cache_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """vtunify --tiles writes them beside the archive, also where the user's cache has some of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_small(tmp_path)
    unify(tmp_path, "t")
    archive = tmp_path / "t.trace"
    opened(trace := vtrace.open(archive))
    cache = tmp_path / "cache" / "vtrace" / f"archive-{sidecar.identity(trace.anchor, trace.properties)}"
    shutil.copytree(archive / sidecar.FOLDER, cache / sidecar.FOLDER)
    made = tiles_made(archive)
    for file in made:
        os.remove(archive / sidecar.FOLDER / file)
    unify(tmp_path, "--tiles", "t")
    assert tiles_made(archive) == made


@pytest.mark.parametrize(
    "settings",
    [
        {"VT_MODE": "RING", "VT_BUFFER_SIZE": "128K", "VT_THREAD_BUFFER_SIZE": "128K"},
        {"VT_SAMPLING": "yes", "VT_METRICS": "ru_utime"},
        {"VT_MEMTRACE": "yes", "VT_MAX_SIZE": "64K"},
    ],
)
def test_tiles_of_unusual_runs(settings: dict[str, str], build: Builder, tmp_path: Path) -> None:
    """Where the times or the levels differ from the expected ones, the archive is read once more."""
    program = build("ring.c", flags=("-O1", "-pthread", "-DVTRACE"))
    run(program, tmp_path, "end", "30000", env=settings)
    unify(tmp_path, "--tiles", "ring")
    check_made(tmp_path / "ring.trace")


@pytest.mark.parametrize("buffer", [0, 1 << 20], ids=["at once", "at the end"])
def test_no_room_for_the_tiles(build: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buffer: int) -> None:
    """vtunify writes the archive although no tiles can be built. buffer: bytes that the temporary file takes before the
    error."""
    run(build("ring.c", flags=("-O1", "-pthread", "-DVTRACE")), tmp_path, "end", "300")
    full = lambda buffering: open("/dev/full", "r+b", buffering=buffer)  # noqa: SIM115, E731
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    made: list[WrittenTiles] = []

    def listen(anchor: Path) -> WrittenTiles:
        made.append(WrittenTiles(anchor))
        return made[0]

    written = unify_run(Request(prefix=tmp_path / "ring"), Console("test", QUIET), listen=listen)
    trace = vtrace.open(written.archive)
    assert int(trace.locations["events"].sum()) == written.events
    assert not made[0].write(trace)
    assert not tiles_made(written.archive)
