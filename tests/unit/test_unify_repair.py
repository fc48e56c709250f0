# SPDX-License-Identifier: BSD-3-Clause
"""Clocks with known errors: times agree with the truth, no message arrives before its send, and the result does not
depend on the number of threads."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.readers.archive import Trace, read
from support.tools import BIN
from vtrace.console import VERBOSE, Console
from vtrace.errors import VtraceError
from vtrace.io.local.records import BLOCK_MAGIC
from vtrace.unify.clocks import repair
from vtrace.unify.run import Request, unify

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
from synthetic import write  # noqa: E402
from synthetic_program import Clocks, Program  # noqa: E402

BROKEN = Clocks(offset=2, drift=100, wave=20_000, period=0.002, error=500)


@dataclass
class Outcome:
    """An archive, the output of vtunify -v, and a hash of all event files."""

    trace: Trace
    said: str
    digest: str

    @property
    def times(self) -> list[np.ndarray]:
        """Times of the events by location."""
        found: dict[int, list[int]] = {}
        for event in self.trace.events:
            found.setdefault(event.location, []).append(event.time)
        return [np.array(found[location], np.int64) for location in sorted(found)]


def unified(prefix: Path, capsys: pytest.CaptureFixture[str], *, jobs: int = 1, repair: bool = True) -> Outcome:
    request = Request(prefix=prefix, keep=True, force=True, jobs=jobs, repair=repair)
    archive = unify(request, Console("vtunify", VERBOSE)).archive
    return Outcome(read(archive), capsys.readouterr().err, digest(archive))


def digest(archive: Path) -> str:
    """A hash over all event files."""
    found = hashlib.sha256()
    for path in sorted((archive / "traces").glob("*.evt"), key=lambda p: int(p.stem)):
        found.update(path.read_bytes())
    return found.hexdigest()


def wrong_by(outcome: Outcome, truth: dict[tuple[int, int], np.ndarray]) -> int:
    """The largest error of an event's time in ns. The first event of rank 0 counts as correct."""
    zero = truth[0, 0][0] - outcome.times[0][0]
    pairs = zip(outcome.times, [truth[key] for key in sorted(truth)], strict=True)
    return max(int(np.abs(times + zero - true).max()) for times, true in pairs)


def backwards(trace: Trace, threads: int = 1) -> int:
    """Number of messages that arrive before their send, and of collectives that end before a start they depend on."""
    sent: dict[object, list[int]] = defaultdict(list)
    arrived: dict[object, list[int]] = defaultdict(list)
    begun: dict[int, list[int]] = defaultdict(list)
    ended: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for event in trace.events:
        rank, a = event.location // threads, event.attrs
        if event.kind in ("MpiSend", "MpiIsend"):
            sent[rank, a["receiver"], a["msg_tag"]].append(event.time)
        elif event.kind in ("MpiRecv", "MpiIrecv"):
            arrived[a["sender"], rank, a["msg_tag"]].append(event.time)
        elif event.kind == "MpiCollectiveBegin":
            begun[rank].append(event.time)
        elif event.kind == "MpiCollectiveEnd":
            ended[rank].append((event.time, a["collective_op"]))
    assert {key: len(times) for key, times in sent.items()} == {key: len(times) for key, times in arrived.items()}
    assert sent
    count = sum(time < when for key, times in sent.items() for when, time in zip(times, arrived[key], strict=True))
    for i, ends in enumerate(zip(*(ended[rank] for rank in sorted(ended)), strict=True)):
        begins = [begun[rank][i] for rank in sorted(begun)]
        for rank, (time, operation) in enumerate(ends):
            if operation == "BCAST":
                count += time < begins[0]
            elif operation != "REDUCE" or rank == 0:
                count += time < max(begins)
    return count


