# SPDX-License-Identifier: BSD-3-Clause
"""Findings about memory that processes give back to the kernel and get again, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vtrace.analysis.activity import CLASS_OF, MPI
from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import BOUND, ESTIMATE, Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.memory_findings import block_place
from vtrace.analysis.findings.run_facts import RunFacts, locations_text
from vtrace.analysis.findings.run_notes import UNSEEN
from vtrace.analysis.findings.sampled_places import SampledPlace
from vtrace.analysis.questions.allocation_blocks import HeapBlocks, numbers_of
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Array, add_up

_LEAST = 0.05
"""The least share of the time of all threads."""
_AGAIN = 2
"""A process gets the same memory again if it takes so many times more page faults than it has pages at one time."""
_MOST_NS = 10_000
"""The most ns of a page fault: more time in the kernel has other causes."""
_TICK, _SURE = 1e7, 2
"""ns between two looks at a thread: the kernel's ticks, which tell its time in the kernel, and samples. The error of a
time is the square root of time and tick. The loss is so many errors above the least one."""
_MUCH = 0.15
"""A thread with this share of the loss is named."""
_FROM_KERNEL = 128 << 10
"""Bytes of a block from which on malloc may get the block from the kernel, and give it back at free."""
_PAGE = 4096
"""Bytes of the smallest pages."""
_MOST = 0.5
"""A place or a call path explains page faults if it has this part of them."""


@dataclass(frozen=True, kw_only=True)
class _Faults:
    """By location: page faults; ns in which the thread took them; the square of their error."""

    count: Array
    ns: Array
    error: Array
    pages: Array
    """The most pages of its process at one time."""
    is_sampled: Array
    """True: samples tell the time in system calls."""


@rule(
    FindingKind(
        "page_faults",
        "time in the kernel for page faults of processes that take more than twice as many as they have pages, mostly "
        "since they give [memory](memory.md) back and get it again",
        action="allocate the memory once, and use it again",
    )
)
def page_faults(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The page faults of processes that get the same memory again and again. Only the sums of the run are known."""
    facts = diagnosis.facts
    faults = _faults(facts) if facts.window.start is facts.window.stop is None else None
    if faults is None:
        return
    loss = float(faults.ns.sum())
    if loss - _SURE * np.sqrt(faults.error.sum()) < _LEAST * facts.whole:
        return
    rows = np.flatnonzero(faults.ns >= _MUCH * loss).tolist() or np.flatnonzero(faults.ns).tolist()
    who, count = locations_text(facts.trace, rows), int(faults.count[rows].sum())
    _, firsts = np.unique(facts.trace.places.process[rows], return_index=True)
    pages = int(faults.pages[rows][firsts].sum())
    text = f"{who} take{'s' * (len(rows) == 1)} {count:,} page faults"
    text += f" with at most {pages:,} pages in memory at one time: {span(int(loss))} in the kernel"
    where, values = _place(diagnosis, faults)
    yield facts.finding(
        "page_faults", round(loss), 0, locations=rows, text=text + where, culprit=who,
        certainty=ESTIMATE if faults.is_sampled[rows].all() else BOUND, **values,
    )  # fmt: skip


def _faults(facts: RunFacts) -> _Faults | None:
    """The page faults of processes that get memory again; None: there are none, or not known."""
    trace, known = facts.trace, facts.trace.coverage()
    process, rows = trace.places.process, facts.rows
    count = np.maximum(0, known["minor_faults"]) + np.maximum(0, known["major_faults"])
    of_process, pages = np.zeros((2, trace.processes.rows + 1))
    np.add.at(of_process, process, count)
    np.maximum.at(pages, process, known["resident"])
    again = (pages > 0) & (of_process > _AGAIN * pages)
    again[-1] = False
    mine = np.zeros(trace.locations.rows, bool)
    mine[rows] = again[process[rows]]
    if not mine.any():
        return None
    settings = trace.vtrace.get("SETTINGS", {})
    by_time = trace.contexts.rows > 0 and settings.get("VT_SAMPLE_CLOCK", "cpu") == "cpu"
    system, calls = (np.nan_to_num(known[name]) * 1e9 * mine for name in ("system", "in_calls"))
    is_sampled = by_time & (calls > 0)  # 0: unknown, as where processors tell the handler nothing about system calls
    calls = np.where(is_sampled, calls, _in_calls(facts) * mine)
    ns = np.clip(system - calls, 0, count * _MOST_NS)
    error = np.where(ns > 0, (system + calls) * _TICK, 0)
    return _Faults(count=count * mine, ns=ns, error=error, pages=pages[process], is_sampled=is_sampled)


