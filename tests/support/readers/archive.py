# SPDX-License-Identifier: BSD-3-Clause
"""Reads an OTF2 archive with two readers that share no code with vtrace: otf2-print and the otf2 package."""

from __future__ import annotations

import gc
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest

from support.readers.contents import LIVES, Comm, Event, Handle, Location, Marker, Printed, Region, Window
from support.tools import call, need


@dataclass
class Trace:
    """The content of the archive at path, from both readers. Events are in the order of time."""

    path: Path
    offset: int
    length: int
    resolution: int
    realtime: int
    locations: dict[int, Location] = field(default_factory=dict)
    regions: dict[int, Region] = field(default_factory=dict)
    comms: dict[int, Comm] = field(default_factory=dict)
    groups: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Location ids of groups of ranks."""
    helpers: set[int] = field(default_factory=set)
    """Ids of locations of libraries' helper threads."""
    creators: dict[int, int] = field(default_factory=dict)
    """The parent process of each process, both as ids of location groups."""
    windows: dict[int, Window] = field(default_factory=dict)
    files: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Path, and name of the system node below which the path is one file."""
    handles: dict[int, Handle] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    printed: list[Printed] = field(default_factory=list)
    markers: list[Marker] = field(default_factory=list)

    def of(self, location: int | None) -> list[Event]:
        """The events of one location, or of all if None."""
        return self.events if location is None else self._by_location.get(location, [])

    @cached_property
    def _by_location(self) -> dict[int, list[Event]]:
        """The events by location, since tests read one location after another."""
        found: dict[int, list[Event]] = defaultdict(list)
        for event in self.events:
            found[event.location].append(event)
        return dict(found)

    @cached_property
    def besides_calls(self) -> list[Event]:
        """The events other than Enter and Leave, which are few."""
        return [event for event in self.events if event.kind not in ("Enter", "Leave")]

    def kinds(self, location: int | None = None) -> Counter[str]:
        """Number of events by kind."""
        return Counter(e.kind for e in self.of(location))

    def region_of(self, event: Event) -> Region:
        """The region of an Enter or Leave."""
        return self.regions[event.attrs["region"]]

    def calls(self, location: int | None = None) -> Counter[str]:
        """Number of enters by a region's short name (no return type, template arguments, parameters), without the
        functions in LIVES.
        """
        found = self.entered(location)
        return Counter({name: n for name, n in found.items() if name not in LIVES})

    def entered(self, location: int | None = None) -> Counter[str]:
        """Number of enters by a region's short name, with the functions in LIVES."""
        found: Counter[str] = Counter()
        for region, count in Counter(e.attrs["region"] for e in self.of(location) if e.kind == "Enter").items():
            found[short(self.regions[region].name)] += count
        return found

    def edges(self, location: int | None = None) -> Counter[tuple[str | None, str]]:
        """Number of calls by (caller, callee), by short names, without the functions in LIVES. At the bottom of a stack
        the caller is None.
        """
        found: Counter[tuple[str | None, str]] = Counter()
        stacks: dict[int, list[str]] = {}
        for event in self.of(location):
            stack = stacks.setdefault(event.location, [])
            if event.kind == "Enter":
                name = short(self.region_of(event).name)
                if name not in LIVES:
                    found[(stack[-1] if stack else None, name)] += 1
                stack.append(name)
            elif event.kind == "Leave":
                stack.pop()
        return found

    def region(self, name: str) -> Region:
        """The only region with this short name."""
        found = [region for region in self.regions.values() if short(region.name) == name]
        assert len(found) == 1, f"{len(found)} regions {name} among {sorted(r.name for r in self.regions.values())}"
        return found[0]


@cache
def short(name: str) -> str:
    """A demangled name without return type, template arguments and parameters: int a::f<int>(int) -> a::f."""
    if name.startswith("operator") or "{lambda" in name:
        return name
    name = name.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{call}")
    while True:
        bare = re.sub(r"<[^<>]*>|\([^()]*\)(?: const)?(?:\[[^\]]*\])?", "", name)
        if bare == name:
            return bare.split(" ")[-1].strip("*&").replace("{call}", "()")
        name = bare


