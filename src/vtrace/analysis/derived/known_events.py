# SPDX-License-Identifier: BSD-3-Clause
"""The derived events that all commands know: those of vtrace's own files, then those of the user's file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from vtrace.analysis.derived.event_file import EventFile, read_events
from vtrace.analysis.derived.event_set import Circle, EventSet
from vtrace.analysis.derived.pfm_names import PfmNames, installed_pfm
from vtrace.analysis.derived.topdown import CPI, NAME, SLOTS, TREE

SHIPPED = Path(__file__).with_name("files")
"""Directory of vtrace's own files."""
_PMU_END = "::"
ELAPSED, CORES = NO_COUNTERS = "elapsed", "cores"
"""Bases of formulas that every trace has and that are not events: seconds, number of execution cores."""
LINUX = {
    "effective_instruction_counts": "instructions", "cycle_counts": "cycles", "L1I_miss": "L1-icache-load-misses",
    "L1D_miss": "L1-dcache-load-misses",
}  # fmt: skip
"""The events of SPARC64 XIfx in fapp.events that other processors have, too -> Linux's event of the same meaning."""


def known_files(path: str | Path | None) -> list[EventFile]:
    """vtrace's own files, then the user's, whose events take precedence; None or "": no user's file.

    Raises VtraceError."""
    own = sorted(SHIPPED.glob("*.events"))
    return [read_events(one) for one in ([*own, Path(path)] if path else own)]


def pmus_of(files: Sequence[EventFile], name: str) -> list[str]:
    """The PMUs for which the files define an event; empty: none, or all PMUs."""
    sections = [section for file in files for section in file.sections if name in section.events]
    return [] if not all(section.pmus for section in sections) else [pmu for one in sections for pmu in one.pmus]


def unqualified(name: str) -> str:
    """A native event without libpfm4's name of the PMU before it."""
    return name.partition(_PMU_END)[2] if _PMU_END in name and not name.startswith("/") else name


def recorded_pmu(metrics: Iterable[str], files: Sequence[EventFile]) -> str | None:
    """The PMU of a trace: the first PMU of the files that prefixes the name of a metric."""
    pmus = {pmu for file in files for section in file.sections for pmu in section.pmus}
    before = (name.partition(_PMU_END)[0] for name in metrics if _PMU_END in name)
    return next((pmu for pmu in before if pmu in pmus), None)


def chosen_events(files: Sequence[EventFile], names: Collection[str], pmu: str | None) -> EventSet:
    """The events for a PMU; None: for the PMU of the first section that defines one of the names."""
    if pmu is None:
        sections = [section for file in files for section in file.sections if section.events.keys() & {*names}]
        pmu = next((section.pmus[0] for section in sections if section.pmus), None)
    return EventSet(files, pmu)


def natives(names: Sequence[str], files: Sequence[EventFile]) -> tuple[list[str], list[str]]:
    """The native events of counters, each once, and a line for each derived event that this machine cannot count.

    Events of the processor get libpfm4's name of the PMU, so that a reader of the trace knows which formulas apply."""
    if NAME not in names and not any(
        name in section.events for name in names for file in files for section in file.sections
    ):
        return [*dict.fromkeys(names)], []
    pfm = installed_pfm()
    known = {pmu for file in files for section in file.sections for pmu in section.pmus}
    pmu = next((one for one in (pfm.present if pfm else ()) if one in known), None)
    events = EventSet(files, pmu)
    found: dict[str, None] = {}
    problems = []
    for name in _with_tree(names, events):
        if name in events.events:
            try:
                wanted = [native for native in events.natives(name) if native not in NO_COUNTERS]
                found |= {_qualified(native, pmu, pfm): None for native in wanted}
            except Circle as circle:
                problems.append(f"{name} is defined by itself: {circle}")
        elif pmus := pmus_of(files, name):
            problems.append(f"{name} is defined for {_some(pmus)} only, not for the processor of this machine")
        elif name == NAME:
            problems.append(f"{NAME} has no formulas for the processor of this machine: vtrace counters --cpu PMU")
        else:
            found[name] = None
    return [*found], problems


def _with_tree(names: Sequence[str], events: EventSet) -> list[str]:
    """The names with those of the top-down tree instead of topdown, level 1 first; topdown stays if the tree has no
    names."""
    tree = [name for name in (SLOTS, *(node.name for node in TREE), CPI) if name in events.events]
    return [one for name in names for one in (tree if name == NAME and SLOTS in events.events else [name])]


def _qualified(native: str, pmu: str | None, pfm: PfmNames | None) -> str:
    known = pmu is not None and pfm is not None and _PMU_END not in native and pfm.has(pmu, native)
    return f"{pmu}{_PMU_END}{native}" if known else native


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
