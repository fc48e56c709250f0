# SPDX-License-Identifier: BSD-3-Clause
"""The meaning of ids and addresses in a process's records, record by record, for vtrace dump."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import _otf2
import numpy as np

from vtrace.io.common.enumerations import names_of
from vtrace.io.local.listing import COMM_KINDS, FUNCTION_KINDS, Record, plain
from vtrace.io.local.records import CODE_MASK, FRAME_OWN, FRAME_PYTHON, LOST_REASONS, OPEN_ADDRESS, REFERS_TO
from vtrace.io.local.samples import ENDS, Sample
from vtrace.symbols.modules import Place, places
from vtrace.symbols.symbols import Symbols
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import ProcessDefinitions
from vtrace.unify.model.python_frames import PythonFrames

_TYPES: dict[object, str] = {"u": "<u8", "i": "<i8", "f": "<f8"}
_TYPES |= enumerate(("<u1", "<u2", "<u4", "<u8", "<i1", "<i2", "<i4", "<i8", "<f4", "<f8"), 1)
"""The type of a value in its word, from the lowest byte on, by a metric's type or an attribute's (OTF2_Type)."""
UNKNOWN = "?"


class Labels:
    """The names of one process, from its definitions and, for functions, from symbols."""

    def __init__(self, definitions: ProcessDefinitions, symbols: Symbols) -> None:
        self._known, self._symbols = definitions, symbols
        self._places: dict[tuple[str, int], Place] = {}
        self._bare: dict[tuple[str, int], dict[str, Any]] = {}
        self._python = PythonFrames(definitions.python_codes)

    def learn(self, process: Process) -> Collection[Place]:
        """Returns the places of all functions that the process called, for Symbols.resolve."""
        for scan in process.contents.scans.values():
            found = places(self._known.modules, scan.functions, scan.addresses)
            keys = [("offset", n) for n in scan.functions.tolist()] + [("address", n) for n in scan.addresses.tolist()]
            self._places |= dict(zip(keys, found, strict=True))
        return self._places.values()

    def of(self, record: Record) -> dict[str, Any]:
        """Returns the id by the kind of object that it refers to, the name (UNKNOWN if unknown) and the payload.

        Functions have at: file name and address in the file, which is also the name of a function without a symbol.
        """
        if record.words:
            return self._of(record)
        key = record.kind, record.id
        if key not in self._bare:  # most records are enters and leaves of few regions
            self._bare[key] = self._of(record)
        return self._bare[key]

    def _of(self, record: Record) -> dict[str, Any]:
        if record.kind in FUNCTION_KINDS:
            return {"offset": record.id} | self._function("offset", record.id)
        refers, payload = REFERS_TO.get(record.kind), record.payload()
        if "address" in payload:
            return payload | self._function("address", payload["address"])
        if refers is None:
            return payload | (self._text(payload["text"]) if record.kind == "COMMENT" else {})
        if refers in ("metric", "attribute"):
            payload = {"value": plain(self._value(refers, record.id, payload["value"]))}
        if record.kind == "MARKER":
            payload |= self._text(payload["text"])
        return {refers: record.id, "name": plain(self._name(refers, record.id) or UNKNOWN)} | payload

    def learn_frames(self, frames: Collection[int]) -> Collection[Place]:
        """Like learn, for frames of samples. Returns the places that were not known before."""
        keys = {self._frame(frame) for frame in frames if not frame & FRAME_PYTHON} - self._places.keys()
        offsets = sorted(number for what, number in keys if what == "offset")
        addresses = sorted(number for what, number in keys if what == "address")
        found = places(self._known.modules, np.array(offsets, np.uint32), np.array(addresses, np.uint64))
        named = [("offset", n) for n in offsets] + [("address", n) for n in addresses]
        self._places |= dict(zip(named, found, strict=True))
        return found

    def of_sample(self, sample: Sample) -> dict[str, Any]:
        """Returns the values of a sample. stack: names of the functions, innermost first; at: their places in files;
        own: indexes of the frames of vtrace; counters: by name, only of a sample that has any."""
        stack = [self._of_frame(frame) for frame in sample.frames]
        known = {"ticks": sample.ticks, "weight": sample.weight, "overruns": sample.overruns, "end": ENDS[sample.end]}
        own = [i for i, frame in enumerate(sample.frames) if frame & FRAME_OWN]
        known |= {"stack": [s["name"] for s in stack], "at": [s["at"] for s in stack], "own": own}
        groups = [(self._known.metric_groups.get(number), values) for number, values in sample.counters]
        read = {
            name: value for group, values in groups if group for name, value in zip(group.names, values, strict=False)
        }
        return known | ({"counters": read} if sample.counters else {})

    def _of_frame(self, frame: int) -> dict[str, Any]:
        if not frame & FRAME_PYTHON:
            return self._function(*self._frame(frame))
        found = self._python.of(frame)
        at = f"{os.path.basename(found.file or '')}:{found.line}"
        return {"name": plain(found.function.name), "at": plain(at)}

    @staticmethod
    def _frame(frame: int) -> tuple[str, int]:
        if frame & OPEN_ADDRESS:
            return "address", frame & ~(OPEN_ADDRESS | FRAME_OWN)
        return "offset", frame & CODE_MASK

    def _function(self, what: str, number: int) -> dict[str, Any]:
        place = self._places.get((what, number))
        if place is None:
            offsets = np.array([number] if what == "offset" else [], np.uint32)
            addresses = np.array([number] if what == "address" else [], np.uint64)
            place = self._places[what, number] = places(self._known.modules, offsets, addresses)[0]
        at = f"{os.path.basename(place.file[0])}+{place.address:#x}" if place.file else f"{place.address:#x}"
        function = self._symbols.functions.get(place)
        return {"name": plain(function.name if function else at), "at": plain(at)}

    def _text(self, number: int) -> dict[str, Any]:
        return {"text": plain(self._known.texts.get(number, UNKNOWN))}

    def _value(self, what: str, number: int, word: int) -> Any:
        definition = (self._known.metrics if what == "metric" else self._known.attributes).get(number)
        dtype = _TYPES.get(definition.type, "<u8") if definition else "<u8"
        return np.frombuffer(word.to_bytes(8, "little"), dtype)[0].item()

    def _name(self, what: str, number: int) -> str | None:
        known = self._known
        if what in ("reason", "paradigm"):
            return (LOST_REASONS if what == "reason" else names_of(_otf2.Paradigm)).get(number)
        if what == "comm":
            kind = COMM_KINDS.get(known.comms[number].kind) if number in known.comms else None
            return known.comm_names.get(number) or (f"MPI_COMM_{kind}" if kind in ("WORLD", "SELF") else kind)
        if what == "metric_group":
            return ",".join(known.metric_groups[number].names) if number in known.metric_groups else None
        if what == "window":
            names = known.window_names | {n: window.name for n, window in known.device_windows.items()}
            return names.get(number) or (f"window {number}" if number in known.windows else None)
        if what in ("file", "user_comm"):
            return (known.files if what == "file" else known.user_comms).get(number)
        if what == "team":
            return f"team {number}" if any(team == number for team, _ in known.teams) else None
        tables: dict[str, dict[int, Any]] = {
            "region": known.regions_at | known.regions,
            "metric": known.metrics, "attribute": known.attributes, "handle": known.handles,
            "marker": known.markers,
        }  # fmt: skip
        named = tables[what].get(number)
        return str(named.name) if named else None
