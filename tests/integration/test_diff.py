# SPDX-License-Identifier: BSD-3-Clause
"""vtrace diff: synthetic archives with differences in closed form, and two runs of a program compared with their
events."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import record, vtrace
from support.oracles import slow
from support.readers.archive import Trace
from support.synthetic_runs.archives import UNDEFINED, Foreign

READ = 0


def made(where: Path, ranks: int, calls: dict[str, int], names: list[str], bytes_: int, file: str, read: int) -> Path:
    """An archive. main calls each of `calls` once, for the given time in ns; rank 0 sends bytes_ to rank 1 and reads a
    file. The ids of regions follow `names`: the same region has different ids in different archives."""
    archive, begin = Foreign(where), 0
    for rank in range(ranks):
        events: list[tuple[Any, ...]] = [(0, "Enter", names.index("main"))]
        begin = 10
        for name, length in calls.items():
            events.append((begin, "Enter", names.index(name)))
            if rank == 0 and name == "talk":
                events += [
                    (begin, "MpiSend", 1, 0, 5, bytes_), (begin, "IoOperationBegin", 0, READ, 0, read, 1),
                    (begin + length, "IoOperationComplete", 0, read, 1),
                ]  # fmt: skip
            begin += length
            events.append((begin, "Leave", names.index(name)))
        archive.events(rank, [*events, (begin + 10, "Leave", names.index("main"))])
    archive.begin_definitions()
    archive.machine(groups=ranks, length=begin + 10)
    for rank in range(ranks):
        archive.location(rank, rank)
    for number, name in enumerate(names):
        archive.region(number, name, paradigm=4 if name == "talk" else 1)
    archive.define("Group", 0, "", 4, 4, 0, list(range(ranks)))
    archive.define("Group", 1, "", 5, 4, 0, list(range(ranks)))
    archive.define("Comm", 0, "MPI_COMM_WORLD", 1, UNDEFINED, 0)
    archive.define("IoRegularFile", 0, file, UNDEFINED)
    archive.define("IoHandle", 0, "file", 0, 0, 0, UNDEFINED, UNDEFINED)
    return archive.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("pair")
    before = {"work": 1000, "talk": 200, "gone": 50}
    made(where / "a.trace", 2, before, ["main", "work", "talk", "gone"], 800, "/data/in", 100)
    after = {"work": 1500, "talk": 200, "new": 7}
    made(where / "b.trace", 2, after, ["new", "talk", "work", "main"], 1000, "/data/in", 40)
    made(where / "c.trace", 4, before, ["main", "work", "talk", "gone"], 800, "/data/other", 100)
    return where


def diff(where: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(where, "diff", *words, "--json").stdout)
    return found


def changes(rows: list[dict[str, Any]], key: str, *names: str) -> list[tuple[Any, ...]]:
    return [(row[key] if key != "path" else row[key][-1], *(row[name] for name in names)) for row in rows]


def test_aligned_by_names(pair: Path) -> None:
    found = diff(pair, "a", "b")
    assert found["regions"][0]["path"] == ["main", "work"]
    columns = "exclusive_a", "exclusive_b", "exclusive_change", "exclusive_percent", "calls_change", "only"
    assert changes(found["regions"], "path", *columns) == [
        ("work", 2000, 3000, 1000, 50, 0, ""), ("gone", 100, 0, -100, -100, -2, "a"), ("new", 0, 14, 14, None, 2, "b"),
        ("main", 40, 40, 0, 0, 0, ""),
    ]  # fmt: skip
    assert changes(found["totals"], "class", "exclusive_a", "exclusive_change") == [("user", 2140, 914)]
    assert changes(found["messages"], "from", "to", "bytes_a", "bytes_b", "bytes_percent", "count_change") == [
        ("process 0", "process 1", 800, 1000, 25, 0)
    ]  # fmt: skip
    columns = "bytes_read_change", "reads_change", "ns_change"
    assert changes(found["files"], "file", *columns) == [("/data/in", -60, 0, 0)]
    assert found["collectives"] == []


def test_order(pair: Path) -> None:
    found = diff(pair, "a", "b", "--relative")
    assert [row["path"][-1] for row in found["regions"]] == ["new", "gone", "work", "main"]
    found = diff(pair, "a", "b", "--sort", "inclusive")
    assert [row["path"][-1] for row in found["regions"]] == ["work", "main", "gone", "new"]
    found = diff(pair, "a", "b", "--sort", "calls")
    assert [row["path"][-1] for row in found["regions"]][:2] == ["gone", "new"]


def test_numbers_of_ranks(pair: Path) -> None:
    """Runs with 2 and 4 ranks: diff says so and names --per-rank; with --ranks the same ranks have no differences."""
    done = vtrace(pair, "diff", "a", "c")
    assert "--per-rank" in done.stderr
    assert "+100 %" in done.stdout
    found = diff(pair, "a", "c", "--per-rank")
    assert (found["a"]["processes"], found["b"]["processes"], found["per_rank"]) == (2, 4, True)
    assert found["regions"] == found["totals"] == []
    assert {row["bytes_change"] for row in found["messages"]} == {-200}
    assert changes(found["files"], "file", "only", "bytes_read_b") == [("/data/in", "a", 0), ("/data/other", "b", 25)]
    shown = vtrace(pair, "diff", "a", "c", "--per-rank")
    assert "--per-rank" not in shown.stderr
    assert "average of one rank" in shown.stdout
    assert diff(pair, "a", "c", "--ranks", "0,1")["regions"] == []


def test_text(pair: Path) -> None:
    done = vtrace(pair, "diff", "a", "b", "--top", "2")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("A  a.trace/traces.otf2: 2 processes, 2 locations, ")
    assert lines[1].startswith("B  b.trace/traces.otf2: 2 processes, 2 locations, ")
    assert "main > work" in done.stdout
    assert "  the first 2 of 4: --top shows more, all with --json" in lines
    assert done.stderr == "vtrace: next: vtrace summary b   for all numbers of the second run\n"
    same = vtrace(pair, "diff", "a", "a.trace")
    assert same.stdout.splitlines()[3:] == ["no differences"]


def sums(trace: Trace) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Calls, inclusive and exclusive time by call path (names)."""
    found: dict[tuple[str, ...], Counter[int]] = {}
    for (_, path), numbers in slow.paths(trace).items():
        each = found.setdefault(tuple(slow.name_of(trace, region) for region in path), Counter())
        each.update(dict(enumerate(numbers[:3])))  # type: ignore[arg-type]
    return {path: (each[0], each[1], each[2]) for path, each in found.items()}


