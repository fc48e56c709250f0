# SPDX-License-Identifier: BSD-3-Clause
"""Selection of the local files of a run."""

from __future__ import annotations

import os
import platform
import re
import time
from pathlib import Path

import pytest

from support.synthetic_runs.local_files import write_buffer, write_defs, write_events
from support.synthetic_runs.run_files import rank_head, rank_name, write_files
from vtrace.console import ranges
from vtrace.errors import FormatError, UsageError, VtraceError
from vtrace.io.local.local_files import read_head
from vtrace.unify.discover.discover import find_run
from vtrace.unify.discover.list_files import resolve_prefix
from vtrace.unify.model.running_processes import alive

RUN_A, RUN_B = b"A" * 16, b"B" * 16
NS = 1_700_000_000_000_000_000


def fail(text: str) -> None:
    raise AssertionError(f"unexpected warning: {text}")


def rank(directory: Path, number: int, size: int, **head: object) -> None:
    values = rank_head(number, size, "heat", **{"run": RUN_A, **head})
    write_files(directory, {0: rank_name(number)}, [], {0: []}, **values)


def uctl(path: Path, run: bytes, ranks: int) -> None:
    path.write_text(f"vtrace uctl 1\nrun {run.hex()}\nworld 7\nranks {ranks}\ntool vtrace 0.1.0\n")


def test_ranks_in_order_with_all_their_files(tmp_path: Path) -> None:
    for number in (2, 0, 1):
        rank(tmp_path, number, 3)
    write_events(
        tmp_path / "heat.20001.events.z", [], prefix="heat", rank=1, world_size=3, pid=101, run=RUN_A, location=1
    )
    uctl(tmp_path / "heat.uctl", RUN_A, 3)
    run = find_run(tmp_path / "heat", False, fail)
    assert [process.rank for process in run.processes] == [0, 1, 2]
    assert [len(process.files) for process in run.processes] == [2, 3, 2]
    assert (run.missing, run.ranks, run.others) == ([], 3, [])
    assert {path.name for path in run.local_files()} == {path.name for path in tmp_path.iterdir()}
    assert run.processes[1].all_files()[-1].name == "heat.2.def.z", "the file that names the others is removed last"


def test_newest_run_is_taken_and_others_are_named(tmp_path: Path) -> None:
    rank(tmp_path, 0, 1, run=RUN_B, start=NS + 5)
    write_defs(tmp_path / "heat.2.def.z", [], prefix="heat", rank=1, world_size=2, run=RUN_A, start=NS)
    uctl(tmp_path / "heat.uctl", RUN_A, 2)
    run = find_run(tmp_path / "heat", False, fail)
    assert run.id == RUN_B
    assert {path.name for path in run.others} == {"heat.2.def.z", "heat.uctl"}
    assert not {path.name for path in run.local_files()} & {"heat.2.def.z", "heat.uctl"}


def test_names_alone_decide_nothing(tmp_path: Path) -> None:
    rank(tmp_path, 0, 1)
    write_defs(tmp_path / "heat.2.def.z", [], prefix="heat.old", rank=1, world_size=2, run=RUN_A)
    write_defs(tmp_path / "heat.old.1.def.z", [], prefix="heat.old", rank=0, world_size=1, run=RUN_B, start=NS + 9)
    (tmp_path / "heat.c").write_text("int main() {}")
    run = find_run(tmp_path / "heat", False, fail)
    assert run.id == RUN_A
    assert len(run.processes) == 1


def test_missing_ranks(tmp_path: Path) -> None:
    for number in (1, 4):
        rank(tmp_path, number, 6)
    assert find_run(tmp_path / "heat", False, fail).missing == [0, 2, 3, 5]
    uctl(tmp_path / "heat.uctl", RUN_A, 4_000_000_000)  # the uctl file has no checksum, unlike heads
    assert find_run(tmp_path / "heat", False, fail).missing == [0, 2, 3, 5]


def test_no_run_has_that_many_ranks(tmp_path: Path) -> None:
    rank(tmp_path, 1, 4_000_000_000)
    with pytest.raises(FormatError, match=r"heat\.2\.def\.z: a run of 4,000,000,000 ranks"):
        find_run(tmp_path / "heat", True, fail)


def test_processes_without_a_rank_come_last(tmp_path: Path) -> None:
    rank(tmp_path, 0, 1, start=NS + 9)
    for pid in (30, 20):
        path = tmp_path / f"heat.xnode1-{pid}-abc.def.z"
        write_defs(path, [], prefix="heat", rank=None, world_size=0, pid=pid, start=NS - pid, run=RUN_A)
    run = find_run(tmp_path / "heat", False, fail)
    assert [(p.rank, p.head.pid) for p in run.processes] == [(0, 100), (None, 30), (None, 20)]
    assert run.missing == []


@pytest.mark.parametrize("shell_starts", [NS - 5, NS + 5])
def test_ranks_come_before_their_shells(tmp_path: Path, shell_starts: int) -> None:
    """The first shell is rank 0 of a run without MPI. It may start after the MPI rank that another shell started."""
    shell = {"world": 0, "world_size": 1, "start": shell_starts}
    write_defs(tmp_path / "heat.1.def.z", [], prefix="heat", rank=0, pid=99, run=RUN_A, **shell)
    for number in (0, 2):
        path = tmp_path / f"heat.xnode1-{200 + number}-{NS:x}.def.z"
        write_defs(path, [], prefix="heat", rank=number, world_size=3, pid=200 + number, start=NS, run=RUN_A)
    run = find_run(tmp_path / "heat", False, fail)
    assert [(p.rank, p.main, p.head.pid) for p in run.processes] == [(0, True, 200), (2, True, 202), (0, False, 99)]
    assert (run.missing, run.ranks) == ([1], 3)


