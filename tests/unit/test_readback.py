# SPDX-License-Identifier: BSD-3-Clause
"""The C reader: every kind of event and definition with every value, batches, windows, and damaged archives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _otf2
import numpy as np
import pytest

from support.readers.otf2_headers import DEFINITIONS, EVENTS
from support.synthetic_runs.archives import UNDEFINED, Foreign, calls, simple
from vtrace.analysis.trace import Trace
from vtrace.io.archive.batches import BatchBuffer
from vtrace.io.archive.reader import Reader
from vtrace.io.archive.reader_abi import event_kinds

LARGEST = {"uint8_t": 2**8 - 1, "uint32_t": 2**32 - 1, "uint64_t": 2**64 - 1, "int64_t": -(2**63)}


def values_of(kind: str, number: int) -> int:
    """A value that is unique among all arguments of all events, if the type has enough bits."""
    return number % 251 if kind == "uint8_t" else 1000 + number


def written(where: Path, extreme: bool) -> dict[str, list[int]]:
    """An archive with each kind of event once; its values by kind."""
    archive, events, found, number = Foreign(where), [], {}, 0
    for time, callback in enumerate(EVENTS):
        if callback.name == "Unknown":
            continue
        values = []
        for kind, _ in callback.arguments:
            number += 1
            values.append(LARGEST[kind] if extreme else values_of(kind, number))
        events.append((time, callback.name, *values))
        found[callback.name] = values
    archive.events(7, events)
    archive.begin_definitions()
    archive.machine()
    archive.location(7)
    archive.close()
    return found


def test_local_definitions(tmp_path: Path) -> None:
    """The reader gives a local definition file to OTF2 only if the file has a definition."""
    archive = Foreign(tmp_path / "a")
    for location in (0, 1):
        archive.events(location, calls(1))
    archive.begin_definitions({1: 500})
    archive.machine()
    archive.close()
    sizes = [(tmp_path / f"a/traces/{location}.def").stat().st_size for location in (0, 1)]
    assert sizes[0] == 20 < sizes[1]
    with Reader(tmp_path / "a/traces.otf2", [0, 1]) as reader:
        times = [batch.time.tolist() for location in (0, 1) for batch in reader.batches(location, BatchBuffer())]
    assert times[1] == [500 + time for time in times[0]]


@pytest.mark.parametrize("extreme", [False, True])
def test_every_event_with_every_value(tmp_path: Path, extreme: bool) -> None:
    values = written(tmp_path / "a", extreme)
    with Reader(tmp_path / "a/traces.otf2", [7]) as reader:
        (batch,) = reader.batches(7, BatchBuffer())
        assert reader.events == len(values) == len(batch)
        assert batch.fields.unknown == batch.fields.early == 0
        details = {int(d["row"]): d for d in batch.details}
        for row, (time, callback) in enumerate((t, c) for t, c in enumerate(EVENTS) if c.name != "Unknown"):
            number, ref, words = event_kinds()[callback.name]
            given = dict(zip((name for _, name in callback.arguments), values[callback.name], strict=True))
            assert (int(batch.time[row]), int(batch.kind[row])) == (time, number)
            assert (ref or "NONE", *words) == callback.shown
            assert int(batch.ref[row]) == (given[ref] if ref else UNDEFINED)
            assert (row in details) == bool(words)
            if words:
                assert int(details[row]["kind"]) == number
                told = [int(word) for word in details[row]["words"][: len(words)]]
                assert told == [given[word] % 2**64 for word in words]
            missing = {name for _, name in callback.arguments} - {ref, *words}
            assert missing <= {"unwound"}, "a value is not read"


def test_events_with_lists_and_attributes(tmp_path: Path) -> None:
    archive = Foreign(tmp_path / "a")
    types = [_otf2.TYPE_UINT64, _otf2.TYPE_DOUBLE, _otf2.TYPE_INT64]
    members = [_otf2.MetricValue(unsigned_int=5), _otf2.MetricValue(floating_point=0.5), _otf2.MetricValue()]
    members[2].signed_int = -3
    events = [(1, "Metric", 4, types, members), (2, "ProgramBegin", 6, [7, 8]), (3, "Enter", 1, {0: 11, 9: 2**64 - 1})]
    archive.events(0, [*events, (4, "Leave", 1)])
    archive.begin_definitions()
    archive.machine()
    archive.location(0)
    archive.define("Attribute", 9, "size", "", _otf2.TYPE_UINT64.value)
    archive.define("MetricMember", 3, "a", "", 0, 0, types[0].value, 0, 0, "#")
    archive.define("MetricMember", 1, "b", "", 0, 0, types[1].value, 0, 0, "#")
    archive._call("GlobalDefWriter_WriteMetricClass", (archive.definitions,), (4, 3, _list([1, 3, 2]), 0, 0))
    anchor = archive.close()
    with Reader(anchor, [0]) as reader:
        (batch,) = reader.batches(0, BatchBuffer(), attributes=True)
        assert [d["words"][:3].tolist() for d in batch.details] == [
            [0, types[0].value, 5], [1, types[1].value, np.array(0.5).view(np.uint64)],
            [2, types[2].value, 2**64 - 3], [2, 0, 0],
        ]  # fmt: skip
        assert batch.attributes[["row", "attribute", "value"]].tolist() == [(2, 0, 11), (2, 9, 2**64 - 1)]
        assert all(not len(b.attributes) for b in reader.batches(0, BatchBuffer()))
    trace = Trace(anchor)
    values = trace.metric_values()
    assert trace.metric_members["name"].tolist() == ["b", "a"]
    assert list(zip(*(values[n].tolist() for n in ("metric", "value", "integer")), strict=True)) == [
        (0, 5.0, 5), (1, 0.5, 0), (-1, -3.0, -3)
    ]  # fmt: skip
    table = trace.events(attributes=True)
    assert table["@size"].tolist()[2] == -1
    assert trace.profile()["region"].tolist() == [trace.regions.rows - 1], "the row of undefined regions"


def _list(numbers: list[int]) -> Any:
    import ctypes

    return (ctypes.c_uint32 * len(numbers))(*numbers)


def test_every_definition_with_every_value(tmp_path: Path) -> None:
    archive = Foreign(tmp_path / "a")
    archive.begin_definitions()
    known: dict[str, list[int]] = {}
    for number, callback in enumerate(DEFINITIONS):
        known[callback.name] = [values_of(kind, 20 * number + i) for i, (kind, _) in enumerate(callback.arguments)]
        archive.define(callback.name, *known[callback.name])
    archive.define("Group", 1, "größe", 5, 4, 0, [2**64 - 1, 17])
    archive.define("String", 77, b"\xff")
    anchor = archive.close()
    with Reader(anchor) as reader:
        tables = reader.definitions()
    for callback in DEFINITIONS:
        assert [name.partition(".")[0] for name in callback.shown] == list(tables[callback.name].dtype.names or ())
        assert tables[callback.name].tolist() == [tuple(known[callback.name])], callback.name
    assert tables["Members"]["member"].tolist() == [2**64 - 1, 17]
    assert tables["Group"].tolist() == [(1, 0, 5, 4, 0, 0, 2)]
    assert not len(tables["Unknown"])
    trace = Trace(anchor)
    assert trace.definitions.strings == {0: "größe", 77: "\ufffd"}
    assert trace._repr_html_()


@pytest.mark.parametrize("capacity", [1, 2, 3, 7, 1000, 3002, 1 << 16])
def test_batches_are_the_whole(tmp_path: Path, capacity: int) -> None:
    anchor = simple(tmp_path / "a", {0: calls(1000)})
    batch, times, bytes_ = BatchBuffer(capacity), [], []
    with Reader(anchor, [0]) as reader:
        for part in reader.batches(0, batch):
            assert 0 < len(part) <= capacity
            times += part.time.tolist()
            assert part.time[part.details["row"]].tolist() == [4 * d + 1 for d in part.details["words"][:, 2].tolist()]
            bytes_ += part.details["words"][:, 2].tolist()
    assert times == [time for time, *_ in calls(1000)]
    assert bytes_ == list(range(1000))


@pytest.mark.parametrize(("start", "stop"), [(0, 4000), (1, 1), (5, 17), (3999, 9999), (4001, 4002), (-5, -1)])
def test_windows_and_kinds(tmp_path: Path, start: int, stop: int) -> None:
    anchor = simple(tmp_path / "a", {0: calls(1000)})
    with Reader(anchor, [0]) as reader:
        for kinds in (None, {"Leave"}, {"MpiSend", "Enter"}):
            found = [
                t
                for part in reader.batches(0, BatchBuffer(100), kinds=kinds, start=start, stop=stop)
                for t in part.time.tolist()
            ]
            known = [t for t, kind, *_ in calls(1000) if start <= t <= stop and (kinds is None or kind in kinds)]
            assert found == known


def test_other_clocks(tmp_path: Path) -> None:
    anchor = simple(tmp_path / "a", {0: [(10**18 + t * 3, *rest) for t, *rest in calls(3)]}, resolution=3 * 10**9,
                    offset=10**18)  # fmt: skip
    trace = Trace(anchor)
    assert trace.events()["time"].tolist() == [t for t, *_ in calls(3)]
    assert trace.resolution == 3 * 10**9
