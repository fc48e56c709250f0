# SPDX-License-Identifier: BSD-3-Clause
"""What an archive says of the heap, with Score-P's names: attributes of its functions, and each process's sums."""

from __future__ import annotations

from vtrace.io.archive.writer import Attribute, Definitions, Metric, MetricClass

_UINT64 = 4  # OTF2_TYPE_UINT64
_ATTRIBUTES = (
    ("ALLOCATION_SIZE", "Allocation size"), ("DEALLOCATION_SIZE", "Deallocation size"),
    ("ARGUMENT_ADDRESS", "Address argument"), ("RESULT_ADDRESS", "Result of allocation"),
)  # fmt: skip
"""In the order of enum vt_heap_attribute."""
_METRICS = (
    Metric("Host Memory", "Memory of the process's heap in use", "bytes", "u", "ABSOLUTE_NEXT"),
    Metric("Live Blocks", "Blocks of the process's heap in use", "#", "u", "ABSOLUTE_NEXT"),
)


def add_heap(definitions: Definitions) -> int:
    """Adds attributes, metrics and, as the last one, their class; returns the first attribute's id."""
    first, metric = len(definitions.attributes), len(definitions.metrics)
    definitions.attributes += [Attribute(name, description, _UINT64) for name, description in _ATTRIBUTES]
    definitions.metrics += _METRICS
    definitions.metric_classes.append(MetricClass([metric, metric + 1], threads=False))
    return first
