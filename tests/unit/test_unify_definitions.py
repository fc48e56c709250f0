# SPDX-License-Identifier: BSD-3-Clause
"""vtunify checks the definitions of a process before it uses them."""

from __future__ import annotations

from typing import Any

import pytest

from vtrace.errors import FormatError
from vtrace.io.local.records import DEFINITIONS
from vtrace.symbols.modules import Module
from vtrace.unify.model.process_definitions import LocalRegion, inherit, read

GOOD: dict[str, list[Any]] = {
    "PROPERTY": ["command", ["./heat", "7"]],
    "REGION": [3, "MPI_Send", 4, 28, None, 0],
    "MODULE": [4096, 1 << 40, 8192, 1 << 40, "/bin/heat", b"\x01\x02", 17],
    "MODULE_END": [4096, 99],
    "COMM": [1, 1, None, "tag", 5, 0, 4, 2, 0],
    "COMM_MEMBERS": [1, 0, 0, 7, b"\0\0\0\0"],
    "COMM_NAME": [1, "grid"],
    "LOCATION": [2, 4711, None, 100],
    "METRIC": [1, "flops", "#", "u", "a", True],
    "CLOCK": [1, 2, 3],
    "SUMMARY": [0, 10, 1, 2, 3, 4, 5, 6, 0, bytes(16)],
    "ATTRIBUTE": [1, "offset", "where", 4],
    "IO_FILE": [1, "/scratch/data"],
    "IO_HANDLE": [2, "data", 1, 3, 0, 1, None, None, None],
    "RMA_WIN": [1, 1, 7],
    "RMA_WIN_NAME": [1, "halo"],
    "GROUP": [4, 1, 0, b"\1\0\0\0"],
    "REGION_AT": [5, "parallel", 3, 5, 0x1000],
    "TEAM": [1, 2, 1, 0, 77],
    "LOST": [2, 4, 1000],
    "CALL_SITE": [2, b"\x10" + bytes(7) + b"\x20" + bytes(7)],
    "CLOCK_OFFSET": [5, 0, 6, 1],
    "TEXT": [1, "step 3"],
    "MARKER": [1, "steps", 2],
    "NOTE": ["on a Monday"],
    "USER_COMM": [1, "queue"],
    "MEMBER": [9, 1, "rates"],
    "SAMPLING": [1, 10_000_000, 4_000_000, 40, None],
    "SAMPLES": [3, 50, 500_000_000, 2, 1, 0, b"\x31" + bytes(7) + b"\1" + bytes(7)],
    "PYTHON_CODE": [1, "Solver.step", "solve.py", 12, b"\x80\0"],
    "COMM_GRID": [1, b"\4\0\0\0\2\0\0\0", 1],
    "COMM_PEER": [1, 2, 3],
    "METRIC_GROUP": [2, ["faults", "cpu"], ["#", "#"], ["page faults", ""], "ap", True],
    "DATA_SITE": [3, 0x1000, 0x4000],
    "CALL_TIME": [0, 1, 2, 30, 5_000_000],
    "DEVICE_WIN": [2, "CUDA_WINDOW", 5],
}


def arrays(**changed: list[Any]) -> list[list[Any]]:
    return [[DEFINITIONS[name], *values] for name, values in (GOOD | changed).items()]


