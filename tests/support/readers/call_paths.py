# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of calls by call path, as the Python API gives them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import vtrace as vtrace_api

Calls = Counter[tuple[int, str, tuple[str, ...]]]
"""By process, thread and call path."""


def calls(archive: Path) -> Calls:
    trace = vtrace_api.open(archive)
    tree, numbers = trace.call_tree()
    names, paths = trace.regions["name"].tolist(), [()]
    for parent, region in zip(tree["parent"].tolist()[1:], tree["region"].tolist()[1:], strict=True):
        paths.append((*paths[parent], names[region]))
    found: Calls = Counter()
    rows = (numbers[name].tolist() for name in ("location", "path", "calls"))
    for location, path, count in zip(*rows, strict=True):
        if paths[path][-1] != "(buffer flush)":  # vtrace's own
            place = int(trace.places.process[location]), str(trace.locations["name"][location])
            found[(*place, paths[path])] += count
    return found


def by_name(found: Calls) -> Counter[str]:
    named: Counter[str] = Counter()
    for (_, _, path), count in found.items():
        named[path[-1]] += count
    return named
