# SPDX-License-Identifier: BSD-3-Clause
"""The whole content of one local file, in order and as plain values with names, for vtrace dump."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

import _otf2
import numpy as np

from vtrace.errors import FormatError
from vtrace.io.common.enumerations import names_of
from vtrace.io.common.schema import Value
from vtrace.io.local import records as r
from vtrace.io.local.index import BLOCK_FORM
from vtrace.io.local.kernel import Kernel
from vtrace.io.local.local_files import LocalFile, Stream
from vtrace.io.local.profiles import read_rows

FUNCTION_KINDS = ("FUNCTION_ENTER", "FUNCTION_LEAVE")
RECORD_KINDS = (*FUNCTION_KINDS, *r.KINDS)

_KINDS = {number: (name, words) for name, (number, words, _) in r.KINDS.items()}


def _by_number(enumeration: str) -> dict[int, str]:
    """The names of an enumeration's values: one of OTF2 (OTF2_LockType) or of format.h (vt_lost)."""
    if enumeration.startswith("OTF2_"):
        return names_of(getattr(_otf2, enumeration.removeprefix("OTF2_")))
    return {number: name for name, number in r.SCHEMA.enumerations[enumeration].items()}


_DEFINITIONS = _by_number("vt_definition")
COMM_KINDS = _by_number("vt_comm_kind")
_CONTENTS = {number: name.lower() for number, name in _by_number("vt_content").items()}
_BESIDE_EVENTS = {r.SAMPLES: "samples", r.PROFILE: "profile"}
"""Contents of blocks in files of events; as content of a file, 3 is the buffer."""
_CLOCKS = _by_number("vt_clock_kind") | {r.CLOCK_NANOSECONDS: "nanoseconds"}
_CODECS = {number: name.lower().replace("_", "-") for number, name in _by_number("vt_codec").items()}
_STATES = {number: name.lower() for number, name in _by_number("vt_chunk_state").items()}
_CLASSES = {number: name.lower() for number, name in _by_number("vt_class").items()}
_NAMES = {
    value.names: _by_number(value.names)
    for values in (*(word for words in r.PAYLOAD.values() for word in words), *r.DEFINITION_VALUES.values())
    for value in values
    if value.names
} | {"vt_class": _CLASSES}
"""The names of each enumeration that a payload or a definition refers to."""


class Record(NamedTuple):
    """One record. kind: of RECORD_KINDS; id: of a function its offset in the code space; ticks: absolute (of TIME:
    after the gap); delta: ticks since the previous record; words: the payload."""

    kind: str
    id: int
    ticks: int
    delta: int
    words: list[int]

    def payload(self) -> dict[str, Any]:
        """The payload by name. Values of enumerations are OTF2's names, flags are lists of names; None: no root, any
        peer, unknown bytes. from_all: only if True."""
        found: dict[str, Any] = {}
        for values, word in zip(r.PAYLOAD.get(self.kind, ()), self.words, strict=True):
            from_all = word & r.FROM_ALL if values[0].name == "op" else 0
            halves = (word & 0xFFFFFFFF ^ from_all, word >> 32) if len(values) > 1 else (word,)
            found |= {value.name: _shown(value, number) for value, number in zip(values, halves, strict=True)}
            if from_all:
                found["from_all"] = True
        return found


def head(file: LocalFile) -> dict[str, Any]:
    """The head of a file: FileHead's fields, the size, and the number of blocks (of a buffer: chunks in use)."""
    known = {entry.name: getattr(file.head, entry.name) for entry in fields(file.head)}
    known |= {"content": _CONTENTS[file.head.content], "clock": _CLOCKS.get(file.head.clock, file.head.clock)}
    known |= {"pair": list(file.head.pair), "parent": list(file.head.parent) if file.head.parent else None}
    found: dict[str, Any] = plain({**known, "path": str(file.path), "bytes": file.size, "blocks": len(file.blocks)})
    return found


def rows(file: LocalFile) -> Stream:
    """The blocks of a file in order; the chunks of a buffer by location: definitions, events, then the rest."""
    contents = np.select([file.blocks["content"] == r.DEFINITION_DATA, file.blocks["content"] == r.EVENTS], [0, 1], 2)
    order = np.lexsort((file.blocks["sequence"], file.blocks["location"], contents))
    chunks = file.head.content == r.BUFFER
    return Stream(
        location=file.head.location,
        content=file.head.content,
        index=file.blocks[order] if chunks else file.blocks,
        files=[file],
        problems=[],
    )


def row(file: LocalFile, stream: Stream, number: int) -> dict[str, Any]:
    """The head of one block or chunk of a file; open: the enters of the regions that are open at its start."""
    entry = stream.index[number]
    at = int(entry["address"]) - file.base
    block = entry["form"] == BLOCK_FORM
    dtype = r.BLOCK if block else r.CHUNK
    read = np.frombuffer(file.read(at, dtype.itemsize), dtype)[0]
    found: dict[str, Any] = {"type": "block" if block else "chunk", "offset": at}
    found |= {"content": _BESIDE_EVENTS.get(int(entry["content"])) or _CONTENTS[entry["content"]]}
    found |= {name: int(entry[name]) for name in ("location", "sequence", "thread", "records")}
    if block:
        found |= {"codec": _CODECS[entry["codec"]], "stored_bytes": int(entry["stored_bytes"])}
    else:
        found["state"] = _STATES.get(int(read["state"]), "free")
    classes = int(entry["classes"])
    known = [name for bit, name in _CLASSES.items() if classes & bit]
    found |= {"raw_bytes": int(entry["raw_bytes"]), "classes": ["unknown"] if classes == r.CLASS_ALL else known}
    found |= {"depth": int(entry["depth"]), "open": [_enter(int(word)) for word in read["open"][: read["nopen"]]]}
    found |= {"ticks": int(entry["ticks"]), "end_ticks": int(entry["end_ticks"]), "lost": int(entry["lost"])}
    found |= {"dropped": int(entry["dropped"])}
    return found | {"pair": [int(value) for value in entry["pair"]]}


