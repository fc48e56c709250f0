# SPDX-License-Identifier: BSD-3-Clause
"""Damaged local files give an error of one line, or an archive that readers accept; nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import otf2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import vtrace.commands.dump
import vtrace.commands.info
import vtrace.unify.run
from support.damage.damaged_files import DAMAGE, damage
from support.damage.isolate import isolated
from support.synthetic_runs.whole_run import make_run
from support.tools import call, need
from vtrace.cli import main as vtrace
from vtrace.commands.vtunify import main as vtunify
from vtrace.errors import FormatError
from vtrace.io.local import records as r
from vtrace.io.local.heads import read_uctl

SECONDS = int(os.environ.get("VT_FUZZ_SECONDS", "0"))
SHARE = 3
"""Examples per second of VT_FUZZ_SECONDS for each test."""
fuzzed = partial(
    settings, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, derandomize=not SECONDS
)


def count(short: int) -> int:
    """The number of examples to try."""
    return max(short, SECONDS * SHARE)


@pytest.fixture(scope="module")
def where() -> Any:
    """A directory, in memory if possible."""
    shm = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="vtrace-fuzz-", dir=shm if os.access(shm, os.W_OK) else None))
    yield place
    shutil.rmtree(place)


def fill(where: Path, data: dict[str, bytes]) -> Path:
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir()
    for name, content in data.items():
        (where / name).write_bytes(content)
    return where / "heat"


def run(main: Callable[[], int], words: Sequence[str | Path], where: Path) -> tuple[int, str]:
    """Runs a command in this process; returns its exit code and stdout. Messages must be single printable lines."""
    name = sys.argv[0] = str(words[0])
    sys.argv[1:] = [str(word) for word in words[1:]]
    with open(where / "stdout", "w+") as out, open(where / "stderr", "w+") as err:
        with redirect_stdout(out), redirect_stderr(err):
            code = main()
        out.seek(0)
        err.seek(0)
        said, result = err.read(), out.read()
    lines = said.splitlines()
    assert said.count("\n") == len(lines), "a message has another character that ends a line"
    for line in lines:
        assert line.startswith((f"{name}: ", "vtrace: ")), repr(line)
        assert line.isprintable(), repr(line)
        assert len(line) < 4000, repr(line)
    assert code == 0 if not any(line.startswith(f"{name}: error: ") for line in lines) else code == 1, said
    return code, result


def unify_and_read(prefix: Path, salvage: bool, printed: bool) -> None:
    before = sorted(os.listdir(prefix.parent))
    words = ["vtunify", "-k", "-j1", prefix, *(["--salvage"] if salvage else [])]
    code, result = run(vtunify, words, prefix.parent.parent)
    if code:
        assert sorted(os.listdir(prefix.parent)) == before, "the failed run left files"
        return
    match = re.search(r" ([0-9,]+) events?, ", result)
    assert match, result
    anchor = prefix.with_name("u_heat.trace") / "traces.otf2"
    read_events(anchor, int(match[1].replace(",", "")))
    if printed:
        done = call([need("otf2-print"), "-Werror", anchor], prefix.parent, check=False)
        assert (done.returncode, done.stderr) == (0, ""), str(done)[-3000:]


def read_events(anchor: Path, expected: int) -> None:
    """Reads all events with the otf2 package; enters and leaves must be in pairs."""
    stacks: dict[int, list[Any]] = {}
    events = last = 0
    with otf2.reader.open(str(anchor)) as reader:
        for location, event in reader.events:
            events += 1
            assert event.time >= last
            last = event.time
            stack = stacks.setdefault(location._ref, [])
            if type(event).__name__ == "Enter":
                stack.append(event.region)
            elif type(event).__name__ == "Leave":
                assert stack.pop() == event.region
    assert events == expected
    assert not any(stacks.values())


PLACES = st.integers(0, 90)
CODECS = st.sampled_from(
    [(r.CODEC_RAW, r.CODEC_RAW), (r.CODEC_RAW, r.CODEC_VARINT), (r.CODEC_ZSTD, r.CODEC_ZSTD_COLUMNS)]
)


def test_an_undamaged_run(where: Path) -> None:
    """vtunify and readers accept the run before its damage."""
    prefix = fill(where / "good", damage(make_run(where / "good"), {}, [], []))
    code, result = run(vtunify, ["vtunify", prefix], where)
    assert (code, result.splitlines()[0].partition(": ")[2]) == (
        0, "2 ranks, 5 locations, 240 events, 20 messages, 8 collective calls, 2 s",
    )  # fmt: skip
    read_events(where / "good" / "heat.trace" / "traces.otf2", 240)


RUNS = st.lists(st.tuples(*DAMAGE, CODECS, st.booleans(), st.integers(0, 9)), min_size=1, max_size=5)
"""Several runs for one child process, because starting a process takes longer than a run."""


@fuzzed(max_examples=count(80))
@given(RUNS)
def test_whole_runs(where: Path, runs: list[tuple[Any, ...]]) -> None:
    def child() -> None:
        for inner, outer, codecs, salvage, printed in runs:
            unify_and_read(damaged(where / "run", inner, outer, codecs), salvage, printed == 9)

    isolated(child)


def damaged(place: Path, inner: list[Any], outer: list[Any], codecs: tuple[int, int]) -> Path:
    """Writes the files of a run with damage; returns their prefix."""
    files, other = make_run(place, codecs=codecs), make_run(place, run=b"S" * 16, ranks=3)
    return fill(place, damage(files, other, inner, outer))


AFTER = (
    ["summary", "--json"], ["profile", "--json"], ["profile", "--by", "callpath", "--csv"], ["diagnose", "--json"],
    ["view", "--text"], ["mpip"], ["info", "--json"], ["diff"], ["export", "--to", "csv", "-o", "FILE"],
)  # fmt: skip


@fuzzed(max_examples=count(16))
@given(st.lists(st.tuples(*DAMAGE, CODECS, st.integers(0, len(AFTER) - 1)), min_size=1, max_size=4))
def test_written_after_salvage(where: Path, runs: list[tuple[Any, ...]]) -> None:
    """The tables, tiles and findings that vtunify --salvage writes, and the commands that read the salvaged archive."""

    def child() -> None:
        for inner, outer, codecs, after in runs:
            prefix = damaged(where / "run", inner, outer, codecs)
            words = ["vtunify", "-k", "-j1", "--salvage", "--tiles", "--diagnose", prefix]
            if run(vtunify, words, where)[0]:
                continue
            archive = prefix.with_name("u_heat.trace")
            command, *options = (str(where / "events.csv") if word == "FILE" else word for word in AFTER[after])
            code, result = run(
                vtrace, ["vtrace", command, archive, *([archive] * (command == "diff")), *options], where
            )
            assert code == 0 or command == "mpip", command
            if "--json" in options:
                json.loads(result)

    isolated(child)


COMMANDS = st.sampled_from([["info"], ["info", "--json"], ["dump"], ["dump", "--json"], ["dump", "--no-records"]])


@fuzzed(max_examples=count(40))
@given(st.lists(st.tuples(*DAMAGE, CODECS, COMMANDS), min_size=1, max_size=5))
@example([([], [("grow", 0, 8, b"\0")], (0, 0), ["info"])])
def test_other_commands(where: Path, runs: list[tuple[Any, ...]]) -> None:
    def child() -> None:
        for inner, outer, codecs, words in runs:
            check_command(words, damaged(where / "run", inner, outer, codecs))

    isolated(child)


def check_command(words: list[str], prefix: Path) -> None:
    code, result = run(vtrace, ["vtrace", *words, prefix], prefix.parent.parent)
    if code:
        return
    if "--json" in words:
        for line in result.splitlines() if words[0] == "dump" else [result]:
            json.loads(line)
    else:
        assert all(line.isprintable() for line in result.split("\n")), repr(result)


@fuzzed(max_examples=count(150))
@given(st.binary(max_size=60) | st.text(alphabet="\n 0123456789abcdefrunworldtk-x", max_size=200), PLACES, PLACES)
@example("-", 65, 65)
@example("99999999999999999999999", 65, 65)
@example("-", 57, 57)
def test_control_files(where: Path, text: bytes | str, begin: int, end: int) -> None:
    """PREFIX.uctl, the only text file, with arbitrary text in place of a part."""
    path = where / "a.uctl"
    good = f"vtrace uctl 1\nrun {'52' * 16}\nworld 7\nranks 2\ntool vtrace 0.1.0\n".encode()
    more = text.encode() if isinstance(text, str) else text
    path.write_bytes(good[:begin] + more + good[end:])
    try:
        found = read_uctl(path)
    except FormatError:
        return
    assert (len(found.run), found.world >> 64, found.ranks >> 32) == (16, 0, 0)
