# SPDX-License-Identifier: BSD-3-Clause
"""Writes a copy of an archive with pseudonyms. The copy has the source's events and times; of its texts and properties
it has only those that public_texts.py and this file list, all others are replaced or left out."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vtrace.io.archive.definitions import UNDEFINED_TIME, Marker
from vtrace.io.archive.properties import COMMAND, CORES, CPU_MAX_MHZ, EXECUTABLE, HELPER_PROPERTY, LANE, PID, PROPERTY
from vtrace.io.sidecar import sidecar
from vtrace.transform.cut import OF_THE_RUN
from vtrace.transform.new_archive import CopiedDefinitions, new_archive
from vtrace.transform.pseudonyms import Pseudonyms
from vtrace.transform.public_places import parts_of
from vtrace.transform.public_texts import (
    is_public,
    is_public_class,
    is_public_reason,
    is_public_region,
    is_public_setting,
)  # fmt: skip
from vtrace.transform.rewrite import ArchivePart, Rewriter
from vtrace.transform.tables import copied_markers, left_tables, write_tables

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace
    from vtrace.console import Console

_TYPE_STRING = 11
"""OTF2_TYPE_STRING."""
_KINDS: Mapping[str, Mapping[int, str]] = {
    "Paradigm": {1: "paradigm"}, "Attribute": {1: "attribute", 2: "text"}, "SystemTreeNode": {1: "host", 2: "class"},
    "LocationGroup": {1: "process"}, "Location": {1: "thread"},
    "Region": {1: "function", 2: "function", 3: "text", 7: "source"}, "Callsite": {1: "source"},
    "MetricMember": {1: "metric", 2: "text", 8: "unit"}, "Comm": {1: "communicator"}, "InterComm": {1: "communicator"},
    "Parameter": {1: "parameter"}, "RmaWin": {1: "window"}, "SourceCodeLocation": {1: "source"},
    "InterruptGenerator": {1: "sampling"}, "CartDimension": {1: "dimension"}, "IoRegularFile": {1: "file"},
    "IoDirectory": {1: "file"}, "IoHandle": {1: "handle"}, "Group": {1: "group"}, "CartTopology": {1: "topology"},
    "IoParadigm": {1: "layer", 2: "layer"},
}  # fmt: skip
"""The kinds of the texts of definitions, by their places among the values (csrc/otf2_reader/definitions.h)."""
_PROPERTIES = {PROPERTY + name: "number" for name in (*OF_THE_RUN, "DIED", "UNKNOWN")} | {
    CPU_MAX_MHZ: "number", HELPER_PROPERTY: "number", LANE: "lane", CORES: "cores", EXECUTABLE: "program",
    COMMAND: "command", PID: "pid",
}  # fmt: skip
"""The properties of places that stay: counts and times, or texts of a kind."""
_LOST_BY = re.compile(rf"{PROPERTY}LOST_[A-Z]+")
_VERSION = re.compile(r"vtrace \d[\w.+-]*")
_CLOCK = re.compile("rdtsc|cntvct_el0|CLOCK_MONOTONIC_RAW|unknown")
_RANKS = re.compile(r"[\d, -]*")
_COVERAGE = (
    "complete", "lost", "clamped", "limit", "flushed", "off", "seconds", "died", "dropped", "unknown",
)  # fmt: skip
_REPAIR = (
    "messages", "reversed_messages", "collectives", "reversed_collectives", "left", "corrections", "largest_ns",
)  # fmt: skip
_LOOP = ("number", "region", "first", "last", "level", "outer", "lines")


@dataclass(frozen=True, kw_only=True)
class AnonymisedArchive:
    """A finished copy. texts: the number of pseudonyms; left: tables that the copy lacks."""

    path: Path
    locations: int
    events: int
    texts: int
    left: list[str]


def anonymise(trace: Trace, output: Path, pseudonyms: Pseudonyms, *, console: Console) -> AnonymisedArchive:
    """Writes a copy of a trace with pseudonyms into the new directory output. Raises VtraceError."""
    with Rewriter(trace, ArchivePart(locations=tuple(range(trace.locations.rows)))) as copy:
        with console.steps("events", int(trace.locations["events"].sum()), "events") as advance:
            copy.replace_texts(*_texts(copy, pseudonyms))
            with new_archive(output) as archive:
                copy.write(archive, advance)
                archive.finish(_definitions(copy, pseudonyms), [_marker(pseudonyms, m) for m in copied_markers(copy)])
                tables = write_tables(
                    copy, archive.directory, change=lambda table: _table(pseudonyms, table), clocks=False
                )
        return AnonymisedArchive(
            path=output, locations=trace.locations.rows, events=sum(copy.result.events.values()),
            texts=len(pseudonyms.of), left=left_tables(trace, tables),
        )  # fmt: skip


def _texts(copy: Rewriter, pseudonyms: Pseudonyms) -> tuple[dict[int, str], set[int]]:
    """The text of each string in the copy, and the names of properties that do not stay. A string that only events or
    such properties use is a text of the program."""
    strings = copy.trace.definitions.strings
    kinds: dict[int, str] = {}
    dropped: set[int] = set()
    for record, values in copy.records():
        for place, kind in _KINDS.get(record, {}).items():
            text = strings.get(values[place], "")
            kinds.setdefault(values[place], kind)
            is_name = record == "Region" and place in {1, 2}
            if is_public(kind, text) or (is_name and _is_public_region(text, values, strings)):
                pseudonyms.publish(text)
        if record.endswith("Property") and record != "ParadigmProperty":
            of = _property_kind(strings.get(values[1], ""))
            if of is None:
                dropped.add(values[1])
                continue
            pseudonyms.publish(strings[values[1]])
            if values[2] == _TYPE_STRING:
                kinds.setdefault(values[3], of)
    return {number: pseudonyms.site(text, kinds.get(number, "text")) for number, text in strings.items()}, dropped


def _is_public_region(name: str, values: Sequence[int], strings: Mapping[int, str]) -> bool:
    """A region of a public interface, or of a file that is public. values: of its definition."""
    file = strings.get(values[7], "")
    return is_public_region(name, values[4], values[5]) or (file != "" and not parts_of(file).has_name)


def _property_kind(name: str) -> str | None:
    """The kind of the value of a property of a place, if it is a text; None: the property does not stay."""
    return "number" if _LOST_BY.fullmatch(name) else _PROPERTIES.get(name)


def _marker(pseudonyms: Pseudonyms, marker: Marker) -> Marker:
    category, text = (pseudonyms.name(kind, of) for kind, of in (("marker", marker.category), ("text", marker.text)))
    group = marker.group if marker.group in {"vtrace", "user"} else pseudonyms.name("group", marker.group)
    about = (marker.location, group, marker.severity, marker.duration, marker.scope)
    return Marker(marker.time, category, text, *about)


def _table(pseudonyms: Pseudonyms, table: sidecar.SidecarTable) -> sidecar.SidecarTable:
    """A table of the sidecar with other names."""
    change: dict[str, Callable[[str], str]] = {
        "class": lambda text: text if is_public_class(text) else "all",
        "reason": lambda text: text if is_public_reason(text) else pseudonyms.name("text", text),
    }
    names = {of: [change.get(of, pseudonyms.site)(text) for text in texts] for of, texts in table.names.items()}
    return sidecar.SidecarTable(table.columns, names)


def _definitions(copy: Rewriter, pseudonyms: Pseudonyms) -> CopiedDefinitions:
    trace = copy.trace
    resolution, offset, length, realtime = trace.definitions.clock
    since = UNDEFINED_TIME if realtime is None else realtime
    properties = {PROPERTY + name: json.dumps(value) for name, value in _properties(copy, pseudonyms).items()}
    return CopiedDefinitions(
        resolution, offset, length, since, properties=properties,
        creator=trace.creator if _VERSION.fullmatch(trace.creator) else "",
        machine=pseudonyms.name("host", trace.machine), chunk=copy.chunk(),
        write=lambda writer: copy.write_definitions(writer, (resolution, offset, length, since)),
    )  # fmt: skip


def _known(value: Mapping[str, Any], numbers: Iterable[str]) -> dict[str, Any]:
    """The members of an object that are numbers or truth values, or lists of numbers, and have these names."""
    found = {key: value[key] for key in numbers if key in value}
    return {
        key: each
        for key, each in found.items()
        if isinstance(each, int | float | None) or (isinstance(each, list) and all(isinstance(n, int) for n in each))
    }


def _properties(copy: Rewriter, pseudonyms: Pseudonyms) -> dict[str, Any]:
    """The properties of the run that stay."""
    own, name = copy.trace.vtrace, pseudonyms.name
    found: dict[str, Any] = {"ANONYMISED": True}
    if "EVENTS" in own:
        found["EVENTS"] = copy.result.events
    if "ABOUT" in own:
        found["ABOUT"] = _about(own["ABOUT"], pseudonyms)
    if "SETTINGS" in own:
        found["SETTINGS"] = {key: text for key, text in own["SETTINGS"].items() if is_public_setting(key, text)}
    if "COVERAGE" in own:
        found["COVERAGE"] = _coverage(own["COVERAGE"], pseudonyms)
    if "CLOCKS" in own:
        found["CLOCKS"] = _clocks(own["CLOCKS"], pseudonyms)
    if isinstance(samples := own.get("SAMPLES"), dict):
        found["SAMPLES"] = _known(samples, ("samples", "lost", "counted", "weight_ns", "overruns"))
    if isinstance(iterations := own.get("ITERATIONS"), dict):
        found["ITERATIONS"] = _known(iterations, ("all", "left_out"))
    if isinstance(loops := own.get("LOOPS"), list):
        found["LOOPS"] = [
            _known(loop, _LOOP) | {"file": name("source", loop["file"]), "kind": name("loop", loop["kind"])}
            for loop in loops
        ]
    if isinstance(inlined := own.get("INLINED"), list):
        found["INLINED"] = [
            _known(one, ("loop", "bytes")) | {key: name("function", one[key]) for key in ("into", "name")}
            for one in inlined
        ]
    return found


def _about(about: Mapping[str, Any], pseudonyms: Pseudonyms) -> dict[str, Any]:
    name = pseudonyms.name
    found = _known(about, ("start", "ranks", "processes"))
    kinds = {"executable": "program", "user": "user", "unified_on": "host", "prefix": "prefix"}
    found |= {key: name(kind, about[key]) for key, kind in kinds.items() if key in about}
    if "command" in about:
        found["command"] = [name("command", shlex.join(about["command"]))]
    public = {"recorded_by": _VERSION, "unified_by": _VERSION, "clock": _CLOCK, "missing_ranks": _RANKS}
    texts = {key: about[key] for key, form in public.items() if form.fullmatch(about.get(key, ""))}
    return found | {"unified_by": "", "clock": ""} | texts


def _coverage(coverage: Mapping[str, Any], pseudonyms: Pseudonyms) -> dict[str, Any]:
    found = _known(coverage, _COVERAGE)
    for key in ("shortfalls", "untimed"):
        found[key] = [pseudonyms.name("text", text) for text in coverage.get(key, [])]
    lost = {reason: n for reason, n in coverage.get("lost_by", {}).items() if re.fullmatch("[A-Z]+", reason)}
    return found | {"lost_by": lost}


def _clocks(clocks: Mapping[str, Any], pseudonyms: Pseudonyms) -> dict[str, Any]:
    found = _known(clocks, ("count", "compared", "measured", "error_ns"))
    found["reference"] = pseudonyms.name("host", clocks.get("reference", ""))
    if "bounds" in clocks:
        found["bounds"] = [
            _known(bound, ("measured", "error_ns")) | {"host": pseudonyms.name("host", bound["host"])}
            for bound in clocks["bounds"]
        ]
    repair = _known(clocks.get("repair", {}), _REPAIR)
    return found | ({"repair": repair} if repair else {})
