# SPDX-License-Identifier: BSD-3-Clause
"""The tables of one process in a packed archive: the maps from its ids and ticks to the archive's, and the starts of
its locations. A table is a map of msgpack with columns as bytes; io/local/maps.py states each column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import msgpack
import numpy as np

from vtrace.io.common.arrays import Array
from vtrace.io.local.maps import POINTED, SAMPLED, Maps, SampleMaps
from vtrace.io.local.starts import OPEN_REGION, START, Starts
from vtrace.io.packed.container import packed, unpacked_map

_NUMBERS = ("unknown_region", "heap_attributes", "thread_comm", "is_forked")


@dataclass
class ProcessPart:
    """The tables of a process. Mappings are by the process's numbers of locations."""

    common: Maps
    samples: SampleMaps | None = None
    contexts: Mapping[int, Array] = field(default_factory=dict)
    user_peers: Mapping[int, Array] = field(default_factory=dict)
    starts: Mapping[int, Starts] = field(default_factory=dict)
    offsets: Mapping[int, Array] = field(default_factory=dict)
    """The byte of each start's block in the events of its location."""

    def data(self) -> bytes:
        """The part as bytes."""
        return packed(
            msgpack.packb(
                {
                    "common": _columns(self.common, POINTED) | {name: getattr(self.common, name) for name in _NUMBERS},
                    "samples": _columns(self.samples, SAMPLED) if self.samples else None,
                    "contexts": _lists(self.contexts, "<u4"),
                    "user_peers": _lists(self.user_peers, "<u4"),
                    "starts": [[n, one.rows.tobytes(), one.opens.tobytes()] for n, one in sorted(self.starts.items())],
                    "offsets": _lists(self.offsets, "<u8"),
                }
            )
        )


def read_part(data: bytes) -> ProcessPart:
    """The part in a frame of zstd. Raises ValueError, KeyError or TypeError if it is damaged."""
    found = unpacked_map(data)
    common, samples = found["common"], found["samples"]
    known: dict[str, Any] = {name: int(common[name]) for name in _NUMBERS}
    part = ProcessPart(
        common=Maps(**_read_columns(common, Maps, POINTED) | known),
        samples=None if samples is None else SampleMaps(**_read_columns(samples, SampleMaps, SAMPLED)),
        contexts=_read_lists(found["contexts"], np.dtype("<u4")),
        user_peers=_read_lists(found["user_peers"], np.dtype("<u4")),
        starts={
            int(number): Starts(np.frombuffer(rows, START), np.frombuffer(opens, OPEN_REGION))
            for number, rows, opens in found["starts"]
        },
        offsets=_read_lists(found["offsets"], np.dtype("<u8")),
    )
    _check(part)
    return part


def _columns(maps: Any, kinds: Mapping[str, np.dtype[Any]]) -> dict[str, Any]:
    """The columns that are not empty."""
    values = {one.name: getattr(maps, one.name) for one in fields(maps) if one.name in kinds}
    return {name: np.ascontiguousarray(v, kinds[name]).tobytes() for name, v in values.items() if len(v)}


def _read_columns(found: Mapping[str, bytes], of: type, kinds: Mapping[str, np.dtype[Any]]) -> dict[str, Any]:
    names = [one.name for one in fields(of) if one.name in kinds]
    return {name: np.frombuffer(found.get(name, b""), kinds[name]) for name in names}


def _lists(values: Mapping[int, Array], kind: str) -> list[list[Any]]:
    return [[number, np.ascontiguousarray(column, kind).tobytes()] for number, column in sorted(values.items())]


def _read_lists(found: list[list[Any]], kind: np.dtype[Any]) -> dict[int, Array]:
    return {int(number): np.frombuffer(column, kind) for number, column in found}


def _check(part: ProcessPart) -> None:
    """Raises ValueError for columns that do not fit each other; the kernel relies on these."""
    maps, samples = part.common, part.samples
    if np.any(maps.team_first > len(maps.team_members)):
        raise ValueError("teams")
    if samples is not None:
        first = samples.frame_first
        count = len(samples.frames)
        if count and (
            len(first) != count + 1 or np.any(first[1:] < first[:-1]) or first[-1] > len(samples.frame_steps)
        ):
            raise ValueError("samples")
        if len(samples.frame_kinds) != count or len(samples.frame_names) != count:
            raise ValueError("samples")
        if len(samples.generators) != len(samples.weights):
            raise ValueError("samples")
    for number, starts in part.starts.items():
        rows, offsets = starts.rows, part.offsets[number]
        if len(offsets) != len(rows) or np.any(rows["first"] + rows["depth"] > len(starts.opens)):
            raise ValueError("starts")
        if np.any(rows["first"] > len(starts.opens)) or np.any(rows["last"][1:] < rows["last"][:-1]):
            raise ValueError("starts")
