# SPDX-License-Identifier: BSD-3-Clause
"""The precision PA sheets (guide, 3.5): several runs' CSV files of fapppx -A -Hpa, merged. Only items whose formula the
guide gives have values."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtrace.analysis.counter_runs import unlike_first
from vtrace.analysis.derived.event_set import EventSet
from vtrace.analysis.derived.known_events import ELAPSED
from vtrace.compat.fapp import PA_HEAD, FappLevel, FappPart, FappReport, FappRow, FappTable
from vtrace.compat.fapp_hardware import bases, value
from vtrace.errors import VtraceError

_TITLE = re.compile(
    r"Performance monitor - Procedures profile event:Internal - (?P<kind>Process|Thread) (?P<number>\d{1,9}) - "
    r"performance monitors",
    re.ASCII,
)
_FREQUENCY = re.compile(r"Process .* (?P<mhz>\S+) \(MHz\)")
_HINT = "write it with vtrace compat fapppx -A -Hpa -tcsv -o FILE -d DIR"
_SHORTEST_US = 150
"""The guide warns of sections whose single occurrence takes at most this many us."""
_INSTRUCTIONS = "effective_instruction_counts"
_FORMS = {"s": "{:z.4f}", "%": "{:z.2f}%", "%5": "{:z.5f}%", "#": "{:z.2E}", "": "{:z.0f}", "GB": "{:z.2f}"}
SheetItem = tuple[str, str, str]
"""Head, derived event ("": the guide gives no formula), kind of _FORMS."""
_SHEETS: dict[str, tuple[SheetItem, ...]] = {
    "Performance": (
        ("Execution time (sec)", ELAPSED, "s"), ("Floating-point operation peak rate", "MFLOPS_PEAK", "%"),
        ("MFLOPS", "MFLOPS", ""), ("MIPS", "MIPS", ""), ("Integer operation performance (MINOPS)", "", ""),
        ("Floating-point operation", "floating_point_operations", "#"), ("Integer operation", "", "#"),
    ),
    "Memory Cache": (
        ("L1 busy rate", "", "%"), ("L2 busy rate", "", "%"), ("Memory busy rate", "", "%"),
        ("L2 throughput (GB/sec)", "", "GB"),
        ("Memory throughput (GB/sec)", "MEM_access.Memory_access_throughput", "GB"),
    ),
    "SIMD": (
        ("SIMD instruction rate", "Instructions_SIMD.SIMD", "%"), ("SIMD floating point instruction rate", "", "%"),
        ("SIMD integer instruction rate", "", "%"),
        ("SIMD load-store instruction rate", "Instructions_SIMD.SIMD_load_store_instruction_rate", "%"),
    ),
    "Cache": (
        ("L1I miss rate", "PA.L1I_miss_rate", "%"), ("L1D miss rate", "PA.L1D_miss_rate", "%"),
        ("Load-store instruction", "load_store_instructions_of_any_kind", "#"), ("L1D miss", "L1D_miss", "#"),
        ("L1D miss dm rate", "", "%"), ("L1D miss hwpf rate", "", "%"), ("L1D miss swpf rate", "", "%"),
        ("L2 miss rate", "PA.L2_miss_rate", "%"), ("L2 miss", "L2_miss", "#"),
        ("L2 miss dm rate", "PA.L2_miss_dm_rate", "%"), ("L2 miss pf rate", "PA.L2_miss_pf_rate", "%"),
        ("uDTLB miss rate", "PA.uDTLB_miss_rate", "%5"), ("mDTLB miss rate", "PA.mDTLB_miss_rate", "%5"),
    ),
    "Time": (
        *((f"{name} wait", "", "s") for name in (
            "memory cache busy", "Integer load memory access", "Floating point load memory access", "Store",
            "Integer load L2 cache access", "Integer load L1D cache access", "Floating-point load L2 cache access",
            "Floating-point load L1D cache access", "Integer operation", "Floating-point operation",
            "Branch instruction",
        )),
        ("Instruction fetch wait", "Performance.Fetch_wait", "s"), ("Barrier synchronization wait", "", "s"),
        ("Other waits", "", "s"), ("1 instruction commit", "Performance.1_instruction_commit", "s"),
        ("2/3 instruction commit (other)", "", "s"), ("4 instruction commit", "", "s"),
    ),
}  # fmt: skip
"""Tables 3.48 to 3.51 and 3.54."""


def sheet_items() -> list[str]:
    """The derived events of the sheets."""
    return [name for sheet in _SHEETS.values() for _, name, _ in sheet if name not in ("", ELAPSED)]


@dataclass
class _Thread:
    elapsed: float = 0.0
    calls: float = 0.0
    counters: dict[str, float] = field(default_factory=dict)


@dataclass
class PrecisionRun:
    """A section of a process in one run: threads by number."""

    mhz: str
    threads: dict[int, _Thread]

    @property
    def elapsed(self) -> float:
        """The execution time of the longest thread, s."""
        return max(thread.elapsed for thread in self.threads.values())

    @property
    def occurrence_us(self) -> float:
        """The time of one occurrence of the section."""
        longest = max(self.threads.values(), key=lambda thread: thread.elapsed)
        return 1e6 * longest.elapsed / max(longest.calls, 1)


def read_run(path: Path, process: int, section: str | None) -> tuple[PrecisionRun, str]:
    """A file of fapppx -A -Hpa -tcsv, and the name of the section: by default that with the longest time besides all.

    Raises VtraceError."""
    try:
        rows = list(csv.reader(path.read_text("utf-8", "replace").splitlines()))
    except (OSError, csv.Error) as error:
        raise VtraceError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}", _HINT) from None
    mhz = ""
    found: dict[int, dict[str, dict[int, _Thread]]] = {}
    of = -1
    for number, row in enumerate(rows):
        if len(row) > 1 and row[0] == "CPU frequency" and (at := _FREQUENCY.fullmatch(row[1])):
            mhz = at["mhz"]
        if len(row) == 1 and (title := _TITLE.fullmatch(row[0])):
            if title["kind"] == "Process":
                of = int(title["number"])
            else:
                _take(path, rows, begin=number + 1, into=found.setdefault(of, {}), thread=int(title["number"]))
    if process not in found:
        has = ", ".join(map(str, found)) or "no process with counters"
        hint = "give -p another number" if found else _HINT
        raise VtraceError(f"{path}: no process {process}; the file has {has}", hint)
    sections = found[process]
    if section is None:
        longest = sorted(sections, key=lambda name: -max(thread.elapsed for thread in sections[name].values()))
        section = next((name for name in longest if name != "all"), "all")
    if section not in sections:
        raise VtraceError(f"{path}: no section {section}; the file has {', '.join(sections)}", "give -s another name")
    return PrecisionRun(mhz, sections[section]), section


def _take(path: Path, rows: list[list[str]], begin: int, into: dict[str, dict[int, _Thread]], *, thread: int) -> None:
    """Takes the rows of a table, whose head is in row begin."""
    head = rows[begin] if begin < len(rows) else []
    if head[: len(PA_HEAD)] != [*PA_HEAD] or head[-2:] != ["Name", "Number"]:
        raise VtraceError(f"{path}:{begin + 1}: no head of a table of counters", _HINT)
    for number in range(begin + 1, len(rows)):
        if not rows[number]:
            return
        cells = dict(zip(head, rows[number], strict=False))
        counted = into.setdefault(cells.get("Name", ""), {}).setdefault(thread, _Thread())
        try:
            counted.elapsed, counted.calls = (float(cells[name]) for name in PA_HEAD)
            names = head[len(PA_HEAD) : head.index("Start")]
            counted.counters |= {name: float(cells[name]) for name in names if cells[name] != "-"}
        except (KeyError, ValueError):
            raise VtraceError(f"{path}:{number + 1}: a number is missing or wrong", _HINT) from None


def warnings(runs: Sequence[PrecisionRun]) -> list[str]:
    """The guide's warnings, one line each."""
    found = unlike_first([run.elapsed for run in runs])
    short = [place for place, run in enumerate(runs, 1) if run.occurrence_us <= _SHORTEST_US]
    if short:
        least = min(run.occurrence_us for run in runs)
        found.append(
            f"one occurrence of the section takes {least:.1f} us, {_SHORTEST_US} or less: counters are not precise"
        )
    return found


