# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP with libgomp (GNU) and libomp (LLVM): events of each construct, teams, tasks, locks, and unchanged results."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import record, run, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Event, Trace
from support.tools import PROGRAMS, call, need

SOURCE = PROGRAMS / "omp.c"
FLAGS = ("-g", "-fopenmp")
CANCEL = {"OMP_CANCELLATION": "true"}
COMPILERS = [
    pytest.param(compiler, level, marks=() if level == "-O2" else (pytest.mark.full,))
    for compiler in ("gcc", "clang")
    for level in ("-O2", "-O0")
]
THREADS = {"parallel": 2, "implicit barrier": 2}
TASKS = {**THREADS, "single": 2}
BOTH: dict[str, dict[str, int]] = {
    "parallel": {"parallel": 40, "implicit barrier": 40},
    "parallel_if": {"parallel": 1, "implicit barrier": 1},
    "changing": {"parallel": 20, "implicit barrier": 20},
    "nested": {"parallel": 18, "implicit barrier": 18},
    "barriers": {**THREADS, "barrier": 80},
    "loop_dynamic": {**THREADS, "for": 10, "implicit barrier": 10},
    "parallel_loop": {"parallel": 4, "for": 4, "implicit barrier": 4},
    "doacross": {**THREADS, "for": 2},
    "sections": {"parallel": 4, "sections": 6, "implicit barrier": 6},
    "single_nowait": {**THREADS, "single": 40},
    "critical": {**THREADS, "critical": 80},
    "waits": {"parallel": 6, "implicit barrier": 6},
    "locks": THREADS,
}
"""Number of enters of each construct in each function of omp.c, with two threads."""
GCC = {
    "loop_static": {**THREADS, "barrier": 2},  # gcc needs no call for the loop
    "ordered": {**THREADS, "for": 2, "ordered": 20, "ordered sblock": 20},
    "single": {"parallel": 4, "single": 42, "implicit barrier": 47},
    "tasks": {**TASKS, "create task": 20, "task": 20, "taskwait": 1},
    "fib": {"create task": 108, "task": 108, "taskwait": 54},
    "recursive": TASKS,
    "data": {**TASKS, "create task": 4, "task": 10, "taskwait": 1, "taskloop": 2, "implicit barrier": 4},
    "detached": {**TASKS, "create task": 1, "task": 1, "taskwait": 1},
    "taskloop": {**TASKS, "taskloop": 1, "task": 6, "taskgroup": 1, "create task": 1},
    "cancelled": {"parallel": 4, "for": 2, "cancel": 4, "implicit barrier": 6},
    "reductions": {**TASKS, "create task": 4, "task": 4, "implicit barrier": 4},
    "teams": {"teams": 1, "parallel": 4, "implicit barrier": 4},
}
WAITED = {"implicit barrier": 4}
CLANG = {
    "loop_static": {**THREADS, "for": 2, **WAITED},
    "ordered": {**GCC["ordered"], **WAITED},
    "single": {"parallel": 4, "single": 42, "implicit barrier": 48},
    "tasks": {**GCC["tasks"], **WAITED},
    "fib": GCC["fib"],
    "recursive": {**TASKS, **WAITED},
    "data": {**TASKS, "create task": 10, "task": 10, "taskwait": 1, "taskloop": 2, "taskgroup": 2, **WAITED},
    "detached": {**GCC["detached"], **WAITED},
    "taskloop": {**TASKS, "taskloop": 1, "task": 6, "taskgroup": 2, "create task": 6, **WAITED},
    "cancelled": {"parallel": 4, "for": 2, "cancel": 4, "implicit barrier": 10},
    "reductions": {**TASKS, "create task": 4, "task": 4, "taskgroup": 2, **WAITED},
}
"""Differences between both: gcc omits constructs that need no call, and libomp reports its own steps."""
NAMES = [*BOTH, *(name for name in CLANG if name != "fib")]
LOCKS = {"omp_set_lock": 40, "omp_unset_lock": 41, "omp_test_lock": 1}
LOCKS |= {"omp_set_nest_lock": 80, "omp_unset_nest_lock": 80}


