# SPDX-License-Identifier: BSD-3-Clause
"""Packed archives: every command gives the same answer as of the OTF2 archive of the same run, and vtrace unpack gives
the same files."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import vtrace as package
from support.build.builder import Builder
from support.build.kinds import KINDS
from support.build.run import names, prefix_of, run, unify, vtrace
from support.tools import DEFAULTS, Done, call, command, need
from vtrace.analysis.trace import Trace
from vtrace.io.archive.batches import ALWAYS, NEVER, BatchBuffer
from vtrace.io.archive.overview import find_anchor
from vtrace.io.packed.container import Container
from vtrace.io.packed.opened import packed_of

RECORDED = ("killed", "markers", "threads", "messages", "rma", "io", "mpi-io", "heap", "openmp", "ring")


def _forks(build: Builder, where: Path) -> Path:
    program = build("forks.c")
    run(program, where, code=None)
    return where / prefix_of(program)


def _sampled(build: Builder, where: Path, *words: str) -> Path:
    program = build("sampled.c", flags=("-O1", "-g", "-pthread"), plain=True)
    call([*command("vtrace"), "run", "--no-unify", *words, program, "200", "2"], where, DEFAULTS)
    return where / "sampled"


def _kind(name: str) -> Callable[[Builder, Path], Path]:
    def recipe(build: Builder, where: Path) -> Path:
        local = KINDS[name](build, where).local
        assert local is not None
        return local

    return recipe


RUNS: dict[str, Callable[[Builder, Path], Path]] = {
    **{name: _kind(name) for name in RECORDED},
    "forks": _forks,
    "samples": lambda build, where: _sampled(build, where, "--sample=500"),
    "samples-apart": _sampled,
}


MORE = ("io", "forks")
"""Runs for the full tests only: mpi-io and killed are like them."""


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.full if name in MORE else ()) for name in RUNS]
)
def both(request: pytest.FixtureRequest, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with run.vtz and run.trace of one run."""
    where = tmp_path_factory.mktemp("packed")
    local = RUNS[request.param](build, where)
    unify(local.parent, "--packed", "-k", "-o", where / "run", local.name)
    unify(local.parent, "-k", "--force", "-o", where / "run", local.name)
    return where


def files(archive: Path) -> dict[str, bytes]:
    """All files of an archive but the anchor files, which have a random number."""
    found = sorted(path for path in archive.rglob("*") if path.is_file() and path.name != "traces.otf2")
    return {str(path.relative_to(archive)): path.read_bytes() for path in found}


def plain(text: str) -> str:
    """Without the endings of the archives' names."""
    return re.sub(r"run(\.trace/traces\.otf2|\.trace|\.vtz)", "run", text)


def texts(done: Done) -> tuple[int, str, str]:
    """The exit code and the output."""
    return done.returncode, plain(done.stdout), plain(done.stderr)


def test_unpack(both: Path, tmp_path: Path) -> None:
    vtrace(tmp_path, "unpack", both / "run.vtz", "-o", "new")
    new, old = tmp_path / "new.trace", both / "run.trace"
    assert files(new) == files(old)
    anchors = [path.relative_to(old) for path in old.rglob("traces.otf2")]
    for name in anchors:  # 8 random bytes come before the last 11 bytes
        data = [(archive / name).read_bytes() for archive in (old, new)]
        assert data[1][:-19] + data[1][-11:] == data[0][:-19] + data[0][-11:]
    assert package.open(new).ledger.rows() == package.open(old).ledger.rows()
    assert not package.open(new).problems


COMMANDS: Sequence[Sequence[str]] = (
    ("summary",),
    ("summary", "--json"),
    ("summary", "--from", "20%", "--to", "60%"),
    ("profile", "--by", "callpath"),
    ("profile", "--csv"),
    ("profile", "--ranks", "0"),
    ("diagnose",),
    ("view", "--text"),
    ("view", "--text", "--from", "40%", "--to", "45%"),
    ("info",),
    ("info", "--json"),
    ("mpip",),
    ("timers",),
)


