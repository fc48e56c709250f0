# SPDX-License-Identifier: BSD-3-Clause
"""Programs that create processes, close descriptors or have very many threads while they are recorded."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify
from support.oracles.check import check
from support.oracles.ledger import ledger
from support.readers.archive import Trace
from support.tools import call

SMALL = {"VT_BUFFER_SIZE": "100K", "VT_THREAD_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
FLAGS = ("-O1", "-pthread")
CALLS = 30000


def by_process(trace: Trace) -> list[list[Counter[str]]]:
    """The calls of each location, by process, in the order of locations."""
    groups: dict[int, list[Counter[str]]] = {}
    for location in trace.locations.values():
        groups.setdefault(location.process, []).append(trace.calls(location.id))
    return list(groups.values())


@pytest.mark.parametrize(
    ("threads", "env"),
    [
        pytest.param(0, {}, id="0-large"), pytest.param(3, SMALL, id="3-small"),
        pytest.param(0, SMALL, id="0-small", marks=pytest.mark.full),
        pytest.param(3, {}, id="3-large", marks=pytest.mark.full),
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", ["fork", "clone", "vfork", "spawn", "handler"])
def test_children(build: Builder, tmp_path: Path, how: str, threads: int, env: dict[str, str]) -> None:
    made = 4 if how == "handler" else 12
    done = run(build("begets.c", flags=FLAGS), tmp_path, how, str(made), str(threads), "5000", env=env)
    by_main, by_threads = map(int, done.stdout.split())
    unify(tmp_path, "begets")
    parent, *children = by_process(check(tmp_path / "begets.trace", complete=False))
    assert parent[0] == {"work": by_main}
    assert sum((location for location in parent[1:]), Counter()) == Counter({"work": by_threads} if threads else {})
    assert len(children) == (0 if how in ("vfork", "spawn") else made)
    for child in children:
        assert len(child) == 1
        # The child of a handler begins inside of its parent's call of work, which may add one call.
        assert child[0]["child"] == 1
        assert child[0]["work"] in ((7, 8) if how == "handler" else (7,))
    assert names(tmp_path) == {"begets.trace"}


@pytest.mark.parametrize("turn", range(3))
def test_children_from_before_the_first_event(build: Builder, tmp_path: Path, turn: int) -> None:
    """Children created before the first event end at the same time: one process takes the names of rank 0, and all
    belong to one run."""
    run(build("begets.c", flags=FLAGS), tmp_path, "early", "12", "0", "0")
    unify(tmp_path, "begets")
    processes = by_process(check(tmp_path / "begets.trace"))
    assert sorted(map(str, processes)) == sorted(map(str, [[Counter(work=1)], *[[Counter(work=7, child=1)]] * 12]))
    assert names(tmp_path) == {"begets.trace"}


@pytest.mark.parametrize("how", ["closed", "own"])
def test_standard_descriptors_are_closed(build: Builder, tmp_path: Path, how: str) -> None:
    """Standard descriptors are closed before the first event: vtrace does not use their numbers, and writes no message
    into files that the program opens with these numbers."""
    env = SMALL | {"VT_VERBOSE": "2"}
    run(build("descriptors.c", flags=FLAGS), tmp_path, how, str(CALLS), env=env)
    unify(tmp_path, "descriptors")
    assert check(tmp_path / "descriptors.trace").calls() == {"work": CALLS}
    if how == "own":
        assert [(tmp_path / f"own.{i}").read_text() for i in range(3)] == ["begin\nend\n"] * 3


def test_started_without_descriptors(build: Builder, tmp_path: Path) -> None:
    call(["sh", "-c", 'exec "$0" closed 30000 <&- >&- 2>&-', build("descriptors.c", flags=FLAGS)], tmp_path, SMALL)
    unify(tmp_path, "descriptors")
    assert check(tmp_path / "descriptors.trace").calls() == {"work": CALLS}


def test_another_thread_closes_all_descriptors(build: Builder, tmp_path: Path) -> None:
    """A thread closes all descriptors while vtrace writes: no record gets into a file of the program."""
    calls = 200000
    done = run(build("descriptors.c", flags=FLAGS), tmp_path, "loop", str(calls), env={**SMALL, "VT_COMPRESSION": "no"})
    found = ledger(tmp_path, "descriptors")
    assert found.kinds["FLUSH"] > 5
    of_thread = {"ENTER": 2, "LEAVE": 2, "THREAD_CREATE": 1, "THREAD_BEGIN": 1, "THREAD_END": 1, "THREAD_WAIT": 1}
    lost = sum(of_thread.values()) - sum(found.kinds[kind] for kind in of_thread)  # if recording has ended before
    assert found.functions + found.lost == 2 * calls + lost or "vtunify reads the other records" in done.stderr


@pytest.mark.parametrize("how", ["full", "freed"])
def test_no_descriptor_is_free(build: Builder, tmp_path: Path, how: str) -> None:
    done = run(build("descriptors.c", flags=FLAGS), tmp_path, how, "40000")
    assert done.stderr.count("too many open files") >= 1
    assert ("80000 events of rank 0 could not be recorded" in done.stderr) == (how == "full")
    if how == "freed":
        unify(tmp_path, "descriptors")
        assert check(tmp_path / "descriptors.trace").calls() == {"work": 40000}


def test_plug_in_of_an_untraced_program(build: Builder, tmp_path: Path) -> None:
    """A plugin is unloaded while a thread that has recorded is running: the runtime must stay loaded."""
    plugin = build("plugin.c", flags=("-O1", "-shared", "-fPIC", "-DNAME=inner"), output="plugin.so")
    host = build("host.c", flags=("-pthread", "-ldl"), plain=True)
    assert run(host, tmp_path, plugin, code=5).stdout == "unloaded\n"
    unify(tmp_path, "host")
    assert check(tmp_path / "host.trace").calls() == {"entry": 1, "inner": 2}
