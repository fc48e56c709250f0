# SPDX-License-Identifier: BSD-3-Clause
"""The call paths of vtrace profile as a tree."""

from __future__ import annotations

from pathlib import Path

from support.synthetic_runs.archives import UNDEFINED, Foreign
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.trace import Trace
from vtrace.reports import profile_sheets
from vtrace.reports.path_tree import tree_sheet
from vtrace.reports.sheet import Sheet

PERIOD = 100
LIBPYTHON = "/usr/lib/libpython3.11.so.1.0"


def tree(archive: Path, sort: str = "exclusive", most: int | None = None) -> Sheet:
    numbers = profile_sheets.read(Trace(archive), Selection(), "callpath", Patterns())
    return tree_sheet(numbers, sort, most)


def rows(made: Sheet) -> list[tuple[str, int, int, int | None]]:
    """The text, inclusive and exclusive ns and calls of each row."""
    return [(row["callpath"], row["inclusive_ns"], row["exclusive_ns"], row["calls"]) for row in made.rows]


def archive(
    where: Path, regions: list[tuple[str, str, str, int]], contexts: list[tuple[int, int]],
    events: list[tuple[int | str, ...]],
) -> Path:  # fmt: skip
    """An archive with one location. regions: name, symbol, library, paradigm; contexts: region, caller."""
    made = Foreign(where)
    made.events(0, events)
    made.begin_definitions()
    made.machine(groups=1, resolution=10**9, length=10**6)
    made.location(0, 0)
    for number, (name, symbol, library, paradigm) in enumerate(regions):
        file = made.text(symbol.partition("@")[2].partition(":")[0]) if "@" in symbol else UNDEFINED
        made.define("Region", number, name, symbol, library, 1, paradigm, 0, file, 1, 0)
    for number, (region, caller) in enumerate(contexts):
        made.define("CallingContext", number, region, UNDEFINED, caller)
    made.define("InterruptGenerator", 0, "timer", 0, 1, -9, PERIOD)
    return made.close()


def sample(time: int, context: int) -> tuple[int | str, ...]:
    return (time, "CallingContextSample", context, 1, 0)


def test_calls_below_their_sampled_callers(tmp_path: Path) -> None:
    """Recorded calls have no caller in a program without recorded functions; samples in the calls show callers."""
    regions = [("main", "main", "", 2), ("left", "left", "", 2), ("right", "right", "", 2), ("MPI_Send", "", "", 4)]
    contexts = [(0, UNDEFINED), (1, 0), (2, 0), (3, UNDEFINED), (3, 1), (3, 2)]
    events = [sample(100, 1), sample(200, 1), (201, "CallingContextEnter", 3, 1)]
    events += [sample(300, 4), sample(400, 4), sample(500, 4), sample(600, 5), (601, "CallingContextLeave", 3)]
    path = archive(tmp_path / "a", regions, contexts, [*events, sample(700, 2)])
    made = tree(path)
    assert rows(made) == [
        ("main", 700, 0, None), ("  left", 500, 200, None), ("    MPI_Send", 300, 300, None),
        ("  right", 200, 100, None), ("    MPI_Send", 100, 100, None),
    ]  # fmt: skip
    assert "calls stand below the callers" in made.notes[1]
    assert [text for text, *_ in rows(tree(path, "exclusive", 2))] == ["main", "  left"]


def test_functions_of_python_without_the_interpreter(tmp_path: Path) -> None:
    code = "@/home/solve.py:1"
    regions = [
        ("main", "main", "", 2), ("Py_BytesMain", "Py_BytesMain", LIBPYTHON, 2), ("<module>", f"<module>{code}", "", 2),
        ("vectorcall", "vectorcall", LIBPYTHON, 2), ("step", f"step{code}", "", 2), ("add", "add", "/lib/numpy.so", 2),
    ]  # fmt: skip
    contexts = [(0, UNDEFINED), (1, 0), (2, 1), (3, 2), (4, 3), (3, 4), (5, 5), (1, UNDEFINED)]
    events = [sample(100 * (n + 1), context) for n, context in enumerate([3, 4, 5, 6, 6, 7])]
    made = tree(archive(tmp_path / "a", regions, contexts, events))
    assert rows(made) == [
        ("<module> solve.py", 500, 100, None), ("  step", 400, 200, None), ("    add", 200, 200, None),
        ("(interpreter)", 100, 100, None),
    ]  # fmt: skip


def test_functions_that_only_call_one_other_share_a_row(tmp_path: Path) -> None:
    names = ["main", "a", "b", "c", "d"]
    contexts = [(0, UNDEFINED), *((number, number - 1) for number in range(1, 5))]
    made = tree(archive(tmp_path / "a", [(n, n, "", 2) for n in names], contexts, [sample(100, 4), sample(200, 1)]))
    assert rows(made) == [("main > a", 200, 100, None), ("  b > (1 more) > d", 100, 100, None)]
