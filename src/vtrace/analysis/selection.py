# SPDX-License-Identifier: BSD-3-Clause
"""The part of a trace that a question, a report or an export covers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.annotations import categories
from vtrace.analysis.table import Array, Table
from vtrace.console import some
from vtrace.errors import UsageError
from vtrace.io.archive.batches import ALWAYS, NEVER

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

__all__ = ["Selection"]

PATTERNS = ("region", "class", "domain", "category", "path", "location")
"""The values of KIND in --select KIND=PATTERN. domain, category: of an annotation; domain also of
another group of regions."""

_OF_REGIONS = "REGIONS"
"""OTF2's type of groups of regions."""
_UNITS = {"": 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}  # noqa: RUF001


@dataclass(frozen=True)
class Selection:
    """A window of time and a set of locations.

    start, stop: ns since the start of the trace; None: open. locations: rows of trace.locations, ascending; None: all.
    given: --from, --to and --ranks of a command line, with their values. helpers: rows of excluded locations, because
    libraries started these threads for their own work.
    """

    start: int | None = None
    stop: int | None = None
    locations: tuple[int, ...] | None = None
    given: tuple[tuple[str, str], ...] = ()
    helpers: tuple[int, ...] = ()

    @classmethod
    def of(cls, start: int | None = None, stop: int | None = None, locations: Iterable[int] | None = None) -> Selection:
        """The selection of a call through the Python API."""
        return cls(start=start, stop=stop, locations=None if locations is None else tuple(map(int, locations)))

    @classmethod
    def of_options(  # noqa: PLR0917
        cls, trace: Source, begin: str | None, end: str | None, ranks: str | None, helpers: bool = False,
        lanes: bool = False,
    ) -> Selection:  # fmt: skip
        """The selection of a command line.

        begin, end, ranks, helpers: the values of --from, --to, --ranks and --helpers; lanes: take lanes without
        --helpers. Raises UsageError for a meaningless value and for an empty selection.
        """
        start, stop = _time(begin, trace.duration), _time(end, trace.duration)
        if start is not None and stop is not None and start >= stop:
            raise UsageError(f"--from {begin} is not before --to {end}")
        if start is not None and start >= trace.duration > 0:
            raise UsageError(f"--from {begin} is not before the end of the trace", _lasts(trace))
        if stop == 0:
            raise UsageError(f"--to {end} is not after the start of the trace", _lasts(trace))
        locations = None if ranks is None else _of_ranks(trace, ranks)
        left: tuple[int, ...] = ()
        if not helpers and trace.locations["helper"].any():
            chosen = cls(locations=locations).all_rows(trace)
            shown = (trace.locations["lane"] | trace.locations["device"]) & lanes
            out = trace.locations["helper"] & ~shown
            left = tuple(row for row in chosen if out[row])
            locations = tuple(row for row in chosen if not out[row])
        given = tuple((name, text) for name, text in (("--from", begin), ("--to", end), ("--ranks", ranks)) if text)
        return cls(start=start, stop=stop, locations=locations, given=given, helpers=left)

    @property
    def text(self) -> str:
        """The selection in the user's words."""
        return " ".join(f"{name.removeprefix('--')} {value}" for name, value in self.given)

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """The options that give a command this selection: as given, or else the window in ns."""
        ends = ("--from", self.start), ("--to", self.stop)
        return self.given or tuple((name, f"{ns}ns") for name, ns in ends if ns is not None)

    @property
    def recorded(self) -> tuple[int, ...] | None:
        """The selected locations and helpers, whose recording may be incomplete."""
        return None if self.locations is None else tuple(sorted(self.locations + self.helpers))

    def caveats(self, trace: Source) -> list[str]:
        """trace.caveats() of the selection with helpers."""
        return trace.caveats(self.recorded, self.start, self.stop)

    def arguments(self) -> dict[str, Any]:
        """start, stop and locations, as arguments of a Trace's questions."""
        return {"start": self.start, "stop": self.stop, "locations": self.locations}

    def all_rows(self, trace: Source) -> list[int]:
        """Rows of the selected locations."""
        return list(range(trace.locations.rows) if self.locations is None else self.locations)

    def rows(self, trace: Source) -> list[int]:
        """all_rows() of locations with calls, that is, without locations of type METRIC."""
        kinds = trace.locations["type"].tolist()
        return [row for row in self.all_rows(trace) if kinds[row] != "METRIC"]

    def threads(self, trace: Source) -> list[int]:
        """rows() with helpers."""
        return sorted([*self.rows(trace), *self.helpers])

    def is_whole(self, trace: Source) -> bool:
        """True if nothing but helpers is left out."""
        found = self.recorded
        return self.start is self.stop is None and (found is None or len(found) == trace.locations.rows)

    def left_out(self, trace: Source) -> str:
        """helpers in words: 1 helper thread, 2 lanes of intervals, 1 stream of a device; empty for none."""
        lanes, streams = (sum(bool(trace.locations[kind][row]) for row in self.helpers) for kind in ("lane", "device"))
        threads = len(self.helpers) - lanes - streams
        words = [some(threads, "helper thread")] if threads else []
        words += [some(lanes, "lane") + " of intervals"] if lanes else []
        return ", ".join(words + ([some(streams, "device stream")] if streams else []))

    @property
    def bounds(self) -> tuple[int, int]:
        """start and stop in ns; for an open end ALWAYS or NEVER."""
        return ALWAYS if self.start is None else self.start, NEVER if self.stop is None else self.stop

    def ends(self, trace: Source) -> tuple[int, int]:
        """start and stop in ns; for an open window, the start and the duration of the trace."""
        return self.start or 0, trace.duration if self.stop is None else self.stop