def make(runs: Sequence[PrecisionRun], process: int, section: str, events: EventSet) -> FappReport:
    """The sheets. A counter that several runs have is that of the first of them; times are those of the first run."""
    first = runs[0]
    merged = {number: dict(thread.counters) for number, thread in sorted(first.threads.items())}
    for run in runs[1:]:
        for number, counters in merged.items():
            thread = run.threads.get(number, _Thread())
            counters |= {name: value for name, value in thread.counters.items() if name not in counters}
    rows = [
        (f"Thread/{number}", bases(counters, first.threads[number].elapsed, 1, first.mhz))
        for number, counters in merged.items()
    ]
    shared = set.intersection(*(set(counters) for counters in merged.values()))
    sums = {name: sum(counters[name] for counters in merged.values()) for name in sorted(shared)}
    rows.append((f"Process/{process}", bases(sums, first.elapsed, len(merged), first.mhz)))
    title = f"Process {process} - {section}"
    parts = []
    for name, items in _SHEETS.items():
        shown = rows[-1:] if name == "SIMD" else rows
        made = [FappRow("", [_cell(item, given, events) for item in items], place) for place, given in shown]
        parts.append(_part(name, title, [head for head, _, _ in items], made))
    balance = _balance(rows[:-1])
    parts.insert(-1, _part("Balance", title, ["Load balance", "Instruction balance"], balance))
    return FappReport([("Number of runs", str(len(runs)))], [*parts, _comparison(runs, title)], [])


def _balance(threads: list[tuple[str, dict[str, float]]]) -> list[FappRow]:
    """Table 3.53. The load balance needs the wait of barriers, whose event the guide does not name."""
    most = max(given.get(_INSTRUCTIONS, 0.0) for _, given in threads)
    rows = []
    for place, given in threads:
        known = bool(most) and _INSTRUCTIONS in given
        rows.append(FappRow("", ["-", f"{100 * given[_INSTRUCTIONS] / most:.0f}%" if known else "-"], place))
    return rows


def _cell(item: SheetItem, given: dict[str, float], events: EventSet) -> str:
    _, name, kind = item
    found = value(name, given, events) if name else None
    return "-" if found is None else _FORMS[kind].format(found)


def _part(name: str, title: str, head: list[str], rows: list[FappRow]) -> FappPart:
    return FappPart(name, [FappLevel(title, [FappTable(head, [rows], False)])])


def _comparison(runs: Sequence[PrecisionRun], title: str) -> FappPart:
    """Comparison with first execution times, and execution times for one occurrence (3.5.4.8)."""
    first = runs[0].elapsed
    rows = [
        FappRow("", [f"{run.elapsed:.6f}", f"{100 * run.elapsed / first:.1f}%" if first else "-",
                     f"{run.occurrence_us:.1f}"], f"Run/{place}")
        for place, run in enumerate(runs, 1)
    ]  # fmt: skip
    return _part("Execution times", title, ["Execution time (sec)", "Rate to first", "One occurrence (us)"], rows)
