# SPDX-License-Identifier: BSD-3-Clause
"""vtrace info reads definitions without events: the same as OTF2's own reader, and a selection of many locations."""

from __future__ import annotations

import json
from pathlib import Path

import otf2
import pytest

from support.build.run import vtrace
from support.synthetic_runs.archives import UNDEFINED, Foreign
from vtrace.io.archive.overview import LocationLine, read_overview
from vtrace.reports import location_lines as shown

UINT64 = 4
MANY = 50


def made(where: Path, count: int, known: dict[int, dict[str, int]], kinds: int = 4) -> Path:
    """An archive of count locations on two hosts, two locations a process, with every third id, defined in descending
    order. known: properties by row. kinds: number of different event counts.
    """
    archive = Foreign(where)
    for row in range(count):
        archive.events(3 * row, [(0, "Enter", 0), (1 + row, "Leave", 0)])
    archive.begin_definitions()
    archive.machine(groups=0, offset=5, length=2500)
    archive.define("SystemTreeNode", 7, "second host", "node", 0)
    for group in range((count + 1) // 2):
        archive.define("LocationGroup", 10 * group, f"process {group}", 1, 7 * (group % 2), UNDEFINED)
    for row in reversed(range(count)):
        archive.define("Location", 3 * row, f"thread {row}", 1, 2 + row % kinds, 10 * (row // 2))
        for name, value in known.get(row, {}).items():
            archive.define("LocationProperty", 3 * row, f"VTRACE::{name}", UINT64, value)
    archive.region(0, "main")
    archive.define("Group", 0, "", 4, 4, 0, [3 * row for row in range(count)])
    archive.define("Comm", 0, "MPI_COMM_WORLD", 0, UNDEFINED, 0)
    return archive.close()


def test_all_that_the_otf2_package_reads(tmp_path: Path) -> None:
    anchor = made(tmp_path / "a.trace", 5, {3: {"LOST": 7, "RECORDED_NS": 2**40}, 0: {"LOST": 1}})
    found = read_overview(anchor)
    with otf2.reader.open(str(anchor)) as reader:
        properties: dict[int, dict[str, int]] = {}
        for entry in reader.definitions.location_properties:
            properties.setdefault(entry.location._ref, {})[entry.name.removeprefix("VTRACE::")] = entry.value
        wanted = [
            LocationLine(
                id=location._ref,
                name=location.name,
                process=location.group.name,
                host=location.group.system_tree_parent.name,
                events=location.number_of_events,
                properties=properties.get(location._ref, {}),
            )
            for location in reader.definitions.locations
        ]
        assert (found.regions, found.communicators) == (1, [comm.name for comm in reader.definitions.comms])
    assert properties == {9: {"LOST": 7, "RECORDED_NS": 2**40}, 0: {"LOST": 1}}
    assert list(found.locations) == sorted(wanted, key=lambda line: line.id)
    assert (found.locations.processes, found.locations.hosts) == (3, ["host", "second host"])
    assert (found.seconds, found.start) == (2.5e-06, None)


def test_few_locations_are_all_shown(tmp_path: Path) -> None:
    text = vtrace(tmp_path, "info", made(tmp_path / "a.trace", shown.MOST, {})).stdout
    assert text.count("\n  ") == 5 + 1 + shown.MOST
    assert "--all" not in text


@pytest.mark.parametrize(
    ("lost", "rows", "last"),
    [
        (0, {0, 3}, "^ the most and v the least of 50; 48 are left out here: --all shows them, --json is for scripts"),
        (2, {0, 3, 48, 49}, "2 lack events or have moved times"),
        (30, {0, 3, *range(20, 40)}, "30 lack events or have moved times; the first 20 are shown"),
    ],
)
def test_of_many_those_that_say_something(tmp_path: Path, lost: int, rows: set[int], last: str) -> None:
    """The last ones of 50 locations lost an event: the table must show these."""
    anchor = made(tmp_path / "a.trace", MANY, {row: {"LOST": int(row >= MANY - lost)} for row in range(MANY)})
    words = vtrace(tmp_path, "info", anchor).stdout.partition("Locations\n")[2].splitlines()[:-2]
    notes = 1 + bool(lost)
    assert {int(line.split()[0]) for line in words[1:-notes]} == {3 * row for row in rows}
    assert words[-1].strip() == last
    everything = vtrace(tmp_path, "info", "--all", anchor).stdout.partition("Locations\n")[2].splitlines()[1:-2]
    assert [int(line.split()[0]) for line in everything] == [3 * row for row in range(MANY)]
    found = json.loads(vtrace(tmp_path, "info", "--json", anchor).stdout)["locations"]
    assert [line["id"] for line in found] == [3 * row for row in range(MANY)]
    assert [line["lost"] for line in found] == [int(row >= MANY - lost) for row in range(MANY)]


def test_nothing_to_choose_by(tmp_path: Path) -> None:
    text = vtrace(tmp_path, "info", made(tmp_path / "a.trace", MANY, {}, kinds=1)).stdout
    assert [line.split()[0] for line in text.partition("Locations\n")[2].splitlines()[1:4]] == ["0", "3", "6"]
    assert "  all 50 are alike; 47 are left out here: --all" in text