EVERYTHING = Selection()
"""All events of all locations."""


@dataclass(frozen=True)
class Patterns:
    """The values of --select KIND=PATTERN[,PATTERN...]: kinds and their patterns, each of which must match. A pattern
    has * ? and [...] as in a shell."""

    all: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of_options(cls, words: Sequence[str]) -> Patterns:
        """Raises UsageError for an unknown kind and for an empty pattern."""
        found = []
        for word in words:
            kind, _, text = word.partition("=")
            each = tuple(text.split(","))
            if kind not in PATTERNS or not all(each):
                raise UsageError(f"--select {word}: not KIND=PATTERN", f"KIND is one of {', '.join(PATTERNS)}")
            found.append((kind, each))
        return cls(tuple(found))

    def of(self, kind: str) -> list[tuple[str, ...]]:
        """The patterns of a kind: at least one of each group must match."""
        return [each for name, each in self.all if name == kind]

    def matching(self, kind: str, names: Array) -> Array:
        """(n,) bool: the names that match; all if there is no pattern of this kind."""
        texts = names.tolist()
        found = np.ones(len(texts), bool)
        for group in self.of(kind):
            found &= np.array([any(fnmatchcase(text, one) for one in group) for text in texts], bool)
        return found

    def regions(self, trace: Source) -> Array:
        """(regions,) bool: the regions whose name, class, domain and category match."""
        table, groups = trace.regions, trace.definitions.tables["comm_groups"]
        classes = self.matching("class", np.array(table.classes, object))[table["class"]]
        activities = self.matching("class", np.array(table.activities, object))[table["activity"]]
        found: Array = self.matching("region", table["name"]) & (classes | activities)
        if self.of("category"):
            known = categories(table)
            found &= self.matching("category", known) & (known != "")
        if self.of("domain"):
            chosen = (groups["type"] == _OF_REGIONS) & self.matching("domain", groups["name"])
            ends = zip(groups["offset"][chosen].tolist(), groups["count"][chosen].tolist(), strict=True)
            members = [trace.definitions.members[first : first + count] for first, count in ends]
            rows = trace.definitions.ids["regions"].rows(np.concatenate([np.empty(0, np.uint64), *members]))
            found &= np.isin(np.arange(table.rows), rows)
        return found

    @property
    def limits_regions(self) -> bool:
        """True if regions may be left out."""
        return any(self.of(kind) for kind in ("region", "class", "domain", "category"))

    def paths(self, tree: Table, names: Array) -> Array:
        """(paths,) bool: the call paths whose regions, joined as in main > solve, match. tree: of Trace.call_tree."""
        joined = [""]
        for parent, region in zip(tree["parent"].tolist()[1:], tree["region"].tolist()[1:], strict=True):
            joined.append(" > ".join(filter(None, (joined[parent], str(names[region])))))
        return self.matching("path", np.array(joined, object))

    def within(self, trace: Source, window: Selection) -> Selection:
        """The window without the locations that do not match. Raises UsageError if no location does."""
        if not self.of("location"):
            return window
        processes = np.append(trace.processes["name"], "")[trace.places.process]
        matching = self.matching("location", trace.locations["name"]) | self.matching("location", processes)
        locations = tuple(row for row in window.all_rows(trace) if matching[row])
        if not locations:
            raise UsageError(f"no location matches {self.text}", "vtrace info --all lists the locations")
        return replace(window, locations=locations)

    def unmatched(self, trace: Source) -> Iterator[str]:
        """A line for each pattern of regions, classes, domains, categories and call paths that matches no name, with
        similar names. In a call path, names without wildcards must be regions."""
        groups = trace.definitions.tables["comm_groups"]
        known = {
            "region": trace.regions["name"].tolist(), "class": [*trace.regions.classes, *trace.regions.activities],
            "domain": groups["name"][groups["type"] == _OF_REGIONS].tolist(),
            "category": sorted({*filter(None, categories(trace.regions).tolist())}),
        }  # fmt: skip
        words = [(kind, one, one) for kind, each in self.all for one in each if kind in known]
        words += [
            ("region", part, one)
            for each in self.of("path")
            for one in each
            for part in one.split(" > ")
            if not set(part) & set("*?[")
        ]
        for kind, word, pattern in words:
            names = known[kind]
            if any(fnmatchcase(name, word) for name in names):
                continue
            import difflib  # rarely needed, and slow to load

            folded = {name.casefold(): name for name in names}
            near = [folded[name] for name in difflib.get_close_matches(word.casefold(), folded, 3)]
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            yield f"no {kind} matches {word}{f' of {pattern}' if pattern != word else ''}{hint}"

    @property
    def text(self) -> str:
        """The patterns as the user wrote them."""
        return " ".join(f"{kind}={','.join(each)}" for kind, each in self.all)


