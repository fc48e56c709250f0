# SPDX-License-Identifier: BSD-3-Clause
"""vtrace.open on archives of recorded programs: every table agrees with a slow computation with the otf2 package."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtrace
from support.build import mpis
from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles import slow
from support.readers.archive import Trace as Slow
from support.readers.archive import read
from support.tools import PROGRAMS
from vtrace.analysis.questions import profile as p
from vtrace.analysis.questions.collectives import op_name
from vtrace.analysis.questions.io_files import reduce_io
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace

NUMBERS = tuple(p.NUMBERS)
MPI = {
    "mpi_messages": (3, ()), "mpi_requests": (3, ()), "mpi_collectives": (3, ("-DNONBLOCKING",)), "mpi_comms": (4, ()),
    "mpi_io": (3, ()), "ranks_threads": (2, ("-pthread",)),
}  # fmt: skip
OTHERS = {"nested": (), "io_descriptors": ("-w",), "io_streams": ("-w",), "heap": ("-fno-builtin", "-pthread")}


@dataclass
class Both:
    """An archive in vtrace.open, and in the slow reader."""

    fast: Trace
    slow: Slow

    @property
    def regions(self) -> np.ndarray[Any, Any]:
        return self.fast.regions["id"]

    @property
    def locations(self) -> np.ndarray[Any, Any]:
        return self.fast.locations["id"]


def archive(name: str, build: Builder, where: Path, *options: str) -> Path:
    """Records a program and returns the path of its archive. options: of vtunify."""
    if name in MPI:
        ranks, flags = MPI[name]
        mpi = mpis.find("mpich-wheel", build)
        program = mpi.build(f"{name}.c", flags=("-O1", *flags))
        words = {"ranks_threads": ["50"], "mpi_io": ["file"]}.get(name, [])
        mpi.run(program, where, *words, ranks=ranks, env={"VT_IOTRACE": "yes"} if name == "mpi_io" else None)
    else:
        program = build(f"{name}.c", flags=("-O1", *OTHERS[name]))
        words = ["sh", "-c", 'exec "$@" </dev/null 9>told', "sh"]
        run(program, where, env={"VT_IOTRACE": "yes", "VT_MEMTRACE": "yes"}, launch=words)
    unify(where, *options, name)
    return where / f"{name}.trace"


@pytest.fixture(scope="module", params=[*MPI, *OTHERS])
def both(request: pytest.FixtureRequest, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Both:
    path = archive(request.param, build, tmp_path_factory.mktemp("reading"))
    return Both(vtrace.open(path), read(path))


def rows(table: Table, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].tolist() for name in names), strict=True))


def test_definitions(both: Both) -> None:
    fast, slow_ = both.fast, both.slow
    assert fast.locations["id"].tolist() == list(slow_.locations)
    for row, location in enumerate(slow_.locations.values()):
        group = int(fast.locations["group"][row])
        assert fast.locations["name"][row] == location.name
        assert fast.locations["type"][row] == location.kind
        assert (fast.groups["id"][group], fast.groups["name"][group]) == (location.process, location.group)
        process = int(fast.places.process[row])
        assert (fast.processes["group"][process], fast.processes["host"][process]) == (group, location.host)
    known = [(x.id, x.name, x.canonical, x.file or "", x.line, x.role, x.paradigm) for x in slow_.regions.values()]
    found = rows(fast.regions, "id", "name", "canonical", "file", "line", "role", "paradigm")
    flushes = any(event.kind == "BufferFlush" for event in slow_.events)
    more = [(slow.FLUSH, "(buffer flush)"), (-1, "(unknown region)")] if flushes else [(-1, "(unknown region)")]
    assert found == [*known, *((*row, *found[-1][2:]) for row in more)]
    assert fast.comms["id"].tolist() == list(slow_.comms)
    for row, comm in enumerate(slow_.comms.values()):
        assert fast.comms["name"][row] == comm.name
        assert fast.places.is_self(row) == (comm.members is None)
        assert tuple(both.locations[fast.places.members(row)].tolist()) == (comm.members or ())
        assert fast.comms["parent"][row] == (-1 if comm.parent is None else list(slow_.comms).index(comm.parent))
    handles = [(h.name, h.file or "") for h in slow_.handles.values()]
    assert [(n, fast.files["name"][f] if f >= 0 else "") for n, f in rows(fast.io_handles, "name", "file")] == handles
    assert (fast.resolution, fast.start) == (slow_.resolution, slow_.realtime)
    assert fast.properties == slow_.properties
    assert rows(fast.markers(), "category", "text") == [(m.category, m.text) for m in slow_.markers]


def stats(table: Table, row: int) -> tuple[Any, ...]:
    return tuple(table[name][row].item() for name in NUMBERS if name != "joined")


def close(found: dict[Any, tuple[Any, ...]], known: dict[Any, tuple[Any, ...]]) -> None:
    """Checks that both are equal, except for rounding in the standard deviations."""
    assert found.keys() == known.keys()
    assert {k: v[:-1] for k, v in found.items()} == {k: v[:-1] for k, v in known.items()}
    for key, numbers in known.items():
        assert found[key][-1] == pytest.approx(numbers[-1], rel=1e-9)


def test_profile(both: Both) -> None:
    table = both.fast.profile()
    keys = zip(both.locations[table["location"]].tolist(), both.regions[table["region"]].tolist(), strict=True)
    close({key: stats(table, row) for row, key in enumerate(keys)}, slow.profile(both.slow))


def test_profile_of_a_window(both: Both) -> None:
    start, stop = both.fast.duration // 3, both.fast.duration // 2
    table = both.fast.profile(start, stop)
    keys = zip(both.locations[table["location"]].tolist(), both.regions[table["region"]].tolist(), strict=True)
    close({key: stats(table, row) for row, key in enumerate(keys)}, slow.profile(both.slow, start, stop))


def test_windows_add_up(both: Both) -> None:
    edges = [None, *np.linspace(0, both.fast.duration, 5, dtype=np.int64)[1:-1].tolist(), None]
    own = sum(int(both.fast.profile(a, b)["exclusive"].sum()) for a, b in pairwise(edges))
    assert own == both.fast.profile()["exclusive"].sum()


def test_call_tree(both: Both) -> None:
    tree, table = both.fast.call_tree()
    assert np.all(tree["parent"][1:] < np.arange(1, tree.rows))
    found = {}
    for row, (location, path) in enumerate(rows(table, "location", "path")):
        regions: list[int] = []
        assert len(p.path_names(tree, both.fast.regions["name"], path)) == tree["depth"][path]
        while path > 0:
            regions.insert(0, int(both.regions[tree["region"][path]]))
            path = int(tree["parent"][path])
        found[int(both.locations[location]), tuple(regions)] = stats(table, row)
    close(found, slow.paths(both.slow))


def test_slices(both: Both) -> None:
    calls = [(c.location, c.begin, c.end, c.path[-1], len(c.path) - 1) for c in slow.calls(both.slow)]
    table = both.fast.slices()
    assert table.shortest == 0
    found = [
        (int(both.locations[location]), begin, end, int(both.regions[region]), depth)
        for location, begin, end, region, depth in rows(table, "location", "begin", "end", "region", "depth")
    ]
    assert sorted(found) == sorted(calls)
    some = both.fast.slices(most=max(1, len(calls) // 2))
    assert 0 < some.rows <= max(1, len(calls) // 2)
    assert some.rows == sum(end - begin >= some.shortest for _, begin, end, _, _ in calls)


def test_messages(both: Both) -> None:
    table = both.fast.messages()
    names = ("sender", "receiver", "send", "receive", "comm", "tag", "bytes", "send_region", "receive_region")
    found = [
        (*both.locations[[sender, receiver]].tolist(), send, receive, int(both.fast.comms["id"][comm]), tag, size,
         *both.regions[list(regions)].tolist())
        for sender, receiver, send, receive, comm, tag, size, *regions in rows(table, *names)
    ]  # fmt: skip
    known = slow.messages(both.slow)
    assert sorted(found) == known
    matrix = both.fast.message_matrix()
    process = both.fast.groups["id"][both.fast.processes["group"]]
    pairs = {
        (int(process[a]), int(process[b])): (n, size)
        for a, b, n, size in rows(matrix.table(), "sender", "receiver", "count", "bytes")
    }
    assert pairs == slow.matrix(both.slow)
    assert table.rows + table.unmatched_sends == matrix.dense("count").sum()


def test_collectives(both: Both) -> None:
    instances, parts = both.fast.collectives()
    known = slow.collectives(both.slow)
    comms = both.fast.comms["id"]
    found = []
    for instance, location, *rest, region in rows(
        parts, "instance", "location", "begin", "end", "sent", "received", "region"
    ):
        comm, op = int(comms[instances["comm"][instance]]), op_name(instances["op"][instance])
        found.append(
            (comm, int(both.locations[location]), op, *rest, None if region < 0 else int(both.regions[region]))
        )
    assert sorted(found, key=str) == sorted(((c, *rest) for c, _, *rest in known), key=str)
    together: dict[Any, list[Any]] = {}
    for comm, turn, location, *rest in known:
        alone = both.slow.comms[comm].members is None
        together.setdefault((comm, turn, location if alone else None), []).append(rest)
    assert instances.rows == len(together)
    ends = sorted((min(r[1] for r in v), max(r[2] for r in v), len(v), sum(r[3] for r in v)) for v in together.values())
    assert sorted(rows(instances, "begin", "end", "locations", "sent")) == ends
    totals = both.fast.collective_totals()
    assert totals["calls"].sum() == len(known)
    assert totals["ns"].sum() == sum(end - begin for _, _, _, _, begin, end, *_ in known)


IO_SUMS = [*slow.IO_SUMS, *(f"nested_{name}" for name in slow.IO_SUMS if name != "closes")]


def test_io(both: Both) -> None:
    table = both.fast.io()
    found = {
        (int(both.locations[row["location"]]), int(both.fast.io_handles["id"][row["handle"]])): {
            name: row[name] + (row["nested_closes"] if name == "closes" else 0)
            for name in IO_SUMS if row[name] or (name == "closes" and row["nested_closes"])
        }
        for row in table.records()
    }  # fmt: skip
    assert {key: sums for key, sums in found.items() if sums} == slow.io(both.slow)
    assert reduce_io(table, "file")["bytes_written"].sum() == table["bytes_written"].sum()


def test_memory(both: Both) -> None:
    table = both.fast.allocations()
    ids = [*both.regions.tolist()[:-1], -1]
    found = {
        (int(both.locations[location]), ids[region], ids[caller]): tuple(sums)
        for location, region, caller, *sums in rows(
            table, "location", "region", "caller", "allocations", "allocated", "frees", "freed", "failed"
        )
    }
    assert found == slow.allocations(both.slow)
    values = [e for e in both.slow.events if e.kind == "Metric" and len(e.attrs["values"]) == 2]
    known = sorted((e.time - both.slow.offset, *e.attrs["values"]) for e in values)
    curve = both.fast.memory()
    kept = dict.fromkeys(rows(curve, "time", "bytes", "blocks"))
    assert sorted(kept) == sorted(dict.fromkeys(known)) or len({t for t, *_ in known}) < len(known)
    if known:
        few = both.fast.memory(most=20)
        assert few["bytes"].max() == max(n for _, n, _ in known)
        assert few.rows <= 40


def test_timeline(both: Both) -> None:
    seconds = both.fast.timeline(7)
    classes = both.fast.regions["class"].tolist()
    by_id = {number: classes[row] for row, number in enumerate(both.regions.tolist())}
    outside = len(both.fast.regions.classes)
    known = slow.timeline(
        both.slow, [by_id.get(i, 0) for i in range(max(by_id) + 1)], outside, 7, both.fast.duration
    )  # fmt: skip
    row_of = {number: row for row, number in enumerate(both.locations.tolist())}
    expected = np.zeros(seconds.shape)
    for (location, kind, bin_), value in known.items():
        expected[row_of[location], kind, bin_] = value
    inside = np.arange(outside)
    np.testing.assert_allclose(seconds[:, inside], expected[:, inside], atol=2e-6)


def test_events(both: Both) -> None:
    table = both.fast.events()
    kinds = [table.kinds[number] for number in table["kind"].tolist()]
    found = sorted(zip(table["time"].tolist(), both.locations[table["location"]].tolist(), kinds, strict=True))
    assert found == sorted((e.time - both.slow.offset, e.location, e.kind) for e in both.slow.events)
    assert np.all(np.diff(table["time"]) >= 0)
    half = both.fast.duration // 2
    first, second = both.fast.events(stop=half), both.fast.events(start=half + 1)
    assert first.rows + second.rows == table.rows
    sent = [e.attrs["msg_length"] for e in both.slow.events if e.kind in ("MpiSend", "MpiIsend")]
    some = both.fast.events(kinds=("MpiSend", "MpiIsend"))
    assert sorted(some["bytes"].tolist() if some.rows else []) == sorted(sent)


def test_questions_together_and_on_few_locations(both: Both) -> None:
    again = vtrace.open(both.fast.path)
    again.prepare("profile", "message_matrix", "collective_totals", "io", "allocations", "call_tree", "collectives")
    assert list(again.profile().records()) == list(both.fast.profile().records())
    assert list(again.io().records()) == list(both.fast.io().records())
    assert list(again.collective_totals().records()) == list(both.fast.collective_totals().records())
    assert list(again.allocations().records()) == list(both.fast.allocations().records())
    first = again.profile(locations=[0])
    assert list(first.records()) == [row for row in both.fast.profile().records() if row["location"] == 0]
    assert not again.problems


def test_closed_forms(build: Builder, tmp_path: Path) -> None:
    assert "fib(10): 177 calls" in (PROGRAMS / "nested.c").read_text()
    trace = vtrace.open(archive("nested", build, tmp_path))
    names = trace.regions["name"].tolist()
    table = p.reduce(trace.profile(), "region")
    by_name = {names[row["region"]]: row for row in table.records()}
    assert {n: by_name[n]["calls"] for n in ("main", "step", "leaf", "fib")} == {
        "main": 1, "step": 10, "leaf": 20, "fib": 177
    }  # fmt: skip
    assert by_name["fib"]["inclusive"] < by_name["fib"]["total"]
    assert by_name["fib"]["inclusive"] == by_name["fib"]["max"]
    own = sum(by_name[n]["exclusive"] for n in ("main", "step", "leaf", "fib"))
    assert by_name["main"]["inclusive"] == own
    tree, _ = trace.call_tree()
    assert max(tree["depth"][[names[r] == "fib" for r in tree["region"]]]) == 11
