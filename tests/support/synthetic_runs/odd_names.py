# SPDX-License-Identifier: BSD-3-Clause
"""Names with control characters, markup and separators, for every kind of name in a trace."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path

import _otf2

from support.damage.damaged_archives import PROPERTIES
from support.synthetic_runs.archives import UNDEFINED, Foreign

TERMINAL = "\x1b[31m\x1b]0;owned\x07\b\r\n\t\v\x7f\x85\x9b31m\u202e\u2066\u2028"
"""ESC, OSC with BEL, backspace, line ends, tabs, DEL, NEL, C1's CSI, two that change the direction of text, and
Unicode's line separator."""
PAGE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&lt;\"'`${x}@TITLE@"
ODD = f"{TERMINAL}{PAGE},;|\\\udcff\udced\udca0\udc80é"
"""TERMINAL, PAGE, separators, a byte that is not UTF-8, and a surrogate encoded like UTF-8."""
STRING, UINT64 = 11, 4


def odd(label: str) -> str:
    """A name that begins with label."""
    return label + ODD


def odd_archive(where: Path, more: int = 0) -> Path:
    """Writes an archive of two ranks with calls, messages, collectives, I/O, the heap, counters, windows and markers,
    all with odd names. more: number of additional calls, for a second archive to compare with. Returns the directory.
    """
    archive = Foreign(where)
    about = {key: odd(value) if isinstance(value, str) else value for key, value in PROPERTIES["ABOUT"].items()}
    about["command"] = [odd("./heat"), odd("100")]
    coverage = PROPERTIES["COVERAGE"] | {"complete": True, "shortfalls": [], "lost": 0, "lost_by": {}}
    settings = {"VT_FILE_PREFIX": odd("heat"), odd("VT_X"): odd("1")}
    values = PROPERTIES | {"ABOUT": about, "COVERAGE": coverage, "SETTINGS": settings}
    for name, value in values.items():
        _otf2.Archive_SetProperty(archive.archive, f"VTRACE::{name}", json.dumps(value), True)
    _otf2.Archive_SetCreator(archive.archive, odd("creator").encode(errors="surrogateescape").decode(errors="replace"))
    events = [_events(rank, more) for rank in range(2)]
    for rank in range(2):
        archive.events(rank, events[rank])
    archive.begin_definitions()
    _places(archive, len(events[0]))
    _calls(archive)
    _objects(archive)
    _markers(archive)
    return archive.close().parent


def _events(rank: int, more: int) -> list[tuple[object, ...]]:
    """Events of each kind whose names a command shows."""
    types, values = [_otf2.TYPE_UINT64], [_otf2.MetricValue(unsigned_int=5 + more)]
    send = ("MpiSend", 1, 0, 7, 100) if rank == 0 else ("MpiRecv", 0, 0, 7, 100)
    inner = [
        ("Enter", 1), send, ("Leave", 1), ("Enter", 2), ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 3, 0, 0, 8, 8),
        ("Leave", 2), ("Enter", 3), ("IoCreateHandle", 0, 0, 0, 0), ("IoOperationBegin", 0, 1, 0, 100 + more, 1),
        ("IoOperationComplete", 0, 100 + more, 1), ("IoDestroyHandle", 0), ("Leave", 3), ("Metric", 0, types, values),
        ("Metric", 1, types, values), ("RmaPut", 0, 1 - rank, 64, 1), ("RmaOpCompleteRemote", 0, 1),
        ("ParameterString", 0, 0), ("Enter", 4), ("Leave", 4), *[("Enter", 4), ("Leave", 4)] * more,
    ]  # fmt: skip
    return [(10 * at, *event) for at, event in enumerate([("Enter", 0), *inner, ("Leave", 0)])]


def _places(archive: Foreign, events: int) -> None:
    archive.define("ClockProperties", 10**9, 0, 10**4, 2**64 - 1)
    archive.define("SystemTreeNode", 0, odd("machine"), odd("class"), UNDEFINED)
    archive.define("SystemTreeNode", 1, odd("host"), odd("node"), 0)
    archive.define("SystemTreeNodeProperty", 1, odd("node property"), STRING, archive.text(odd("node value")))
    for rank in range(2):
        archive.define("LocationGroup", rank, odd(f"process {rank}"), 1, 1, UNDEFINED)
        archive.define("LocationGroupProperty", rank, odd("group property"), STRING, archive.text(odd("group value")))
        archive.define("Location", rank, odd(f"thread {rank}"), 1, events, rank)
        archive.define("LocationProperty", rank, odd("location property"), STRING, archive.text(odd("value")))


def _calls(archive: Foreign) -> None:
    archive.define("Paradigm", 200, odd("paradigm"), 0)
    kinds = ((0, "main", 1, 2), (1, "MPI_Send", 27, 4), (2, "MPI_Bcast", 28, 4), (3, "write", 35, 22), (4, "f", 2, 200))
    for number, name, role, paradigm in kinds:
        texts = (odd(name), odd(f"canonical {name}"), odd("description"))
        archive.define("Region", number, *texts, role, paradigm, 0, odd("file.c"), number + 1, 99)
    archive.define("SourceCodeLocation", 0, odd("source.c"), 7)
    archive.define("CallingContext", 0, 1, 0, UNDEFINED)
    archive.define("Attribute", 0, odd("attribute"), odd("described"), UINT64)
    archive.define("Parameter", 0, odd("parameter"), 0)


def _objects(archive: Foreign) -> None:
    archive.define("Group", 0, odd("group"), 4, 4, 0, [0, 1])
    archive.define("Group", 1, odd("members"), 5, 4, 0, [0, 1])
    archive.define("Comm", 0, odd("communicator"), 1, UNDEFINED, 0)
    archive.define("RmaWin", 0, odd("window"), 0, 0)
    archive.define("IoParadigm", 0, odd("identification"), odd("POSIX"), 0, 0, 0, None, None, None)
    archive.define("IoRegularFile", 0, odd("/data/file"), 1)
    archive.define("IoFileProperty", 0, odd("file property"), STRING, archive.text(odd("file value")))
    archive.define("IoHandle", 0, odd("handle"), 0, 0, 0, 0, UNDEFINED)
    for number, (name, unit) in enumerate((("counter", "unit"), ("Host Memory", "bytes"))):
        archive.define("MetricMember", number, odd(name), odd("described"), 0, 2, UINT64, 0, 0, odd(unit))
        archive.define("MetricClass", number, [number], 0, 0)


def _markers(archive: Foreign) -> None:
    write = archive.library["OTF2_MarkerWriter_WriteDefMarker"]
    write.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint8]
    mark = archive.library["OTF2_MarkerWriter_WriteMarker"]
    mark.argtypes = [
        ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint8, ctypes.c_uint64,
        ctypes.c_char_p,
    ]  # fmt: skip
    writer = _otf2.Archive_GetMarkerWriter(archive.archive)
    group, category, text = (os.fsencode(odd(label)) for label in ("tool", "category", "remark"))
    assert write(writer, 0, group, category, 3) == 0
    assert mark(writer, 55, 0, 0, 0, 2**64 - 1, text) == 0
    _otf2.Archive_CloseMarkerWriter(archive.archive, writer)
