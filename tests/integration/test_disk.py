# SPDX-License-Identifier: BSD-3-Clause
"""A disk that is full at the start, while the buffer grows, at a flush, at the end of the program or while unifying."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify, vtrace
from support.damage.failing_calls import inject, injected
from support.oracles.check import check
from support.oracles.ledger import ledger
from support.synthetic_runs.archives import calls, simple
from support.tools import call, need

CALLS = 100000
MADE = 2 * (CALLS + 1)
RAW = {"VT_COMPRESSION": "no"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A function that mounts a file system of the given size and returns its directory."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    mounted: list[Path] = []

    def mount(size: str) -> Path:
        place = tmp_path / "small"
        place.mkdir()
        done = call([need("mount"), "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], tmp_path, check=False)
        if done.returncode:
            pytest.skip(f"a small file system cannot be mounted: {done.stderr.strip()}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        call([need("umount"), "-l", place], tmp_path)


def many(build: Builder, where: Path, env: dict[str, str], before: Sequence[str] = ()) -> str:
    """Runs many.c and returns its stderr. before: words before the program's name."""
    done = call([*before, build("many.c"), str(CALLS), "7"], where, env, check=False)
    assert (done.returncode, done.stdout) == (7, f"done {CALLS}\n"), str(done)
    said = done.stderr.splitlines()
    assert len(set(said)) == len(said) <= 4, str(done)
    return done.stderr


def test_at_the_start_without_any_space(build: Builder, tmp_path: Path, disk: Callable[[str], Path]) -> None:
    """Neither the buffer nor a file fits: vtrace prints one line, and leaves no file."""
    small = disk("4k")
    assert many(build, small, RAW) == (
        f"vtrace: {small} on {platform.node()} is not writable (no space left): nothing is recorded; set VT_PFORM_GDIR "
        "and VT_PFORM_LDIR to other directories\n"
    )
    assert not names(small)


@pytest.mark.parametrize("size", ["128k", "600k"])
def test_at_the_start_without_a_buffer(build: Builder, tmp_path: Path, disk: Callable[[str], Path], size: str) -> None:
    """The buffer is in memory, and the disk has room for a part of the events: the other events count as lost."""
    small = disk(size)
    said = many(build, small, RAW)
    found = ledger(small, "many")
    assert "cannot grow (no space left)" in said
    assert found.functions + found.lost == MADE
    assert found.functions > 0, "a block of 64 KiB must be written"
    assert f"{found.lost} events of rank 0 could not be recorded" in said
    assert not [name for name in names(small) if name.endswith((".tmp", ".buffer"))]
    unify(small, "-o", "../result", "many")
    coverage = json.loads(check(tmp_path / "result.trace", complete=False).properties["VTRACE::COVERAGE"])
    assert (coverage["complete"], coverage["lost"]) == (False, found.lost)


def test_while_growing(build: Builder, tmp_path: Path, disk: Callable[[str], Path]) -> None:
    """The buffer cannot grow on the disk, but the compressed events fit: no event is lost."""
    small = disk("3m")
    assert "cannot grow (no space left)" in many(build, small, {})
    unify(small, "-o", "../result", "many")
    assert check(tmp_path / "result.trace").calls()["work"] == CALLS


@pytest.mark.parametrize("calls", [30_000, 100_000, 185_000, 260_000])
def test_killed_after_growing(build: Builder, tmp_path: Path, disk: Callable[[str], Path], calls: int) -> None:
    """Of a killed process whose buffer is partly in memory, the events until the first lost one are in the archive."""
    small = disk("1500k")
    program = build("endings.c", flags=("-O1", "-pthread"))
    done = run(program, small, "kill", str(calls), env={"VT_BUFFER_SIZE": "4M"}, code=-signal.SIGKILL)
    grows = calls > 60_000
    assert ("cannot grow" in done.stderr) == grows
    unified = unify(small, "-o", str(tmp_path / "result"), "endings")
    assert "did not complete the files" in unified.stderr
    assert ("until the first lost one" in unified.stderr) == grows
    trace = check(tmp_path / "result.trace", complete=False)
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert (coverage["complete"], coverage["unknown"]) == (False, int(grows))
    least = calls if not grows else 0 if calls < 180_000 else 170_000
    assert least <= trace.calls()["work"] <= calls


