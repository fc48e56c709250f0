# SPDX-License-Identifier: BSD-3-Clause
"""Findings about blocks of malloc: those that a program allocates again and again and never frees, and those that it
allocates and frees again so often that this takes time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vtrace.analysis.activity import ACTIVITIES
from vtrace.analysis.call_sites import Site
from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import BOUND, ESTIMATE, Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.run_facts import RunFacts, find_path, ranks_text
from vtrace.analysis.findings.run_notes import UNNAMED
from vtrace.analysis.questions.allocation_blocks import STRETCHES, Growth, HeapBlocks, numbers_of
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Array, add_up
from vtrace.reasons import FLUSH

_LEAST_BYTES, _LEAST_CALLS = 1 << 16, STRETCHES
_OF_PEAK = 0.1
"""The least part of the largest heap that a leak has."""
_STEADY = 0.25
"""A stretch of the run has a leak if it adds at least this part of what a steady leak adds."""
_MOST, _PLACES = 3, 8
"""The most findings of leaks, and the most places that are examined for churn."""
_OFTEN = 100_000
"""The least calls of a place that allocates too often."""
_IN_USE = 0.01
"""At most this part of the allocated bytes is in use at once, or never freed, where blocks live short."""
_TIME = 0.1
"""The least share of the time of all threads that such calls take."""


@rule(
    FindingKind(
        "leak",
        "no time: [bytes](memory.md) that one call path allocates all through the run and that are never freed",
        is_loss=False,
        always=True,
        action="free each block when its data are no longer needed, or use it again",
    )
)
def leaks(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Blocks that are allocated again and again in one place and never freed. Memory that a program fills once and
    keeps is none: the blocks of the place must grow up to the end of the run."""
    facts, blocks = diagnosis.facts, diagnosis.blocks
    if blocks is None:
        return
    unknown = _with_gaps(facts) | {*blocks.processes["process"][blocks.processes["missing"] > 0].tolist()}
    peak_of = dict(zip(blocks.processes["process"].tolist(), blocks.processes["peak_bytes"].tolist(), strict=True))
    places: dict[tuple[int, Site | None, int], list[Growth]] = {}
    for one in blocks.growth:
        if one.process not in unknown and _is_leak(one, peak_of[one.process]):
            places.setdefault((one.path, one.site, one.size), []).append(one)
    for same in sorted(places.values(), key=lambda same: -sum(one.bytes for one in same))[:_MOST]:
        yield _leak(facts, blocks, same, sum(peak_of[one.process] for one in same))


def _with_gaps(facts: RunFacts) -> set[int]:
    """Processes with calls that the archive lacks, or that did not end by themselves."""
    table = facts.trace.not_recorded().intervals
    rows = facts.trace.definitions.ids["locations"].rows(table["location"][table["reason"].astype(str) != FLUSH])
    return {*facts.trace.places.process[rows[rows >= 0]].tolist()}


