# SPDX-License-Identifier: BSD-3-Clause
"""The heap in the archive, with Score-P's names: attributes of its functions, and each process's sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vtrace.io.archive.writer import Attribute, Definitions, Metric, MetricClass
from vtrace.io.local.kernel import UNMAPPED
from vtrace.unify.model.process import Process

_UINT64 = 4  # OTF2_TYPE_UINT64
_ATTRIBUTES = (
    ("ALLOCATION_SIZE", "Allocation size"), ("DEALLOCATION_SIZE", "Deallocation size"),
    ("ARGUMENT_ADDRESS", "Address argument"), ("RESULT_ADDRESS", "Result of allocation"),
)  # fmt: skip
"""The attributes, in the order of enum vt_heap_attribute."""
_METRICS = (
    Metric(
        name="Host Memory",
        description="Memory of the process's heap in use",
        unit="bytes",
        value_type="u",
        mode="ABSOLUTE_NEXT",
    ),
    Metric(
        name="Live Blocks",
        description="Blocks of the process's heap in use",
        unit="#",
        value_type="u",
        mode="ABSOLUTE_NEXT",
    ),
)


class HeapIds(NamedTuple):
    """The first attribute and the metric class of the heap."""

    attributes: int
    metric_class: int


class HeapStep:
    """Attributes, metrics and their class, added if any process has records of its heap."""

    def __init__(self, processes: Sequence[Process], definitions: Definitions) -> None:
        self._processes, self._definitions = processes, definitions

    def contribute(self) -> bool:
        return any(process.heap is not None for process in self._processes)

    def join(self, one: bool, other: bool) -> bool:
        return one or other

    def decide(self, everyone: bool) -> HeapIds:
        definitions = self._definitions
        if not everyone:
            return HeapIds(UNMAPPED, UNMAPPED)
        first, metric = len(definitions.attributes), len(definitions.metrics)
        definitions.attributes += [Attribute(name, description, _UINT64) for name, description in _ATTRIBUTES]
        definitions.metrics += _METRICS
        definitions.metric_classes.append(MetricClass([metric, metric + 1], threads=False))
        return HeapIds(first, len(definitions.metric_classes) - 1)