def functions() -> list[tuple[int, str]]:
    """The first line and the name of each function in omp.c."""
    lines = enumerate(SOURCE.read_text().splitlines(), 1)
    return [(n, m[1]) for n, line in lines if (m := re.match(r"(?:int|static .*\b(?:void|long)) (\w+)\(.*\)$", line))]


def constructs(trace: Trace) -> dict[str, Counter[str]]:
    """The number of enters of each construct, by the function of omp.c that contains the construct."""
    where = functions()
    found: dict[str, Counter[str]] = {}
    for event in trace.events:
        region = trace.regions[event.attrs["region"]] if event.kind == "Enter" else None
        if region is None or region.paradigm != "OPENMP" or not region.name.startswith("!$omp "):
            continue
        construct, _, place = region.name.removeprefix("!$omp ").partition(" @")
        assert place == f"omp.c:{region.line}", region
        assert region.file == str(SOURCE), region
        function = max((line, name) for line, name in where if line <= region.line)[1]
        if construct != "critical sblock":  # recorded only if a thread has waited
            found.setdefault(function, Counter())[construct] += 1
    return found


def forks_and_joins(trace: Trace) -> None:
    """Checks that teams nest on each location, and that each begin has an end."""
    for location in trace.locations:
        open_teams: list[object] = []
        for event in trace.of(location):
            if event.kind == "ThreadFork":
                open_teams.append("fork")
            elif event.kind == "ThreadTeamBegin":
                open_teams.append(event.attrs["thread_team"])
                assert location in (trace.comms[event.attrs["thread_team"]].members or ())
            elif event.kind == "ThreadTeamEnd":
                assert open_teams.pop() == event.attrs["thread_team"]
            elif event.kind == "ThreadJoin":
                assert open_teams.pop() == "fork"
        assert not open_teams, f"location {location} has open teams"


@pytest.mark.parametrize(("compiler", "level"), COMPILERS)
def test_constructs(build: Builder, tmp_path: Path, compiler: str, level: str) -> None:
    traced = build("omp.c", compiler=compiler, flags=(level, *FLAGS), mode="mt")
    plain = build("omp.c", compiler=compiler, flags=(level, *FLAGS), plain=True)
    names = [*NAMES, "teams"] if compiler == "gcc" else NAMES
    expected = BOTH | (GCC if compiler == "gcc" else CLANG)
    result = run(traced, tmp_path, *names, env=CANCEL)
    assert result.stdout == run(plain, tmp_path, *names, env=CANCEL).stdout
    done = unify(tmp_path, "omp")
    assert "warning" not in done.stderr
    trace = check(tmp_path / "omp.trace")
    assert constructs(trace) == expected
    kinds = trace.kinds()
    regions = sum(counts.get("parallel", 0) for counts in expected.values())
    parallel = Counter(e.kind for e in trace.events if e.kind in ("ThreadFork", "ThreadJoin"))
    assert (kinds["ThreadTeamBegin"], kinds["ThreadTeamEnd"]) == (regions, regions)
    assert parallel["ThreadFork"] == parallel["ThreadJoin"]
    tasks = sum(counts.get("task", 0) for counts in expected.values())
    assert (kinds["ThreadTaskCreate"], kinds["ThreadTaskSwitch"]) == (tasks, 2 * tasks)
    assert kinds["ThreadTaskComplete"] == tasks
    assert (kinds["ThreadAcquireLock"], kinds["ThreadReleaseLock"]) == (81, 81)
    entered = trace.calls()
    assert {name: entered[name] for name in LOCKS} == LOCKS
    forks_and_joins(trace)
    check_tasks(trace)
    check_locks(trace)


def check_tasks(trace: Trace) -> None:
    """Checks that each task runs once, on a member of the team in which it was created."""
    created: Counter[tuple[int, int, int]] = Counter()
    completed: Counter[tuple[int, int, int]] = Counter()
    for event in trace.events:
        if event.kind in ("ThreadTaskCreate", "ThreadTaskComplete"):
            key = (event.attrs["thread_team"], event.attrs["creating_thread"], event.attrs["generation_number"])
            (created if event.kind == "ThreadTaskCreate" else completed)[key] += 1
            members = trace.comms[key[0]].members
            assert members is not None
            assert key[1] < len(members)
            assert event.location in members
            assert event.kind == "ThreadTaskComplete" or members[key[1]] == event.location
    assert created == completed
    assert set(created.values()) == {1}


