# SPDX-License-Identifier: BSD-3-Clause
"""Merged definitions do not depend on the distribution of processes among the ranks of vtunify-mpi."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from threading import Barrier, Event, get_ident
from typing import Generic, TypeVar

import numpy as np
import pytest

from support.build.parallel import in_threads
from support.synthetic_runs.merged_comms import MergedComms, merged_comms
from vtrace.errors import VtraceError
from vtrace.io.archive.definitions import DEFINITION_CHUNK_MAX, Group, chunk_bytes
from vtrace.io.archive.writer import Definitions
from vtrace.io.local.records import COMM_KINDS
from vtrace.parallel.exchange import agree, ask_all
from vtrace.parallel.ranks import ALONE, Ranks, work_on
from vtrace.unify.merge.steps import ConcatStep, MergedDefinitions, Named, numbered
from vtrace.unify.model.process_definitions import CommMembers, LocalComm, ProcessDefinitions
from vtrace.unify.model.process_maps import ProcessPlace

Value = TypeVar("Value")
WORLD = 77
SIZES = (1, 2, 3, 5, 8)


@dataclass
class Process:
    number: int
    rank: int
    world: int = WORLD
    definitions: ProcessDefinitions = field(default_factory=ProcessDefinitions)

    @property
    def index(self) -> int:
        return self.rank

    @property
    def place(self) -> ProcessPlace:
        return ProcessPlace(index=self.index)

    def comm(self, local: int, kind: str, tag: int, hash_: int, size: int, rank: int) -> None:
        self.definitions.comms[local] = LocalComm(
            COMM_KINDS[kind], 1, tag=tag, hash=hash_, serial=0, size=size, rank=rank, remote=0
        )


def overlapping(ranks: int, comms: int, seed: int) -> tuple[list[Process], dict[int, list[int]]]:
    """Ranks define their communicators in different orders, and write the members of some of them only."""
    draw = random.Random(seed)
    processes = [Process(rank, rank) for rank in range(ranks)]
    for process in processes:
        process.definitions.comms[1] = LocalComm(
            COMM_KINDS["WORLD"], None, tag=0, hash=9, serial=0, size=ranks, rank=process.rank, remote=0
        )
    members = {tag: draw.sample(range(ranks), draw.randint(1, 6)) for tag in range(comms)}
    for process in processes:
        own = [tag for tag, group in members.items() if process.rank in group]
        draw.shuffle(own)
        for local, tag in enumerate(own, 2):
            group = members[tag]
            process.comm(
                local, "CREATE_GROUP", tag, hash(tuple(group)) & (1 << 63) - 1, len(group), group.index(process.rank)
            )
            if group[0] == process.rank and tag % 3:
                piece = CommMembers(0, WORLD, np.array(group, "<u4").tobytes())
                process.definitions.members[local, 0] = [piece]
            if draw.random() < 0.1:
                process.definitions.comm_names[local] = f"{tag} as {process.rank} says"
    return processes, members


def merged(processes: list[Process], ranks: Ranks) -> MergedComms:
    own = [process for process in processes if process.number * 7 % 11 % ranks.size == ranks.rank]
    indices = {(p.world, p.rank): p.index for p in processes}
    found = merged_comms(own, [*range(len(processes))], indices, ranks)
    found.ids = [{p.number: ids.tolist() for p, ids in zip(own, found.ids, strict=True)}]  # type: ignore[list-item]
    return found


@pytest.mark.parametrize("size", SIZES[1:])
def test_thousands_of_communicators(size: int) -> None:
    """Each communicator is defined once, with its members and its first process's name, for any number of ranks."""
    processes, members = overlapping(40, 3000, size)
    (alone,) = in_threads(1, lambda ranks: merged(processes, ranks))
    assert len(alone.comms) == 1 + len(members)
    first, *_ = found = in_threads(size, lambda ranks: merged(processes, ranks))
    assert [comm.name for comm in first.comms] == [comm.name for comm in alone.comms]
    assert [comm.group for comm in first.comms] == [comm.group for comm in alone.comms]
    assert [g.members.tolist() for g in first.groups] == [g.members.tolist() for g in alone.groups]  # type: ignore[union-attr]
    ids = {number: table for each in found for number, table in each.ids[0].items()}  # type: ignore[attr-defined]
    assert ids == alone.ids[0]
    for process in processes:
        for local, comm in process.definitions.comms.items():
            group = alone.groups[alone.comms[ids[process.number][local]].group]
            wanted = [*range(40)] if local == 1 else members[int(comm.tag)]
            assert [int(member) for member in group.members] == wanted
    assert not alone.incomplete


def test_ids_are_dense_in_the_order_of_processes() -> None:
    processes, _ = overlapping(10, 200, 1)
    (alone,) = in_threads(1, lambda ranks: merged(processes, ranks))
    seen = [number for p in processes for _, number in sorted(enumerate(alone.ids[0][p.number])) if number < 2**32 - 1]  # type: ignore[call-overload]
    assert list(dict.fromkeys(seen)) == [*range(len(alone.comms))]


class Numbered(Generic[Value]):
    """A step that decides the number and the value of each definition."""

    def __init__(self, own: MergedDefinitions[str, Value]) -> None:
        self.own = own

    def contribute(self) -> MergedDefinitions[str, Value]:
        return self.own

    def join(
        self, one: MergedDefinitions[str, Value], other: MergedDefinitions[str, Value]
    ) -> MergedDefinitions[str, Value]:
        return one.join(other)

    def decide(self, everyone: MergedDefinitions[str, Value]) -> tuple[dict[str, int], list[Value]]:
        found = everyone.in_order()
        return numbered([key for key, _ in found]), [value for _, value in found]


