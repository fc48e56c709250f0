# SPDX-License-Identifier: BSD-3-Clause
"""Findings about locks and conditions: the thread, function and line of the calls that wait, and of those that make
them wait, in programs that sleep with a lock, so that all times are known."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.tools import BIN, DEFAULTS, PROGRAMS, call, command

PLANTS = PROGRAMS.parent / "planted" / "programs"
ALONE = DEFAULTS | {"VT_PROCESSOR_WAIT": "no"}
"""A loss leaves out the holder's waits for a busy processor."""
LOSS = 5 * 40e6
"""ns: rounds of the program, and the time of each."""


def diagnosed(
    program: Path, where: Path, what: str, *options: str, env: Mapping[str, str] = DEFAULTS
) -> dict[str, Any]:
    vtrace(where, "run", *options, "-o", "t", program, *what.split(), env=env)
    unify(where, "t")
    found: dict[str, Any] = json.loads(vtrace(where, "diagnose", "--json", "t").stdout)
    return found


def of_locks(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in found["findings"] if one["kind"] in ("lock", "condition")]


def place(source: Path, mark: str) -> str:
    """The place of the line with a comment."""
    lines = source.read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if re.search(rf"/[/*] {mark}\b", line))
    return f"{source.name}:{number}"


@pytest.mark.parametrize(
    ("source", "flags", "what"),
    [
        ("lock_holder.c", "-O0", "mutex"),
        ("lock_holder.c", "-O2", "rwlock"),
        ("lock_holder.c", "-O2", "lookup"),
        ("lock_holder.c", "-O2", "entry"),
        ("lock_holder.c", "-O2", "spin"),
        ("lock_holder.c", "-O2", "condition"),
        ("lock_holder.c", "-O2", "token"),
        ("lock_holder.cc", "-O2", "mutex"),
        ("lock_holder.cc", "-O0", "condition"),
    ],
)
def test_who_makes_threads_wait(build: Builder, tmp_path: Path, source: str, flags: str, what: str) -> None:
    path = PROGRAMS / source
    compiler = "g++" if source.endswith("cc") else "gcc"
    program = build(source, compiler=compiler, flags=(flags, "-g", "-pthread"), plain=True)
    (found,) = of_locks(diagnosed(program, tmp_path, what, "--locks", env=ALONE))
    uses, keeps = place(path, f"USES {what}"), place(path, f"KEEPS {what}")
    signals = what in ("condition", "token")
    waits, holds = ("take", "put") if signals else {"lookup": ("change", "look_up")}.get(what, ("use", "keep"))
    assert found["kind"] == ("condition" if signals else "lock")
    assert re.fullmatch(rf"keeper, (.*::)?{holds}(\(\))? \({re.escape(keeps)}\)", found["culprit"])
    assert 0.9 * LOSS <= found["loss_ns"] <= 2 * LOSS  # a busy machine wakes the sleeping keeper late
    shown = " ".join(vtrace(tmp_path, "diagnose", "t").stdout.split())
    if not signals:
        name = {"mutex": "lock", "lookup": "table", "entry": "rwlock"}.get(what, what)
        lines = path.read_text().splitlines()
        line = next(n for n, text in enumerate(lines, 1) if re.match(rf"(static|std::mutex) .*\b{name}\b", text))
        assert re.search(rf"ms for the lock (.*::)?{name} \({re.escape(source)}:{line}\) of ", shown), shown
    assert re.search(rf"user waits .* in (.*::)?{waits}(\(\S*\))? \({re.escape(uses)}\), 5 times; keeper ", shown), (
        shown
    )


PYTHON = """
import queue, sys, threading, time
jobs, free, used = queue.Queue(), threading.Semaphore(0), []
is_queue = sys.argv[1] == "queue"

def keeper():
    for n in range(5):
        while len(used) < n: time.sleep(0.001)
        time.sleep(0.04)
        jobs.put(n) if is_queue else free.release()

def user():
    for n in range(5):
        jobs.get() if is_queue else free.acquire()
        time.sleep(0.005)
        used.append(n)

for each in [threading.Thread(target=run) for run in (keeper, user)]: each.start()
"""


