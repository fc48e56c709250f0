# SPDX-License-Identifier: BSD-3-Clause
"""All that stands in one local file, in order and as plain values with names: what vtrace dump shows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

import _otf2
import numpy as np

from vtrace.errors import FormatError
from vtrace.io.common.enumerations import names_of
from vtrace.io.local import records as r
from vtrace.io.local.index import BLOCK_FORM
from vtrace.io.local.kernel import Kernel
from vtrace.io.local.local_files import LocalFile, Stream

FUNCTION_KINDS = ("FUNCTION_ENTER", "FUNCTION_LEAVE")
RECORD_KINDS = (*FUNCTION_KINDS, *r.KINDS)

_KINDS = {number: (name, words) for name, (number, words, _) in r.KINDS.items()}
_DEFINITIONS = {number: name for name, number in r.DEFINITIONS.items()}
COMM_KINDS = {number: name for name, number in r.COMM_KINDS.items()}
_CONTENTS = {r.EVENTS: "events", r.DEFINITION_DATA: "definitions", r.BUFFER: "buffer"}
_CLOCKS = {r.CLOCK_TSC: "TSC", r.CLOCK_CNTVCT: "CNTVCT", r.CLOCK_NANOSECONDS: "nanoseconds"}
_CODECS = {r.CODEC_RAW: "raw", r.CODEC_ZSTD: "zstd", r.CODEC_ZSTD_COLUMNS: "zstd-columns", r.CODEC_VARINT: "varint"}
_STATES = {r.CHUNK_FILLING: "filling", r.CHUNK_FULL: "full"}
_CLASSES = {
    value: name.removeprefix("CLASS_").lower()
    for name, value in vars(r).items()
    if name.startswith("CLASS_") and value & (value - 1) == 0
}
_PAYLOAD = {
    "TIME": "gap", "ENTER_ADDRESS": "address", "LEAVE_ADDRESS": "address", "LOST": "events", "LIMIT": "classes",
    "FLUSH": "duration", "THREAD": "thread", "SEND": "peer/tag bytes", "RECV": "peer/tag bytes",
    "ISEND": "peer/tag bytes request",
    "ISEND_COMPLETE": "request", "IRECV_REQUEST": "request", "IRECV": "peer/tag bytes request",
    "REQUEST_TEST": "request", "REQUEST_CANCELLED": "request", "COLL_END": "op/root sent received",
    "COLL_REQUEST": "request", "COLL_COMPLETE": "op/root sent received request", "METRIC": "value",
    "ATTRIBUTE": "value", "RMA_COLL_END": "op/root level sent received", "RMA_GROUP_SYNC": "level group",
    "RMA_REQUEST_LOCK": "peer/lock_type lock", "RMA_ACQUIRE_LOCK": "peer/lock_type lock",
    "RMA_TRY_LOCK": "peer/lock_type lock", "RMA_RELEASE_LOCK": "peer lock", "RMA_SYNC": "peer/sync_type",
    "RMA_PUT": "peer bytes matching", "RMA_GET": "peer bytes matching",
    "RMA_ATOMIC": "peer/atomic_type sent received matching", "RMA_COMPLETE_BLOCKING": "matching",
    "RMA_COMPLETE_NON_BLOCKING": "matching", "RMA_TEST": "matching", "RMA_COMPLETE_REMOTE": "matching",
    "IO_CREATE": "access/creation status", "IO_DUPLICATE": "new/status", "IO_SEEK": "asked whence offset",
    "IO_STATUS": "status", "IO_DELETE": "paradigm", "IO_BEGIN": "mode/flags bytes matching", "IO_ISSUED": "matching",
    "IO_TEST": "matching", "IO_COMPLETE": "bytes matching", "IO_CANCELLED": "matching",
    **dict.fromkeys(("IO_READ", "IO_WRITE", "IO_FLUSH", "IO_DONE"), "bytes"),
    "IO_ACQUIRE_LOCK": "lock_type", "IO_RELEASE_LOCK": "lock_type", "IO_TRY_LOCK": "lock_type",
    "ENTER_ALLOC": "bytes", "LEAVE_ALLOC": "block heap blocks", "ENTER_FREE": "block bytes heap blocks",
    "ENTER_REALLOC": "block old_bytes bytes", "HEAP": "heap blocks", "THREAD_FORK": "requested/nesting",
    "THREAD_JOIN": "nesting", "THREAD_TEAM_BEGIN": "entered/nesting joined", "THREAD_TEAM_END": "nesting",
    "THREAD_TASK_CREATE": "task/creator team", "THREAD_TASK_BEGIN": "task/creator team",
    "THREAD_TASK_END": "task/creator team/later next_task/next_creator", "THREAD_TEAM_JOINED": "joined",
    "REWOUND": "duration", "MARKER": "text",
    "COMMENT": "text", "USER_SEND": "tag bytes", "USER_RECV": "tag bytes",
    **dict.fromkeys(("THREAD_CREATE", "THREAD_BEGIN", "THREAD_END", "THREAD_WAIT"), "number"),
    "ACQUIRE_LOCK": "lock/order", "RELEASE_LOCK": "lock/order",
}  # fmt: skip
"""Names of the payload words, see VT_KINDS in format.h; low/high: the two numbers of a word that holds two."""
_ENUMERATIONS: dict[str, dict[int, str]] = {
    "op": names_of(_otf2.CollectiveOp), "lock_type": names_of(_otf2.LockType), "sync_type": names_of(_otf2.RmaSyncType),
    "atomic_type": names_of(_otf2.RmaAtomicType), "access": names_of(_otf2.IoAccessMode),
    "mode": names_of(_otf2.IoOperationMode), "whence": names_of(_otf2.IoSeekOption),
    "paradigm": {number: name for name, number in r.IO_PARADIGMS.items()},
}  # fmt: skip
_FLAGS: dict[str, dict[int, str]] = {
    "level": names_of(_otf2.RmaSyncLevel), "creation": names_of(_otf2.IoCreationFlag),
    "status": names_of(_otf2.IoStatusFlag), "flags": names_of(_otf2.IoOperationFlag),
}  # fmt: skip
"""Which payload is a number of OTF2 with a name, and which is a set of its flags."""
_COMM = "SEND RECV ISEND IRECV COLL_END COLL_COMPLETE COMM_CREATE COMM_DESTROY"
_REGION = "ENTER LEAVE ENTER_ALLOC LEAVE_ALLOC ENTER_FREE ENTER_REALLOC THREAD_FORK THREAD_JOIN THREAD_TEAM_END"
_REGION += " THREAD_TASK_BEGIN THREAD_TASK_END"
REFERS_TO = dict.fromkeys(FUNCTION_KINDS, "offset") | dict.fromkeys(_REGION.split(), "region")
REFERS_TO |= dict.fromkeys(_COMM.split(), "comm") | {"METRIC": "metric", "ATTRIBUTE": "attribute"}
REFERS_TO |= {"LOST": "reason", "LIMIT": "reason"}
REFERS_TO |= {"ACQUIRE_LOCK": "paradigm", "RELEASE_LOCK": "paradigm"}
REFERS_TO |= {name: "window" for name in r.KINDS if name.startswith("RMA_") and name != "RMA_COLL_BEGIN"}
REFERS_TO |= {name: "file" if name == "IO_DELETE" else "handle" for name in r.KINDS if name.startswith("IO_")}
REFERS_TO |= {"THREAD_TEAM_BEGIN": "team"}
REFERS_TO |= {"MARKER": "marker", "USER_SEND": "user_comm", "USER_RECV": "user_comm"}
"""What a record's id is, where it has one."""
_FIELDS = {
    "PROPERTY": "key value",
    "REGION": "id name paradigm role file line description",
    "MODULE": "slot start size bias path build_id ticks",
    "MODULE_END": "slot ticks",
    "COMM": "id kind parent tag hash count size rank remote",
    "COMM_MEMBERS": "id side first world ranks",
    "COMM_NAME": "id name",
    "LOCATION": "number thread name ticks",
    "METRIC": "id name unit type mode per_process",
    "CLOCK": "ticks mono real",
    "SUMMARY": "location records lost flushes flush_ticks off_ticks clamped last stopped",
    "ATTRIBUTE": "id name description type",
    "IO_FILE": "id path",
    "IO_HANDLE": "id name file paradigm flags comm parent access status",
    "RMA_WIN": "id comm count",
    "RMA_WIN_NAME": "id name",
    "GROUP": "id comm first ranks",
    "REGION_AT": "id name paradigm role address",
    "TEAM": "id location thread creator joined",
    "LOST": "location reason events",
    "CALL_SITE": "id addresses",
    "CLOCK_OFFSET": "ticks peer peer_ticks error",
    "TEXT": "id text",
    "MARKER": "id name severity",
    "NOTE": "text",
    "USER_COMM": "id name",
    "MEMBER": "of id group",
}
"""Names of the definitions' fields, see enum vt_definition in format.h."""