def _enter(word: int) -> Record:
    if word & r.OPEN_ADDRESS:
        return Record("ENTER_ADDRESS", 0, ticks=0, delta=0, words=[word & ~r.OPEN_ADDRESS])
    if word & r.FUNCTION:
        return Record("FUNCTION_ENTER", word & r.CODE_MASK, ticks=0, delta=0, words=[])
    return Record("ENTER", word & r.ID_MAX, ticks=0, delta=0, words=[])


def records(kernel: Kernel, stream: Stream, number: int) -> Iterator[Record]:
    """The records of one block or chunk. Raises FormatError (path, offset) for damage, after those before it."""
    now, at = int(stream.index[number]["ticks"]), 0
    words = kernel.words(stream, number).tolist()
    while at < len(words):
        what, delta = words[at] & 0xFFFFFFFF, words[at] >> 32
        now += delta
        if what & r.FUNCTION:
            yield Record(
                FUNCTION_KINDS[what & r.FUNCTION_LEAVE != 0], what & r.CODE_MASK, ticks=now, delta=delta, words=[]
            )
            at += 1
            continue
        kind, count = _KINDS.get(what >> 24, ("", 0))
        payload = words[at + 1 : at + 1 + count]
        if not kind or what >> 21 & 7 != count or len(payload) < count:
            problem = f"unknown kind of record {what >> 24}" if not kind else "record of a wrong size"
            raise FormatError(f"{_place(stream, number)}, byte {8 * at} of its records: {problem}")
        if kind == "TIME":
            now += payload[0]
            delta += payload[0]
        yield Record(kind, what & r.ID_MAX, ticks=now, delta=delta, words=payload)
        at += 1 + count


def profile(kernel: Kernel, stream: Stream, number: int) -> Iterator[tuple[Record | None, dict[str, int]]]:
    """The rows of a profile in one block or chunk: the enter of the region (None: outside all regions), and the other
    members. Raises FormatError (path, offset) for damage."""
    for values in read_rows(kernel, replace(stream, index=stream.index[number : number + 1])).tolist():
        row = dict(zip(r.PROFILE_ROW.names or (), values, strict=True))
        low, high = (int(half) for half in row["squares"])
        what = row.pop("what")
        yield _enter(what) if what else None, row | {"squares": high << 64 | low}


def definitions(kernel: Kernel, stream: Stream, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The definitions of one block or chunk: kind and fields. Raises FormatError (path, offset) for damage."""
    for array in kernel.definitions(replace(stream, index=stream.index[number : number + 1])):
        kind = _DEFINITIONS.get(array[0], "")
        values = r.DEFINITION_VALUES.get(kind, ())
        if values and values[-1].is_later and len(array) == len(values):
            values = values[:-1]
        deep = any(isinstance(item, list) for value in array if isinstance(value, list) for item in value)
        if not values or len(values) != len(array) - 1 or deep:
            problem = f"a definition ({kind}) has a wrong shape" if kind else f"unknown definition {array[0]}"
            raise FormatError(f"{_place(stream, number)}: {problem}")
        yield kind, plain({value.name: _defined(value, item) for value, item in zip(values, array[1:], strict=True)})


def _defined(value: Value, item: Any) -> Any:
    """A value of a definition in readable form."""
    if value.type.endswith("[]"):
        size = int(value.type[1:-2]) // 8
        return np.frombuffer(item[: len(item) // size * size], f"<u{size}").tolist() if type(item) is bytes else item
    if value.is_flags:
        return _flags(_NAMES[value.names], item)
    return _named(_NAMES.get(value.names, {}), item)


def _shown(value: Value, number: int) -> Any:
    """A number of a payload in readable form."""
    if (value.type, number) in (("rank", r.NO_RANK), ("size", r.IO_UNKNOWN)):
        return None
    if value.type == "int":
        return number - (1 << 64) if number >> 63 else number
    if value.names == "vt_class" and number == r.CLASS_ALL:
        return ["all"]
    if value.is_flags:
        return _flags(_NAMES[value.names], number)
    return _named(_NAMES.get(value.names, {}), number)


def _flags(names: dict[int, str], value: Any) -> Any:
    """The names of the bits that are set; the number itself if a bit has no name."""
    if type(value) is not int or value & ~sum(names):
        return value
    return [name for bit, name in names.items() if bit & value]


def _named(names: dict[int, str], value: Any) -> Any:
    return names.get(value, value) if isinstance(value, int) else value


def _place(stream: Stream, number: int) -> str:
    path, offset = stream.where(number)
    return f"{path}: in the {'chunk' if stream.index[number]['form'] else 'block'} at byte {offset}"


def plain(value: Any) -> Any:
    """Converts value for JSON: bytes to hexadecimal digits; ? replaces parts of a name that are not valid text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value