def _is_leak(one: Growth, peak: int) -> bool:
    """True if the blocks are many and large, and if they grow in most of the run and up to its end. The bytes in use
    must grow, too: a cache that replaces its entries has new ones at the end, but no more of them. The last stretch, in
    which programs free what they have used, does not count."""
    if one.calls < _LEAST_CALLS or one.bytes < max(_LEAST_BYTES, _OF_PEAK * peak):
        return False
    never_less = (np.minimum.accumulate(held[-2::-1])[::-1] for held in (one.kept, one.held, one.alike))
    growth = np.min([np.diff(held, prepend=0) for held in never_less], axis=0)
    grows = growth >= _STEADY * one.bytes / STRETCHES
    return bool(np.count_nonzero(grows) >= STRETCHES // 2 and grows[-STRETCHES // 4 :].any())


def _leak(facts: RunFacts, blocks: HeapBlocks, same: list[Growth], peak: int) -> Finding:
    path, site, size = same[0].path, same[0].site, same[0].size
    calls, held = sum(one.calls for one in same), sum(one.bytes for one in same)
    of_size = f"{calls:,} blocks of {size:,} bytes" if size else f"{calls:,} blocks with {held:,} bytes"
    heap = "the largest heap" if len(same) == 1 else "their largest heaps"
    text = (
        f"{block_place(facts, blocks, path, site or size)} allocates {of_size} that are never freed, all through the "
        f"run{_processes(facts, same)}: {held / peak:.0%} of {heap} ({peak:,} bytes)"
    )
    return facts.finding(
        "leak", 0, path, blocks.paths, locations=_locations(facts, same), share=held / peak, text=text,
        evidence=("profile", "--by", "allocation", "--sort", "never-freed"), **_found_by(site),
    )  # fmt: skip


def block_place(facts: RunFacts, blocks: HeapBlocks, path: int, caller: Site | int) -> str:
    """The call in a sentence. caller: the call site of a path without a function of the program; 1: unknown, 0: the
    path has one."""
    text = facts.call_text(blocks.paths, path)
    if isinstance(caller, Site):
        return f"{text} in {caller}"
    return f"{text}, called by {UNNAMED}," if caller else text


def _found_by(site: Site | None) -> dict[str, Any]:
    """The fields of a finding whose place a sample of allocations tells."""
    return {"certainty": ESTIMATE} | ({"source": site.source} if site.source else {}) if site else {}


def _locations(facts: RunFacts, same: list[Growth]) -> list[int]:
    return [facts.masters[one.process] for one in same if one.process in facts.masters]


def _processes(facts: RunFacts, same: list[Growth]) -> str:
    found = _locations(facts, same)
    return f", in {ranks_text(facts.trace, found)}" if found and facts.trace.processes.rows > 1 else ""


@rule(
    FindingKind(
        "churn",
        "time in malloc and the like, and in free, of a call path that allocates very often and frees again soon",
        action="allocate once outside of the loop, and use the memory again",
    )
)
def churn(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Call paths that allocate very often what they free again soon."""
    facts, blocks = diagnosis.facts, diagnosis.blocks
    if blocks is None or not blocks.by_path.rows:
        return
    table = blocks.by_path
    sites, known, number_of = numbers_of(blocks.sites)
    places = table["path"] * len(sites) + number_of[np.searchsorted(known, table["site"])]
    used, places = np.unique(places, return_inverse=True)
    columns = ("calls", "bytes", "never_freed_calls", "peak_bytes")
    calls, size, never, peak = (add_up(places, table[name], len(used)) for name in columns)
    of_path = add_up(table["path"], table["calls"], blocks.paths.rows)
    short = (calls >= _OFTEN) & (never <= _IN_USE * calls) & (peak <= _IN_USE * size)
    times = _times(facts)
    for place in np.argsort(-calls * short, kind="stable")[:_PLACES].tolist():
        path, site = int(used[place]) // len(sites), sites[int(used[place]) % len(sites)]
        share = calls[place] / max(1, of_path[path])
        time = int(times[find_path(facts, facts.names(path, blocks.paths))] * share)
        if not short[place] or time < _TIME * facts.whole:
            continue
        at_once = f"{peak[place]:,} bytes are in use at most"
        text = (
            f"{block_place(facts, blocks, path, site or 0)} allocates {calls[place]:,} blocks "
            f"({calls[place] / facts.elapsed * 1e9:,.0f} a second; {size[place]:,} bytes, of which {at_once}): these "
            f"calls and free take {span(time)} of all threads"
        )
        mine = [facts.masters[row] for row in np.unique(table["process"][places == place]) if row in facts.masters]
        yield facts.finding(
            "churn", time, path, blocks.paths, locations=mine, text=text,
            evidence=("profile", "--by", "allocation", "--sort", "calls"), **{"certainty": BOUND} | _found_by(site),
        )  # fmt: skip


def _times(facts: RunFacts) -> Array:
    """(facts.paths,) ns in the calls of each path, with those of free from the same caller, which its allocations share
    by their number."""
    n, regions = facts.numbers, facts.trace.regions
    rows = facts.paths.rows
    times = add_up(n["path"], n["exclusive"], rows)
    calls = add_up(n["path"], n["calls"], rows)
    roles = np.append(regions["role"].astype(str), "")[facts.paths["region"]]
    memory = np.append(regions["activity"] == ACTIVITIES.index("memory"), False)[facts.paths["region"]]
    frees = memory & (roles == "DEALLOCATE")
    parents = np.maximum(facts.paths["parent"], 0)
    of_free = add_up(parents[frees], times[frees], rows)[parents]
    allocations = np.where(memory & ~frees, calls, 0)
    shared = allocations / np.maximum(add_up(parents, allocations, rows)[parents], 1)
    found: Array = np.where(allocations > 0, times + of_free * shared, 0)
    return found
