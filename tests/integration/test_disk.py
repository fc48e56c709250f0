# SPDX-License-Identifier: BSD-3-Clause
"""A full disk at the start, while the buffer grows, when it is written out, at the end, and while unifying."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify
from support.oracles.check import check
from support.oracles.ledger import ledger
from support.tools import call, need

CALLS = 100000
MADE = 2 * (CALLS + 1)
RAW = {"VT_COMPRESSION": "no"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a file system of a size and returns its directory."""
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


def many(build: Builder, where: Path, env: dict[str, str]) -> str:
    """Runs many.c; what it says on stderr."""
    done = run(build("many.c"), where, str(CALLS), "7", env=env, code=7)
    assert done.stdout == f"done {CALLS}\n"
    said = done.stderr.splitlines()
    assert len(set(said)) == len(said) <= 4, str(done)
    return done.stderr


def test_at_the_start_without_any_space(build: Builder, tmp_path: Path, disk: Callable[[str], Path]) -> None:
    """Neither the buffer nor a file fits: one line, and nothing else."""
    small = disk("4k")
    assert many(build, small, RAW) == (
        f"vtrace: {small} cannot be written to (no space left): nothing is recorded; VT_PFORM_GDIR and VT_PFORM_LDIR "
        "name other directories\n"
    )
    assert not names(small)


@pytest.mark.parametrize("size", ["128k", "600k"])
def test_at_the_start_without_a_buffer(build: Builder, tmp_path: Path, disk: Callable[[str], Path], size: str) -> None:
    """All is in memory, and only some of it can be written: the rest is lost, and counted."""
    small = disk(size)
    said = many(build, small, RAW)
    found = ledger(small, "many")
    assert "cannot grow (no space left)" in said
    assert found.functions + found.lost == MADE
    assert found.functions > 0, "a block of 64 KiB is written as a whole"
    assert f"{found.lost} events of rank 0 could not be recorded" in said
    assert not [name for name in names(small) if name.endswith((".tmp", ".buffer"))]
    unify(small, "-o", "../result", "many")
    coverage = json.loads(check(tmp_path / "result.trace", complete=False).properties["VTRACE::COVERAGE"])
    assert (coverage["complete"], coverage["lost"]) == (False, found.lost)


def test_while_growing(build: Builder, tmp_path: Path, disk: Callable[[str], Path]) -> None:
    """What is compressed fits onto it: nothing is lost."""
    small = disk("3m")
    assert "cannot grow (no space left)" in many(build, small, {})
    unify(small, "-o", "../result", "many")
    assert check(tmp_path / "result.trace").calls()["work"] == CALLS


@pytest.mark.parametrize(("buffer", "least"), [("1M", 5), ("16M", 15)])
def test_default_of_the_largest_size(build: Builder, disk: Callable[[str], Path], buffer: str, least: int) -> None:
    """A tenth of what is free at the first flush, but as much as the buffer holds while the disk has room for it."""
    small, calls = disk("64m"), 2_000_000
    done = run(build("many.c"), small, str(calls), env={**RAW, "VT_BUFFER_SIZE": buffer})
    (line,) = [line for line in done.stderr.splitlines() if "VT_MAX_SIZE" in line]
    start = (
        rf"vtrace: recording stopped at VT_MAX_SIZE=(\d+)([KM]?) \(from the free space of {re.escape(str(small))}\): "
    )
    said = re.match(start, line)
    assert said, line
    assert "; VT_PFORM_GDIR on a larger disk or a set VT_MAX_SIZE keeps them" in line
    most = int(said[1]) << {"": 0, "K": 10, "M": 20}[said[2]]
    assert least * 2**20 <= most <= (6.4 if least == 5 else 16) * 2**20
    (file,) = small.glob("many.*.events")
    assert 0.9 * most < file.stat().st_size < most + int(buffer[:-1]) * 2**20, (
        "one write of the buffer beyond it at most"
    )
    found = ledger(small, "many")
    assert found.functions + found.lost == 2 * (calls + 1)


@pytest.mark.parametrize("size", ["4k", "200k"])
@pytest.mark.parametrize("when", ["flush", "end"])
def test_rest_stays_in_the_buffer(
    build: Builder, tmp_path: Path, disk: Callable[[str], Path], when: str, size: str
) -> None:
    """The buffer lies on another disk: vtunify takes what could not be written from there."""
    small, other = disk(size), tmp_path / "other"
    other.mkdir()
    env = {**RAW, "VT_PFORM_LDIR": str(other)}
    if when == "flush":
        env |= {"VT_BUFFER_SIZE": "300K", "VT_MAX_FLUSHES": "0"}
    said = many(build, small, env)
    (buffer,) = names(other)
    assert f"vtunify takes the rest from {other / buffer}" in said
    left = names(small) | names(other)
    done = unify(small, "-k", "many", check=False)
    assert done.returncode == 1, str(done)
    assert len(done.stderr.splitlines()) == 1, str(done)
    assert names(small) | names(other) == left, "half an archive was left, or something deleted"
    unify(small, "-k", "-o", str(tmp_path / "result"), "many")
    kinds = check(tmp_path / "result.trace", complete=False).kinds()
    told = re.search(r"(\d+) events of rank 0 could not be recorded", said)  # the file with the count may be full, too
    lost = int(told[1]) if told else 0
    assert lost == 0 if when == "end" else lost > 0
    # main's last leave may be added by vtunify, where recording had stopped before it.
    assert 0 <= kinds["Enter"] + kinds["Leave"] + lost - MADE <= 2
    coverage = json.loads(check(tmp_path / "result.trace", complete=False).properties["VTRACE::COVERAGE"])
    assert (coverage["complete"], coverage["lost"]) == (lost == 0, lost)


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
