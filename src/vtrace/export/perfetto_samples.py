# SPDX-License-Identifier: BSD-3-Clause
"""Samples as packets of Perfetto: PerfSample, as Linux perf has them, with the call stacks as interned data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.stacks import SampleStacks
from vtrace.analysis.questions.timeline_data import label
from vtrace.analysis.table import Array
from vtrace.export import protobuf as pb

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_AT_ONCE = 1 << 18
"""The number of samples that are encoded together."""
_PACKET, _TIMESTAMP, _SAMPLE = 1, 8, 66
"""Trace.packet; fields of TracePacket."""
_PID, _TID, _CALLSTACK, _MODE = 2, 3, 4, 5
"""Fields of PerfSample."""
_USER_MODE = 2
"""Profiling.CpuMode"""
_FUNCTIONS, _FRAMES, _CALLSTACKS, _PATHS, _MAPPINGS = 5, 6, 7, 17, 19
"""Fields of InternedData."""
_SEQUENCE = pb.field(10, 1)  # TracePacket.trusted_packet_sequence_id


class SampleWriter:
    """Encodes the samples of a trace. A call path is a callstack with the path's number, a region is a frame with the
    region's row + 1. All frames belong to one mapping, since Perfetto requires a mapping."""

    def __init__(self, trace: Source, stacks: dict[int, SampleStacks]) -> None:
        self._trace = trace
        self._paths, numbers = trace.context_paths
        unknown = len(self._paths) + 1
        self._number = np.append(numbers, unknown).astype(np.int64)
        """(contexts + 1,) the callstack of each context; the last stands for undefined contexts."""
        met = [np.unique(self._number[found.contexts]) for found in stacks.values()]
        self._met = np.unique(np.concatenate([np.empty(0, np.int64), *met]))
        self._time = max((int(found.times.max(initial=0)) for found in stacks.values()), default=0)

    def interned(self) -> bytes:
        """The InternedData of all samples: functions, frames, callstacks. Frames of a callstack: outermost first."""
        chains = [self._regions(number) for number in self._met.tolist()]
        names = self._trace.regions["name"]
        parts = [pb.field(_PATHS, pb.field(1, 1) + pb.field(2, "program"))]
        parts.append(pb.field(_MAPPINGS, pb.field(1, 1) + pb.field(7, 1)))
        for region in sorted({region for chain in chains for region in chain}):
            function = pb.field(1, region + 1) + pb.field(2, label(str(names[region])))
            frame = pb.field(1, region + 1) + pb.field(2, region + 1) + pb.field(3, 1)
            parts += [pb.field(_FUNCTIONS, function), pb.field(_FRAMES, frame)]
        for number, chain in zip(self._met.tolist(), chains, strict=True):
            frames = b"".join(pb.field(2, region + 1) for region in chain)
            parts.append(pb.field(_CALLSTACKS, pb.field(1, number) + frames))
        return b"".join(parts)

    def _regions(self, number: int) -> list[int]:
        """The regions of a call path, outermost first."""
        found = []
        while 0 < number <= len(self._paths):
            found.append(int(self._paths["region"][number - 1]))
            number = int(self._paths["parent"][number - 1])
        return found[::-1] or [self._trace.regions.rows - 1]

    def packets(self, found: SampleStacks, pid: int, tid: int) -> Iterator[memoryview]:
        """The packets of the samples of a thread."""
        time, most = pb.width(max(self._time, 1)), pb.width(int(self._met[-1]))
        for at in range(0, len(found.times), _AT_ONCE):
            times, contexts = found.times[at : at + _AT_ONCE], found.contexts[at : at + _AT_ONCE]
            rows = len(times)
            thread = pb.field(_PID, pid) + pb.field(_TID, tid) + pb.field(_MODE, _USER_MODE)
            inside: list[Array] = [pb.constant(thread, rows), pb.row_field(_CALLSTACK, most, self._number[contexts])]
            head = [pb.row_field(_TIMESTAMP, time, np.maximum(times, 0)), pb.constant(_SEQUENCE, rows)]
            yield np.ascontiguousarray(pb.message(_PACKET, [*head, pb.message(_SAMPLE, inside)])).data