@pytest.mark.parametrize("turn", [0, *(pytest.param(turn, marks=pytest.mark.full) for turn in (1, 2))])
def test_commands(both: Path, request: pytest.FixtureRequest, turn: int) -> None:
    """A third of the commands on each run, other ones on the next run; in the full tests all."""
    first = [*RUNS].index(request.node.callspec.params["both"]) + turn
    for words in COMMANDS[first % 3 :: 3]:
        old, new = (
            call([*command("vtrace"), words[0], f"run{ending}", *words[1:]], both, check=False)
            for ending in (".trace", ".vtz")
        )
        assert texts(new) == texts(old)
        assert new.returncode == 0 or words == ("mpip",), str(new)


def test_diff(both: Path) -> None:
    old, new = (vtrace(both, "diff", "run.trace", name, "--json") for name in ("run.trace", "run.vtz"))
    assert texts(new) == texts(old)


@pytest.mark.parametrize("kind", ["csv", "perfetto", "chrome"])
def test_export(both: Path, tmp_path: Path, kind: str) -> None:
    for name in ("run.trace", "run.vtz"):
        vtrace(both, "export", name, "--to", kind, "-o", tmp_path / name)
    old, new = ((tmp_path / name).read_bytes() for name in ("run.trace", "run.vtz"))
    assert new == old


def test_cut(both: Path, tmp_path: Path) -> None:
    for name in ("run.trace", "run.vtz"):
        vtrace(both, "cut", name, "--from", "10%", "--to", "70%", "-o", tmp_path / f"{name}.cut")
    old, new = (tmp_path / f"{name}.cut.trace" for name in ("run.trace", "run.vtz"))
    own = {"traces.def", *(name for name in files(old) if name.startswith("traces/"))}
    assert {name: files(new)[name] for name in own} == {name: files(old)[name] for name in own}


def test_report(both: Path, tmp_path: Path) -> None:
    for name in ("run.trace", "run.vtz"):
        vtrace(both, "report", name, "-o", tmp_path / f"{name}.html")
    old, new = (plain((tmp_path / f"{name}.html").read_text()) for name in ("run.trace", "run.vtz"))
    assert new == old