def check_locks(trace: Trace) -> None:
    """Checks that the thread that acquires a lock releases it, and that each acquisition has its own number."""
    held: dict[tuple[int, int], list[int]] = {}
    numbers: Counter[tuple[int, int]] = Counter()
    for event in trace.events:
        if event.kind == "ThreadAcquireLock":
            held.setdefault((event.location, event.attrs["lock_id"]), []).append(event.attrs["acquisition_order"])
            numbers[event.attrs["lock_id"], event.attrs["acquisition_order"]] += 1
        elif event.kind == "ThreadReleaseLock":
            assert held[event.location, event.attrs["lock_id"]].pop() == event.attrs["acquisition_order"]
    assert not any(held.values())
    assert set(numbers.values()) == {1}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_lines_are_those_of_the_directives(build: Builder, tmp_path: Path, compiler: str) -> None:
    program = build("omp.c", compiler=compiler, flags=("-O2", *FLAGS), mode="mt")
    trace = record(program, tmp_path, "parallel", "critical", "tasks", "barriers")
    lines = SOURCE.read_text().splitlines()
    wanted, seen = {"parallel", "critical", "task", "barrier"}, set()
    for region in trace.regions.values():
        construct = region.name.removeprefix("!$omp ").partition(" @")[0]
        if construct in wanted and region.paradigm == "OPENMP":
            seen.add(construct)
            where = lines[region.line - 1] + (lines[region.line - 2] if construct == "task" else "")
            assert f"#pragma omp {construct}" in where, region  # for a task gcc gives the line of the first statement
    assert seen == wanted


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_wait_at_the_end_of_a_region_is_recorded(build: Builder, tmp_path: Path, compiler: str) -> None:
    """One thread works for 20 ms, and the other one waits at the end of the region: the wait is in the trace."""
    trace = record(build("omp.c", compiler=compiler, flags=("-O2", *FLAGS), mode="mt"), tmp_path, "waits")

    def times(location: int, kind: str) -> list[int]:
        def wanted(event: Event) -> bool:
            return event.kind == kind and (kind != "Enter" or "implicit" in trace.region_of(event).name)

        return [event.time for event in trace.of(location) if wanted(event)]

    joins = times(0, "ThreadJoin")
    waits = list(zip(times(1, "Enter"), times(1, "ThreadTeamEnd"), strict=True))
    assert len(waits) == len(joins) == 3
    for (_, end), join, own in zip(waits, joins, times(0, "Enter"), strict=True):
        assert own <= end <= join, "the wait must end with the region"
    assert max(end - begin for begin, end in waits) > trace.resolution / 100, "one wait must last 10 ms"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_each_wait_ends_as_its_region_does(build: Builder, tmp_path: Path, compiler: str) -> None:
    """Each wait ends exactly at the join of its region: with short regions, long regions, and threads that skip
    regions. Exception: a thread that libgomp no longer needs calls pthread_detach, and its last wait ends after this
    call."""
    program = build("omp.c", compiler=compiler, flags=("-O2", *FLAGS), mode="mt")
    trace = record(program, tmp_path, "parallel", "waits", "changing", "parallel", "waits")
    joins = [event.time for event in trace.of(0) if event.kind == "ThreadJoin"]
    ends = 0
    for location in set(trace.locations) - {0}:
        begins, waited = ([e.time for e in trace.of(location) if e.kind == f"ThreadTeam{x}"] for x in ("Begin", "End"))
        wanted = [next(join for join in joins if join >= begin) for begin in begins]
        assert waited[:-1] == wanted[:-1], location
        assert waited[-1] >= wanted[-1], location
        ends += len(waited)
    assert ends == 2 * 20 + 2 * 3 + 2 * (1 + 2 + 3)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_100_000_regions_are_one_team(build: Builder, tmp_path: Path, compiler: str) -> None:
    program = build("omp.c", compiler=compiler, flags=("-O2", *FLAGS, "-vt:inst", "manual"), mode="mt")
    run(program, tmp_path, "many", env={"VT_MAX_FLUSHES": "0"})
    unify(tmp_path, "omp")
    info = vtrace(tmp_path, "info", "--json", "omp").stdout
    for kind, count in (("ThreadFork", 100_000), ("ThreadJoin", 100_000), ("ThreadTeamBegin", 200_000)):
        assert re.search(rf'"{kind}": {count}\b', info), kind
    printed = call([need("otf2-print"), "-G", tmp_path / "omp.trace" / "traces.otf2"], tmp_path).stdout
    assert len(re.findall(r"^COMM .*OpenMP team", printed, re.MULTILINE)) == 1