@pytest.mark.parametrize(
    ("clocks", "bound"),
    [
        (Clocks(), 1),
        (Clocks(offset=3, error=300), 2 * 300 + 3),
        (Clocks(offset=2, drift=100, error=500), 2 * 500 + 3),
        (Clocks(offset=2, drift=100, error=500, measured=9, wave=1000, period=0.05), 2 * 500 + 3 * 1000),
    ],
)
def test_times_against_the_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], clocks: Clocks, bound: int
) -> None:
    program = Program(ranks=8, threads=2, steps=60, calls=4, compute=400_000, clocks=clocks)
    truth = write(tmp_path / "a", program, truth=True)
    outcome = unified(tmp_path / "a", capsys, repair=False)
    assert wrong_by(outcome, truth) <= bound
    assert "clocks: 4, times are those of host0" in outcome.said
    assert f"3 were compared with it {3 * clocks.measured} times" in outcome.said
    told = json.loads(outcome.trace.properties["VTRACE::CLOCKS"])
    assert (told["count"], told["reference"], told["compared"]) == (4, "host0", 3)
    assert told["measured"] == 3 * clocks.measured
    assert told["error_ns"] == max(bound["error_ns"] for bound in told["bounds"])
    # Hosts 1 and 2 are compared with host 0, host 3 with host 2. Each comparison adds 1 ns for rounding.
    # The run lasts for 20 us before the first measurement, where the line through the measurements is less certain.
    for found, certain in zip(told["bounds"], [clocks.error + 1, clocks.error + 1, 2 * clocks.error + 2], strict=True):
        assert 0 <= found["error_ns"] - certain <= certain // 8
    # The repair moves nothing if no message ran backwards, and else no further than the error of the measurement.
    repaired = unified(tmp_path / "a", capsys)
    assert backwards(repaired.trace, 2) == 0
    assert wrong_by(repaired, truth) <= wrong_by(outcome, truth) + 1 <= bound + 1
    if backwards(outcome.trace, 2) == 0:
        assert repaired.digest == outcome.digest