def inside(trace: Trace, location: int) -> dict[str, Counter[str]]:
    """Number of a location's events by innermost region and kind."""
    found: dict[str, Counter[str]] = {}
    stack: list[str] = []
    for event in trace.of(location):
        if event.kind == "Enter":
            stack.append(trace.region_of(event).name)
        elif event.kind == "Leave":
            stack.pop()
        else:
            found.setdefault(stack[-1] if stack else "", Counter())[event.kind] += 1
    return found


def read(archive: Path) -> Trace:
    """Reads the archive (its directory) with both readers. An error or warning of a reader is an assertion error."""
    anchor = archive.resolve() / "traces.otf2"
    assert anchor.exists(), f"{archive} has no traces.otf2"
    with _without_collector():
        trace = _read_python(anchor)
        _read_print(anchor, trace)
    if (archive / "traces.marker").exists():
        _read_markers(anchor, trace)
    return trace


@contextmanager
def _without_collector() -> Iterator[None]:
    """The collector would visit all events again and again while their number grows."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _read_python(anchor: Path) -> Trace:
    otf2 = pytest.importorskip("otf2")
    import _otf2

    from support.readers.event_callbacks import FastEvents

    with otf2.reader.open(str(anchor)) as reader:
        clock = reader.definitions.clock_properties
        times = (clock.global_offset, clock.trace_length, clock.timer_resolution, clock.realtime_timestamp)
        trace = Trace(anchor.parent, *times)
        _read_definitions(reader.definitions, trace)
        for location, event in FastEvents(reader, 100_000):
            if type(event) is Event:
                trace.events.append(event)
                continue
            attrs = {k: v if type(v) is int else _plain(v) for k, v in vars(event).items()}
            del attrs["time"], attrs["attributes"]
            more = {key.name: _plain(value) for key, value in event.attributes.items()} if event.attributes else {}
            trace.events.append(Event(location._ref, event.time, type(event).__name__, attrs, more))
        for name in _otf2.Reader_GetPropertyNames(reader.handle):
            trace.properties[name] = _otf2.Reader_GetProperty(reader.handle, name)
    return trace


def _plain(value: Any) -> Any:
    """The id of a definition, the name of an enumeration's value, names of flags; any other value unchanged."""
    if hasattr(value, "_ref"):
        return value._ref
    names = getattr(type(value), "_names", None)
    if names is None:
        return value
    number = value.value
    return names.get(number) or "|".join(name for bit, name in sorted(names.items()) if bit & number)


def _read_definitions(definitions: Any, trace: Trace) -> None:
    for group in definitions.location_groups:
        assert group.system_tree_parent is not None, f"location group {group.name} is on no node"
        if group.creating_location_group is not None:
            trace.creators[group._ref] = group.creating_location_group._ref
    for x in definitions.locations:
        group, host = x.group, x.group.system_tree_parent.name
        trace.locations[x._ref] = Location(
            x._ref, x.name, group.name, host, _plain(x.type), x.number_of_events, group._ref
        )
    trace.helpers = {x.location._ref for x in definitions.location_properties if x.name == "VTRACE::HELPER"}
    for x in definitions.regions:
        kind = (_plain(x.region_role), _plain(x.paradigm), x.description)
        trace.regions[x._ref] = Region(x._ref, x.name, x.canonical_name, x.source_file, x.begin_line_number, *kind)
    for x in definitions.comms:
        alone = _plain(x.group.group_type) == "COMM_SELF"
        members = None if alone else tuple(member._ref for member in x.group.members)
        trace.comms[x._ref] = Comm(x._ref, x.name, members, None if x.parent is None else x.parent._ref)
    for x in definitions.groups:
        if _plain(x.group_type) == "COMM_GROUP":
            trace.groups[x._ref] = tuple(member._ref for member in x.members)
    for x in definitions.rma_wins:
        assert _plain(x.flags) == "CREATE_DESTROY_EVENTS"
        trace.windows[x._ref] = Window(x.name, x.comm._ref)
    _read_io(definitions, trace)


