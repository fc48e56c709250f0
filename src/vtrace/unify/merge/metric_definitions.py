# SPDX-License-Identifier: BSD-3-Clause
"""Merges equal metrics, attributes and strings of all processes."""

from __future__ import annotations

from collections.abc import Sequence

from vtrace.io.archive.writer import FIRST_STRING, Attribute, Definitions, Metric, MetricClass
from vtrace.unify.merge.dedup import EqualStep
from vtrace.unify.model.id_tables import Ids, Types, table, types
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import LocalAttribute, LocalMetric

_MODES = {"a": "ACCUMULATED_START", "p": "ABSOLUTE_POINT", "n": "ABSOLUTE_NEXT"}
_TYPES = {"u": 4, "i": 8, "f": 10}  # OTF2_TYPE_UINT64, INT64, DOUBLE
_ATTRIBUTE_TYPES = {*range(1, 12), 14, 17, 19, 23, 24}
"""Numbers of OTF2_Type; references to strings, regions, communicators, windows, I/O files and I/O handles."""


class MetricStep(EqualStep[LocalMetric]):
    """Metrics, each with a class of its own."""

    def __init__(self, processes: Sequence[Process], definitions: Definitions) -> None:
        super().__init__(processes, lambda process: process.definitions.metrics)
        self._definitions = definitions

    def define(self, keys: Sequence[LocalMetric]) -> None:
        self._definitions.metrics = [Metric(m.name, "", m.unit, m.type, _MODES[m.mode]) for m in keys]
        self._definitions.metric_classes = [MetricClass([number]) for number in range(len(keys))]

    def maps(self, keys: Sequence[LocalMetric]) -> list[tuple[Ids, Types]]:
        """Returns for each of this rank's processes OTF2's ids and types, by its own ids."""
        return [
            (table(ids), types({local: _TYPES[metric.type] for local, metric in self.own(process).items()}))
            for process, ids in zip(self.processes, self.ids(keys), strict=True)
        ]


def _attributes(process: Process) -> dict[int, LocalAttribute]:
    """The attributes of a process, without types that the kernel does not know."""
    return {local: a for local, a in process.definitions.attributes.items() if a.type in _ATTRIBUTE_TYPES}


class AttributeStep(EqualStep[LocalAttribute]):
    """Attributes of events."""

    def __init__(self, processes: Sequence[Process], definitions: Definitions) -> None:
        super().__init__(processes, _attributes)
        self._definitions = definitions

    def define(self, keys: Sequence[LocalAttribute]) -> None:
        self._definitions.attributes = [Attribute(*attribute) for attribute in keys]

    def maps(self, keys: Sequence[LocalAttribute]) -> list[tuple[Ids, Types]]:
        """Returns for each of this rank's processes OTF2's ids and types, by its own ids."""
        return [
            (table(ids), types({local: attribute.type for local, attribute in self.own(process).items()}))
            for process, ids in zip(self.processes, self.ids(keys), strict=True)
        ]


class StringStep(EqualStep[str]):
    """Texts that events refer to."""

    def __init__(self, processes: Sequence[Process], definitions: Definitions) -> None:
        super().__init__(processes, lambda process: process.definitions.texts)
        self._definitions = definitions

    def define(self, keys: Sequence[str]) -> None:
        self._definitions.strings = [*keys]

    def maps(self, keys: Sequence[str]) -> list[Ids]:
        """Returns for each of this rank's processes OTF2's ids, by its own ids."""
        return [table({local: FIRST_STRING + number for local, number in own.items()}) for own in self.ids(keys)]
