# SPDX-License-Identifier: BSD-3-Clause
"""The derived events that apply to one PMU: their order, their native events, their values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vtrace.analysis.derived.event_file import DerivedEvent, EventFile
from vtrace.analysis.derived.formulas import MEGA
from vtrace.errors import VtraceError

CLOCK_RATE = "cpu_max_mhz"
"""The name of the processor's maximum clock rate in MHz among the values of base events."""


_SHOWN = 12
"""The most names of a circle that a message shows."""


class Circle(Exception):
    """Events that depend on each other in a circle. names: the events in order, the first one also last."""

    def __init__(self, names: list[str]) -> None:
        shown = names if len(names) <= _SHOWN else [*names[: _SHOWN - 1], "...", names[-1]]
        super().__init__(" -> ".join(shown))
        self.names = names


class EventSet:
    """The events of several files for one PMU; None: only events of sections without a CPU line.

    The last definition of a name applies."""

    def __init__(self, files: Sequence[EventFile], pmu: str | None) -> None:
        self.pmu = pmu
        self.events: dict[str, DerivedEvent] = {}
        for file in files:
            for section in file.sections:
                if not section.pmus or pmu in section.pmus:
                    self.events |= section.events

    def order(self, name: str, given: Mapping[str, Any] | None = None) -> list[DerivedEvent]:
        """The events that name needs, each after its bases, name last. given: bases that need no events.

        Raises Circle."""
        result: list[DerivedEvent] = []
        done: set[str] = set()
        path: dict[str, Iterator[str]] = {name: iter(self.events[name].bases)}
        while path:
            current = next(reversed(path))
            base = next(path[current], None)
            if base is None:
                result.append(self.events[current])
                done.add(current)
                del path[current]
            elif base in path:
                names = list(path)
                raise Circle([*names[names.index(base) :], base])
            elif base in self.events and base not in done and base not in (given or {}):
                path[base] = iter(self.events[base].bases)
        return result

    def natives(self, name: str) -> list[str]:
        """The native events that name needs, each once, in the order of their use; [name] if it is not derived."""
        if name not in self.events:
            return [name]
        found: dict[str, None] = {}
        for event in self.order(name):
            found |= dict.fromkeys(base for base in event.bases if base not in self.events)
        return list(found)

    def needs(self, name: str, given: Mapping[str, Any]) -> list[str]:
        """The names that a value of name needs and that given does not have."""
        found: dict[str, None] = {}
        for event in self.order(name, given):
            used = event.bases if event.type not in ("NOT_DERIVED", "DERIVED_CMPD") else event.bases[:1]
            found |= dict.fromkeys(base for base in used if base not in given and base not in self.events)
            if _uses_clock(event) and CLOCK_RATE not in given:
                found[CLOCK_RATE] = None
        return list(found)

    def value(self, name: str, given: Mapping[str, Any]) -> Any:
        """The value of an event. given: numbers or numpy arrays by the names of bases, and by CLOCK_RATE.

        Postfix and infix formulas give doubles, without PAPI's final cut to an integer; the other types give integers
        for integers. Raises VtraceError if bases are missing or a number is divided by 0, Circle."""
        missing = self.needs(name, given)
        if missing:
            raise VtraceError(f"{name}: no value of {', '.join(missing)}", f"give {missing[0]}=VALUE")
        values = dict(given)
        for event in self.order(name, given):
            try:
                values[event.name] = _value(event, [values.get(base) for base in event.bases], given.get(CLOCK_RATE))
            except ZeroDivisionError:
                raise VtraceError(f"{event.name}: division by zero") from None
            except OverflowError:
                raise VtraceError(f"{event.name}: the value is too large") from None
        found = values[name]
        if isinstance(found, float) and not math.isfinite(found):
            raise VtraceError(f"{name}: the value is too large")
        return found


def _uses_clock(event: DerivedEvent) -> bool:
    return event.type.endswith("_PS") or (event.formula is not None and event.formula.uses_clock)


def _value(event: DerivedEvent, bases: list[Any], cpu_max_mhz: float | None) -> Any:
    if event.formula is not None:
        return event.formula.value(bases, cpu_max_mhz)
    if event.type in ("NOT_DERIVED", "DERIVED_CMPD"):
        return bases[0]
    if event.type == "DERIVED_ADD":
        return sum(bases[1:], bases[0])
    if event.type == "DERIVED_SUB":
        return bases[0] - sum(bases[2:], bases[1])
    assert cpu_max_mhz is not None
    return _per_second(sum(bases[2:], bases[1]), bases[0], int(cpu_max_mhz) * MEGA)


def _per_second(count: Any, cycles: Any, rate: int) -> Any:
    """count * rate / cycles without the fraction, as PAPI computes with integers."""
    if isinstance(count, (int, float)) and isinstance(cycles, (int, float)):
        quotient = abs(int(count)) * rate // abs(int(cycles))
        return quotient if (count < 0) == (cycles < 0) else -quotient
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.trunc(np.asarray(count, np.longdouble) * rate / cycles).astype(np.float64)
