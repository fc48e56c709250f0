# SPDX-License-Identifier: BSD-3-Clause
"""Damaged archives: changes values, properties or bytes of a good archive, reproducibly for each seed."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import _otf2
import numpy as np

from support.readers.otf2_headers import EVENTS
from support.synthetic_runs.archives import UNDEFINED, Foreign
from vtrace.io.local.records import checksum
from vtrace.io.sidecar import sidecar

NUMBERS = [0, 1, 2, 3, 7, 255, 2**16, 2**22 - 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 2**48, 2**63 - 1, 2**63,
           2**64 - 2, 2**64 - 1]  # fmt: skip
TEXTS = [b"", b"\xff\xfe\x80", b"\x1b[31m\x07", b"a\nb", b"\xe2\x80\xae", b"x" * 5000, b"9" * 5000]
JSON = [None, True, -1, 0, 1e308, float("nan"), float("inf"), 2**64, "", "x", "\x1b]0;x\x07", "\ud800", [], [None],
        [[1]], {}, {"x": {"y": []}}, 10**400]  # fmt: skip
PROPERTIES: dict[str, Any] = {
    "ABOUT": {
        "command": ["./heat", "100"], "executable": "/opt/heat", "directory": "/home/u", "user": "u", "run": "52" * 16,
        "prefix": "heat", "recorded_by": "vtrace 0.1.0", "unified_by": "vtrace 0.1.0", "unified_on": "node1",
        "clock": "rdtsc", "start": 1_700_000_000_000_000_000, "ranks": 2, "processes": 2, "missing_ranks": "",
        "shim.mpi": "MPICH 4.2",
    },
    "SETTINGS": {"VT_MAX_FLUSHES": "1"},
    "LOOPS": [
        {"number": 0, "outer": None, "region": 0, "file": "a.c", "first": 1, "last": 9, "level": 1, "kind": "for",
         "lines": [2]},
        {"number": 1, "outer": 0, "region": 0, "file": "a.c", "first": 3, "last": 4, "level": 2, "kind": "do",
         "lines": [3]},
    ],
    "INLINED": [{"into": "main", "name": "chemistry", "loop": True, "bytes": 90}],
    "EVENTS": {"Enter": 16, "Leave": 16},
    "COVERAGE": {
        "complete": False, "shortfalls": ["3 events lost"], "seconds": 1e-4, "flushed": 0.0, "off": 0.0, "lost": 3,
        "clamped": 0, "limit": 0, "died": 0, "dropped": 0, "lost_by": {"SIGNAL": 3},
    },
    "CLOCKS": {
        "count": 2, "reference": "node1", "compared": 1, "measured": 4, "error_ns": 300,
        "bounds": [{"host": "node2", "measured": 4, "error_ns": 300}],
        "repair": {"messages": 4, "reversed_messages": 1, "collectives": 2, "reversed_collectives": 0, "most_ns": 9,
                   "left": 0, "corrections": 1, "largest_ns": 9, "unsure": 0},
    },
    "USER": {"messages": 2, "unmatched": 1},
    "SAMPLES_IN": "vtrace/samples",
    "SAMPLES_OF": "0f" * 16,
}  # fmt: skip
"""Values of the properties VTRACE::NAME that vtunify writes into an archive."""


class Mutant(Foreign):
    """An archive with wrong values. rate: probability of a wrong value."""

    def __init__(self, directory: Path, random: Random, rate: float) -> None:
        super().__init__(directory)
        self.random, self.rate = random, rate

    def _call(self, name: str, head: Sequence[Any], values: Sequence[Any]) -> None:
        values = [self._other(value) if self.random.random() < self.rate else value for value in values]
        function = self.library[f"OTF2_{name}"]
        kinds = [ctypes.c_void_p if value is None or not isinstance(value, int) else ctypes.c_uint64 for value in head]
        function.argtypes = [*kinds, *self.types[name]]
        function(*head, *values)  # OTF2 itself refuses some values

    def _other(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return self.random.choice(TEXTS)
        return self.random.choice(NUMBERS) if isinstance(value, int) and not isinstance(value, bool) else value

    def properties(self, texts: dict[str, str]) -> None:
        """Writes properties of vtunify."""
        for name, text in texts.items():
            _otf2.Archive_SetProperty(self.archive, f"VTRACE::{name}", text, True)

    def markers(self) -> None:
        """Writes a marker of each scope."""
        writer = _otf2.Archive_GetMarkerWriter(self.archive)
        _otf2.MarkerWriter_WriteDefMarker(writer, 0, "vtrace", "recording stopped", _otf2.SEVERITY_HIGH)
        for time, scope, reference in ((5, _otf2.MARKER_SCOPE_GLOBAL, 2**64 - 1), (9, _otf2.MARKER_SCOPE_LOCATION, 1)):
            number = self._other(reference) if self.random.random() < self.rate else reference
            moment = self._other(time) if self.random.random() < self.rate else time
            _otf2.MarkerWriter_WriteMarker(writer, moment, 0, 0, scope, number, "a remark")
        _otf2.Archive_CloseMarkerWriter(self.archive, writer)


def rich(archive: Foreign) -> Path:
    """Writes all kinds of events repeatedly, and the definitions that most events refer to. Returns the directory."""
    for location in range(2):
        events, time = [], 0
        for turn in range(8):
            events.append((time, "Enter", turn % 3, {0: 100 + turn}))
            for callback in EVENTS:
                if callback.name not in ("Unknown", "Enter", "Leave"):
                    time += 1
                    values = [(7 * i + turn) % 4 for i in range(len(callback.arguments))]
                    events.append((time, callback.name, *values))
            events.append((time + 1, "Leave", turn % 3))
            time += 2
        archive.events(location, events)
    archive.begin_definitions()
    archive.machine(groups=2, length=10**5)
    for location in range(2):
        archive.location(location, location)
    for number, (role, paradigm) in enumerate(((1, 1), (27, 22), (35, 22), (28, 4))):
        archive.region(number, f"region {number}", role, paradigm)
    archive.define("Group", 0, "", 4, 4, 0, [0, 1])
    archive.define("Group", 1, "", 5, 4, 0, [0, 1])
    archive.define("Comm", 0, "world", 1, UNDEFINED, 0)
    archive.define("InterComm", 2, "between", 1, 1, 0, 0)
    archive.define("Attribute", 0, "ALLOCATION_SIZE", "", 4)
    archive.define("IoRegularFile", 0, "file", 0)
    archive.define("IoHandle", 0, "handle", 0, 0, 0, UNDEFINED, UNDEFINED)
    archive.define("MetricMember", 0, "Host Memory", "", 0, 0, 4, 0, 0, "bytes")
    archive.define("MetricClass", 0, [0], 0, 0)
    archive.define("MetricInstance", 1, 0, 0, 0, 0)
    archive.define("CallingContext", 1, 1, UNDEFINED, UNDEFINED)
    archive.define("RmaWin", 0, "window", 0, 0)
    for name, value in (("LOST", 3), ("RECORDED_NS", 10**5), ("STOPPED", 1), ("LOST_SIGNAL", 3)):
        archive.define("LocationProperty", 0, f"VTRACE::{name}", 4, value)
    return archive.close().parent


def property_texts(random: Random | None = None) -> dict[str, str]:
    """Texts of the properties; with random, a part of one property is wrong."""
    texts = {name: json.dumps(value) for name, value in PROPERTIES.items()}
    if random:
        name = random.choice(sorted(texts))
        texts[name] = json.dumps(_changed(PROPERTIES[name], random))
        if random.random() < 0.1:
            texts[name] = random.choice([texts[name][:20], "", "[" * 9000, "NaN", "-", '{"count": 1e999}'])
    return texts


def _changed(value: Any, random: Random) -> Any:
    """The value with one part, or all of it, replaced or left out."""
    if not isinstance(value, dict | list) or not value or random.random() < 0.15:
        return random.choice(JSON)
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    key = random.choice(sorted(copy) if isinstance(copy, dict) else range(len(copy)))
    if random.random() < 0.15:
        del copy[key]
    else:
        copy[key] = _changed(copy[key], random)
    return copy


def damaged(data: bytes, random: Random) -> bytes:
    """The bytes of a file with random damage."""
    at = random.randrange(len(data) + 1) if random.random() < 0.5 else min(len(data), random.randrange(200))
    more = random.choice([random.randbytes(random.randint(1, 8)), b"\xff" * 8, b"\x80", bytes(8)])
    what = random.choice(["cut", "set", "set", "set", "flip", "flip", "insert", "remove"])
    if what == "flip" and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
    return data[:at] + {"cut": b"", "remove": data[at + len(more) :], "insert": more + data[at:]}.get(
        what, more + data[at + len(more) :]
    )


def mutant(where: Path, seed: int, whole: Sequence[Path] = ()) -> Path:
    """Makes a damaged archive in the new directory where: with wrong values, wrong properties, or damaged bytes of one
    of the archives in whole. Returns where.
    """
    random = Random(seed)
    how = random.choice(["values", "values", "properties", *["bytes"] * (3 if whole else 0)])
    if how == "bytes":
        source = random.choice(sorted(whole))
        copy(source, where)
        files = sorted(path for path in where.rglob("*") if path.is_file())
        for _ in range(random.randint(1, 2)):
            file = random.choice(files)
            file.write_bytes(damaged(file.read_bytes(), random))
        return where
    archive = Mutant(where, random, random.choice([0.003, 0.02, 0.1]) if how == "values" else 0)
    archive.properties(property_texts(random if how == "properties" else None))
    archive.markers()
    return rich(archive)


def spoil_table(archive: Path, seed: int) -> None:
    """Damages an archive's table of coverage: its bytes, or (with a correct checksum) its head, names or numbers."""
    random = Random(seed)
    path = archive / sidecar.FOLDER / sidecar.COVERAGE[0]
    data = path.read_bytes()
    what = random.choice(["bytes", "head", "names", "numbers", "numbers"])
    if what == "bytes":
        path.write_bytes(damaged(data, random))
        return
    size = int.from_bytes(data[8:16], "little")
    head, body = json.loads(data[24 : 24 + size]), data[24 + size :]
    identity = head["identity"]
    if what == "names":
        head["names"] = _changed(head["names"], random)
    elif what == "head":
        head = _changed(head, random)
    else:
        table = sidecar.read(archive, *sidecar.COVERAGE, identity)
        assert table
        column = random.choice(sorted(table.columns))
        values = table.columns[column].copy()
        values[random.randrange(len(values))] = random.choice(NUMBERS) & int(np.iinfo(values.dtype).max)
        table.columns[column] = values[: random.choice([len(values), len(values), len(values) - 1])]
        sidecar.write(archive, *sidecar.COVERAGE, identity, table)
        return
    text = json.dumps(head).encode("utf-8", "surrogatepass")
    path.write_bytes(
        data[:8] + len(text).to_bytes(8, "little") + checksum(0, text + body).to_bytes(8, "little") + text + body
    )


def copy(source: Path, where: Path) -> None:
    for path in source.rglob("*"):
        if path.is_file():
            target = where / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
