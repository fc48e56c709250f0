# SPDX-License-Identifier: BSD-3-Clause
"""Merges equal metrics, attributes and strings of all processes, and adds those of the heap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vtrace.io.archive.writer import FIRST_STRING, Attribute, Definitions, Metric, MetricClass
from vtrace.io.local.kernel import UNMAPPED
from vtrace.unify.merge.steps import EqualStep
from vtrace.unify.model.id_tables import table, types
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import LocalAttribute, LocalMetric, MetricGroup

_MODES = {"a": "ACCUMULATED_START", "p": "ABSOLUTE_POINT", "n": "ABSOLUTE_NEXT"}
_TYPES = {"u": 4, "i": 8, "f": 10}  # OTF2_TYPE_UINT64, INT64, DOUBLE
_ATTRIBUTE_TYPES = {*range(1, 12), 14, 17, 19, 23, 24}
"""Numbers of OTF2_Type; references to strings, regions, communicators, windows, I/O files and I/O handles."""
_HEAP_ATTRIBUTES = (
    ("ALLOCATION_SIZE", "Allocation size"), ("DEALLOCATION_SIZE", "Deallocation size"),
    ("ARGUMENT_ADDRESS", "Address argument"), ("RESULT_ADDRESS", "Result of allocation"),
)  # fmt: skip
"""The attributes of heap functions, with Score-P's names, in the order of enum vt_heap_attribute."""
_HEAP_METRICS = [
    Metric(name=name, description=f"{what} of the process's heap in use", unit=unit, mode="ABSOLUTE_NEXT")
    for name, what, unit in (("Host Memory", "Memory", "bytes"), ("Live Blocks", "Blocks", "#"))
]


class MetricStep(EqualStep[LocalMetric | MetricGroup]):
    """Classes of metrics: each single metric has a class of its own, and each group."""

    def own(self, process: Process) -> dict[int, LocalMetric | MetricGroup]:
        return {**process.definitions.metrics, **process.definitions.metric_groups}

    def define(self, keys: Sequence[LocalMetric | MetricGroup]) -> None:
        numbers: dict[Metric, int] = {}
        for key in keys:
            occurrence = "SYNCHRONOUS" if isinstance(key, MetricGroup) and key.at_calls else "ASYNCHRONOUS"
            members = [numbers.setdefault(metric, len(numbers)) for metric in _metrics(key)]
            self._definitions.metric_classes.append(MetricClass(members, occurrence=occurrence))
        self._definitions.metrics = [*numbers]

    def fill(self, keys: Sequence[LocalMetric | MetricGroup]) -> None:
        """Sets the metrics of this rank's processes."""
        for builder, ids in self.ids(keys):
            maps, process = builder.maps, builder.process
            maps.metrics = table(ids)
            maps.metric_types = types({n: _TYPES[getattr(key, "type", "u")] for n, key in self.own(process).items()})
            groups = process.definitions.metric_groups
            maps.metric_sizes = types({local: len(group.names) for local, group in groups.items()})


def _metrics(key: LocalMetric | MetricGroup) -> list[Metric]:
    if isinstance(key, LocalMetric):
        return [Metric(name=key.name, unit=key.unit, value_type=key.type, mode=_MODES[key.mode])]
    members = zip(key.names, key.descriptions, key.units, key.modes, strict=True)
    return [Metric(name=n, description=d, unit=u, mode=_MODES[mode]) for n, d, u, mode in members]


class AttributeStep(EqualStep[LocalAttribute]):
    """Attributes of events, without types that the kernel does not know."""

    def own(self, process: Process) -> dict[int, LocalAttribute]:
        return {local: a for local, a in process.definitions.attributes.items() if a.type in _ATTRIBUTE_TYPES}

    def define(self, keys: Sequence[LocalAttribute]) -> None:
        self._definitions.attributes = [Attribute(*attribute) for attribute in keys]

    def fill(self, keys: Sequence[LocalAttribute]) -> None:
        """Sets the attributes of this rank's processes."""
        for builder, ids in self.ids(keys):
            builder.maps.attributes = table(ids)
            own = self.own(builder.process)
            builder.maps.attribute_types = types({local: attribute.type for local, attribute in own.items()})


class StringStep(EqualStep[str]):
    """Texts that events refer to."""

    def own(self, process: Process) -> dict[int, str]:
        return process.definitions.texts

    def define(self, keys: Sequence[str]) -> None:
        self._definitions.strings = [*keys]

    def fill(self, keys: Sequence[str]) -> None:
        """Sets the strings of this rank's processes."""
        for builder, own in self.ids(keys):
            builder.maps.strings = table({local: FIRST_STRING + number for local, number in own.items()})


class HeapIds(NamedTuple):
    """The first attribute and the metric class of the heap."""

    attributes: int
    metric_class: int


class HeapStep:
    """Attributes, metrics and their class, added if any process has records of its heap."""

    def __init__(self, processes: Sequence[Process], definitions: Definitions) -> None:
        self._processes, self._definitions = processes, definitions

    def contribute(self) -> bool:
        return any(process.place.heap is not None for process in self._processes)

    def join(self, one: bool, other: bool) -> bool:
        return one or other

    def decide(self, everyone: bool) -> HeapIds:
        definitions = self._definitions
        if not everyone:
            return HeapIds(UNMAPPED, UNMAPPED)
        first, metric = len(definitions.attributes), len(definitions.metrics)
        definitions.attributes += [Attribute(name, description, _TYPES["u"]) for name, description in _HEAP_ATTRIBUTES]
        definitions.metrics += _HEAP_METRICS
        definitions.metric_classes.append(MetricClass([metric, metric + 1], threads=False))
        return HeapIds(first, len(definitions.metric_classes) - 1)
