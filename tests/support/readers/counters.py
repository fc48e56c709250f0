# SPDX-License-Identifier: BSD-3-Clause
"""Counters of an archive, read with the otf2 package."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import otf2


class Counters:
    """The counters of an archive, and its calls: location, region, values at enter, values at leave."""

    def __init__(self, path: Path) -> None:
        self.calls: list[tuple[str, str, dict[str, int], dict[str, int]]] = []
        self.readings: list[tuple[str, str, int]] = []
        """Location, name of the metric, value."""
        with otf2.reader.open(str(path / "traces.otf2")) as trace:
            self.classes = {
                tuple(member.name for member in one.members): str(one.occurrence).rsplit(".")[-1]
                for one in trace.definitions.metric_classes
            }
            self.units = {
                one.name: (one.unit, str(one.metric_mode).rsplit(".")[-1]) for one in trace.definitions.metric_members
            }
            stacks: dict[str, list[tuple[str, dict[str, int]]]] = defaultdict(list)
            latest: dict[str, tuple[int, dict[str, int]]] = defaultdict(lambda: (-1, {}))
            for location, event in trace.events:
                name = f"{location.group.name}: {location.name}"
                if isinstance(event, otf2.events.Metric):
                    values = dict(zip([m.name for m in event.metric.members], map(int, event.values), strict=True))
                    self.readings += [(name, metric, value) for metric, value in values.items()]
                    known = latest[name][1] if latest[name][0] == event.time else {}
                    latest[name] = (event.time, known | values)
                elif isinstance(event, otf2.events.Enter):
                    stacks[name].append((event.region.name, self.at(latest[name], event.time)))
                elif isinstance(event, otf2.events.Leave):
                    region, begin = stacks[name].pop()
                    self.calls.append((name, region, begin, self.at(latest[name], event.time)))

    @staticmethod
    def at(latest: tuple[int, dict[str, int]], time: int) -> dict[str, int]:
        """The values at the exact time of an event."""
        return latest[1] if latest[0] == time else {}

    def increases(self, region: str, metric: str = "page-faults") -> list[int]:
        return [end[metric] - begin[metric] for _, name, begin, end in self.calls if name == region]