def _read_io(definitions: Any, trace: Trace) -> None:
    for x in definitions.io_files:
        trace.files[x._ref] = (x.name, x.scope.name if x.scope else "")
    states = {}
    for x in definitions.io_pre_created_handle_states:
        states[x.io_handle._ref] = (_plain(x.io_access_mode), _plain(x.io_status_flags))
    for x in definitions.io_handles:
        file, scope = trace.files[x.file._ref] if x.file is not None else (None, None)
        comm, parent = (None if y is None else y._ref for y in (x.comm, x.parent))
        words = x.name, file, scope, x.io_paradigm.identification, _plain(x.io_handle_flags)
        trace.handles[x._ref] = Handle(*words, comm, parent, states.get(x._ref))


_LINE = re.compile(r"^([A-Z][A-Z0-9_]+) +(\d+) +(\d+)  (.*)$")
_CALLS = {"ENTER": "Enter", "LEAVE": "Leave"}
_REGION = re.compile(r'^Region: ".*" <(\d+)>$', re.DOTALL)


def _read_print(anchor: Path, trace: Trace) -> None:
    # otf2-print clears tables of many MiB; large pages halve the time.
    shown = call([need("otf2-print"), "-Werror", anchor], anchor.parent, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})
    assert not shown.stderr, f"errors of otf2-print: {shown.stderr}"
    body = shown.stdout.partition("\n---")[2].partition("\n")[2]
    regions: dict[str, int] = {}
    for line in body.splitlines():
        if line.startswith(("ENTER ", "LEAVE ")) and line[-1] == ">" and "INVALID" not in line:  # most lines
            word, location, time, text = line.split(None, 3)
            region_id = regions.get(text)
            if region_id is None:
                region_id = regions[text] = int(text[text.rindex("<") + 1 : -1])
            trace.printed.append(Printed._make((int(location), int(time), _CALLS[word], region_id, text)))
            continue
        if not line or line.lstrip().startswith("ADDITIONAL ATTRIBUTES: "):
            continue
        match = _LINE.match(line)
        assert match, f"otf2-print printed a line that is not an event: {line!r}"
        word, location, time, text = match.groups()
        kind = _kind(word)
        region = _REGION.match(text) if kind in ("Enter", "Leave") else None
        if "INVALID" in text:
            assert "INVALID" not in text.rpartition('"')[2], f"otf2-print: {line}"
            if "Sender:" in text or "Receiver:" in text:
                assert "INVALID" not in text.split(",")[0], f"otf2-print: {line}"
        assert region or kind not in ("Enter", "Leave"), f"otf2-print: no region in {line!r}"
        number = int(region[1]) if region else None
        trace.printed.append(Printed(int(location), int(time), kind, number, text))


@cache
def _kind(word: str) -> str:
    """The name of otf2-print's word for a kind of event in the otf2 package: MPI_SEND -> MpiSend."""
    return "".join(part.capitalize() for part in word.split("_")).replace("ChangeFlags", "ChangeStatusFlags")


_DEF = re.compile(r'^MARKER_DEF +Group: "(.*)", Category: "(.*)", Severity: (\w+)$')
_MARKER = re.compile(r'^MARKER +Time: (\d+), Duration \d+, Scope: ([\w:]+), Text: "(.*)"$')


def _read_markers(anchor: Path, trace: Trace) -> None:
    category = ""
    for line in call([need("otf2-marker"), anchor], anchor.parent).stdout.splitlines():
        if match := _DEF.match(line):
            category = match[2]
        elif match := _MARKER.match(line):
            trace.markers.append(Marker(category, int(match[1]), match[2], match[3]))
