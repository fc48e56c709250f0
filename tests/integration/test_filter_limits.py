# SPDX-License-Identifier: BSD-3-Clause
"""Limits on calls of memory functions, OpenMP, the user API and Python: the trace has exactly the allowed number of
calls, stacks and teams stay complete, and the program computes the same."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import filtered, record, run, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import call
from vtrace.paths import LIB, PYTHON_HOOK

SCOREP = "SCOREP_REGION_NAMES_BEGIN\n{}\nSCOREP_REGION_NAMES_END\n"
BOTH = pytest.mark.parametrize("compiler", ["gcc", "clang"])


@BOTH
@pytest.mark.parametrize(
    ("rules", "limits"),
    [
        ("malloc;realloc -- 3\nfree -- 2\ncalloc -- 0\n", {"malloc": 3, "realloc": 3, "free": 2, "calloc": 0}),
        (SCOREP.format("EXCLUDE ?alloc re[a-c]lloc"), {"malloc": 0, "calloc": 0, "valloc": 0, "realloc": 0}),
    ],
)
def test_memory(build: Builder, tmp_path: Path, compiler: str, rules: str, limits: dict[str, int]) -> None:
    program = build("heap.c", compiler=compiler, flags=("-O1", "-fno-builtin", "-pthread"))
    whole = record(program, tmp_path, env={"VT_MEMTRACE": "yes"}).calls()
    (tmp_path / f"{program.name}.trace").rename(tmp_path / "whole.trace")
    found = filtered(program, tmp_path, rules, VT_MEMTRACE="yes").calls()
    assert all(whole[name] > limit for name, limit in limits.items() if name != "pvalloc")
    assert found == +Counter({**whole, **limits})


def test_size_of_the_heap_includes_unrecorded_calls(build: Builder, tmp_path: Path) -> None:
    """As in test_memory.py: the last value of the heap is the same with and without limits."""
    program = build("heap.c")
    ends = []
    for rules in ("", "* -- -1\n", "LIBC-MALLOC -- 5 G\n"):
        (tmp_path / "rules").write_text(rules)
        run(program, tmp_path, env={"VT_MEMTRACE": "yes", "VT_FILTER_SPEC": "rules"})
        unify(tmp_path, program.name)
        trace = check(tmp_path / f"{program.name}.trace")
        (tmp_path / f"{program.name}.trace").rename(tmp_path / f"{len(ends)}.trace")
        ends.append([event.attrs["values"] for event in trace.events if event.kind == "Metric"][-1])
    assert ends[1] == ends[0]
    assert abs(ends[2][0] - ends[0][0]) < 65536  # unrecorded changes are written when they add up to 64 KiB


USER = {"loop": 100, "inner": 100, "deep": 40, "grouped": 20}


@BOTH
@pytest.mark.parametrize(
    ("rules", "limits"),
    [
        ("loop -- 60\ndeep -- 7\n", {"loop": 60, "deep": 7}),
        ("deep -- 33\nPHYSICS -- 13 G\n", {"deep": 33, "grouped": 13}),
        ("User -- 9 G\n", {"loop": 9, "inner": 9, "deep": 9}),
        (SCOREP.format("EXCLUDE * INCLUDE dee[a-z] inner"), {"loop": 0, "grouped": 0}),
    ],
)
def test_user_regions(build: Builder, tmp_path: Path, compiler: str, rules: str, limits: dict[str, int]) -> None:
    program = build("limited.c", compiler=compiler, flags=("-O1", "-pthread"))
    trace = filtered(program, tmp_path, rules)
    assert trace.calls() == +Counter({**USER, **limits})
    assert trace.kinds()["Leave"] == trace.kinds()["Enter"]
    deep = limits.get("deep", 40)
    assert trace.edges()["deep", "deep"] == deep - (deep + 4) // 5  # each chain of 5 calls has 4 nested calls


PYTHON = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def count():
    yield from range(4)

print(fib(7), sum(count()))
"""


def test_python_functions(tmp_path: Path) -> None:
    """Limits on Python functions, and on a generator, which is entered again each time it resumes."""
    env = {"LD_PRELOAD": str(LIB / "libvtrace.so.1"), "VT_FILE_PREFIX": "py", "VT_PYTRACE": "yes"}
    env |= {"PYTHONPATH": str(PYTHON_HOOK), "VT_FILTER_SPEC": "rules"}
    (tmp_path / "own.py").write_text(PYTHON)
    for rules, fib, count in (
        ("", 41, 5),
        ("__main__.fib -- 10\n", 10, 5),
        ("*.count -- 3\n__main__.fib -- 40", 40, 3),
        ("Python -- 2 G\n", 2, 2),
        (SCOREP.format("EXCLUDE *.fib"), 0, 5),
    ):
        (tmp_path / "rules").write_text(rules)
        assert call([sys.executable, "own.py"], tmp_path, env).stdout == "13 6\n"
        unify(tmp_path, "py", "-o", f"{fib}-{count}")
        calls = check(tmp_path / f"{fib}-{count}.trace").calls()
        assert (calls["__main__.fib"], calls["__main__.count"]) == (fib, count)


def constructs(trace: Trace) -> Counter[str]:
    """The number of enters of each construct."""
    entered = Counter(trace.region_of(event).name for event in trace.events if event.kind == "Enter")
    found: Counter[str] = Counter()
    for name, n in entered.items():
        known = re.match(r"!\$omp ([a-z ]+?)(?: @|$)", name)
        if known or name.startswith("omp_"):
            found[known[1] if known else name] += n
    return found


