# SPDX-License-Identifier: BSD-3-Clause
"""Who allocates memory: sums of the blocks by the names of their call paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.call_sites import sites_of
from vtrace.analysis.findings.run_facts import path_source
from vtrace.analysis.questions.allocation_blocks import HeapBlocks
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.table import Table, group

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

Path = tuple[str, ...]
_NUMBERS = ("calls", "bytes", "never_freed_calls", "never_freed_bytes", "peak_bytes")
_PATHS, _SHARE = 3000, 2000
"""The most call paths of a peak, and the least part of the peak: one in so many."""


def by_callers(trace: Source, blocks: HeapBlocks, table: Table) -> dict[tuple[Path, str], dict[str, Any]]:
    """The sums of rows of blocks.by_path by the names of the call path, with the functions of its site, and by the
    file:line of the innermost function."""
    names, strings = trace.regions["name"], trace.definitions.strings
    found: dict[tuple[Path, str], dict[str, Any]] = {}
    for row in _joined(table).records():
        path, calls = row["path"], sites_of(strings.get(row["site"], ""))
        callpath = (*(call.function for call in reversed(calls)), *path_names(blocks.paths, names, path))
        sums = found.setdefault(
            (callpath, calls[0].source if calls else _defined(trace, blocks.paths, path)), dict.fromkeys(_NUMBERS, 0)
        )
        for name in _NUMBERS:
            sums[name] += row[name]
    return found


def _joined(table: Table) -> Table:
    """The sums over all processes."""
    first, member = group([table["path"], table["site"]])
    sums: dict[str, Any] = {name: table[name][first] for name in ("path", "site")}
    for name in _NUMBERS:
        sums[name] = np.zeros(len(first), np.int64)
        np.add.at(sums[name], member, table[name])
    return Table(sums)


def _defined(trace: Source, paths: Table, path: int) -> str:
    """file:line of the innermost function with a known line."""
    while path > 0:
        if found := path_source(trace, paths, path):
            return found
        path = int(paths["parent"][path])
    return ""


def peak_paths(trace: Source, blocks: HeapBlocks) -> dict[Path, tuple[int, int]]:
    """The bytes in use when each process's heap is largest, and the calls of all blocks, by call path, callers before
    those that they call; of () in all. Empty if nothing was in use."""
    found: dict[Path, tuple[int, int]] = {}
    for (callpath, _), row in by_callers(trace, blocks, blocks.by_path).items():
        for depth in range(len(callpath) + 1) if row["peak_bytes"] else ():
            size, calls = found.get(callpath[:depth], (0, 0))
            found[callpath[:depth]] = size + row["peak_bytes"], calls + row["calls"]
    largest = sorted(found, key=lambda path: (-found[path][0], path))[:_PATHS]
    kept = [path for path in largest if found[path][0] * _SHARE >= found[()][0]]
    return {path: found[path] for path in sorted(kept, key=lambda path: (len(path), path))}
