# SPDX-License-Identifier: BSD-3-Clause
"""vtrace.open of synthetic archives: unusual ones, those of other tools, incomplete and damaged ones."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import vtrace
from support.synthetic_runs.archives import UNDEFINED, Foreign, calls, simple
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.profile import Profile, reduce
from vtrace.analysis.scan import scan
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace
from vtrace.errors import VtraceError


class _Kinds(Question):
    """Records the times of events that a part gets."""

    kinds = frozenset({"MpiSend"})

    class Seen(Part):
        def __init__(self) -> None:
            self.times: list[int] = []

        def batch(self, batch: Any, replay: Any) -> None:
            self.times += batch.time[batch.details["row"]].tolist()

    def part(self, trace: Any, location: int) -> Part:
        return self.Seen()


def test_a_window_beside_a_replay(tmp_path: Path) -> None:
    """A question with a replay needs the events before the window. A question without one must not get them."""
    trace = Trace(simple(tmp_path / "a", {0: calls(100)}))
    question = _Kinds()
    profile = Profile()
    scan(trace, [question, profile], Selection(41, 60))
    assert question.parts[0].times == [41, 45, 49, 53, 57]
    table = profile.answer()
    assert dict(zip(table["region"].tolist(), table["inclusive"].tolist(), strict=True)) == {0: 19, 1: 10}


def test_stacks_that_do_not_fit(tmp_path: Path) -> None:
    events = [
        (0, "Leave", 1), (1, "Enter", 0), (2, "Enter", 1), (4, "Leave", 0), (5, "Leave", 1), (6, "Enter", 5000),
        (7, "Enter", 1), (8, "MpiSend", 0, 0, 0, 0),
    ]  # fmt: skip
    trace = Trace(simple(tmp_path / "a", {0: events}))
    profile = Profile()
    met = scan(trace, [profile])
    assert (met.stray, met.closed, met.events) == (2, 2, {0: 8})
    rows = {row["region"]: (row["calls"], row["total"], row["exclusive"]) for row in profile.answer().records()}
    unknown = trace.regions.rows - 1  # follows the region of flushes
    assert rows == {0: (1, 3, 1), 1: (2, 3, 3), unknown: (1, 2, 1)}


def test_deep_recursion_and_many_paths(tmp_path: Path) -> None:
    depth = 100_000
    events = [(i, "Enter", i % 2) for i in range(depth)] + [
        (2 * depth - 1 - i, "Leave", i % 2) for i in reversed(range(depth))
    ]
    events = sorted(events, key=lambda event: event[0])
    trace = Trace(simple(tmp_path / "a", {0: events}))
    tree, table = trace.call_tree()
    assert (tree.rows, table.rows, int(tree["depth"].max())) == (depth + 1, depth, depth)
    total = reduce(trace.profile(), "location")
    assert total["calls"].tolist() == [depth]
    assert trace.profile()["inclusive"].tolist() == [2 * depth - 1, 2 * depth - 3]
    assert table["exclusive"].sum() == 2 * depth - 1


def test_sparse_ids_and_repeated_regions(tmp_path: Path) -> None:
    big = 0xFFFFFFF0
    archive = Foreign(tmp_path / "a")
    for location in (2**40, 3):
        archive.events(location, [(0, "Enter", big), (1, "Enter", 2**30), (5, "Leave", 2**30), (9, "Leave", big)])
    archive.begin_definitions()
    archive.machine(groups=2)
    archive.location(2**40, 1)
    archive.location(3, 0)
    archive.region(2**30, "g")
    archive.region(big, "f")
    archive.region(7, "g")
    trace = Trace(archive.close())
    assert trace.regions["name"].tolist() == ["g", "f", "(buffer flush)", "(unknown region)"]
    assert trace.locations["id"].tolist() == [3, 2**40]
    table = reduce(trace.profile(), "region")
    assert dict(zip(table["region"].tolist(), table["exclusive"].tolist(), strict=True)) == {0: 8, 1: 10}
    assert trace.places.process.tolist() == [0, 1]


def test_calling_contexts_are_calls(tmp_path: Path) -> None:
    archive = Foreign(tmp_path / "a")
    events = [(0, "CallingContextEnter", 4, 1), (2, "CallingContextEnter", 9, 1), (3, "CallingContextLeave", 9)]
    archive.events(0, [*events, (7, "CallingContextLeave", 4)])
    archive.begin_definitions()
    archive.machine()
    archive.location(0)
    archive.region(0, "f")
    archive.region(5, "g")
    archive.define("CallingContext", 4, 5, UNDEFINED, UNDEFINED)
    archive.define("CallingContext", 9, 0, UNDEFINED, 4)
    trace = Trace(archive.close())
    found = {trace.regions["name"][r["region"]]: r["exclusive"] for r in trace.profile().records()}
    assert found == {"f": 1, "g": 6}


def test_inter_communicators(tmp_path: Path) -> None:
    archive = Foreign(tmp_path / "a")
    for location in range(4):
        peer, send = (location + 1) % 2, location < 2
        archive.events(location, [(location, "MpiSend" if send else "MpiRecv", peer, 3, 5, 10)])
    archive.begin_definitions()
    archive.machine(groups=4)
    for location in range(4):
        archive.location(location, location)
    archive.define("Group", 0, "", 4, 4, 0, [0, 1, 2, 3])
    archive.define("Group", 1, "", 5, 4, 0, [0, 1])
    archive.define("Group", 2, "", 5, 4, 0, [2, 3])
    archive.define("Comm", 1, "world", 0, UNDEFINED, 0)
    archive.define("InterComm", 3, "between", 1, 2, 1, 0)
    trace = Trace(archive.close())
    matrix = trace.message_matrix()
    assert list(zip(matrix.sender.tolist(), matrix.receiver.tolist(), strict=True)) == [(0, 3), (1, 2)]
    assert trace.messages().rows == 2


def test_names_are_data(tmp_path: Path) -> None:
    archive = Foreign(tmp_path / "a")
    archive.begin_definitions()
    archive.machine()
    archive.region(0, "<script>alert(1)</script>")
    trace = Trace(archive.close())
    html = trace.regions._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<b>" not in Table({"<b>": [1]})._repr_html_()


def test_what_is_missing(tmp_path: Path) -> None:
    whole = simple(tmp_path / "a", {0: calls(50_000), 1: calls(10)})
    events = whole.parent / "traces"
    data = (events / "0.evt").read_bytes()
    (events / "0.evt").write_bytes(data[: len(data) // 2])
    trace = Trace(whole)
    table = trace.profile()
    assert set(table["location"].tolist()) == {0, 1}
    assert 0 < table["calls"][table["location"] == 0].sum() < 50_001
    (problem,) = trace.problems
    assert str(events / "0.evt") in problem
    assert "\n" not in problem
    (events / "1.evt").unlink()
    trace = Trace(whole)
    assert len(trace.message_matrix().count) == 0
    assert any("1.evt" in line and "missing" in line for line in trace.problems)
    for name in ("0.def", "1.def"):
        (events / name).unlink()
    assert Trace(whole).profile().rows, "local definitions are not needed"
    whole.with_suffix(".def").unlink()
    with pytest.raises(VtraceError, match=r"traces\.def"):
        Trace(whole)


@pytest.mark.parametrize("content", [b"", b"x", b"OTF2", bytes(1000), b"[ArchiveAnchor]\n" * 100])
def test_wrong_anchors(tmp_path: Path, content: bytes) -> None:
    shutil.copytree(simple(tmp_path / "a", {0: calls(10)}).parent, tmp_path / "b")
    (tmp_path / "b/traces.otf2").write_bytes(content)
    with pytest.raises(VtraceError, match=r"traces\.otf2"):
        vtrace.open(tmp_path / "b")
    for name, others in (("more.trace", "there is more.trace"), ("most.trace", "there are more.trace, most.trace")):
        (tmp_path / name).mkdir()
        with pytest.raises(VtraceError, match=rf"no such archive.* \({others}\)"):
            vtrace.open(tmp_path / "none")


def test_frames(tmp_path: Path) -> None:
    trace = Trace(simple(tmp_path / "a", {0: calls(3), 1: calls(2)}))
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(VtraceError, match="pandas is not installed"):
            trace.frame()
        return
    frame = trace.frame()
    names = ["Timestamp (ns)", "Event Type", "Name", "Process", "Thread"]
    assert frame.columns.tolist()[:5] == names
    assert frame[frame["Name"] == "f"]["Event Type"].value_counts().to_dict() == {"Enter": 5, "Leave": 5}
    assert set(frame["Thread"]) == {0, 1}
    assert set(frame["Process"]) == {0}
    assert trace.profile().frame()["calls"].sum() == 7