def _in_calls(facts: RunFacts) -> Array:
    """(locations,) ns in recorded calls of I/O and MPI, which may be in the kernel for other causes."""
    n = facts.numbers.take((facts.io | facts.waiting | (CLASS_OF[facts.activity] == MPI))[facts.numbers["path"]])
    return add_up(n["location"], n["exclusive"], facts.trace.locations.rows)


def _place(diagnosis: Diagnosis, faults: _Faults) -> tuple[str, dict[str, Any]]:
    """Words about the place of most page faults, and the fields of the finding. Large blocks of malloc show it if they
    have as many pages, and samples."""
    blocks, count = diagnosis.blocks, int(faults.count.sum())
    if blocks and blocks.by_path.rows and (found := _large_blocks(diagnosis.facts, blocks, count)):
        return found
    if place := _sampled_place(diagnosis.facts, float(faults.ns.sum())):
        values = {"region": place.names[-1], "source": place.source, "callpath": place.names}
        return f", most of it in {place.text}", values | {"evidence": ("profile", "--by", "line")}
    return f", in {UNSEEN}", {}


def _sampled_place(facts: RunFacts, loss: float) -> SampledPlace | None:
    """The function with most page faults, by samples of them, or by samples of time, unless these show that all other
    code, which may have few of the page faults, takes more time than half of the loss."""
    place = facts.sampled.longer((), facts.rows, []) if facts.sampled else None
    if place is None or facts.costs is None:
        return None
    if any("fault" in str(name) for name in facts.trace.interrupt_generators["name"]):
        return place
    samples = facts.costs.samples.take(np.isin(facts.costs.samples["location"], facts.rows))
    others = float((samples["count"] * samples["ns"]).sum()) - place.ns * len(facts.rows)
    error = float(np.sqrt(max(0.0, others) * _TICK))
    return place if others - _SURE * error <= (1 - _MOST) * loss else None


def _large_blocks(facts: RunFacts, blocks: HeapBlocks, count: int) -> tuple[str, dict[str, Any]] | None:
    """As _place, of the call path with the most bytes in blocks that malloc gets from the kernel; None: too few."""
    table = blocks.by_path
    sites, known, number_of = numbers_of(blocks.sites)
    places = table["path"] * len(sites) + number_of[np.searchsorted(known, table["site"])]
    used, places = np.unique(places, return_inverse=True)
    calls, size = (add_up(places, table[name], len(used)) for name in ("calls", "bytes"))
    size = np.where(size >= _FROM_KERNEL * calls, size, 0)
    place = int(np.argmax(size))
    path, site = int(used[place]) // len(sites), sites[int(used[place]) % len(sites)]
    if size[place] < _MOST * count * _PAGE:
        return None
    text = (
        f"; {block_place(facts, blocks, path, site or 0)} allocates {calls[place]:,} blocks with {size[place]:,} "
        "bytes, which free gives back to the kernel (MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 keeps them)"
    )
    values = {
        "region": facts.region(path, blocks.paths), "callpath": facts.names(path, blocks.paths),
        "source": site.source if site else facts.source(path, blocks.paths),
        "evidence": ("profile", "--by", "allocation"),
    }  # fmt: skip
    return text, values
