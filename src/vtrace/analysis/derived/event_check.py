# SPDX-License-Identifier: BSD-3-Clause
"""Checks the base events of a file of derived events."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from vtrace.analysis.derived.event_file import DerivedEvent, EventFile, Problem, Section
from vtrace.analysis.derived.event_set import Circle, EventSet
from vtrace.analysis.derived.known_events import known_files
from vtrace.analysis.derived.pfm_names import PfmNames, installed_pfm

_UNLISTED = re.compile(r".*/.*|r[0-9a-fA-F]+")
"""Counters that are in no list: paths, terms of a kernel's PMU, and raw events."""

_EVERYWHERE = {"PAPI_TOT_CYC", "PAPI_TOT_INS"}
"""Presets that PAPI adds for every PMU."""

_PRESETS = frozenset(
    f"PAPI_{name}"
    for name in """
    BRU_IDL BR_CN BR_INS BR_MSP BR_NTK BR_PRC BR_TKN BR_UCN BTAC_M CA_CLN CA_INV CA_ITV CA_SHR CA_SNP CSR_FAL CSR_SUC
    CSR_TOT DP_OPS FAD_INS FDV_INS FMA_INS FML_INS FNV_INS FPU_IDL FP_INS FP_OPS FP_STAL FSQ_INS FUL_CCY FUL_ICY FXU_IDL
    HW_INT INT_INS L1_DCA L1_DCH L1_DCM L1_DCR L1_DCW L1_ICA L1_ICH L1_ICM L1_ICR L1_ICW L1_LDM L1_STM L1_TCA L1_TCH
    L1_TCM L1_TCR L1_TCW L2_DCA L2_DCH L2_DCM L2_DCR L2_DCW L2_ICA L2_ICH L2_ICM L2_ICR L2_ICW L2_LDM L2_STM L2_TCA
    L2_TCH L2_TCM L2_TCR L2_TCW L3_DCA L3_DCH L3_DCM L3_DCR L3_DCW L3_ICA L3_ICH L3_ICM L3_ICR L3_ICW L3_LDM L3_STM
    L3_TCA L3_TCH L3_TCM L3_TCR L3_TCW LD_INS LST_INS LSU_IDL MEM_RCY MEM_SCY MEM_WCY PRF_DM REF_CYC RES_STL SP_OPS
    SR_INS STL_CCY STL_ICY SYC_INS TLB_DM TLB_IM TLB_SD TLB_TL TOT_CYC TOT_IIS TOT_INS VEC_DP VEC_INS VEC_SP""".split()
)
"""The preset events of PAPI 7.0 (papiStdEventDefs.h)."""


def problems(file: EventFile, counters: Collection[str] = ()) -> list[Problem]:
    """All problems of a file, by line and column: of its lines, of unknown bases, and events in a circle.

    Bases that only another machine or libpfm4 can verify give warnings. counters: names that vtrace lists."""
    found = dict.fromkeys(file.problems)
    own = {*counters, *_names_of_own_files()}
    pfm = installed_pfm()
    unverified = 0
    for section in file.sections:
        pmus: list[str | None] = [*section.pmus] or [None]
        for pmu in pmus:
            events = EventSet([file], pmu)
            found |= dict.fromkeys(_circles(section, events))
            for event in section.events.values():
                for base, column in zip(event.bases, event.base_columns, strict=True):
                    if base in events.events or base in own or _UNLISTED.fullmatch(base):
                        continue
                    problem = _problem(event, base, column=column, pmu=pmu, pfm=pfm)
                    unverified += problem is None and not base.startswith("PAPI_") and pfm is None
                    if problem is not None:
                        found[problem] = None
    if unverified:
        found[Problem(1, 1, "libpfm4 is not installed: native base events are not verified", warning=True)] = None
    return sorted(found, key=lambda problem: (problem.line, problem.column))


def _names_of_own_files() -> set[str]:
    """The events of vtrace's own files that apply to every PMU, and their bases: processors of the guide, elapsed."""
    sections = [section for file in known_files(None) for section in file.sections if not section.pmus]
    events = [event for section in sections for event in section.events.values()]
    return {name for event in events for name in (event.name, *event.bases)}


def _problem(event: DerivedEvent, base: str, column: int, pmu: str | None, *, pfm: PfmNames | None) -> Problem | None:
    """The problem with a base event that the file does not define, or None."""
    if base.startswith("PAPI_"):
        if base not in _PRESETS:
            return Problem(event.line, column, f"unknown base event {base}: no event of this file, no preset of PAPI")
        if base not in _EVERYWHERE:
            return Problem(event.line, column, f"{base} is not defined in this file", warning=True)
        return None
    if pfm is None or (pmu is not None and pmu not in pfm.pmus and "::" not in base):
        return None
    if "::" in base:
        where, is_known = base.split("::")[0], pfm.has("", base)
    elif pmu is not None:
        where, is_known = pmu, pfm.has(pmu, base)
    else:
        where, is_known = "any PMU", any(pfm.has(one, base) for one in pfm.pmus)
    if is_known:
        return None
    return Problem(event.line, column, f"libpfm4 knows no event {base} of {where}", warning=True)


def _circles(section: Section, events: EventSet) -> Iterator[Problem]:
    """A problem for each event in a circle. Follows each event once."""
    known: dict[str, None] = {}
    for event in section.events.values():
        if events.events[event.name] is not event or event.name in known:
            continue  # a later section defines the event again, or another event needs this one
        try:
            known |= {one.name: None for one in events.order(event.name, known)}
        except Circle as circle:
            names = circle.names[:-1]
            known |= dict.fromkeys(names)
            for place, name in enumerate(names):
                found = Circle([*names[place:], *names[:place], name])
                if section.events.get(name) is events.events[name]:
                    one = section.events[name]
                    column = one.base_columns[one.bases.index(found.names[1])]
                    yield Problem(one.line, column, f"{name} is defined by itself: {found}")
