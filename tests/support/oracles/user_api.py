# SPDX-License-Identifier: BSD-3-Clause
"""The expected content of archives of the user API's programs (tests/programs/user*)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.readers.archive import Event, Trace
from vtrace.paths import LIB

INCLUDE = f"-I{LIB / 'user'}"
MANUAL = ("-vt:inst", "manual", "-DVTRACE", "-O1")


def described(trace: Trace, event: Event) -> str:
    """A short text for an event, without its time."""
    a = event.attrs
    match event.kind:
        case "Enter" | "Leave":
            return f"{'+' if event.kind == 'Enter' else '-'}{trace.region_of(event).name}"
        case "MeasurementOnOff":
            return str(a["measurement_mode"])
        case "Metric":
            return f"{a['metric']}={a['values'][0]}"
        case "MpiSend" | "MpiRecv":
            peer = a.get("receiver", a.get("sender"))
            return f"{event.kind} {trace.comms[a['communicator']].name} {peer} {a['msg_tag']} {a['msg_length']}"
    return event.kind


def story(trace: Trace, location: int = 0) -> list[str]:
    """Short texts of all events of a location."""
    return [described(trace, event) for event in trace.of(location)]


def words(text: str) -> list[str]:
    """The expected story from a text with commas."""
    return [word.strip() for line in text.strip().splitlines() for word in line.split(",") if word.strip()]


def pair(name: str, times: int = 1) -> list[str]:
    """Enter and leave of a region, repeated."""
    return [f"+{name}", f"-{name}"] * times


@dataclass
class Defined:
    """Definitions: metrics (name, unit, type of values, mode) by number; groups of regions and metrics by name."""

    metrics: list[tuple[str, str, str, str]] = field(default_factory=list)
    groups: dict[str, tuple[str, list[str]]] = field(default_factory=dict)


def defined(archive: Path) -> Defined:
    """Metrics and groups as the otf2 package reads them."""
    otf2 = pytest.importorskip("otf2")
    found = Defined()
    with otf2.reader.open(str(archive / "traces.otf2")) as reader:
        for metric in reader.definitions.metric_members:
            found.metrics.append((metric.name, metric.unit, _name(metric.value_type), _name(metric.metric_mode)))
        for group in reader.definitions.groups:
            if _name(group.group_type) == "REGIONS":
                found.groups[group.name] = ("REGIONS", [member.name for member in group.members])
            elif _name(group.group_type) == "METRIC":
                found.groups[group.name] = ("METRIC", [member.members[0].name for member in group.members])
    return found


def _name(value: Any) -> str:
    return str(type(value)._names[value.value])


LOOP = ["+loop", "+given", "+plain", "-plain", "-given", "-loop"] * 2
COUNTS = words("0=-3, 1=18446744073709551615, 2=0.5, 3=-1e+300, 0=-2, 3=7.0")
MESSAGES = words("""
MpiSend queue 0 5 80, MpiSend User messages 0 6 90, MpiRecv queue 0 5 80, MpiRecv User messages 0 6 90
""")
END = ["BufferFlush", "OFF", "ON"]
ALL = [*LOOP, *pair("made up"), *pair("second"), "OFF", "ON", *COUNTS, *MESSAGES, *END]
"""The story of user.c."""
MARKERS = [
    ("bends", "it bent"), ("breaks", "it broke"), ("comment", "half way"), *[("steps", "it went")] * 3,
]  # fmt: skip