def _lasts(trace: Source) -> str:
    return f"{trace.archive} lasts {trace.duration / 1e9:.6g} s"


def _time(text: str | None, duration: int) -> int | None:
    """ns of 1.5, 1.5s, 200ms, 40us, 7ns or 25%. Raises UsageError."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*|%)", text.strip())  # noqa: RUF001
    if not found or (found[2] != "%" and found[2] not in _UNITS):
        raise UsageError(f"{text} is not a time", "1.5 or 1.5s, 200ms, 40us, 7ns, or a part of the trace: 25%")
    return round(float(found[1]) * (duration / 100 if found[2] == "%" else _UNITS[found[2]]))


def _of_ranks(trace: Source, ranks: str) -> tuple[int, ...]:
    """Rows of the locations of ranks such as 0-7,12. In a trace without MPI the numbers are those of processes."""
    known = trace.processes.rows
    wanted: set[int] = set()
    for part in ranks.split(","):
        found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if not found:
            raise UsageError(f"--ranks {ranks}: {part or 'nothing'} is not a rank", "for example 0-7,12")
        first, last = int(found[1]), int(found[2] or found[1])
        if first > last:
            raise UsageError(f"--ranks {ranks}: {first} is after {last}", f"write {last}-{first}")
        if last >= known:
            raise UsageError(f"--ranks {ranks}: the trace has ranks 0 to {known - 1}")
        wanted |= set(range(first, last + 1))
    return tuple(np.flatnonzero(np.isin(trace.places.process, sorted(wanted))).tolist())
