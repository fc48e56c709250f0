# SPDX-License-Identifier: BSD-3-Clause
"""The Perfetto files of view and export, read with the classes of the package perfetto."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtrace
from support.synthetic_runs import viewed
from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.tools import unavailable
from vtrace.analysis.questions import timeline_data
from vtrace.analysis.selection import Selection
from vtrace.export import perfetto
from vtrace.export import protobuf as pb
from vtrace.export.wait_arguments import read_waits
from vtrace.io.archive.reader_abi import KINDS

try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
except ImportError:
    unavailable("the package perfetto is not installed")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return viewed.write(tmp_path_factory.mktemp("archive") / "a")


class Read:
    """The content of a Perfetto file."""

    def __init__(self, path: Path) -> None:
        self.trace = Trace()
        self.trace.ParseFromString(path.read_bytes())
        self.names: dict[int, str] = {}
        self.categories: dict[int, str] = {}
        self.sources: dict[int, tuple[str, int]] = {}
        self.words: dict[int, str] = {}
        self.tracks: dict[int, Any] = {}
        self.slices: list[dict[str, Any]] = []
        self.counters: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        self.instants: list[str] = []
        self.samples: list[tuple[int, int, int, list[str]]] = []
        """Time, process, thread and stack, outermost function first."""
        self.stacks: dict[int, list[str]] = {}
        stacks: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
        for packet in self.trace.packet:
            assert packet.trusted_packet_sequence_id == 1
            if packet.HasField("interned_data"):
                self._names(packet.interned_data)
            elif packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            elif packet.HasField("perf_sample"):
                one = packet.perf_sample
                self.samples.append((packet.timestamp, one.pid, one.tid, self.stacks[one.callstack_iid]))
            elif packet.HasField("track_event"):
                self._event(packet.timestamp, packet.track_event, stacks)
        assert not any(stacks.values())

    def _names(self, data: Any) -> None:
        if data.callstacks:
            functions = {entry.iid: entry.str.decode() for entry in data.function_names}
            mappings = {entry.iid for entry in data.mappings}
            assert all(entry.mapping_id in mappings for entry in data.frames)
            frames = {entry.iid: functions[entry.function_name_id] for entry in data.frames}
            self.stacks = {entry.iid: [frames[one] for one in entry.frame_ids] for entry in data.callstacks}
            return
        self.names = {entry.iid: entry.name for entry in data.event_names}
        self.categories = {entry.iid: entry.name for entry in data.event_categories}
        self.sources = {entry.iid: (entry.file_name, entry.line_number) for entry in data.source_locations}
        self.words = {entry.iid: entry.name for entry in data.debug_annotation_names}

    def _event(self, time: int, event: Any, stacks: dict[int, list[dict[str, Any]]]) -> None:
        stack = stacks[event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert not stack or stack[-1]["begin"] <= time
            words = {self.words[one.name_iid]: one.int_value for one in event.debug_annotations}
            stack.append(
                {
                    "track": event.track_uuid, "begin": time, "name": self.names[event.name_iid], "words": words,
                    "category": self.categories[event.category_iids[0]], "depth": len(stack),
                    "source": self.sources.get(event.source_location_iid), "out": list(event.flow_ids),
                }
            )  # fmt: skip
        elif event.type == TrackEvent.TYPE_SLICE_END:
            self.slices.append(stack.pop() | {"end": time, "in": list(event.terminating_flow_ids)})
        elif event.type == TrackEvent.TYPE_COUNTER:
            self.counters[event.track_uuid].append((time, event.double_counter_value))
        else:
            self.instants.append(event.name)


def written(
    archive: Path, where: Path, part: Selection | None = None, most: int = timeline_data.MOST
) -> tuple[Any, Read]:
    shown = timeline_data.gather(vtrace.open(archive), part or Selection(), most)
    perfetto.write(shown, where / "a.pftrace")
    return shown, Read(where / "a.pftrace")


def test_all_calls_with_their_names_and_lines(archive: Path, tmp_path: Path) -> None:
    _, read = written(archive, tmp_path)
    calls = Counter(one["name"] for one in read.slices)
    names = viewed.NAMES
    assert calls == {
        "main": 2, names[viewed.SEND]: 100, names[viewed.RECV]: 100, names[viewed.ALL]: 2, names[viewed.SCRIPT]: 2,
        names[viewed.CLOSE]: 3, "Allreduce": 1,
    }  # fmt: skip
    one = next(one for one in read.slices if one["name"] == names[viewed.CLOSE])
    assert (one["begin"], one["end"], one["depth"]) == (801_000, 900_000, 2)
    assert (one["category"], one["source"]) == ("user", ("odd & <file>.c", viewed.CLOSE))
    assert {one["category"] for one in read.slices} == {"user", "MPI", "collective"}
    processes = {t.process.pid: t.process.process_name for t in read.tracks.values() if t.HasField("process")}
    assert processes == {0: "process", 1: "process"}
    assert sum(track.HasField("thread") for track in read.tracks.values()) == 2
    assert viewed.WORLD in {track.name for track in read.tracks.values()}


def test_waits_are_arguments(archive: Path, tmp_path: Path) -> None:
    """The waits of Trace.call_waits, by kind, and the rank that the longest wait is for; messages keep theirs."""
    trace = vtrace.open(archive)
    shown = timeline_data.gather(trace, Selection())
    shown.waits, notes = read_waits(trace, Selection())
    perfetto.write(shown, tmp_path / "a.pftrace")
    assert notes == []
    expected: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for row in trace.call_waits().order("time_ns", descending=False).records():
        words = expected[row["begin"], row["end"]]
        words[f"{KINDS[row['kind']]} ns"] = row["time_ns"]
        if row["partner"] >= 0:
            words["waits for rank"] = row["partner"]
    assert {(word, ns) for words in expected.values() for word, ns in words.items()} >= {("mpi_latesender ns", 1000)}
    for one in Read(tmp_path / "a.pftrace").slices:
        if one["category"] == "MPI":
            told = {word: value for word, value in one["words"].items() if word.endswith(" ns") or "waits" in word}
            assert told == expected.pop((one["begin"], one["end"]), {})
            assert one["name"] != "MPI_Recv" or one["words"]["bytes received"] == 8
    assert not expected


def test_each_message_is_an_arrow_from_its_send_to_its_receive(archive: Path, tmp_path: Path) -> None:
    _, read = written(archive, tmp_path)
    ends = {}
    for one in read.slices:
        for flow in one["out"]:
            assert one["name"] == "MPI_Send"
            ends[flow] = one
    assert len(ends) == 100
    for one in read.slices:
        for flow in one["in"]:
            assert (one["name"], one["begin"] + viewed.US) == ("MPI_Recv", ends[flow]["begin"])
            assert one["words"] == {"bytes received": 8, "from rank": 0, "tag": ends.pop(flow)["begin"] // 5000 - 1}
    assert not ends


def test_messages_of_dropped_calls_belong_to_the_call_around(archive: Path, tmp_path: Path) -> None:
    """The export keeps the 10 longest of 209 calls. The messages of dropped calls then begin and end at main."""
    shown, read = written(archive, tmp_path, most=10)
    assert len(shown.calls) == 8
    assert shown.calls.call.max() == 7
    assert any("left out" in note for note in shown.notes)
    assert not any("MPI_Send" in one["name"] for one in read.slices)
    sends = [one for one in read.slices if one["out"]]
    assert {one["name"] for one in sends} == {"main"}
    assert sum(len(one["out"]) for one in sends) == shown.messages.rows > 0
    total = shown.messages.rows
    assert sends[0]["words"]["bytes sent"] == 8 * total


def test_a_window(archive: Path, tmp_path: Path) -> None:
    trace = vtrace.open(archive)
    _, read = written(archive, tmp_path, Selection.of_options(trace, "0.8ms", "850us", "1"))
    assert sorted((one["name"], one["begin"], one["end"]) for one in read.slices) == [
        ("</script><img src=x onerror=window.hit=2><b>bold</b>", 801_000, 850_000),
        ("<script>window.hit=1</script>", 800_000, 850_000),
        ("main", 800_000, 850_000),
    ]


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**63, 2**64 - 1])
def test_numbers(value: int) -> None:
    message = TrackEvent()
    message.ParseFromString(pb.field(11, value))
    assert message.track_uuid == value
    columns = pb.row_field(11, 10, np.array([value], np.uint64))
    message.ParseFromString(columns.tobytes())
    assert message.track_uuid == value


def test_threads_of_a_process_stand_in_their_order(tmp_path: Path) -> None:
    """Perfetto sorts threads by number. A thread with its process's number comes first, as the "main thread"."""
    archive = Foreign(tmp_path / "hybrid")
    for number in range(20):
        archive.events(number, [(1, "Enter", 0), (9, "Leave", 0)])
    archive.begin_definitions()
    archive.machine(groups=4)
    for number in range(20):
        archive.location(number, group=number // 5)
    archive.region(0, "!$omp parallel @ heat.c:7")
    _, read = written(archive.close().parent, tmp_path)
    threads = [track.thread for track in read.tracks.values() if track.HasField("thread")]
    assert [(t.pid, t.thread_name) for t in threads] == [(n // 5, f"thread {n}") for n in range(20)]
    numbers = [t.tid for t in threads]
    assert numbers == sorted(set(numbers)), "numbers are unique and ascend from the master thread to its workers"
    assert not any(t.tid == t.pid or not t.tid for t in threads)
    assert {one["name"] for one in read.slices} == {"parallel @ heat.c:7"}


def test_samples_with_their_stacks(tmp_path: Path) -> None:
    """Samples in the contexts main, main > a (at two lines) and undefined, on the threads of two processes."""
    archive = Foreign(tmp_path / "a")
    for number in (0, 1):
        picked = [(100 * n + number, "CallingContextSample", (0, 1, 2, UNDEFINED)[n % 4], 1, 0) for n in range(12)]
        archive.events(number, [(0, "CallingContextEnter", 0, 1), *picked, (9000, "CallingContextLeave", 0)])
    archive.begin_definitions()
    archive.machine(groups=2, length=9000)
    for number in (0, 1):
        archive.location(number, group=number)
    for number, name in enumerate(("main", "a <b>")):
        archive.define("Region", number, name, name, "", 1, 1, 0, "f.c", 1, 9)
    archive.define("SourceCodeLocation", 0, "f.c", 3)
    archive.define("SourceCodeLocation", 1, "f.c", 4)
    archive.define("CallingContext", 0, 0, UNDEFINED, UNDEFINED)
    archive.define("CallingContext", 1, 1, 0, 0)
    archive.define("CallingContext", 2, 1, 1, 0)
    archive.define("InterruptGenerator", 0, "timer", 0, 0, -9, 100)
    archive.close()
    _, read = written(tmp_path / "a", tmp_path)
    stacks = (["main"], ["main", "a <b>"], ["main", "a <b>"])
    threads = {t.thread.tid: t.thread.pid for t in read.tracks.values() if t.HasField("thread")}
    assert len(read.samples) == 24
    for number in (0, 1):
        own = sorted(one for one in read.samples if one[1] == number)
        assert [time for time, *_ in own] == [100 * n + number for n in range(12)]
        assert {threads[tid] for _, _, tid, _ in own} == {number}
        for n, (*_, stack) in enumerate(own):
            assert stack == stacks[n % 4] if n % 4 < 3 else len(stack) == 1 and stack[0] not in ("main", "a <b>")
    _, read = written(tmp_path / "a", tmp_path, most=6)
    assert len(read.samples) == 6