class Lists(ConcatStep[int]):
    """A step that concatenates the lists of all processes."""

    def __init__(self, own: dict[int, list[int]]) -> None:
        self.own = own
        self.everyone: dict[int, list[int]] = {}

    def define(self, everyone: dict[int, list[int]]) -> int:
        self.everyone = everyone
        return 0


@pytest.mark.parametrize("size", SIZES)
def test_first_place_and_first_name_count(size: int) -> None:
    def work(ranks: Ranks) -> tuple[dict[str, int], list[object], dict[int, int], dict[int, list[int]]]:
        things: MergedDefinitions[str, None] = MergedDefinitions()
        names: Named[str] = Named()
        own = {}
        for process in range(ranks.rank, 20, ranks.size):
            things.add(f"of {process // 2}", (process, 0), None)
            things.add("of all", (process, 1), None)
            names.add("it", (process,), None if process < 3 else ((process,), f"by {process}"))
            own[process] = [*range(process)]
        lists = Lists(own)
        firsts = agree(lists, ranks)
        return agree(Numbered(things), ranks)[0], [*agree(Numbered(names), ranks)[1]], firsts, lists.everyone

    numbers = {"of 0": 0, "of all": 1} | {f"of {n}": n + 1 for n in range(1, 10)}
    results = in_threads(size, work)
    assert all(result[0] == numbers for result in results)
    assert all(result[1] == [((3,), "by 3")] for result in results)
    assert all(result[2] == {n: n * (n - 1) // 2 for n in range(20)} for result in results)
    assert results[0][3] == {n: [*range(n)] for n in range(20)}


def test_a_failed_contribution_is_raised_on_all_ranks() -> None:
    class Broken(Numbered[None]):
        def contribute(self) -> MergedDefinitions[str, None]:
            if self.own.found:
                raise VtraceError("the file is damaged")
            return self.own

    def work(ranks: Ranks) -> str:
        own: MergedDefinitions[str, None] = MergedDefinitions()
        if ranks.rank == 1:
            own.add("it", (1,), None)
        try:
            agree(Broken(own), ranks)
        except VtraceError as error:
            return str(error)
        return ""

    assert in_threads(3, work) == ["the file is damaged"] * 3


@pytest.mark.parametrize("size", SIZES)
def test_questions_are_answered_in_their_order(size: int) -> None:
    """The answer to a question is the number of ranks that ask the same question."""

    def work(ranks: Ranks) -> list[int]:
        questions = np.array([ranks.rank, 50, 100 + ranks.rank // 2])
        return ask_all(questions, questions % size, lambda q: (q[:, None] == q).sum(axis=1), ranks).tolist()

    found = in_threads(size, work)
    alike = [sum(other // 2 == rank // 2 for other in range(size)) for rank in range(size)]
    assert found == [[1, size, alike[rank]] for rank in range(size)]


def test_a_failure_ends_all() -> None:
    """After one rank fails, no rank begins another item, and all ranks raise its error."""
    begun: list[list[int]] = [[], [], []]

    def work(ranks: Ranks) -> str:
        def item(number: int) -> None:
            begun[ranks.rank].append(number)
            if ranks.rank == 1 and number == 0:
                raise VtraceError("the disk is full")

        try:
            work_on(
                ranks,
                1,
                items=[*range(3)] if ranks.rank else [],
                work=item,
                weigh=lambda number: 3 - number,
                advance=lambda amount: None,
            )
        except VtraceError as error:
            return str(error)
        return ""

    assert in_threads(3, work) == ["the disk is full"] * 3
    assert (begun[0], begun[1]) == ([], [0])


def test_a_failure_waits_for_the_other_threads() -> None:
    """The error is raised after each thread has ended its item, and no thread begins the third item."""
    begun, failing = Event(), Event()
    ended: list[int] = []

    def item(number: int) -> None:
        if number == 0:
            begun.wait(60)
            failing.set()
            raise VtraceError("the disk is full")
        begun.set()
        failing.wait(60)
        time.sleep(0.1)
        ended.append(number)

    with pytest.raises(VtraceError, match="the disk is full"):
        work_on(
            ALONE, 2, items=[*range(3)], work=item, weigh=lambda number: (3 - number) << 20, advance=lambda amount: None
        )
    assert ended == [1]


@pytest.mark.parametrize("heavy", [0, 2, 4])
def test_threads_are_for_heavy_items(heavy: int) -> None:
    """Each heavy item has a thread; more threads with items of a few bytes only pass Python's lock back and forth."""
    threads, together = set(), Barrier(max(heavy, 1))

    def item(weight: int) -> None:
        threads.add(get_ident())
        if weight > 100:
            together.wait(60)

    work_on(
        ALONE,
        4,
        items=[100] * 50 + [1 << 20] * heavy,
        work=item,
        weigh=lambda weight: weight,
        advance=lambda amount: None,
    )
    assert len(threads) == max(heavy, 1)


def test_progress_is_reported_to_the_end() -> None:
    told: list[int] = []
    done: list[int] = []
    work_on(ALONE, 3, items=[*range(10)], work=done.append, weigh=lambda number: number, advance=told.append)
    assert (sorted(done), sum(told)) == ([*range(10)], 45)
    work_on(ALONE, 3, items=[], work=done.append, weigh=lambda number: number, advance=told.append)
    assert sum(told) == 45


def test_groups_of_100_000_members() -> None:
    definitions = Definitions(comm_groups=[Group("COMM_GROUP", 4, "", np.arange(100_000))])
    assert 100_000 * 5 < chunk_bytes(definitions) <= DEFINITION_CHUNK_MAX
    assert ALONE.size == 1
