# SPDX-License-Identifier: BSD-3-Clause
"""Archives with devices as other tools write them: hosts, processes, and commands of a queue that overlap."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import _otf2
import pytest

import vtrace as package
from support.build.run import vtrace

PROCESS, ACCELERATOR = _otf2.LOCATION_GROUP_TYPE_PROCESS, _otf2.LOCATION_GROUP_TYPE_ACCELERATOR
THREAD, STREAM = _otf2.LOCATION_TYPE_CPU_THREAD, _otf2.LOCATION_TYPE_ACCELERATOR_STREAM
NONE = _otf2.UNDEFINED_UINT32.value
Node = tuple[str, str, int]
"""Name, class, parent."""


def write(
    where: Path, nodes: Sequence[Node], groups: Sequence[tuple[str, Any, int, int]],
    locations: Sequence[tuple[str, Any, int]], events: Sequence[Sequence[tuple[int, str, int]]],
) -> Path:  # fmt: skip
    """An archive with the regions call, first and second. groups: name, type, node, creator; locations: name, type,
    group; events of each location: time, Enter or Leave, region."""
    archive = _otf2.Archive_Open(
        str(where), "results", _otf2.FILEMODE_WRITE, 1 << 20, 1 << 20, _otf2.SUBSTRATE_POSIX, _otf2.COMPRESSION_NONE
    )
    flush = _otf2.FlushCallbacks(lambda *_: _otf2.FLUSH, lambda *_: 0)
    _otf2.Archive_SetFlushCallbacks(archive, flush, None)
    _otf2.Archive_SetSerialCollectiveCallbacks(archive)
    _otf2.Archive_OpenEvtFiles(archive)
    for number, rows in enumerate(events):
        writer = _otf2.Archive_GetEvtWriter(archive, number)
        for time, kind, region in rows:
            getattr(_otf2, f"EvtWriter_{kind}")(writer, None, time, region)
        _otf2.Archive_CloseEvtWriter(archive, writer)
    _otf2.Archive_CloseEvtFiles(archive)
    _otf2.Archive_OpenDefFiles(archive)
    for number in range(len(events)):
        _otf2.Archive_CloseDefWriter(archive, _otf2.Archive_GetDefWriter(archive, number))
    _otf2.Archive_CloseDefFiles(archive)
    writer = _otf2.Archive_GetGlobalDefWriter(archive)
    _otf2.GlobalDefWriter_WriteClockProperties(writer, 10**9, 0, 1000, _otf2.UNDEFINED_UINT64.value)
    strings: dict[str, int] = {}

    def string(text: str) -> int:
        if text not in strings:
            strings[text] = len(strings)
            _otf2.GlobalDefWriter_WriteString(writer, strings[text], text)
        return strings[text]

    roles = (_otf2.REGION_ROLE_FUNCTION, _otf2.REGION_ROLE_KERNEL, _otf2.REGION_ROLE_KERNEL)
    for number, (name, role) in enumerate(zip(("call", "first", "second"), roles, strict=True)):
        text = string(name)
        _otf2.GlobalDefWriter_WriteRegion(
            writer, number, text, text, string(""), role, _otf2.PARADIGM_HIP, _otf2.REGION_FLAG_NONE, NONE, 0, 0
        )
    for number, (name, kind, parent) in enumerate(nodes):
        _otf2.GlobalDefWriter_WriteSystemTreeNode(writer, number, string(name), string(kind), parent)
    for number, (name, kind, node, creator) in enumerate(groups):
        _otf2.GlobalDefWriter_WriteLocationGroup(writer, number, string(name), kind, node, creator)
    for number, (name, kind, group) in enumerate(locations):
        _otf2.GlobalDefWriter_WriteLocation(writer, number, string(name), kind, len(events[number]), group)
    _otf2.Archive_CloseGlobalDefWriter(archive, writer)
    _otf2.Archive_Close(archive)
    return where / "results.otf2"


HOST = [(0, "Enter", 0), (100, "Leave", 0)]
OVERLAP = [
    (500, "Enter", 1),
    (600, "Enter", 2),
    (650, "Enter", 1),
    (700, "Leave", 1),
    (800, "Leave", 1),
    (900, "Leave", 2),
]
TOOLS = {
    "rocprofv3": (
        [("./app", "node1", NONE)], [("./app", PROCESS, 0, NONE), ("gfx90a", ACCELERATOR, 0, NONE)], OVERLAP,
        [("first", 2, 350), ("second", 1, 300)],
    ),
    "Score-P": (
        [("node1", "node", NONE), ("GPU 0", "node", 0)],
        [("MPI Rank 0", PROCESS, 0, NONE), ("CUDA Context 1", ACCELERATOR, 1, 0)],
        [(500, "Enter", 1), (600, "Leave", 1), (600, "Enter", 2), (900, "Leave", 2)],
        [("second", 1, 300), ("first", 1, 100)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS)
def test_devices_of_other_tools(tmp_path: Path, tool: str) -> None:
    nodes, groups, commands, kernels = TOOLS[tool]
    locations = [("Thread 1", THREAD, 0), ("queue", STREAM, 1)]
    anchor = write(tmp_path / "results", nodes, groups, locations, [HOST, commands])
    found = json.loads(vtrace(tmp_path, "summary", anchor, "--json").stdout)
    assert (found["processes"], found["locations"]) == (1, 1)
    assert [row["host"] for row in found["classes"]] == ["node1"]
    assert found["classes"][0]["total_ns"] == 100
    assert [(row["activity"], row["calls"], row["time_ns"]) for row in found["kernels"]] == kernels
    (device,) = found["devices"]
    assert (device["busy_ns"], device["kernels"]) == (400, sum(calls for _, calls, _ in kernels))
    about = json.loads(vtrace(tmp_path, "info", anchor, "--json").stdout)
    assert {row["host"] for row in about["locations"]} == {"node1"}
    assert package.open(anchor).processes.rows == 1


def test_commands_that_the_window_cuts(tmp_path: Path) -> None:
    """Of overlapping commands each has its part inside of the window."""
    nodes, groups, commands, _ = TOOLS["rocprofv3"]
    locations = [("Thread 1", THREAD, 0), ("queue", STREAM, 1)]
    anchor = write(tmp_path / "results", nodes, groups, locations, [[(0, "Enter", 0), (1000, "Leave", 0)], commands])
    found = json.loads(vtrace(tmp_path, "summary", anchor, "--to", "750ns", "--json").stdout)
    assert {(row["activity"], row["calls"], row["time_ns"]) for row in found["kernels"]} == {
        ("first", 2, 300), ("second", 1, 150)
    }  # fmt: skip
