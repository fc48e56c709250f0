# SPDX-License-Identifier: BSD-3-Clause
"""The table of vtrace profile --by allocation: the call paths that allocate memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.findings.allocation_callers import by_callers
from vtrace.analysis.questions.allocation_blocks import AllocationBlocks, HeapBlocks, has_blocks
from vtrace.analysis.questions.timeline_data import process_names, span
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array
from vtrace.console import some
from vtrace.reports.profile_sheets import ALL
from vtrace.reports.sheet import Column, Row, Sheet
from vtrace.reports.table_names import ALLOCATION_SORTS

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

_COLUMNS = [
    Column("never_freed_bytes", "never freed"), Column("never_freed_calls", "blocks", minor=True),
    Column("peak_bytes", "at peak"), Column("bytes", "bytes"), Column("calls", "calls"),
    Column("calls_per_s", "calls/s", "ratio", minor=True), Column("defined"), Column("callpath", "call path", "path"),
]  # fmt: skip
_SORTS = dict(zip(ALLOCATION_SORTS, ("never_freed_bytes", "peak_bytes", "bytes"), strict=True)) | {"calls": "calls"}
_HEAPS = 3
"""The most processes whose largest heap a line tells."""
NONE = "no allocations with addresses were recorded here: vtrace run --memory, or VT_MEMTRACE=yes with vtrace-cc"


def sheet(
    trace: Trace, window: Selection, patterns: Patterns, *, sort: str, most: int | None
) -> tuple[Sheet, list[str]]:
    """The call paths that allocate, and notes. sort: one of ALLOCATION_SORTS, calls or name; else never-freed."""
    made = Sheet(name="allocations", title="Allocations by call path", columns=_COLUMNS, rows=[])
    if not has_blocks(trace):
        return made, [NONE]
    question = AllocationBlocks()
    met = ask(trace, [question], Selection.of(window.start, window.stop))  # any thread may free a block
    blocks = question.answer()
    if blocks.is_full:
        return made, [blocks.full_text, *met.problems]
    chosen = np.unique(trace.places.process[window.rows(trace)])
    names = trace.regions["name"]
    kept = np.isin(blocks.by_path["process"], chosen) & patterns.paths(blocks.paths, names)[blocks.by_path["path"]]
    begin, end = window.ends(trace)
    seconds = max(end - begin, 1) / 1e9
    for (callpath, defined), row in by_callers(trace, blocks, blocks.by_path.take(kept)).items():
        known: Row = {"callpath": callpath, "defined": defined}
        made.rows.append(row | known | {"calls_per_s": row["calls"] / seconds})
    key = _SORTS.get(sort, "never_freed_bytes")
    made.rows.sort(key=lambda row: row["callpath"])
    if sort != "name":
        made.rows.sort(key=lambda row: (-row[key], -row["peak_bytes"]))
    made.notes += _heaps(trace, blocks, chosen)
    return made.cut(len(made.rows) if most is None else most, ALL), [*_notes(blocks, window), *met.problems]


def _heaps(trace: Trace, blocks: HeapBlocks, chosen: Array) -> Iterator[str]:
    """The largest heaps, the largest first: at peak are the blocks then."""
    rows = blocks.processes.take(np.isin(blocks.processes["process"], chosen)).order("peak_bytes")
    names = process_names(trace)
    for row in rows.take(slice(_HEAPS)).records():
        yield f"at peak: {names[row['process']]} has {row['peak_bytes']:,} bytes after {span(row['peak_ns'])}"
    if any(blocks.sites.values()):
        yield "the callers of a sample of the allocations are known, so numbers by caller are estimates"


def _notes(blocks: HeapBlocks, window: Selection) -> Iterator[str]:
    if window.start is not None or window.stop is not None:
        yield "a part of the run: blocks that are freed after it count as never freed"
    missing = int(np.count_nonzero(blocks.processes["missing"]))
    if missing:
        yield f"calls of free are missing in {some(missing, 'process')}: never freed is an upper bound there"