def test_nothing_with_the_class_off(build: Builder, tmp_path: Path) -> None:
    program = build("omp.c", flags=("-O2", *FLAGS), mode="mt")
    trace = record(program, tmp_path, "parallel", "tasks", "locks", env={"VT_OMPTRACE": "no"})
    assert not constructs(trace)
    assert not any(kind.startswith(("ThreadTeam", "ThreadTask", "ThreadFork")) for kind in trace.kinds())


def test_fortran(build: Builder, tmp_path: Path) -> None:
    program = build("omp.f90", compiler="gfortran", flags=("-O1", *FLAGS), mode="mt")
    plain = build("omp.f90", compiler="gfortran", flags=("-O1", *FLAGS), plain=True)
    assert run(program, tmp_path).stdout == run(plain, tmp_path).stdout == "315\n"
    unify(tmp_path, "omp")
    trace = check(tmp_path / "omp.trace")
    regions = [trace.region_of(event) for event in trace.events if event.kind == "Enter"]
    found = Counter(region.name.partition(" @")[0] for region in regions if region.paradigm == "OPENMP")
    found.pop("!$omp critical sblock", None)
    assert found == {
        "!$omp parallel": 4, "!$omp do": 4, "!$omp critical": 40, "!$omp barrier": 2, "!$omp single": 2,
        "!$omp create task": 5, "!$omp task": 5, "!$omp taskwait": 1, "!$omp implicit barrier": 8,
        "omp_set_lock": 40, "omp_unset_lock": 40,
    }  # fmt: skip
    forks_and_joins(trace)


def test_program_that_was_built_without_vtrace(build: Builder, tmp_path: Path) -> None:
    program = build("omp.c", flags=("-O2", *FLAGS), plain=True)
    done = vtrace(tmp_path, "run", "--openmp", program, "parallel", "tasks")
    assert done.stdout == run(program, tmp_path, "parallel", "tasks").stdout
    unify(tmp_path, "omp")
    trace = check(tmp_path / "omp.trace")
    assert constructs(trace) == {"parallel": BOTH["parallel"], "tasks": GCC["tasks"]}


def test_ranks_with_threads(build: Builder, mpi: Mpi, tmp_path: Path) -> None:
    """MPI_THREAD_MULTIPLE: the messages of each thread are on its own location, between teams."""
    program = mpi.build("omp_mpi.c", flags=("-O2", *FLAGS))
    plain = mpi.build("omp_mpi.c", flags=("-O2", *FLAGS), plain=True)
    done = mpi.run(program, tmp_path, "10", ranks=2)
    assert done.stdout == mpi.run(plain, tmp_path, "10", ranks=2).stdout == "180\n"
    unify(tmp_path, "omp_mpi")
    trace = check(tmp_path / "omp_mpi.trace")
    forks_and_joins(trace)
    ranks = {location.group for location in trace.locations.values()}
    assert ranks == {"MPI Rank 0", "MPI Rank 1"}
    for rank in ranks:
        of_rank = [e for e in trace.events if trace.locations[e.location].group == rank]
        kinds = Counter(event.kind for event in of_rank)
        assert (kinds["ThreadFork"], kinds["ThreadTeamBegin"], kinds["MpiSend"], kinds["MpiRecv"]) == (10, 20, 20, 20)
        senders = Counter(event.location for event in of_rank if event.kind == "MpiSend")
        assert list(senders.values()) == [10, 10], "each of the two threads must have 10 sends"
