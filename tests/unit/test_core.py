# SPDX-License-Identifier: BSD-3-Clause
"""The recording core, called directly by tests/c/core.c under ASan and UBSan, and the local files it writes."""

from __future__ import annotations

import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from support import tools
from support.build.builder import Builder
from support.readers import words
from support.tools import DEFAULTS
from vtrace.io.local import records
from vtrace.io.local.local_files import open_local, read_head

NONE = 0xFFFFFFFF
SUMMARY = records.DEFINITIONS["SUMMARY"]


@pytest.fixture(scope="module", params=["gcc", pytest.param("clang", marks=pytest.mark.full)])
def core(request: pytest.FixtureRequest, build: Builder) -> Path:
    return build.unit("core", request.param)


def run(core: Path, where: Path, *scenario: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = tools.environment({"VT_FILE_PREFIX": "t", "VT_COMPRESSION": "no", **settings})
    done = subprocess.run([core, *scenario], cwd=where, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def test_gap(core: Path, tmp_path: Path) -> None:
    run(core, tmp_path, "gap")
    found = words.events(tmp_path / "t.1.events")
    assert [r.kind for r in found] == ["ENTER", "TIME", "LEAVE", "ENTER", "LEAVE"]
    assert found[1].payload[0] >= 5 << 32
    assert found[2].ticks - found[0].ticks == found[1].payload[0]
    assert found[4].ticks == found[3].ticks, "the clock steps back, but recorded times do not"
    summary = next(d for d in words.definitions(tmp_path / "t.1.def") if d[0] == records.DEFINITIONS["SUMMARY"])
    assert summary[7] == 1


def test_address(core: Path, tmp_path: Path) -> None:
    address = int(run(core, tmp_path, "address").stdout)
    found = words.events(tmp_path / "t.1.events")
    assert [(r.kind, r.payload) for r in found] == [("ENTER_ADDRESS", [address]), ("LEAVE_ADDRESS", [address])]


@pytest.mark.parametrize("scenario", ["handler", "handler-other-stack"])
def test_lost_in_handler(core: Path, tmp_path: Path, scenario: str) -> None:
    done = run(core, tmp_path, scenario)
    assert "3 events" in done.stderr
    found = words.events(tmp_path / "t.1.events")
    assert [r.kind for r in found] == ["ENTER", "LOST", "LEAVE"]
    assert (found[1].id, found[1].payload) == (1, [3])


def test_stale_busy_word(core: Path, tmp_path: Path) -> None:
    run(core, tmp_path, "stale")
    assert Counter(r.kind for r in words.events(tmp_path / "t.1.events")) == {"ENTER": 2, "LEAVE": 2, "LOST": 1}


def test_chunk(core: Path, tmp_path: Path) -> None:
    """Sequence, open regions, counts and classes in the heads of chunks that the runtime leaves in the buffer."""
    run(core, tmp_path, "chunks", VT_CLEAN="no", VT_MAX_FLUSHES="0")
    found = words.events(tmp_path / "t.1.events")
    assert Counter(r.kind for r in found) == {"ENTER": 10040, "LEAVE": 10040}
    buffer = next(tmp_path.glob("t.*.buffer"))
    assert read_head(buffer).content == records.BUFFER


def test_block(core: Path, tmp_path: Path) -> None:
    run(core, tmp_path, "chunks")
    with open_local(tmp_path / "t.1.events") as file:
        heads = [head for head, _ in words.blocks(file)]
    assert [int(h["sequence"]) for h in heads] == [0, 1, 2]
    assert sum(int(h["records"]) for h in heads) == 20080
    assert [int(h["depth"]) for h in heads] == [0, 40, 40]
    assert [int(h["nopen"]) for h in heads] == [0, 32, 32]
    enter = records.KINDS["ENTER"][0] << 24
    assert [int(w) for w in heads[1]["open"]] == [enter | i for i in range(2, 34)], "outermost first; id 1 is the leaf"
    assert {int(h["classes"]) for h in heads} == {records.CLASS_REGION}
    assert all(int(a["end_ticks"]) == int(b["ticks"]) for a, b in pairwise(heads))


def test_runs_of_equal_calls(core: Path, tmp_path: Path) -> None:
    """For runs of equal calls and equal records, heads of blocks agree with the records that they describe."""
    run(core, tmp_path, "runs")
    with open_local(tmp_path / "t.1.events") as file:
        heads = [head for head, _ in words.blocks(file)]
    assert len(heads) > 2
    assert sum(int(h["records"]) for h in heads) == len(words.events(tmp_path / "t.1.events")) == 40 * 902 + 1
    assert {int(h["classes"]) for h in heads} == {records.CLASS_REGION | records.CLASS_MESSAGE}
    assert [int(h["depth"]) for h in heads] == [int(h["nopen"]) for h in heads]
    assert max(int(h["depth"]) for h in heads) <= 1


def test_abi(core: Path, tmp_path: Path) -> None:
    done = run(core, tmp_path, "abi")
    assert done.stdout == "1\n"
    assert done.stderr.count("built with vtrace 9.9") == 1
    assert run(core, tmp_path, "abi", VT_MPITRACE="no").stdout == "0\n"
    number = records.DEFINITIONS["PROPERTY"]
    found = words.definitions(tmp_path / "t.1.def")
    assert {d[1]: d[2] for d in found if d[0] == number}["shim.mpi"] == "Some MPI 9.0"
    assert [records.DEFINITIONS["TEXT"], 5, "old"] in [list(d) for d in found]


def test_ids_run_out(core: Path, tmp_path: Path) -> None:
    assert run(core, tmp_path, "ids").stderr.count("more than 2097151 named regions") == 1


@pytest.mark.parametrize(
    ("rank", "name"), [(0, "1"), (3, "4"), (65534, "ffff"), (65535, "100000000"), (99999, "186a00000")]
)
def test_names_of_ranks(core: Path, tmp_path: Path, rank: int, name: str) -> None:
    """Files written before MPI_Init get the name and the identity of the rank."""
    run(core, tmp_path, "world", str(rank))
    files = {p.name for p in tmp_path.iterdir()} - {"t.uctl"}
    assert files == {f"t.{name}.def", f"t.{name}.events"}
    for file in files:
        head = read_head(tmp_path / file)
        assert (head.rank, head.world_size, head.world, head.run) == (rank, 1000000, 77, b"\xab" * 16)
    assert [r.kind for r in words.events(tmp_path / f"t.{name}.events")] == ["ENTER", "FLUSH", "LEAVE"]


def test_reuse(core: Path, tmp_path: Path) -> None:
    run(core, tmp_path, "reuse")
    found = words.events(tmp_path / "t.10001.events")
    assert [r.kind for r in found] == ["ENTER"] + ["THREAD", "ENTER"] * 4
    assert not (tmp_path / "t.10002.events").exists()


def test_errno_stays(core: Path, tmp_path: Path) -> None:
    run(core, tmp_path, "errno", VT_BUFFER_SIZE="100K", VT_MAX_FLUSHES="0")


def test_a_thread_that_never_gets_its_location(build: Builder, tmp_path: Path) -> None:
    """Such a thread consumes no location number: vtunify would take a gap in the numbers for lost files."""
    program = build.unit("late", link=["-Wl,--wrap=vt_pages_wiped"])
    (tmp_path / "files").mkdir()
    run(program, tmp_path / "files")
    files = {f"t.{number}.{content}" for number in ("1", "10001") for content in ("def", "events")}
    assert {p.name for p in (tmp_path / "files").iterdir()} == files | {"t.uctl"}


@pytest.mark.parametrize("size", [4096, 16384, 65536])
def test_code_changes_in_whole_pages(core: Path, tmp_path: Path, size: int) -> None:
    """Kernels for aarch64 have pages of 4, 16 or 64 KiB, and mprotect refuses an address inside a page."""
    found = [int(line) for line in run(core, tmp_path, "pages", str(size)).stdout.split()]
    assert found == list(range(2 * size, 4 * size, 4096))


@pytest.mark.parametrize(
    ("mhz", "multiple", "step"), [(25, 1, 0), (62, 1, 0), (1000, 1, 0), (1000, 10, 10), (1000, 40, 40), (2500, 25, 25)]
)
def test_step_of_a_counter(core: Path, tmp_path: Path, mhz: int, multiple: int, step: int) -> None:
    """aarch64: 25 MHz to 1 GHz; a counter of 1 GHz that hardware drives at 25 or 100 MHz advances by 40 or 10 ticks."""
    assert int(run(core, tmp_path, "steps", str(mhz), str(multiple)).stdout) == step << 16


@pytest.mark.parametrize(("left", "flushes"), [(18, 0), (10, 1)])
@pytest.mark.parametrize("asked", ["yes", "no"])
def test_a_wait_at_the_end_of_a_chunk_changes_no_event(
    core: Path, tmp_path: Path, asked: str, left: int, flushes: int
) -> None:
    """The record of a wait flushes nothing: events, losses and times are as without waits. left: free words of the
    full buffer; an event of one word needs 17."""
    limits = {"VT_BUFFER_SIZE": "64K", "VT_MAX_FLUSHES": "1", "VT_PROCESSOR_WAIT": asked}
    count = int(run(core, tmp_path, "wait-full", str(left), **limits).stdout)
    kinds = [r.kind for r in words.events(tmp_path / "t.1.events") if asked == "no" or r.kind != "BLOCKED"]
    assert (kinds[kinds.index("LEAVE") - 1] == "PROCESSOR_WAIT") == (asked == "yes")
    expected = Counter(ENTER=1, ISEND_COMPLETE=count, LEAVE=1, FLUSH=flushes, LIMIT=flushes)
    assert Counter(kind for kind in kinds if kind != "PROCESSOR_WAIT") == +expected
    summary = next(d for d in words.definitions(tmp_path / "t.1.def") if d[0] == SUMMARY)
    lost, number, clamped = summary[3], summary[4], summary[7]
    assert (lost, number, clamped) == (0, flushes, 0)


def test_a_poll_tells_its_wait(core: Path, tmp_path: Path) -> None:
    run(core, tmp_path, "wait-poll", **DEFAULTS)
    kinds = [r.kind for r in words.events(tmp_path / "t.1.events") if r.kind != "BLOCKED"]
    last = max(at for at, kind in enumerate(kinds) if kind == "LEAVE")
    assert kinds[last - 1] == "PROCESSOR_WAIT"


@pytest.mark.parametrize("who", ["main", "thread"])
def test_waits_after_the_last_event(core: Path, tmp_path: Path, who: str) -> None:
    run(core, tmp_path, "wait-last", who, **DEFAULTS)
    name = "1.events" if who == "main" else "10001.events"
    found = [r for r in words.events(tmp_path / f"t.{name}") if r.kind != "BLOCKED"]
    assert [r.kind for r in found][-2:] == ["LEAVE", "PROCESSOR_WAIT"]
    assert found[-1].payload[0] > 500_000
    assert run(core, tmp_path, "wait-last", who, VT_FILE_PREFIX="no").returncode == 0
    assert len(words.events(tmp_path / f"no.{name}")) == 2