@pytest.fixture(scope="module")
def steps(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with run.vtz of four threads with many calls each, and run.trace."""
    where = tmp_path_factory.mktemp("steps")
    program = build("threads.c", flags=("-O1", "-pthread"))
    run(program, where, "together", "4", "100000")
    for words in (("--packed", "-k"), ("-k",)):
        unify(where, *words, "-o", "run", prefix_of(program))
    return where


class TestDamage:
    """Damage is told, and the rest is read."""

    def test_cut(self, steps: Path, tmp_path: Path) -> None:
        data = (steps / "run.vtz").read_bytes()
        whole = vtrace(steps, "profile", "run.vtz", "--csv").stdout
        path = tmp_path / "run.vtz"
        path.write_bytes(data[: len(data) * 3 // 4])
        done = vtrace(tmp_path, "profile", "run.vtz", "--csv")
        assert f"has {len(data) * 3 // 4:,} bytes, but had {len(data):,}" in done.stderr
        assert 1 < len(done.stdout.splitlines()) <= len(whole.splitlines())
        done = vtrace(tmp_path, "unpack", "run.vtz")
        assert "warning: the packed archive has" in done.stderr
        assert (tmp_path / "run.trace" / "traces.otf2").is_file()

    @pytest.mark.parametrize("size", [0, 5, 30, 41, 200])
    def test_cut_head(self, steps: Path, tmp_path: Path, size: int) -> None:
        path = tmp_path / "run.vtz"
        path.write_bytes((steps / "run.vtz").read_bytes()[:size])
        for words in (("summary",), ("info",), ("unpack",)):
            done = vtrace(tmp_path, *words, "run.vtz", check=False)
            assert done.returncode == 1
            assert done.stderr.startswith("vtrace: error: run.vtz: ")
            assert len(done.stderr.splitlines()) == 1

    def test_block(self, steps: Path, tmp_path: Path) -> None:
        """A damaged block ends its location; the others are whole."""
        data = bytearray((steps / "run.vtz").read_bytes())
        data[-20] ^= 1
        (tmp_path / "run.vtz").write_bytes(data)
        done = vtrace(tmp_path, "summary", "run.vtz")
        assert "run.vtz: wrong checksum in the block at byte" in done.stderr
        assert "run.vtz: wrong checksum in the block at byte" in vtrace(tmp_path, "unpack", "run.vtz").stderr

    def test_every_byte(self, steps: Path, tmp_path: Path) -> None:
        """Random damage, and cuts at random places, never crash a command, and are told, unless only a table of the
        sidecar is damaged."""
        draw = random.Random(3)
        data = (steps / "run.vtz").read_bytes()
        for number in range(60):
            mutant = bytearray(data)
            if number % 3 == 0:
                del mutant[draw.randrange(len(data)) :]
            for _ in range(draw.choice((1, 1, 8)) if number % 3 else 0):
                mutant[draw.randrange(min(len(data), draw.choice((60, 5000, len(data)))))] ^= 1 << draw.randrange(8)
            (tmp_path / "run.vtz").write_bytes(mutant)
            done = vtrace(tmp_path, "summary", "run.vtz", check=False)
            assert done.returncode in (0, 1), str(done)
            assert "Traceback" not in done.stderr
            assert bytes(mutant) == data or "vtrace: " in done.stderr


class TestWindows:
    """A window begins at a start, not at the beginning of the location."""

    def test_same_events(self, steps: Path) -> None:
        old, new = package.open(steps / "run.trace"), package.open(steps / "run.vtz")
        draw = random.Random(5)
        for _ in range(20):
            begin, end = sorted(draw.randrange(old.duration) for _ in range(2))
            for location in range(old.locations.rows):
                number = int(old.locations["id"][location])
                assert rows(new, number, begin, end) == rows(old, number, begin, end)

    def test_begins_late(self, steps: Path) -> None:
        trace = package.open(steps / "run.vtz")
        packed = packed_of(trace.anchor)
        assert packed is not None
        sizes = []
        for id in trace.locations["id"].tolist():
            found = packed.location(id, False, time=trace.offset + trace.duration)
            whole = packed.location(id, False)
            assert whole is not None
            assert whole.events is not None
            assert found is not None
            assert found.events is not None
            sizes.append((len(found.events.index), len(whole.events.index)))
        assert any(late < all_ for late, all_ in sizes if all_ > 16)


def rows(trace: Trace, location: int, begin: int, end: int, *, first: tuple[int, int] = (1, ALWAYS)) -> list[bytes]:
    """The times, kinds and references of a location's events in a window."""
    found: list[tuple[bytes, ...]] = [(b"", b"", b"")]
    batch = BatchBuffer()
    with trace.reader() as reader:
        reader.read(
            location,
            batch,
            lambda: found.append((batch.time.tobytes(), batch.kind.tobytes(), batch.ref.tobytes())),
            start=begin,
            stop=end,
            first=first,
        )
    return [b"".join(column) for column in zip(*found, strict=True)]


def test_ranks(build: Builder, tmp_path: Path) -> None:
    """vtunify-mpi writes the same packed archive, apart from the random number in its anchor file."""
    local = RUNS["messages"](build, tmp_path)
    unify(tmp_path, "--packed", "-k", "-o", "one", local.name)
    words = [need("mpiexec"), "-n", "3", *command("vtunify-mpi"), "--packed", "-k", "-o", "many", local.name]
    call(words, tmp_path)
    for name in ("one", "many"):
        vtrace(tmp_path, "unpack", f"{name}.vtz")
    assert files(tmp_path / "one.trace") == files(tmp_path / "many.trace")
    one, many = (Container(tmp_path / f"{name}.vtz").index for name in ("one", "many"))
    for column in ("id", "process", "number", "event_bytes"):
        assert one.locations[column].tolist() == many.locations[column].tolist()


class TestPack:
    """vtrace pack needs the local files of the run."""

    def test_archive(self, build: Builder, tmp_path: Path) -> None:
        local = RUNS["threads"](build, tmp_path)
        vtrace(tmp_path, "pack", "threads.trace", "-o", "new")
        vtrace(tmp_path, "unpack", "new.vtz")
        assert files(tmp_path / "new.trace") == files(tmp_path / "threads.trace")
        done = vtrace(tmp_path, "pack", local.name, "-o", "new", check=False)
        assert (done.returncode, done.stderr) == (
            1, "vtrace: error: new.vtz exists (--force replaces it, -o NAME writes to another place)\n"
        )  # fmt: skip

    def test_no_local_files(self, build: Builder, tmp_path: Path) -> None:
        local = RUNS["threads"](build, tmp_path)
        for path in tmp_path.glob(f"{local.name}.*.z"):
            path.unlink()
        done = vtrace(tmp_path, "pack", "threads.trace", "-o", "new", check=False)
        assert done.returncode == 1
        assert done.stderr == (
            "vtrace: error: threads.trace: the local files of its run are not there, and only these can be packed "
            "(vtunify -k keeps them; vtunify --packed packs them)\n"
        )


def test_run(build: Builder, tmp_path: Path) -> None:
    """vtrace run --packed; a second run moves the first run's archive."""
    program = build("endings.c")
    for _ in range(2):
        call([*command("vtrace"), "run", "--packed", "-o", "x", "--unify", program, "return", "3"], tmp_path)
    assert names(tmp_path) == {"x.vtz", "x~.vtz"}


def test_also(build: Builder, tmp_path: Path) -> None:
    """vtunify --packed --also reads the packed archive, and leaves nothing but its results."""
    local = RUNS["messages"](build, tmp_path)
    (tmp_path / "tmp").mkdir()
    env = {"TMPDIR": str(tmp_path / "tmp"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = "--also", "diagnose", "--also", "report", "--also", "tiles"
    done = unify(tmp_path, "--packed", "-k", "-o", "new", *words, local.name, env=env)
    assert "next: vtrace " in done.stdout
    assert (tmp_path / "new.html").is_file()
    assert names(tmp_path / "tmp") == set()
    assert len([*(tmp_path / "cache" / "vtrace").glob("archive-*")]) == 1


def test_by_prefix(both: Path) -> None:
    """The newest archive of a prefix counts."""
    packed, archive = both / "run.vtz", both / "run.trace"
    assert find_anchor(both / "run") == archive / "traces.otf2"
    later = (archive / "traces.otf2").stat().st_mtime + 5
    before = packed.stat().st_mtime
    os.utime(packed, (later, later))
    assert find_anchor(both / "run") == packed
    os.utime(packed, (before, before))


def test_no_directory_stays(both: Path, tmp_path: Path) -> None:
    """The temporary directory with the definitions is removed."""
    call([*command("vtrace"), "summary", both / "run.vtz"], tmp_path, env={"TMPDIR": str(tmp_path)})
    assert names(tmp_path) == set()


def test_view(steps: Path, tmp_path: Path) -> None:
    """The timeline has the same windows of events; the tiles are in the user's cache."""
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    pages = {}
    for name in ("run.trace", "run.vtz"):
        page = tmp_path / f"{name}.html"
        done = vtrace(steps, "view", name, "--save", page, "--from", "40%", "--to", "41%", env=env)
        assert "Traceback" not in done.stderr
        pages[name] = plain(page.read_text()).partition('"parts":')[0]  # findings name the archive in packed bytes
    assert pages["run.trace"] == pages["run.vtz"]
    assert len([*(tmp_path / "cache" / "vtrace").glob("archive-*")]) == 1
    assert names(tmp_path / "tmp") == set()


def test_events_from_a_number(steps: Path) -> None:
    """vtrace view reads from an event's number on, with the checkpoints of its tiles."""
    old, new = package.open(steps / "run.trace"), package.open(steps / "run.vtz")
    id = int(old.locations["id"][old.locations["events"].argmax()])
    times, _, _ = rows(old, id, ALWAYS, NEVER)
    for number in (2, 1000, 100_000, 150_001):
        last = int.from_bytes(times[8 * (number - 2) : 8 * (number - 1)], "little", signed=True)
        first = (number, last)
        assert rows(new, id, ALWAYS, NEVER, first=first) == rows(old, id, ALWAYS, NEVER, first=first)
