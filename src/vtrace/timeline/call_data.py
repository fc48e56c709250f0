# SPDX-License-Identifier: BSD-3-Clause
"""The facts of one call, its related calls (caller, next, longest ...), and all calls that a search finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import _otf2
import numpy as np

from vtrace.analysis.activity import MPI
from vtrace.analysis.annotations import COLOUR
from vtrace.analysis.questions.collectives import op_name
from vtrace.analysis.questions.events import NO_VALUE, Events
from vtrace.analysis.questions.timeline_data import location_names, span
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array
from vtrace.io.common.enumerations import names_of
from vtrace.text import plain
from vtrace.timeline.answers import BadRequest, Content, pack
from vtrace.timeline.call_store import CallStore, LocationCalls
from vtrace.timeline.window_data import LINK

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.timeline.rare_calls import RareCalls
    from vtrace.timeline.window_data import WindowData

_MOST_ENDS = 50
"""The most messages of a call to list."""
_LONGEST = 12
"""The most outliers of a search."""
_ARGUMENTS = ("ParameterString", "ParameterInt", "ParameterUnsignedInt")


class CallData:
    """Answers about calls. Location, start (ns) and depth identify a call."""

    def __init__(self, trace: Source, store: CallStore, data: WindowData, rare: RareCalls) -> None:
        self._trace, self._store, self._data, self._rare = trace, store, data, rare

    def describe(self, location: int, begin: int, depth: int) -> dict[str, Any]:
        """The call's facts. Raises BadRequest."""
        calls = self._store.near(location, begin)
        at = calls.find(begin, depth)
        if at < 0:
            raise BadRequest("there is no such call")
        region, end = int(calls.region[at]), int(calls.end[at])
        found = self._brief(location, calls, at) | {
            "exclusive": int(calls.exclusive[at]), "calls": int(calls.calls[at]), "source": self.region(region),
            "values": self._values(location, begin, region) + self._links(location, begin),
            "collectives": self._collectives(location, begin, end, region),
            "waits": self._rare.waits_of(location, begin, end) if self._trace.regions["class"][region] == MPI else [],
        }  # fmt: skip
        if not self._store.is_large(location):
            same = np.flatnonzero(calls.region == region)
            found |= {"number": int(np.searchsorted(same, at)) + 1, "of": len(same)}
            found["children"] = int(np.count_nonzero(calls.parent == at))
        if calls.parent[at] >= 0:
            found["caller"] = self._brief(location, calls, int(calls.parent[at]))
        for name, mine, other, time, far in (
            ("sends", "sender", "receiver", "send", "receive"), ("receives", "receiver", "sender", "receive", "send"),
        ):  # fmt: skip
            found[name] = self._ends(location, (begin, end), mine=mine, other=other, time=time, far=far)
        return found

    def _brief(self, location: int, calls: LocationCalls, at: int) -> dict[str, Any]:
        region = int(calls.region[at])
        return {
            "location": location, "begin": int(calls.begin[at]), "end": int(calls.end[at]), "region": region,
            "depth": int(calls.depth[at]), "name": plain(str(self._trace.regions["name"][region])),
        }  # fmt: skip

    def region(self, region: int) -> dict[str, Any]:
        """Texts of a region, as the page shows them."""
        row = {name: plain(str(self._trace.regions[name][region])) for name in ("name", "file", "description")}
        regions = self._trace.regions
        activity = regions.activities[int(regions["activity"][region])]
        return row | {"line": int(regions["line"][region]), "activity": activity}

    def _ends(
        self, location: int, call: tuple[int, int], mine: str, other: str, *, time: str, far: str
    ) -> list[dict[str, int]]:
        """The messages that a call sends or receives."""
        table = self._data.messages_of(location, *call)
        inside = (table[mine] == location) & (table[time] >= call[0]) & (table[time] <= call[1])
        inside &= table["comm"] != LINK
        return [
            {"partner": row[other], "time": row[time], "far": row[far], "bytes": row["bytes"], "tag": row["tag"],
             "comm": row["comm"]}
            for row in table.take(np.flatnonzero(inside)[:_MOST_ENDS]).records()
        ]  # fmt: skip

    def _links(self, location: int, begin: int) -> list[list[str]]:
        """The links of a call: pairs of a word and a text."""
        table = self._data.messages_of(location, begin, begin)
        names, found = location_names(self._trace), []
        for row in table.take(np.flatnonzero(table["comm"] == LINK)[:_MOST_ENDS]).records():
            is_first, late = row["sender"] == location and row["send"] == begin, row["receive"] - row["send"]
            words = ("link to", row["receiver"], "later") if is_first else ("link from", row["sender"], "earlier")
            found.append([words[0], f"{plain(names[words[1]])}, {span(late)} {words[2]}"])
        return found

    def _collectives(self, location: int, begin: int, end: int, region: int) -> list[dict[str, Any]]:
        instances, parts = self._data.collectives()
        inside = (parts["location"] == location) & (parts["begin"] >= begin) & (parts["end"] <= end)
        inside &= parts["region"] == region
        found = []
        for part in parts.take(np.flatnonzero(inside)[:1]).records():
            row = next(instances.take(np.array([part["instance"]])).records())
            members = parts.take(parts["instance"] == part["instance"])
            last = int(members["location"][np.argmax(members["begin"])])
            found.append({
                "op": op_name(row["op"]), "comm": row["comm"], "begin": row["begin"], "end": row["end"],
                "last_begin": row["last_begin"], "last": last, "locations": row["locations"],
                "sent": part["sent"], "received": part["received"], "root": row["root"],
            })  # fmt: skip
        return found

    def _values(self, location: int, begin: int, region: int) -> list[list[str]]:
        """Arguments and attributes of a call's Enter: pairs of names and values."""
        question = Events((*_ARGUMENTS, "Enter"), True)
        ask(self._trace, [question], Selection(begin, begin + 1, (location,)))
        rows = [row for row in question.answer().records() if row["time"] == begin]
        found = []
        for row in rows:
            if row.get("region", region) not in (region, NO_VALUE):
                continue
            for name, value in row.items():
                if name.startswith("@") and value != NO_VALUE:
                    found.append([plain(name[1:]), self._text(name[1:], value)])
            if row.get("parameter", NO_VALUE) != NO_VALUE:
                name = plain(str(self._trace.parameters["name"][row["parameter"]]))
                found.append([name, str(row.get("value", ""))])
        return found

    def _text(self, attribute: str, value: int) -> str:
        attributes = self._trace.attributes
        kinds = attributes["type"][np.flatnonzero(attributes["name"] == attribute)].tolist()
        kind = names_of(_otf2.Type).get(kinds[0]) if kinds else None
        if kind == "STRING":
            return plain(str(self._trace.definitions.strings.get(value, value)))
        if attribute == COLOUR:
            return f"#{value:06x}"
        if kind == "DOUBLE":
            return f"{np.array([value]).view(np.float64)[0]:g}"
        return str(value)

    def at(self, location: int, time: int) -> dict[str, Any] | None:
        """The innermost call of a location at a time."""
        calls = self._store.near(location, time)
        at = calls.innermost(time)
        return None if at < 0 else self._brief(location, calls, at)

    def go(self, location: int, begin: int, depth: int, way: str, locations: Sequence[int]) -> dict[str, Any] | None:  # noqa: PLR0917
        """Another call, or None: the caller; the first callee; the next or previous call of the region on the row; the
        longest or shortest call of the region on these locations. Raises BadRequest."""
        own = self._store.near(location, begin)
        at = own.find(begin, depth)
        if at < 0:
            raise BadRequest("there is no such call")
        region = int(own.region[at])
        if way in ("longest", "shortest"):
            return self._extreme(region, way == "longest", locations)
        if way == "caller":
            return None if own.parent[at] < 0 else self._brief(location, own, int(own.parent[at]))
        if way not in ("callee", "next", "previous"):
            raise BadRequest(f"{way} is not a way")
        if self._store.is_large(location):
            return self._far(location, own, at, way)
        same = np.flatnonzero((own.parent == at) if way == "callee" else own.region == region)
        place = int(np.searchsorted(same, at)) + {"callee": 0, "next": 1, "previous": -1}[way]
        return self._brief(location, own, int(same[place])) if 0 <= place < len(same) else None

    def _far(self, location: int, own: LocationCalls, at: int, way: str) -> dict[str, Any] | None:
        """Another call of a large location, whose calls are read by parts of its time."""
        begin, end, depth = int(own.begin[at]), int(own.end[at]), int(own.depth[at])
        last = end if way == "callee" else self._trace.duration + 1
        steps = self._store.steps(location, *((0, begin) if way == "previous" else (begin, last)))
        for start, stop in reversed(list(steps)) if way == "previous" else steps:
            calls = self._store.window([location], start, stop)[location]
            if way == "callee":
                chosen = (calls.depth == depth + 1) & (calls.begin >= begin) & (calls.begin < end)
            else:
                chosen = calls.region == own.region[at]
                chosen &= (calls.begin < begin) if way == "previous" else (calls.begin > begin)
                chosen &= (calls.begin >= start) & (calls.begin < stop)
            places = np.flatnonzero(chosen)
            if len(places):
                place = int(places[-1 if way == "previous" else 0])
                near = self._store.near(location, int(calls.begin[place]))
                found = near.find(int(calls.begin[place]), int(calls.depth[place]))
                is_it = found >= 0 and near.region[found] == calls.region[place]
                return self._brief(location, near if is_it else calls, found if is_it else place)
        return None

    def _extreme(self, region: int, longest: bool, locations: Sequence[int]) -> dict[str, Any] | None:
        best: tuple[int, int, LocationCalls, int] | None = None
        for row, calls in self._store.each(locations, 0, self._trace.duration + 1):
            same = np.flatnonzero(calls.region == region)
            if not len(same):
                continue
            times = (calls.end - calls.begin)[same] * (-1 if longest else 1)
            at = int(times.argmin())
            if best is None or int(times[at]) < best[0]:
                best = int(times[at]), row, calls, int(same[at])
        return best and self._brief(best[1], best[2], best[3])

    def nth(self, name: str, number: int, locations: Sequence[int]) -> dict[str, Any]:
        """begin: the start of the n-th call (from 1) of the region with a name, in the order of time over all
        locations, or None. calls: the number of its calls. known: False if no region has this name."""
        wanted = np.flatnonzero(self._trace.regions["name"] == name)
        every = self._store.each(locations, 0, self._trace.duration + 1)
        begins = [calls.begin[np.isin(calls.region, wanted)] for _, calls in every]
        found = np.sort(np.concatenate([np.empty(0, np.int64), *begins]))
        begin = int(found[number - 1]) if 0 < number <= len(found) else None
        return {"begin": begin, "calls": len(found), "known": bool(len(wanted))}

    def search(self, text: str, rows: Sequence[Array], window: tuple[int, int], bins: int, *, exact: bool) -> Content:
        """The calls in a window whose region's name contains the text: marks, the number of calls in each bin of each
        row (at most 255); histogram, the number of calls by the power of two of their time in ns; the longest calls.

        exact: the name must equal the text."""
        names = self._trace.regions["name"].astype(str)
        wanted = named(names, text, exact=exact)
        marks, histogram = np.zeros((len(rows), bins), np.uint8), np.zeros(64, np.int64)
        longest: list[tuple[int, dict[str, Any]]] = []
        count = total = 0
        row_of = {location: number for number, locations in enumerate(rows) for location in locations.tolist()}
        for location, calls in self._store.each([*row_of], *window):
            touching = (calls.begin < window[1]) & ((calls.end > window[0]) | (calls.begin >= window[0]))
            inside = np.flatnonzero(touching & wanted[calls.region])
            times = (calls.end - calls.begin)[inside]
            count, total = count + len(inside), total + int(times.sum())
            histogram += np.bincount(np.log2(np.maximum(times, 1)).astype(np.int64), minlength=64)
            _mark(marks[row_of[location]], calls, inside, window)
            for at in inside[np.argsort(-times, kind="stable")[:_LONGEST]].tolist():
                longest.append((int(calls.end[at] - calls.begin[at]), self._brief(location, calls, at)))
        longest.sort(key=lambda pair: (-pair[0], pair[1]["begin"]))
        regions = np.flatnonzero(wanted)
        return pack(
            {"marks": marks.ravel(), "histogram": histogram}, count=count, total=total, regions=len(regions),
            names=[plain(names[row]) for row in regions[:50].tolist()],
            longest=[each for _, each in longest[:_LONGEST]],
        )  # fmt: skip


def named(names: Array, text: str, *, exact: bool) -> Array:
    """True for each name that contains a text, in small or large letters; exact: for each that equals it."""
    lower = text.casefold()
    return np.array([name == text if exact else lower in name.casefold() for name in names.tolist()], bool)


def _mark(line: Array, calls: LocationCalls, inside: Array, window: tuple[int, int]) -> None:
    """Adds 1 for each call to the bins that the call touches."""
    bins, width = len(line), max(1, window[1] - window[0])
    first = np.clip((calls.begin[inside] - window[0]) * bins // width, 0, bins - 1)
    last = np.clip((calls.end[inside] - window[0]) * bins // width, 0, bins - 1)
    steps = np.bincount(first, minlength=bins + 1) - np.bincount(last + 1, minlength=bins + 1)
    line[:] = np.minimum(line + np.cumsum(steps[:bins]), 255)