@pytest.mark.parametrize(
    ("what", "take", "give"),
    [("queue", "queue.Queue.get", "queue.Queue.put"),
     ("semaphore", "threading.Semaphore.acquire", "threading.Semaphore.release")],
)  # fmt: skip
def test_locks_of_python(tmp_path: Path, what: str, take: str, give: str) -> None:
    """They are semaphores of the interpreter, whose own functions are not told."""
    (tmp_path / "jobs.py").write_text(PYTHON)
    vtrace(tmp_path, "run", "--locks", "-o", "t", BIN / "python", "jobs.py", what, env=ALONE)
    unify(tmp_path, "t")
    shown = " ".join(vtrace(tmp_path, "diagnose", "t").stdout.split())
    waits = rf"waits [\d.]+ m?s in {take} in user \(jobs.py:14\), \d times;"
    assert re.search(rf"{waits} .* signals .* later, at most .*, in {give} in keeper \(jobs.py:10\)", shown), shown


RECURSION = """
import threading
held = threading.Lock()
held.acquire()

def task(depth):
    held.acquire(timeout=0.001)
    if depth: task(depth - 1)

task(20)
"""


def test_recursion_in_python(tmp_path: Path) -> None:
    """The room for stacks is limited, so not each depth is one."""
    (tmp_path / "tasks.py").write_text(RECURSION)
    vtrace(tmp_path, "run", "--locks", "-o", "t", BIN / "python", "tasks.py", env=DEFAULTS)
    unify(tmp_path, "t")
    calls = [event for event in check(tmp_path / "t.trace").events if event.kind == "Enter"]
    sites = [str(event.more.get("lock call site")) for event in calls]
    tasks = [site for site in sites if "tasks.py:7" in site]
    assert len(tasks) == 21
    assert len(set(tasks)) <= 9


@pytest.mark.parametrize(
    ("what", "waits"),
    [("mutex", "pthread_mutex_lock"), ("condition", "pthread_cond_wait"), ("token", "sem_wait")],
)  # fmt: skip
def test_locks_of_processes_blame_nobody(build: Builder, tmp_path: Path, what: str, waits: str) -> None:
    """A thread of another process may have the lock, or signal."""
    program = build("lock_holder.c", flags=("-O2", "-g", "-pthread"), plain=True)
    found = diagnosed(program, tmp_path, f"{what} shared", "--locks")
    assert {(one["culprit"], "keeper" in str(one)) for one in of_locks(found)} <= {("", False)}
    assert check(tmp_path / "t.trace").entered()[waits] >= (
        1 if what == "condition" else 5
    )  # it may be signalled before


@pytest.mark.parametrize("source", ["lock_holder.c", "lock_holder.cc"])
def test_healthy(build: Builder, tmp_path: Path, source: str) -> None:
    compiler = "g++" if source.endswith("cc") else "gcc"
    program = build(source, compiler=compiler, flags=("-O2", "-g", "-pthread"), plain=True)
    assert of_locks(diagnosed(program, tmp_path, "healthy", "--locks")) == []


@pytest.mark.parametrize("options", [(), ("--locks",)])
def test_locks_to_record(build: Builder, tmp_path: Path, options: tuple[str, ...]) -> None:
    """Without recorded locks it is unknown for what the threads wait."""
    program = build("lock_holder.c", flags=("-O2", "-g", "-pthread"), plain=True)
    found = diagnosed(program, tmp_path, "mutex", *options)
    assert ("locks are not recorded: vtrace run --locks" in found["to_record"]) == (not options)
    assert bool(of_locks(found)) == bool(options)


def test_busy_threads_wait_for_no_lock(build: Builder, tmp_path: Path) -> None:
    program = build(PLANTS / "thread_plants.c", flags=("-O2", "-g", "-lm", "-pthread"), plain=True)
    vtrace(tmp_path, "run", "-o", "t", program, "healthy_threads", env=DEFAULTS | {"PLANT_COMPUTES": "1"})
    unify(tmp_path, "t")
    assert "--locks" not in vtrace(tmp_path, "diagnose", "t").stdout


def test_while_unifying(build: Builder, tmp_path: Path) -> None:
    """A diagnosis of the events that vtunify writes knows the calls, too."""
    program = build("lock_holder.c", flags=("-O2", "-g", "-pthread"), plain=True)
    vtrace(tmp_path, "run", "--locks", "-o", "t", program, "mutex", env=DEFAULTS)
    shown = " ".join(call([*command("vtunify"), "--diagnose", "t"], tmp_path).stdout.split())
    assert "keeper holds it for 4" in shown
    assert f"in keep ({place(PROGRAMS / 'lock_holder.c', 'KEEPS mutex')})" in shown