class Record(NamedTuple):
    """One record. kind: of RECORD_KINDS; id: of a function its offset in the code space; ticks: absolute (of TIME:
    after the gap); delta: ticks since the record before; words: the payload."""

    kind: str
    id: int
    ticks: int
    delta: int
    words: list[int]

    def payload(self) -> dict[str, Any]:
        """The payload by name. Enumerations have OTF2's names, flags are lists of them; None: no root, any peer,
        bytes that nobody knows. from_all: only where it is so."""
        found: dict[str, Any] = {}
        for names, word in zip(_PAYLOAD.get(self.kind, "").split(), self.words, strict=True):
            low, _, high = names.partition("/")
            from_all = low == "op" and word & r.FROM_ALL
            found[low] = _shown(low, (word & 0xFFFFFFFF if high else word) ^ from_all)
            if high:
                found[high] = _shown(high, word >> 32)
            if from_all:
                found["from_all"] = True
        return found


def head(file: LocalFile) -> dict[str, Any]:
    """The head of a file: FileHead's fields, its size, and how many blocks (of a buffer: chunks in use) it has."""
    known = {entry.name: getattr(file.head, entry.name) for entry in fields(file.head)}
    known |= {"content": _CONTENTS[file.head.content], "clock": _CLOCKS.get(file.head.clock, file.head.clock)}
    known |= {"pair": list(file.head.pair), "parent": list(file.head.parent) if file.head.parent else None}
    found: dict[str, Any] = plain({**known, "path": str(file.path), "bytes": file.size, "blocks": len(file.blocks)})
    return found


