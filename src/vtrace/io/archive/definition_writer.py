# SPDX-License-Identifier: BSD-3-Clause
"""Writes the global definitions of an archive in Score-P's order: a definition comes before its references."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import product
from typing import Any

import _otf2

from vtrace.io.archive.definitions import FIRST_STRING, IO_PARADIGMS, UNDEFINED, Definitions, Group, plain_text
from vtrace.io.common.enumerations import names_of
from vtrace.io.local import kernel


class _Strings:
    """Writes each string once, before the definition that names it."""

    def __init__(self, writer: Any, first: Sequence[str]) -> None:
        self._writer = writer
        self._ids: dict[str, int] = {}
        self._next = 0
        self[""]  # id 0
        for number, text in enumerate(first, FIRST_STRING):  # events refer to these
            self._ids[text] = number
            _otf2.GlobalDefWriter_WriteString(writer, number, plain_text(text))
        self._next += len(first)

    def __getitem__(self, text: str) -> int:
        known = self._ids.get(text)
        if known is None:
            known = self._ids[text] = self._next
            self._next += 1
            _otf2.GlobalDefWriter_WriteString(self._writer, known, plain_text(text))
        return known

    def optional(self, text: str | None) -> int:
        return UNDEFINED if text is None else self[text]


_AXES = "xyz"
_PARADIGM_CLASSES = {3: "THREAD_FORK_JOIN", 4: "PROCESS", 5: "ACCELERATOR", 7: "THREAD_CREATE_WAIT", 19: "ACCELERATOR"}
_VALUE_TYPES = {"u": "UINT64", "i": "INT64", "f": "DOUBLE"}


def write_definitions(writer: Any, definitions: Definitions) -> None:
    """Writes all definitions to an OTF2_GlobalDefWriter, in the order that readers need. Raises _otf2.Error."""
    d = definitions
    _otf2.GlobalDefWriter_WriteClockProperties(writer, d.resolution, d.offset, d.length, d.realtime)
    strings = _Strings(writer, d.strings)
    _write_paradigms(writer, strings, d)
    _write_system(writer, strings, d)
    for number, region in enumerate(d.regions):
        _otf2.GlobalDefWriter_WriteRegion(
            writer, number, strings[region.name], strings[region.canonical], strings[region.description],
            _otf2.RegionRole(region.role), _otf2.Paradigm(region.paradigm), _otf2.REGION_FLAG_NONE,
            strings.optional(region.file), region.line, region.end_line,
        )  # fmt: skip
    for number, group in enumerate(d.comm_groups):
        _write_group(writer, strings, number, group)
    for number, comm in enumerate(d.comms):
        parent = UNDEFINED if comm.parent is None else comm.parent
        flags = _otf2.CommFlag(comm.flags)
        _otf2.GlobalDefWriter_WriteComm(writer, number, strings[comm.name], comm.group, parent, flags)
    _write_grids(writer, strings, d)
    for number, window in enumerate(d.windows):
        flags = _otf2.RMA_WIN_FLAG_CREATE_DESTROY_EVENTS
        _otf2.GlobalDefWriter_WriteRmaWin(writer, number, strings[window.name], window.comm, flags)
    _write_metrics(writer, strings, d)
    for number, group in enumerate(d.named_groups, len(d.comm_groups)):
        _write_group(writer, strings, number, group)
    for number, attribute in enumerate(d.attributes):
        name, description = strings[attribute.name], strings[attribute.description]
        _otf2.GlobalDefWriter_WriteAttribute(writer, number, name, description, _otf2.Type(attribute.type))
    _write_io(writer, strings, d)
    _write_contexts(writer, strings, d)


def _write_group(writer: Any, strings: _Strings, number: int, group: Group) -> None:
    kind = getattr(_otf2, f"GROUP_TYPE_{group.kind}")
    members = [int(member) for member in group.members]
    _otf2.GlobalDefWriter_WriteGroup(
        writer, number, strings[group.name], kind, _otf2.Paradigm(group.paradigm), _otf2.GROUP_FLAG_NONE, members
    )


def _write_paradigms(writer: Any, strings: _Strings, d: Definitions) -> None:
    used = {region.paradigm for region in d.regions} | {group.paradigm for group in d.comm_groups}
    for number in sorted(used & _PARADIGM_CLASSES.keys()):
        paradigm = _otf2.Paradigm(number)
        name = strings[names_of(_otf2.Paradigm)[number]]
        kind = getattr(_otf2, f"PARADIGM_CLASS_{_PARADIGM_CLASSES[number]}")
        _otf2.GlobalDefWriter_WriteParadigm(writer, paradigm, name, kind)
    for number, (identification, title, io_class, io_flag) in enumerate(IO_PARADIGMS if d.files or d.handles else ()):
        words = strings[identification], strings[title]
        kind, flag = getattr(_otf2, f"IO_PARADIGM_CLASS_{io_class}"), getattr(_otf2, f"IO_PARADIGM_FLAG_{io_flag}")
        _otf2.GlobalDefWriter_WriteIoParadigm(writer, number, *words, kind, flag, [], [], [])


def _write_system(writer: Any, strings: _Strings, d: Definitions) -> None:
    for number, node in enumerate(d.nodes):
        parent = UNDEFINED if node.parent is None else node.parent
        name, class_name = strings[node.name], strings[node.class_name]
        _otf2.GlobalDefWriter_WriteSystemTreeNode(writer, number, name, class_name, parent)
        if node.domain:
            domain = getattr(_otf2, f"SYSTEM_TREE_DOMAIN_{node.domain}")
            _otf2.GlobalDefWriter_WriteSystemTreeNodeDomain(writer, number, domain)
    for number, process in enumerate(d.groups):
        kind = getattr(_otf2, f"LOCATION_GROUP_TYPE_{process.type}")
        early = process.creator is not None and process.creator < number  # readers require this order
        creator = process.creator if early else UNDEFINED
        _otf2.GlobalDefWriter_WriteLocationGroup(writer, number, strings[process.name], kind, process.node, creator)
        own = {} if process.creator is None or early else {"VTRACE::CREATOR": d.groups[process.creator].name}
        for key, text in (own | process.properties).items():
            value = _otf2.AttributeValue(stringRef=strings[text])
            _otf2.GlobalDefWriter_WriteLocationGroupProperty(writer, number, strings[key], _otf2.TYPE_STRING, value)
    for number, location in enumerate(d.locations):
        kind = getattr(_otf2, f"LOCATION_TYPE_{location.type}")
        name = strings[location.name]
        _otf2.GlobalDefWriter_WriteLocation(writer, number, name, kind, location.events, location.group)
        for key, value in location.properties.items():
            if isinstance(value, str):
                of_text = _otf2.AttributeValue(stringRef=strings[value])
                _otf2.GlobalDefWriter_WriteLocationProperty(writer, number, strings[key], _otf2.TYPE_STRING, of_text)
            else:
                of_number = _otf2.AttributeValue(uint64=value)
                _otf2.GlobalDefWriter_WriteLocationProperty(writer, number, strings[key], _otf2.TYPE_UINT64, of_number)


def _write_metrics(writer: Any, strings: _Strings, d: Definitions) -> None:
    for number, metric in enumerate(d.metrics):
        mode = getattr(_otf2, f"METRIC_{metric.mode}")
        value_type = getattr(_otf2, f"TYPE_{_VALUE_TYPES[metric.value_type]}")
        _otf2.GlobalDefWriter_WriteMetricMember(
            writer, number, strings[metric.name], strings[metric.description], _otf2.METRIC_TYPE_OTHER, mode,
            value_type, _otf2.BASE_DECIMAL, 0, strings[metric.unit],
        )  # fmt: skip
    for number, known in enumerate(d.metric_classes):
        kind = _otf2.RECORDER_KIND_CPU if known.threads else _otf2.RECORDER_KIND_UNKNOWN
        occurrence = getattr(_otf2, f"METRIC_{known.occurrence}")
        _otf2.GlobalDefWriter_WriteMetricClass(writer, number, list(known.metrics), occurrence, kind)


def _write_io(writer: Any, strings: _Strings, d: Definitions) -> None:
    for number, file in enumerate(d.files):
        _otf2.GlobalDefWriter_WriteIoRegularFile(writer, number, strings[file.path], file.node)
    for number, handle in enumerate(d.handles):
        flags = _otf2.IoHandleFlag(handle.flags)
        file_id, comm, parent = (UNDEFINED if x is None else x for x in (handle.file, handle.comm, handle.parent))
        name = strings[handle.name]
        _otf2.GlobalDefWriter_WriteIoHandle(writer, number, name, file_id, handle.paradigm, flags, comm, parent)
        if handle.state is not None:
            mode, status = _otf2.IoAccessMode(handle.state[0]), _otf2.IoStatusFlag(handle.state[1])
            _otf2.GlobalDefWriter_WriteIoPreCreatedHandleState(writer, number, mode, status)


def _write_grids(writer: Any, strings: _Strings, d: Definitions) -> None:
    """Writes topologies with their dimensions, and the coordinates of each rank."""
    first = 0
    for number, grid in enumerate(d.grids):
        numbers = [*range(first, first + len(grid.lengths))]
        first += len(numbers)
        for axis, length in enumerate(grid.lengths):
            name = strings[_AXES[axis] if axis < len(_AXES) else f"dimension {axis + 1}"]
            periodic = _otf2.CART_PERIODIC_TRUE if grid.periodic[axis] else _otf2.CART_PERIODIC_FALSE
            _otf2.GlobalDefWriter_WriteCartDimension(writer, numbers[axis], name, length, periodic)
        name = strings[d.comms[grid.comm].name]
        _otf2.GlobalDefWriter_WriteCartTopology(writer, number, name, grid.comm, numbers)
        for rank, place in enumerate(product(*map(range, grid.lengths))):
            _otf2.GlobalDefWriter_WriteCartCoordinate(writer, number, rank, [*place])


def _write_contexts(writer: Any, strings: _Strings, d: Definitions) -> None:
    for number, (file, line) in enumerate(d.source_lines):
        _otf2.GlobalDefWriter_WriteSourceCodeLocation(writer, number, strings[file], line)
    for number, generator in enumerate(d.generators):
        mode, exponent = _otf2.INTERRUPT_GENERATOR_MODE_TIME, -9
        if generator.counts:
            mode, exponent = _otf2.INTERRUPT_GENERATOR_MODE_COUNT, 0
        _otf2.GlobalDefWriter_WriteInterruptGenerator(
            writer, number, strings[generator.name], mode, _otf2.BASE_DECIMAL, exponent, generator.period
        )
    if d.contexts is not None:
        code = kernel.write_contexts(
            ctypes.cast(writer, ctypes.c_void_p).value or 0, d.contexts.regions, d.contexts.lines, d.contexts.parents
        )
        if code:
            raise _otf2.Error(_otf2.ErrorCode(code))
