# SPDX-License-Identifier: BSD-3-Clause
"""Readers of other tools' traces: values across the parts of a file, exact times, and damaged bytes."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from vtrace.errors import VtraceError
from vtrace.transform.recordings import json_stream
from vtrace.transform.recordings.chrome_events import nanoseconds, read_chrome
from vtrace.transform.recordings.database import read_database
from vtrace.transform.recordings.json_stream import JsonStream
from vtrace.transform.recordings.recording import Recording

EVENTS = [
    {"ph": "X", "name": "a\u00e9 \"quoted\" \\u", "cat": "cpu_op", "pid": 5, "tid": 5, "ts": 1.25, "dur": 3},
    {"ph": "B", "name": "b", "pid": 5, "tid": 6, "ts": 2}, {"ph": "E", "pid": 5, "tid": 6, "ts": 4.125},
    {"ph": "C", "name": "c", "pid": 5, "ts": 3, "args": {"x": 1, "y": -2.5e3}},
    {"ph": "i", "name": "now", "pid": 5, "tid": 5, "ts": 4, "s": "p", "args": {"deep": [[{"er": None}], True, False]}},
    {"ph": "X", "name": "k", "cat": "kernel", "pid": 0, "tid": 7, "ts": 9, "dur": 0.001, "args": {"stream": 7}},
]  # fmt: skip
TEXT = json.dumps({"schemaVersion": 1, "traceEvents": EVENTS, "baseTimeNanoseconds": 10**18, "last": 123456789})


@pytest.mark.parametrize("part", [1, 2, 3, 7, 64, 1 << 20])
def test_values_across_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """A value, also a number, may go on in the next part of the file. Oracle: json.loads of the whole text."""
    monkeypatch.setattr(json_stream, "_CHUNK", part)
    path = tmp_path / "x.json"
    path.write_text(TEXT)
    with JsonStream(path) as stream:
        found = {name: [*stream.items()] if name == "traceEvents" else stream.value() for name in stream.members()}
        assert not stream.cut
    assert found == json.loads(TEXT, parse_float=str)


def is_time(value: object) -> bool:
    try:
        nanoseconds(value)
    except ValueError:
        return False
    return True


def test_times() -> None:
    """Oracle: decimal arithmetic."""
    source = random.Random(1)
    for _ in range(2000):
        whole, digits = source.randrange(10 ** source.randrange(1, 15)), source.randrange(6)
        text = f"{whole}.{source.randrange(10**digits):0{digits}d}" if digits else str(whole)
        assert nanoseconds(text) == round(Decimal(text) * 1000)
    assert nanoseconds(7) == 7000
    assert nanoseconds("-1.5") == -1500
    assert nanoseconds("1.5e3") == 1_500_000
    for wrong in (None, True, "", "x", "nan", "1e400", 2**62, [1], 1.5):
        assert not is_time(wrong)


def is_refused(read: Callable[[Path, Callable[[int], None]], Recording], path: Path) -> bool:
    """Whether a reader refuses a file, with a line that names the file; any other error fails the test."""
    try:
        read(path, lambda read: None)
    except VtraceError as error:
        return str(path) in str(error)
    return False


def test_damaged_json(tmp_path: Path) -> None:
    """Each damaged file is read or refused with a line."""
    source, path, refused = random.Random(2), tmp_path / "x.json", 0
    for _ in range(600):
        data = bytearray(TEXT.encode())
        for _ in range(source.randrange(1, 4)):
            at = source.randrange(len(data))
            choice = source.randrange(3)
            if choice == 0:
                data[at] = source.randrange(256)
            elif choice == 1:
                del data[at : at + source.randrange(1, 40)]
            else:
                data[at:at] = data[at : at + source.randrange(1, 40)]
        path.write_bytes(data)
        refused += is_refused(read_chrome, path)
    assert 100 < refused < 600


def test_damaged_database(tmp_path: Path) -> None:
    whole, path, source = tmp_path / "whole.db", tmp_path / "x.db", random.Random(3)
    with sqlite3.connect(whole) as connection:
        connection.execute("CREATE TABLE StringIds (id, value)")
        connection.execute("INSERT INTO StringIds VALUES (1, 'name')")
        connection.execute("CREATE TABLE OSRT_API (start, end, globalTid, nameId)")
        connection.executemany("INSERT INTO OSRT_API VALUES (?, ?, ?, 1)", [(n, n + 1, n << 24) for n in range(100)])
    connection.close()
    data, refused = whole.read_bytes(), 0
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(source.randrange(1, 30)):
            changed[source.randrange(len(data))] = source.randrange(256)
        path.write_bytes(changed)
        refused += is_refused(read_database, path)
    assert refused > 30