def rows(file: LocalFile) -> Stream:
    """The blocks of a file in order; the chunks of a buffer by location, definitions first."""
    order = np.lexsort((file.blocks["sequence"], file.blocks["location"], file.blocks["content"] == r.EVENTS))
    chunks = file.head.content == r.BUFFER
    return Stream(file.head.location, file.head.content, file.blocks[order] if chunks else file.blocks, [file], [])


def row(file: LocalFile, stream: Stream, number: int) -> dict[str, Any]:
    """The head of one block or chunk of a file; open: the enters of regions that are open when it begins."""
    entry = stream.index[number]
    at = int(entry["address"]) - file.base
    block = entry["form"] == BLOCK_FORM
    dtype = r.BLOCK if block else r.CHUNK
    read = np.frombuffer(file.read(at, dtype.itemsize), dtype)[0]
    found: dict[str, Any] = {"type": "block" if block else "chunk", "offset": at}
    found |= {"content": _CONTENTS[entry["content"]]}
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
        return Record("ENTER_ADDRESS", 0, 0, 0, [word & ~r.OPEN_ADDRESS])
    if word & r.FUNCTION:
        return Record("FUNCTION_ENTER", word & r.CODE_MASK, 0, 0, [])
    return Record("ENTER", word & r.ID_MAX, 0, 0, [])


def records(kernel: Kernel, stream: Stream, number: int) -> Iterator[Record]:
    """The records of one block or chunk. Raises FormatError (path, offset) for damage, after those before it."""
    now, at = int(stream.index[number]["ticks"]), 0
    words = kernel.words(stream, number).tolist()
    while at < len(words):
        what, delta = words[at] & 0xFFFFFFFF, words[at] >> 32
        now += delta
        if what & r.FUNCTION:
            yield Record(FUNCTION_KINDS[what & r.FUNCTION_LEAVE != 0], what & r.CODE_MASK, now, delta, [])
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
        yield Record(kind, what & r.ID_MAX, now, delta, payload)
        at += 1 + count