def test_buffers_beside_the_files_and_where_the_head_says(tmp_path: Path) -> None:
    elsewhere = tmp_path / "scratch"
    elsewhere.mkdir()
    names = [tmp_path / "heat.xnode1-100-abc.buffer", elsewhere / "heat.xnode1-101-abc.buffer"]
    for number, path in enumerate(names):
        write_buffer(path, [], prefix="heat", rank=number, world_size=2, pid=100 + number, run=RUN_A)
        rank(tmp_path, number, 2, buffer=str(path))
    assert [p.buffer for p in find_run(tmp_path / "heat", False, fail).processes] == names
    write_buffer(names[1], [], prefix="heat", rank=1, world_size=2, pid=999, run=RUN_A)
    assert find_run(tmp_path / "heat", False, fail).processes[1].buffer is None, "the buffer belongs to another process"


def test_foreign_file(tmp_path: Path) -> None:
    rank(tmp_path, 0, 1)
    (tmp_path / "heat.2.def.z").write_bytes(b"something else")
    with pytest.raises(FormatError, match=r"heat\.2\.def\.z.*--salvage"):
        find_run(tmp_path / "heat", False, fail)
    said: list[str] = []
    assert len(find_run(tmp_path / "heat", True, said.append).processes) == 1
    assert "heat.2.def.z" in said[0]


def test_empty_files_go_with_the_process_that_they_name(tmp_path: Path) -> None:
    rank(tmp_path, 1, 2)
    rank(tmp_path, 0, 2)
    write_defs(
        tmp_path / "heat.xno.de-1-77-af.def.z",
        [],
        prefix="heat",
        rank=None,
        host="no.de-1",
        pid=77,
        start=0xAF,
        run=RUN_A,
    )
    own = ["heat.20003.events.z", "heat.1.events.z", "heat.xno.de-1-77-af.events.z", "heat.xno.de-1-77-af.3.def.z"]
    for name in [*own, "heat.9.def.z", "heat.xno.de-1-77-ae.def.z"]:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(FormatError, match=r"heat\.1\.events\.z is empty"):
        find_run(tmp_path / "heat", False, fail)
    run = find_run(tmp_path / "heat", True, fail)
    assert [[path.name for path in process.empty] for process in run.processes] == [
        ["heat.1.events.z"], ["heat.20003.events.z"], ["heat.xno.de-1-77-af.3.def.z", "heat.xno.de-1-77-af.events.z"],
    ]  # fmt: skip
    assert {path.name for path in run.others} == {"heat.9.def.z", "heat.xno.de-1-77-ae.def.z"}
    assert {path.name for path in run.local_files()} >= set(own)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(VtraceError, match=r"no local files heat\.\*.*VT_PFORM_GDIR"):
        find_run(tmp_path / "heat", False, fail)
    rank(tmp_path, 0, 1)
    with pytest.raises(VtraceError, match="there are files of heat"):
        find_run(tmp_path / "haet", False, fail)
    (tmp_path / "sim.trace").mkdir()
    with pytest.raises(VtraceError, match=r"vtrace info .*sim\.trace"):
        find_run(tmp_path / "sim", False, fail)
    with pytest.raises(VtraceError, match="cannot look into"):
        find_run(tmp_path / "no" / "heat", False, fail)


@pytest.mark.parametrize("operand", ["heat", "heat.uctl", "heat.trace", "heat.out", "heat.exe", "heat.1.def.z"])
def test_operands_that_mean_a_prefix(tmp_path: Path, operand: str) -> None:
    rank(tmp_path, 0, 1)
    assert resolve_prefix(str(tmp_path / operand)) == tmp_path / "heat"


@pytest.mark.parametrize("operand", ["", "/", ".."])
def test_operands_that_mean_none(operand: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(operand or 'an empty word')} is not a prefix"):
        resolve_prefix(operand)


def test_prefix_with_a_dot(tmp_path: Path) -> None:
    write_defs(tmp_path / "a.out.1.def.z", [], prefix="a.out")
    assert resolve_prefix(str(tmp_path / "a.out")) == tmp_path / "a.out"


def test_ranges() -> None:
    assert ranges([5, 0, 2, 3, 4, 9]) == "0,2-5,9"
    assert ranges([]) == ""


def test_alive(tmp_path: Path) -> None:
    now = int(time.time() * 1e9)
    here = {"prefix": "heat", "host": platform.node(), "pid": os.getpid()}
    path = write_defs(tmp_path / "heat.1.def.z", [], start=now, **here)
    assert alive(read_head(path))
    write_defs(path, [], start=now, buffer=str(tmp_path / "heat.x.buffer"), **here)
    assert not alive(read_head(path)), "the process has executed another program"
    write_defs(path, [], start=now, **here | {"host": "elsewhere"})
    assert not alive(read_head(path))
    write_defs(path, [], start=NS - 10**18, **here)
    assert not alive(read_head(path)), "the pid belonged to an earlier process"
    write_defs(path, [], start=now, **here | {"pid": 2**22 + 1})
    assert not alive(read_head(path))
