# SPDX-License-Identifier: BSD-3-Clause
"""Calling contexts: the trees of all locations become one. The number of a context follows from the set of contexts
alone: by depth, then by the context around it, then by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vtrace.io.archive.definitions import UNDEFINED, Contexts, Definitions
from vtrace.io.common.arrays import Array, children_of, distinct
from vtrace.io.local.kernel import ContextTree
from vtrace.io.local.maps import U4
from vtrace.parallel.ranks import work_on
from vtrace.unify.merge.sample_frames import FrameSteps
from vtrace.unify.model.context import Context
from vtrace.unify.model.process import Process


def merge_trees(trees: Sequence[ContextTree]) -> tuple[ContextTree, list[U4]]:
    """Returns the union of trees, and for each tree the number of each of its contexts in the union."""
    sizes = [len(tree.parents) for tree in trees]
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    whole, steps, number = int(begins[-1]), np.concatenate([tree.steps for tree in trees]), np.zeros(0, np.uint32)
    parents = np.concatenate([tree.parents + begin for tree, begin in zip(trees, begins, strict=False)])
    number = np.zeros(whole, np.uint32)
    left = np.ones(whole, bool)
    left[begins[:-1][np.array(sizes) > 0]] = False
    order, bounds = _children(parents, left)
    level = np.flatnonzero(~left)
    found: list[tuple[Array, Array]] = [(np.zeros(1, np.uint32), np.zeros(1, np.uint32))]
    count = 1
    while len(level := children_of(level, order, bounds)):
        keys = number[parents[level]].astype(np.uint64) << np.uint64(32) | steps[level]
        ours = distinct(keys)
        number[level] = count + np.searchsorted(ours, keys)
        found.append(((ours >> np.uint64(32)).astype(np.uint32), ours.astype(np.uint32)))
        count += len(ours)
    union = ContextTree(*(np.concatenate([part[i] for part in found]) for i in range(2)))
    return union, np.split(number, begins[1:-1])


def _children(parents: Array, left: Array) -> tuple[Array, Array]:
    """All contexts but the roots, by the context around them, and the start of each context's children there."""
    rows = np.flatnonzero(left)
    order = rows[np.argsort(parents[rows], kind="stable")]
    return order, np.searchsorted(parents[order], np.arange(len(parents) + 1))


def find_contexts(
    processes: Sequence[Process], steps: FrameSteps, lines: Sequence[tuple[int, int]], definitions: Definitions,
    *, context: Context,
) -> None:  # fmt: skip
    """Finds the calling contexts of all locations, and gives each location the numbers of its own contexts; all ranks
    call this function. lines: on rank 0, region and source code location of each step that is no region."""
    ranks, kernel = context.ranks, context.kernel
    found: dict[tuple[int, int], ContextTree] = {}
    tasks = [(process, number) for process in processes for number in process.contents.locations]

    def find(task: tuple[Process, int]) -> None:
        process, number = task
        if process.maps is None:
            return
        with process.events(number) as (events, samples):
            sampled = process.maps.sampled(number, samples)
            if sampled is not None:
                found[process.number, number] = kernel.contexts(events, process.maps.of(number), sampled)

    with context.salvageable():
        stored = ranks.total([sum(process.contents.stored_of(number) for process, number in tasks)])[0]
        with context.console.steps("calling contexts", stored, "bytes") as advance:
            work_on(
                ranks,
                context.request.threads,
                items=tasks,
                work=find,
                weigh=lambda task: task[0].contents.stored_of(task[1]),
                advance=advance,
            )
    own = [found[key] for key in sorted(found)]
    union, _ = merge_trees(own or [ContextTree(np.zeros(1, np.uint32), np.zeros(1, np.uint32))])
    everyone = ranks.reduce(union, lambda one, other: merge_trees([one, other])[0])
    whole = ranks.first(lambda: everyone)
    numbers = merge_trees([whole, *own])[1][1:]
    contexts: dict[int, dict[int, U4]] = {}
    for (number, location), mine in zip(sorted(found), numbers, strict=True):
        contexts.setdefault(number, {})[location] = mine - np.uint32(1)  # the root has no number in OTF2
    for process in processes:
        if process.maps is not None:
            process.maps = replace(process.maps, contexts=contexts.get(process.number, {}))
    if ranks.root:
        definitions.contexts = _definitions(whole, steps, lines)


def _definitions(whole: ContextTree, steps: FrameSteps, lines: Sequence[tuple[int, int]]) -> Contexts:
    step = whole.steps[1:]
    table = np.array(lines, np.uint32).reshape(-1, 2)
    row = np.maximum(step.astype(np.int64) - steps.regions, 0)
    known = step >= steps.regions
    if len(table):
        regions, places = np.where(known, table[row, 0], step), np.where(known, table[row, 1], UNDEFINED)
    else:
        regions, places = step, np.full(len(step), UNDEFINED)
    parents = whole.parents[1:]
    around = np.where(parents == 0, UNDEFINED, parents.astype(np.int64) - 1)
    return Contexts(regions.astype(np.uint32), places.astype(np.uint32), around.astype(np.uint32))