def definitions(kernel: Kernel, stream: Stream, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The definitions of one block or chunk: kind and fields. Raises FormatError (path, offset) for damage."""
    for array in kernel.definitions(replace(stream, index=stream.index[number : number + 1])):
        kind = _DEFINITIONS.get(array[0], "")
        names = _FIELDS.get(kind, "").split()
        if kind == "REGION" and len(array) == len(names):
            names.pop()  # a region need not have a description
        deep = any(isinstance(item, list) for value in array if isinstance(value, list) for item in value)
        if len(names) != len(array) - 1 or deep:
            problem = f"a definition ({kind}) has a wrong shape" if kind else f"unknown definition {array[0]}"
            raise FormatError(f"{_place(stream, number)}: {problem}")
        found = dict(zip(names, array[1:], strict=True))
        if kind in ("REGION", "REGION_AT"):
            found["paradigm"] = _named(names_of(_otf2.Paradigm), found["paradigm"])
            found["role"] = _named(names_of(_otf2.RegionRole), found["role"])
        elif kind == "COMM":
            found["kind"] = _named(COMM_KINDS, found["kind"])
        elif kind == "MARKER":
            found["severity"] = _named({number: name for name, number in r.MARKERS.items()}, found["severity"])
        elif kind == "LOST":
            found["reason"] = _named(r.LOST_REASONS, found["reason"])
        elif kind == "SUMMARY":
            found["stopped"] = _named(r.LOST_REASONS, found["stopped"])
        elif kind == "MEMBER":
            found["of"] = _named(_DEFINITIONS, found["of"])
        elif kind == "ATTRIBUTE":
            found["type"] = _named(names_of(_otf2.Type), found["type"])
        elif kind == "IO_HANDLE":
            found |= {key: _named(_ENUMERATIONS[key], found[key]) for key in ("paradigm", "access")}
            found["flags"] = _flags(names_of(_otf2.IoHandleFlag), found["flags"])
            found["status"] = _flags(_FLAGS["status"], found["status"])
        elif kind in ("COMM_MEMBERS", "GROUP") and isinstance(found["ranks"], bytes):
            found["ranks"] = np.frombuffer(found["ranks"][: len(found["ranks"]) & ~3], "<u4").tolist()
        elif kind == "CALL_SITE" and isinstance(found["addresses"], bytes):
            found["addresses"] = np.frombuffer(found["addresses"][: len(found["addresses"]) & ~7], "<u8").tolist()
        yield kind, plain(found)


def _shown(name: str, value: int) -> Any:
    """A number of a payload as people read it."""
    if name in ("peer", "root"):
        return None if value == r.NO_RANK else value
    if name in ("asked", "offset", "heap", "blocks"):
        return value - (1 << 64) if value >> 63 else value
    if name == "bytes":
        return None if value == r.IO_UNKNOWN else value
    if name == "classes":
        return ["all"] if value == r.CLASS_ALL else _flags(_CLASSES, value)
    if name in _FLAGS:
        return _flags(_FLAGS[name], value)
    return _named(_ENUMERATIONS.get(name, {}), value)


def _flags(names: dict[int, str], value: Any) -> Any:
    """The names of the bits that are set; the number itself when one has no name."""
    if type(value) is not int or value & ~sum(names):
        return value
    return [name for bit, name in names.items() if bit & value]


def _named(names: dict[int, str], value: Any) -> Any:
    return names.get(value, value) if isinstance(value, int) else value


def _place(stream: Stream, number: int) -> str:
    path, offset = stream.where(number)
    return f"{path}: in the {'chunk' if stream.index[number]['form'] else 'block'} at byte {offset}"


def plain(value: Any) -> Any:
    """value as JSON has it: bytes as hexadecimal digits, names that are no text with ? for what is not."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value