@pytest.mark.parametrize(("buffer", "least", "largest"), [(256, 1.25, 1.6), (4096, 3.75, 4)])
def test_default_of_the_largest_size(
    build: Builder, disk: Callable[[str], Path], buffer: int, least: float, largest: float
) -> None:
    """The default of VT_MAX_SIZE is a tenth of the free space at the first flush, but at least the size of the buffer
    if that much space is free. buffer: in KiB; least, largest: of VT_MAX_SIZE in MiB."""
    small, calls = disk("16m"), 500_000
    done = run(build("many.c"), small, str(calls), env={**RAW, "VT_BUFFER_SIZE": f"{buffer}K"})
    (line,) = [line for line in done.stderr.splitlines() if "VT_MAX_SIZE" in line]
    start = (
        rf"vtrace: recording stopped at VT_MAX_SIZE=(\d+)([KM]?) \(from the free space of {re.escape(str(small))}\): "
    )
    said = re.match(start, line)
    assert said, line
    assert "; set VT_MAX_SIZE, or set VT_PFORM_GDIR to a larger disk, or filter functions" in line
    most = int(said[1]) << {"": 0, "K": 10, "M": 20}[said[2]]
    assert least * 2**20 <= most <= largest * 2**20
    (file,) = small.glob("many.*.events")
    assert 0.9 * most < file.stat().st_size < most + buffer * 2**10, (
        "the file may exceed VT_MAX_SIZE by one flush of the buffer"
    )
    found = ledger(small, "many")
    assert found.functions + found.lost == 2 * (calls + 1)


@pytest.mark.parametrize("size", ["4k", "200k"])
@pytest.mark.parametrize("when", ["flush", "end"])
def test_rest_stays_in_the_buffer(
    build: Builder, tmp_path: Path, disk: Callable[[str], Path], when: str, size: str
) -> None:
    """The disk of the files is full, and the buffer is on another disk: vtunify reads the rest from the buffer."""
    small, other = disk(size), tmp_path / "other"
    other.mkdir()
    env = {**RAW, "VT_PFORM_LDIR": str(other)}
    if when == "flush":
        env |= {"VT_BUFFER_SIZE": "300K", "VT_MAX_FLUSHES": "0"}
    said = many(build, small, env)
    (buffer,) = names(other)
    assert f"vtunify reads the other records from the buffer {other / buffer}" in said
    left = names(small) | names(other)
    done = unify(small, "-k", "many", check=False)
    assert done.returncode == 1, str(done)
    assert len(done.stderr.splitlines()) == 1, str(done)
    assert names(small) | names(other) == left, "vtunify left a partial archive or deleted a file"
    unify(small, "-k", "-o", str(tmp_path / "result"), "many")
    trace = check(tmp_path / "result.trace", complete=False)
    kinds = trace.kinds()
    told = re.search(r"(\d+) events of rank 0 could not be recorded", said)  # the file may lack room for the count, too
    lost = int(told[1]) if told else 0
    assert lost == 0 if when == "end" else lost > 0
    # vtunify may add the last leave of main, if recording stopped before this leave.
    assert 0 <= kinds["Enter"] + kinds["Leave"] + lost - MADE <= 2
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert (coverage["complete"], coverage["lost"]) == (lost == 0, lost)


def test_rest_of_a_file_that_cannot_be_cut(build: Builder, tmp_path: Path, disk: Callable[[str], Path]) -> None:
    """ftruncate fails, so the last block in the file stays incomplete: vtunify reads this block from the buffer."""
    small, other = disk("200k"), tmp_path / "other"
    other.mkdir()
    failing = inject("ftruncate:error=EACCES:when=1+", tmp_path / "log")
    said = many(build, small, {**RAW, "VT_PFORM_LDIR": str(other)}, failing)
    assert injected(tmp_path / "log") == 1
    assert "cannot be written (no space left): the thread stops recording, and its records stay" in said
    unify(small, "-o", str(tmp_path / "result"), "many")
    assert check(tmp_path / "result.trace").calls() == {"main": 1, "work": CALLS}
    assert not names(small) | names(other)


def test_unifying_goes_on_when_there_is_space(build: Builder, tmp_path: Path, disk: Callable[[str], Path]) -> None:
    small = disk("64k")
    run(build("many.c"), tmp_path, str(CALLS), "7", code=7)
    before = names(tmp_path)
    done = unify(tmp_path, "-o", "small/result", "many", check=False)
    assert done.returncode == 1, str(done)
    assert len(done.stderr.splitlines()) == 1, str(done)
    assert names(small) == set()
    assert names(tmp_path) == before
    call([need("mount"), "-o", "remount,size=64m", small], tmp_path)
    unify(tmp_path, "-o", "small/result", "many")
    shutil.copytree(small / "result.trace", tmp_path / "copy.trace")
    assert check(tmp_path / "copy.trace").calls()["work"] == CALLS


def test_commands_name_the_file(tmp_path: Path, disk: Callable[[str], Path]) -> None:
    small = disk("16k")
    simple(tmp_path / "simple.trace", {0: calls(3)}, length=20)
    for words, said in (
        (("compat", "--install", "small/x"), "cannot write small/x: No space left on device (give --install another"),
        (("export", "simple", "--to", "csv", "-o", "small/x.csv"), "small/x.csv: No space left on device"),
    ):
        (small / "full").write_bytes(b"x" * 16384)
        done = vtrace(tmp_path, *words, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), str(done)
        assert f"vtrace: error: {said}" in done.stderr