def test_every_definition_of_the_format_is_read() -> None:
    assert set(GOOD) == set(DEFINITIONS)
    found = read(arrays(), "heat.1.def.z")
    assert found.properties == {"command": ("./heat", "7")}
    assert found.regions == {3: LocalRegion("MPI_Send", 4, role=28, file=None, line=0)}
    assert found.modules[0].path == "/bin/heat"
    assert (found.comms[1].tag, found.comms[1].size, found.comms[1].rank) == ("tag", 4, 2)
    assert found.members[1, 0][0].ranks == b"\0\0\0\0"
    assert found.comm_names == {1: "grid"}
    assert found.locations == {2: None}
    assert found.metrics[1].unit == "#"
    assert found.metric_groups == {2: (("faults", "cpu"), ("#", "#"), ("page faults", ""), "ap", True)}
    assert found.pairs == [(1, 2, 3)]
    assert (found.summaries[0].lost, found.summaries[0].stopped) == (1, 0)
    assert found.lost == {(2, 4): 1000}
    assert found.attributes == {1: ("offset", "where", 4)}
    assert found.call_sites == {2: (0x10, 0x20)}
    assert found.data_sites == {3: (0x1000, 0x4000)}
    assert found.files == {1: "/scratch/data"}
    assert found.handles == {2: ("data", 1, 3, 0, 1, None, None, None)}
    assert (found.windows, found.window_names) == ({1: (1, 7)}, {1: "halo"})
    assert found.device_windows == {2: ("CUDA_WINDOW", 5)}
    assert found.groups == {4: [(1, 0, b"\1\0\0\0")]}
    assert (found.texts, found.markers, found.notes) == ({1: "step 3"}, {1: ("steps", 2)}, ["on a Monday"])
    assert found.offsets == [(5, 0, 6, 1)]
    assert [sampling.period for sampling in found.sampling] == [10_000_000]
    assert (found.samples[3].samples, found.samples[3].weight, found.samples[3].lost) == (50, 500_000_000, 1)
    assert (found.python_codes[1].name, found.python_codes[1].line) == ("Solver.step", 12)
    assert (found.user_comms, found.members_of) == ({1: "queue"}, {(9, 1): "rates"})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("REGION", [3, "MPI_Send", 4, 28, None]),
        ("REGION", ["3", "MPI_Send", 4, 28, None, 0]),
        ("MODULE", [0, 0, 0, 0, "/bin/heat", "text", 0]),
        ("COMM", [1, 1, None, None, 5, 0, 4, 2, 0]),
        ("SUMMARY", [0]),
        ("PROPERTY", ["command", "./heat 7"]),
        ("PROPERTY", ["executable", ["./heat"]]),
        ("PROPERTY", ["command", ["./heat", 7]]),
        ("REGION", [1 << 31, "MPI_Send", 4, 28, None, 0]),
        ("REGION", [True, "MPI_Send", 4, 28, None, 0]),
        ("REGION", [3, "MPI_Send", 400, 28, None, 0]),
        ("COMM", [1, 1, None, 0, 5, 0, -4, 2, 0]),
        ("COMM_MEMBERS", [1, 2, 0, 7, b""]),
        ("METRIC", [1, "flops", "#", "x", "a", True]),
        ("CLOCK", [1, 2, -3]),
        ("ATTRIBUTE", [1, "offset", "where", 26]),
        ("IO_FILE", [1, None]),
        ("IO_HANDLE", [2, "data", 1, 5, 0, 1, None, None, None]),
        ("IO_HANDLE", [2, "data", 1, 3, 4, 1, None, None, None]),
        ("IO_HANDLE", [2, "data", 1, 3, 1, 1, None, 5, 0]),
        ("IO_HANDLE", [2, "data", 1, 3, 1, 1, None, 0, 512]),
        ("RMA_WIN", [1, None, 7]),
        ("DEVICE_WIN", [2, None, 5]),
        ("GROUP", [4, 1, 0, [1]]),
        ("MARKER", [1, "steps", 4]),
        ("NOTE", [1]),
        ("LOST", [1, 8, 1]),
        ("MEMBER", [1, 1, "rates"]),
    ],
)
def test_wrong_shapes(name: str, values: list[Any]) -> None:
    with pytest.raises(FormatError, match=rf"heat\.1\.def\.z.*{name}"):
        read(arrays(**{name: values}), "heat.1.def.z")


def test_unknown_number() -> None:
    with pytest.raises(FormatError, match="unknown number"):
        read([[99, 1]], "heat.1.def.z")


def test_the_last_name_holds() -> None:
    again = [[DEFINITIONS["COMM_NAME"], 1, "later"], [DEFINITIONS["LOCATION"], 2, 4711, "worker", 100]]
    found = read([*arrays(), *again, [DEFINITIONS["LOCATION"], 2, 4711, None, 100]], "x")
    assert (found.comm_names[1], found.locations[2]) == ("later", "worker")


def test_forked_child_inherits_what_it_does_not_define() -> None:
    parent = read(arrays(), "parent")
    late = Module(8192, 1, size=1, bias=1, path="/lib/late", build_id=b"", ticks=500)
    parent.modules.append(late)
    child = read([[DEFINITIONS["REGION"], 3, "own", 1, 1, None, 0], [DEFINITIONS["CLOCK"], 7, 8, 9]], "child")
    inherit(child, parent, 200)
    assert child.regions[3].name == "own"
    assert child.comms == parent.comms
    assert (child.windows, child.window_names, child.groups) == (parent.windows, parent.window_names, parent.groups)
    assert (child.texts, child.markers, child.notes) == (parent.texts, parent.markers, ())
    assert (child.user_comms, child.members_of) == (parent.user_comms, parent.members_of)
    assert (child.attributes, child.files, child.handles) == (parent.attributes, parent.files, parent.handles)
    assert (parent.inherited, child.inherited) == (set(), {2})
    assert [module.path for module in child.modules] == ["/bin/heat"], "the parent loads other modules after the fork"
    assert child.pairs == [(7, 8, 9)], "each process has its own clock pairs"
    assert child.summaries == {}
