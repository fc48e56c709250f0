# SPDX-License-Identifier: BSD-3-Clause
"""The definitions of an archive as tables. A reference to another definition is a row of that table, -1 for none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import _otf2
import numpy as np

from vtrace.analysis.activity import ACTIVITIES, CLASS_OF, CLASSES, OTHER, TRACING, activities_of, layer
from vtrace.analysis.table import Array, Table, texts
from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.ids import IdRows, ascending
from vtrace.io.archive.properties import HELPER_PROPERTY, LANE
from vtrace.io.archive.reader import clock_of
from vtrace.io.common.enumerations import names_of

FLUSH = "(buffer flush)"
"""Name of the region that stands for BufferFlush events."""
_STRING = _otf2.TYPE_STRING.value
_REALS = {_otf2.TYPE_FLOAT.value: np.float32, _otf2.TYPE_DOUBLE.value: np.float64}
_SIGNED = {getattr(_otf2, f"TYPE_INT{n}").value: n for n in (8, 16, 32, 64)}


_STREAMS = "ACCELERATOR_STREAM", "GPU"
"""The types of streams of devices; OTF2 3 renamed the type."""


def named(enumeration: Any, numbers: Array) -> Array:
    """OTF2's names of the values of an enumeration; a number without a name becomes its decimal text."""
    names = names_of(enumeration)
    return texts([names.get(number, str(number)) for number in numbers.tolist()])


def has_line(lines: Any) -> Any:
    """True for known line numbers: OTF2 has 0 and 2**32 - 1 for unknown lines."""
    return (lines > 0) & (lines < UNDEFINED)


def source_text(regions: Table, row: int) -> str:
    """The source of a region: file:line, or file if the line is unknown, or "" if both are."""
    file, line = str(regions["file"][row]), int(regions["line"][row])
    return f"{file}:{line}" if file and has_line(line) else file


def regions_named(regions: Table, name: str) -> list[int]:
    """The rows of all regions with a name."""
    return [row for row, each in enumerate(regions["name"].tolist()) if str(each) == name]


def region_rows(regions: Table, given: Sequence[int | str] | str) -> list[int]:
    """The rows of regions that a user gives as rows and names. Raises ValueError: a region does not exist."""
    rows: list[int] = []
    for one in [given] if isinstance(given, str) else given:
        found = regions_named(regions, one) if isinstance(one, str) else [int(one)]
        if not found or not 0 <= found[0] < regions.rows:
            raise ValueError(f"{one!r} is no region of this trace: give rows of trace.regions, or names")
        rows += found
    return rows


@dataclass(kw_only=True)
class DefinitionTables:
    """Tables by the names of the attributes of Trace, and IdRows that find their rows by OTF2's ids."""

    tables: dict[str, Table]
    ids: dict[str, IdRows]
    strings: dict[int, str]
    members: Array
    worlds: dict[str, Array]
    """By paradigm: the row of locations of each rank."""
    clock: tuple[int, int, int, int | None]
    """Resolution (ticks a second), offset and length (ticks), real time of the offset (ns since the epoch, or None)."""
    flush_region: int | None = None
    """The row of regions that stands for BufferFlush events, the last but one; None: the archive has no such events.

    The time of a flush belongs to the class tracing and not to the call around the flush.
    """