def test_two_runs(build: Builder, tmp_path: Path) -> None:
    """Two runs of one program: each call path in the output of diff agrees with a slow computation from the events."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = record(build("nested.c", flags=("-O1",)), tmp_path / "one")
    two = record(build("nested.c", flags=("-O1",)), tmp_path / "two")
    rows = diff(tmp_path, "one/nested", "two/nested")["regions"]
    first, second = sums(one), sums(two)
    for row in rows:
        path = tuple(row["path"])
        assert (row["calls_a"], row["inclusive_a"], row["exclusive_a"]) == first[path]
        assert (row["calls_b"], row["inclusive_b"], row["exclusive_b"]) == second[path]
        assert row["exclusive_change"] == second[path][2] - first[path][2]
    changed = {path for path in {*first, *second} if first.get(path) != second.get(path)}
    assert {tuple(row["path"]) for row in rows} == changed
    sizes = [abs(row["exclusive_change"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(("words", "code"), [(("a",), 2), (("a", "nothing"), 1), (("a", "b", "--from", "x"), 2)])
def test_mistakes(pair: Path, words: tuple[str, ...], code: int) -> None:
    done = vtrace(pair, "diff", *words, check=False)
    assert (done.returncode, len(done.stderr.splitlines()), done.stdout) == (code, 1, "")