@pytest.mark.parametrize(
    "clocks", [BROKEN, Clocks(offset=0.003, drift=100, measured=0), Clocks(offset=1, drift=100, measured=0)]
)
def test_nothing_runs_backwards_after_the_repair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], clocks: Clocks
) -> None:
    program = Program(ranks=6, steps=100, calls=4, clocks=clocks)
    truth = write(tmp_path / "a", program, truth=True)
    before = unified(tmp_path / "a", capsys, repair=False)
    count = backwards(before.trace)
    assert count > 20
    assert "ran backwards" not in before.said
    after = unified(tmp_path / "a", capsys)
    assert backwards(after.trace) == 0
    numbers = re.search(r"between clocks: (\d+) of (\d+) messages and (\d+) of (\d+) collective calls", after.said)
    assert numbers is not None
    messages, all_messages, calls, all_calls = map(int, numbers.groups())
    assert (messages + calls, all_messages, all_calls) == (count, 100 * 2 * 3, 100 * 6)
    told = json.loads(after.trace.properties["VTRACE::CLOCKS"])
    repair = told["repair"]
    assert (repair["reversed_messages"], repair["messages"]) == (messages, all_messages)
    assert (repair["reversed_collectives"], repair["collectives"]) == (calls, all_calls)
    assert (repair["left"], repair["unsure"]) == (0, 0)
    moved = [int((other - one).max()) for one, other in zip(before.times, after.times, strict=True)]
    assert repair["largest_ns"] == max(moved)
    assert repair["corrections"] > 0
    assert (told["count"], told["compared"]) == (3, 2 if clocks.measured else 0)
    assert [bound["error_ns"] is None for bound in told["bounds"]] == [not clocks.measured] * 2
    assert "repair" not in json.loads(before.trace.properties["VTRACE::CLOCKS"])
    assert "between clocks: 0 after" in after.said
    # A corrected receive comes 1 ns after its send, and the repair does not increase the error of the send. A clock
    # that swings faster than its correction decays stays corrected when the swing brings the clock ahead.
    assert wrong_by(after, truth) <= wrong_by(before, truth) * (3 if clocks.wave else 1) + 1
    for one, other in zip(before.times, after.times, strict=True):
        # The order of events stays, and an interval shrinks by 1 in 1024 at most.
        assert np.all(np.diff(other) >= np.diff(one) - np.diff(one) // 1024 - 1)


def test_threads_make_no_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a", Program(ranks=5, threads=2, steps=50, calls=4, ranks_per_host=1, clocks=BROKEN))
    digests = {unified(tmp_path / "a", capsys, jobs=jobs).digest for jobs in (1, 2, 5)}
    assert len(digests) == 1


def test_tags_that_never_come_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run has more channels than the repair keeps in memory."""
    program = Program(ranks=6, steps=700, calls=2, clocks=BROKEN)
    write(tmp_path / "a", program)
    unify(Request(prefix=tmp_path / "a", keep=True), Console("vtunify", VERBOSE))
    said = [line for line in capsys.readouterr().err.splitlines() if "between clocks" in line]
    assert "of 4,200 messages" in said[0]
    write(tmp_path / "a", replace(program, tags=700))
    after = unified(tmp_path / "a", capsys)
    assert backwards(after.trace) == 0
    assert [line for line in after.said.splitlines() if "between clocks" in line] == said


def test_ends_that_cannot_be_read_are_no_repair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The temporary file of ends is cut before the replay reads it."""
    write(tmp_path / "a", Program(ranks=4, steps=50, calls=4, clocks=BROKEN))
    before = repair._replay

    def cut(*arguments: Any, near: Path, **named: Any) -> Any:
        os.truncate(near / "ends.0", 1000)
        return before(*arguments, near=near, **named)

    monkeypatch.setattr(repair, "_replay", cut)
    with pytest.raises(VtraceError, match="cannot read a temporary file"):
        unify(Request(prefix=tmp_path / "a"), Console("vtunify", VERBOSE))
    assert not (tmp_path / "a.trace").exists()


def test_missing_ends_hold_nobody_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a", Program(ranks=4, steps=50, calls=4, clocks=BROKEN))
    path = tmp_path / "a.3.events.z"
    data = path.read_bytes()
    last = data.rindex(BLOCK_MAGIC, 0, data.rindex(BLOCK_MAGIC))
    path.write_bytes(data[:last])  # all messages of rank 2
    request = Request(prefix=tmp_path / "a", keep=True, salvage=True)
    unify(request, Console("vtunify", VERBOSE))
    said = capsys.readouterr().err
    assert "have no match, or an uncertain one" in said


def test_one_clock_needs_no_repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a", Program(ranks=4, steps=5, calls=4, ranks_per_host=4))
    outcome = unified(tmp_path / "a", capsys)
    assert "clocks: all processes share that of host0" in outcome.said
    assert "between clocks" not in outcome.said
    assert json.loads(outcome.trace.properties["VTRACE::CLOCKS"]) == {"count": 1, "reference": "host0"}


def test_ranks_make_no_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """vtunify-mpi with three ranks writes the same events as vtunify."""
    write(tmp_path / "a", Program(ranks=5, threads=2, steps=50, calls=4, ranks_per_host=2, clocks=BROKEN))
    alone = unified(tmp_path / "a", capsys)
    words = [BIN / "mpiexec", "-n", "3", BIN / "vtunify-mpi", "-v", "-k", "--force", "a"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
    assert digest(tmp_path / "u_a.trace") == alone.digest
    assert read(tmp_path / "u_a.trace").properties["VTRACE::CLOCKS"] == alone.trace.properties["VTRACE::CLOCKS"]
    said = [line.partition(": ")[2] for line in alone.said.splitlines() if "between clocks" in line]
    assert said
    assert [line.partition(": ")[2] for line in done.stderr.splitlines() if "between clocks" in line] == said