class _Builder:
    def __init__(self, raw: dict[str, Array]) -> None:
        self.raw = raw
        blob = raw["Text"]["bytes"].tobytes()
        self.strings = {
            row[0]: blob[row[1] : row[1] + row[2]].decode("utf-8", "replace") for row in raw["String"].tolist()
        }
        self.tables: dict[str, Table] = {}
        self.ids: dict[str, IdRows] = {}
        self.worlds: dict[str, Array] = {}

    def text(self, refs: Array) -> Array:
        return texts([self.strings.get(ref, "") for ref in refs.tolist()])

    def add(
        self, name: str, raw: Array, texts_of: str = "name", refs: dict[str, str] | None = None, **more: Any
    ) -> None:
        """Adds a table with raw's columns: text for the columns in texts_of, rows of another table for the columns in
        refs."""
        raw = ascending(raw)
        columns: dict[str, Any] = {}
        for field in raw.dtype.names or ():
            values = raw[field]
            if field in texts_of.split():
                columns[field] = self.text(values)
            elif refs and field in refs:
                columns[field] = self.ids[refs[field]].rows(values)
            else:
                columns[field] = values.astype(np.int64)
        for field, make in more.items():
            columns[field] = make(raw, columns)
        self.ids[name] = IdRows(raw["id"].copy())
        self.tables[name] = Table(columns)

    def values(self, types: Array, values: Array) -> Array:
        """The values of properties, by their types."""
        return texts([self._value(*pair) for pair in zip(types.tolist(), values.tolist(), strict=True)])

    def _value(self, kind: int, bits: int) -> Any:
        if kind == _STRING:
            return self.strings.get(bits & UNDEFINED, "")
        if kind in _REALS:
            return np.array([bits], np.uint64).view(_REALS[kind])[0].item()
        if kind in _SIGNED:
            return int.from_bytes(bits.to_bytes(8, "little")[: _SIGNED[kind] // 8], "little", signed=True)
        return bits


def _without_parents(builder: _Builder, name: str, raw: Array, refs: dict[str, str], **more: Any) -> None:
    """Like add, for definitions that refer to their own kind by `parent`."""
    builder.ids[name] = IdRows(ascending(raw)["id"].copy())
    builder.add(name, raw, "name class_name", refs | {"parent": name}, **more)


def build(raw: dict[str, Array], flushes: bool) -> DefinitionTables:
    """Makes the tables.

    raw: the columns that vtrace.io.archive.definitions reads. flushes: whether the archive may have BufferFlush events.
    """
    b = _Builder(raw)
    _system(b)
    _code(b, flushes)
    _communication(b)
    _topologies(b)
    _files(b)
    _metrics(b)
    members = raw["Members"]["member"].astype(np.uint64)
    flush = b.tables["regions"].rows - 2 if flushes else None
    return DefinitionTables(
        tables=b.tables,
        ids=b.ids,
        strings=b.strings,
        members=members,
        worlds=b.worlds,
        clock=clock_of(raw["ClockProperties"]),
        flush_region=flush,
    )


def _system(b: _Builder) -> None:
    _without_parents(b, "nodes", b.raw["SystemTreeNode"], {})
    b.ids["groups"] = IdRows(ascending(b.raw["LocationGroup"])["id"].copy())
    refs = {"node": "nodes", "creator": "groups"}
    b.add(
        "groups", b.raw["LocationGroup"], "name", refs, type=lambda raw, _: named(_otf2.LocationGroupType, raw["type"])
    )
    b.add(
        "locations",
        b.raw["Location"],
        "name",
        {"group": "groups"},
        type=lambda raw, _: named(_otf2.LocationType, raw["type"]),
    )
    for name, kind, owner in (
        ("location_properties", "LocationProperty", "location"), ("group_properties", "LocationGroupProperty", "group"),
        ("node_properties", "SystemTreeNodeProperty", "node"),
    ):  # fmt: skip
        rows = b.raw[kind]
        columns = {owner: b.ids[f"{owner}s"].rows(rows[owner]), "name": b.text(rows["name"])}
        b.tables[name] = Table(columns | {"value": b.values(rows["type"], rows["value"])})
    own = b.tables["location_properties"]
    locations = b.tables["locations"]
    marks = {}
    for column, name in (("helper", HELPER_PROPERTY), ("lane", LANE)):
        marks[column] = np.zeros(locations.rows, bool)
        marks[column][own["location"][(own["name"] == name) & (own["location"] >= 0)].astype(np.int64)] = True
    marks["device"] = np.isin(locations["type"], _STREAMS)
    # A lane with calls, and a stream of a device, are left out of the same numbers as a helper thread.
    marks["helper"] |= (marks["lane"] & (locations["type"] != "METRIC")) | marks["device"]
    b.tables["locations"] = Table({**locations, **marks})


def _code(b: _Builder, flushes: bool) -> None:
    def activities(raw: Array, columns: dict[str, Any]) -> Array:
        return activities_of(columns["name"].tolist(), raw["role"], raw["paradigm"])

    b.add(
        "regions", b.raw["Region"], "name canonical description file", None, activity=activities,
        role=lambda raw, _: named(_otf2.RegionRole, raw["role"]),
        paradigm=lambda raw, _: named(_otf2.Paradigm, raw["paradigm"]),
    )  # fmt: skip
    table = _merged(b)
    regions = {**table, "class": CLASS_OF[table["activity"]]}
    unknown = {
        name: texts([""]) if column.dtype == object else np.zeros(1, column.dtype) for name, column in regions.items()
    }
    unknown |= {"id": np.array([-1]), "name": texts(["(unknown region)"])}
    tracing = {"activity": np.array([ACTIVITIES.index("tracing")]), "class": np.array([TRACING])}
    flush = {"id": np.array([-2]), "name": texts([FLUSH])}
    flush |= {name: values.astype(unknown[name].dtype) for name, values in tracing.items()}
    more = [unknown | flush, unknown] if flushes else [unknown]
    b.tables["regions"] = Table(
        {name: np.concatenate([column, *(row[name] for row in more)]) for name, column in regions.items()},
        classes=CLASSES, activities=ACTIVITIES,
    )  # fmt: skip
    _contexts(b)
    b.add("attributes", b.raw["Attribute"], "name description")
    b.add("parameters", b.raw["Parameter"])


def _topologies(b: _Builder) -> None:
    """Cartesian topologies, and the places of ranks in them: of the first three dimensions."""
    dimensions, places = b.raw["CartDimension"], b.raw["CartCoordinate"]
    sizes, row = np.append(dimensions["size"].astype(np.int64), 0), IdRows(dimensions["id"].copy())
    members = np.append(b.raw["Members"]["member"], np.uint64(0))

    def value(raw: Array, axis: int) -> tuple[Array, Array]:
        has = raw["count"] > axis
        return has, members[np.where(has, raw["offset"] + np.uint64(axis), 0).astype(np.int64)]

    def length(axis: int) -> Callable[[Array, Any], Array]:
        def lengths(raw: Array, _: Any) -> Array:
            has, numbers = value(raw, axis)
            found: Array = np.where(has, sizes[row.rows(numbers)], 0)
            return found

        return lengths

    b.add("topologies", b.raw["CartTopology"], "name", {"comm": "comms"}, x=length(0), y=length(1), z=length(2))
    found = {"topology": b.ids["topologies"].rows(places["topology"]), "rank": places["rank"].astype(np.int64)}
    for number, axis in enumerate("xyz"):
        has, coordinates = value(places, number)
        found[axis] = np.where(has, coordinates.astype(np.int64), -1)
    b.tables["coordinates"] = Table(found)


def _contexts(b: _Builder) -> None:
    """Calling contexts and the sources of samples."""
    places = ascending(b.raw["SourceCodeLocation"])
    files, lines = np.append(b.text(places["file"]), ""), np.append(places["line"].astype(np.int64), 0)
    contexts = ascending(b.raw["CallingContext"])
    ids = b.ids["contexts"] = IdRows(contexts["id"].copy())
    place = IdRows(places["id"].copy()).rows(contexts["source"])
    unknown = b.tables["regions"].rows - 1
    region = b.ids["regions"].rows(contexts["region"])
    b.tables["contexts"] = Table({
        "region": np.where(region < 0, unknown, region), "parent": ids.rows(contexts["parent"]),
        "file": files[place], "line": lines[place],
    })  # fmt: skip
    b.add(
        "interrupt_generators", b.raw["InterruptGenerator"],
        mode=lambda raw, _: named(_otf2.InterruptGeneratorMode, raw["mode"]),
    )  # fmt: skip


def _merged(b: _Builder) -> Table:
    """The regions without repetitions: EZTrace defines each function once for each process."""
    table = b.tables["regions"]
    same = [table[name].tolist() for name in "name canonical role paradigm file line end_line".split()]
    rows: dict[tuple[Any, ...], int] = {}
    row_of = np.array([rows.setdefault(key, len(rows)) for key in zip(*same, strict=True)], np.int64)
    b.ids["regions"] = IdRows(table["id"].astype(np.uint64), row_of)
    _, first = np.unique(row_of, return_index=True)
    return table.take(first)


def _communication(b: _Builder) -> None:
    b.worlds = _worlds(b)
    b.add(
        "comm_groups", b.raw["Group"], "name", None,
        type=lambda raw, _: named(_otf2.GroupType, raw["type"]),
        paradigm=lambda raw, _: named(_otf2.Paradigm, raw["paradigm"]),
    )  # fmt: skip
    plain, between = b.raw["Comm"], b.raw["InterComm"]
    both: Array = np.zeros(len(plain) + len(between), between.dtype)
    for field in plain.dtype.names or ():
        both[field] = np.concatenate([plain[field], between[field]])
    both["remote"] = np.concatenate([np.full(len(plain), UNDEFINED, np.uint64), between["remote"]])
    _without_parents(b, "comms", both, {"group": "comm_groups", "remote": "comm_groups"})
    b.add("windows", b.raw["RmaWin"], "name", {"comm": "comms"})


def _worlds(b: _Builder) -> dict[str, Array]:
    """By paradigm: the row of locations of each rank. EZTrace gives the id of this group to another group, too."""
    members, found = b.raw["Members"]["member"].astype(np.uint64), {}
    for row in b.raw["Group"].tolist():
        _, _, kind, paradigm, _, offset, count = row
        if kind == _otf2.GROUP_TYPE_COMM_LOCATIONS.value:
            name = names_of(_otf2.Paradigm).get(paradigm, str(paradigm))
            found[name] = b.ids["locations"].rows(members[offset : offset + count])
    return found


def _files(b: _Builder) -> None:
    rows = np.concatenate([b.raw["IoRegularFile"], b.raw["IoDirectory"]])
    b.add("files", rows, "name", {"node": "nodes"})
    b.add("io_paradigms", b.raw["IoParadigm"], "identification name")
    refs = {"file": "files", "paradigm": "io_paradigms", "comm": "comms"}
    _without_parents(b, "io_handles", b.raw["IoHandle"], refs)
    layers = np.array([*map(layer, b.tables["io_paradigms"]["identification"].tolist()), OTHER], np.uint8)
    b.tables["io_handles"] = Table({**b.tables["io_handles"], "layer": layers[b.tables["io_handles"]["paradigm"]]})


def is_count(mode: str) -> bool:
    """True for a metric whose values are sums over time. mode: OTF2's name."""
    return mode.startswith("ACCUMULATED")


def _metrics(b: _Builder) -> None:
    b.add(
        "metric_members", b.raw["MetricMember"], "name description unit", None,
        mode=lambda raw, _: named(_otf2.MetricMode, raw["mode"]),
        value_type=lambda raw, _: named(_otf2.Type, raw["value_type"]),
    )  # fmt: skip
    b.add("metric_classes", b.raw["MetricClass"])
    b.add("metric_instances", b.raw["MetricInstance"], "", {"metric_class": "metric_classes"})