FLAGS = ("-O1", "-g", "-fopenmp")  # with -O2 clang duplicates some constructs
TEAMS = ("ThreadFork", "ThreadTeamBegin", "ThreadTeamEnd", "ThreadJoin")
TASKS = ("ThreadTaskCreate", "ThreadTaskComplete")
LOCKS = ("ThreadAcquireLock", "ThreadReleaseLock")


def teams(forks: int, members: int) -> dict[str, int]:
    return dict(zip(TEAMS, (forks, members, members, forks), strict=True))


@BOTH
@pytest.mark.parametrize(
    ("name", "rules", "regions", "kinds"),
    [
        ("parallel", "!$omp parallel* -- 5", {"parallel": 10, "implicit barrier": 10}, teams(5, 10)),
        ("parallel", "!$omp parallel -- 0", {"parallel": 0, "implicit barrier": 0}, teams(0, 0)),
        ("parallel", SCOREP.format("EXCLUDE !$omp\\ par*"), {"parallel": 0}, teams(0, 0)),
        ("nested", "!$omp parallel -- 2", {"parallel": 8}, teams(4, 8)),
        ("barriers", "!$omp barrier -- 3", {"barrier": 6, "parallel": 2}, teams(1, 2)),
        ("barriers", "!$omp parallel -- 0", {"barrier": 80, "parallel": 0}, teams(0, 0)),
        ("critical", "!$omp critical -- 7\n!$omp critical sblock -- 0", {"critical": 14, "critical sblock": 0}, {}),
        ("critical", "OMP -- 0 G\n", {"critical": 0, "parallel": 0}, teams(0, 0)),
        ("ordered", "!$omp ordered -- 4", {"ordered": 4, "ordered sblock": 20}, {}),
        ("tasks", "!$omp task -- 6", {"task": 6, "create task": 20}, dict.fromkeys(TASKS, 6)),
        ("tasks", "!$omp task;!$omp create task -- 0", {"task": 0, "create task": 0}, dict.fromkeys(TASKS, 0)),
        ("tasks", "!$omp parallel -- 0", {"task": 20, "create task": 20}, dict.fromkeys((*TEAMS, *TASKS), 0)),
        ("tasks", SCOREP.format("EXCLUDE * INCLUDE !$omp\\ task"), {"task": 20, "create task": 0}, {}),
        ("locks", "omp_set_lock -- 11", {"omp_set_lock": 11, "omp_unset_lock": 41}, {}),
        ("locks", "omp_*unset_lock -- 5", {"omp_set_lock": 40, "omp_unset_lock": 5}, {}),
        ("locks", "omp_* -- 0", {"omp_set_lock": 0, "omp_unset_lock": 0}, dict.fromkeys(LOCKS, 0)),
    ],
)  # fmt: skip
def test_openmp(
    build: Builder, tmp_path: Path, compiler: str, name: str, rules: str, regions: dict[str, int], kinds: dict[str, int]
) -> None:
    program = build("omp.c", compiler=compiler, flags=FLAGS)
    trace = filtered(program, tmp_path, rules, name)
    found = constructs(trace)
    assert {one: found[one] for one in regions} == regions
    assert {kind: trace.kinds()[kind] for kind in kinds} == kinds
    assert trace.kinds()[LOCKS[0]] == trace.kinds()[LOCKS[1]]
    assert trace.kinds()["Leave"] == trace.kinds()["Enter"]


@BOTH
def test_every_construct(build: Builder, tmp_path: Path, compiler: str) -> None:
    """The programs of omp.c with a limit for every construct: the output is the same, and the remaining regions
    nest."""
    program = build("omp.c", compiler=compiler, flags=FLAGS)
    names = "changing nested loop_dynamic sections single locks tasks recursive data detached taskloop cancelled"
    env = {"OMP_CANCELLATION": "true"}
    said = run(program, tmp_path, *names.split(), env={"VT_OMPTRACE": "no", **env}).stdout
    for limit in (1, 3):
        (tmp_path / "rules").write_text(f"OMP -- {limit} G\n")
        assert run(program, tmp_path, *names.split(), env={"VT_FILTER_SPEC": "rules", **env}).stdout == said
        unify(tmp_path, program.name, "-o", str(limit))
        trace = check(tmp_path / f"{limit}.trace")
        assert trace.kinds()["ThreadFork"] == trace.kinds()["ThreadJoin"] > limit
        assert trace.kinds()["Leave"] == trace.kinds()["Enter"]


def test_explain(tmp_path: Path) -> None:
    """The construct is explained by its name without the line. A rule with a line number cannot match: one warning."""
    (tmp_path / "rules").write_text("!$omp for @heat.c:12 -- 0\n!$omp for -- 4\nUser -- 2 G\nfree -- 3")
    done = vtrace(tmp_path, "filter", "rules", "--explain", "!$omp for @heat.c:12")
    assert done.stdout == "!$omp for @heat.c:12 is recorded 4 times: rules:2: !$omp for\n"
    assert len(done.stderr.splitlines()) == 1
    assert 'rules:1: ignored "!$omp for @heat.c:12": the lines of OpenMP constructs are unknown' in done.stderr
    said = vtrace(tmp_path, "filter", "rules", "--group", "User", "--explain", "solve").stdout
    assert said == "solve is recorded 2 times: rules:3: User\n"
    said = vtrace(tmp_path, "filter", "rules", "--group", "LIBC-MALLOC", "--explain", "free").stdout
    assert said == "free is recorded 3 times: rules:4: free\n"
