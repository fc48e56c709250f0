# SPDX-License-Identifier: BSD-3-Clause
"""Prepare: List the events of this machine, check files of derived events."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vtrace.console import CLICK_SETTINGS, NORMAL, Console, say, some
from vtrace.errors import UsageError, VtraceError
from vtrace.text import json_text, near, plain

if TYPE_CHECKING:
    from vtrace.analysis.derived.event_file import EventFile
    from vtrace.analysis.derived.event_set import EventSet

_EXAMPLES = """\b
Examples:
  vtrace counters                                                 the events of this machine
  vtrace counters my.events                                       list the events
  vtrace counters my.events --check                               errors as my.events:LINE:COLUMN: text
  vtrace counters my.events --eval FLOPS N_ADD=1200 N_MUL=300     compute a value
  vtrace counters my.events --eval FLOPS --cpu skl                the native events that FLOPS needs
"""


@click.command(epilog=_EXAMPLES, context_settings=CLICK_SETTINGS)
@click.argument("words", nargs=-1, metavar="[FILE] [BASE=VALUE]...")
@click.option("--file", "path", type=click.Path(path_type=Path), hidden=True)
@click.option("--check", is_flag=True, help="Print each error of FILE; exit code 1 if there are errors.")
@click.option(
    "--eval", "evaluated", metavar="NAME",
    help="Print the value of event NAME for the values of its bases; without these the native events that NAME needs.",
)  # fmt: skip
@click.option("--expand", "expanded", metavar="NAME", hidden=True)
@click.option("--cpu", "pmu", metavar="PMU", help="Use the events of PMU [default: of the first section with NAME].")
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON, a list of objects.")
def command(
    words: tuple[str, ...],
    path: Path | None,
    check: bool,
    evaluated: str | None,
    *,
    expanded: str | None,
    pmu: str | None,
    as_json: bool,
) -> int:
    """List the events that Linux counts on this machine, or derived events of FILE.

    FILE is a file of derived events in PAPI's syntax [default: vtrace's own files and PAPI_USER_EVENTS_FILE]. Its lines
    are CPU, PRESET and EVENT; docs/counters.md describes them. BASE=VALUE gives the value of a base event,
    cpu_max_mhz=VALUE the clock rate in MHz. The machine need not be the PMU's.
    """
    from vtrace.analysis.derived.event_file import read_events
    from vtrace.analysis.derived.known_events import NO_COUNTERS, known_files

    values = words
    if path is None and words and "=" not in words[0]:
        path, values = Path(words[0]), words[1:]
    if sum((check, evaluated is not None, expanded is not None)) > 1:
        raise UsageError("--check, --eval and --expand exclude each other", "give one of them")
    if values and evaluated is None:
        raise UsageError(f"unexpected argument {values[0]}", "BASE=VALUE belongs to --eval NAME")
    wanted = check or evaluated is not None or expanded is not None or pmu is not None
    users = os.environ.get("PAPI_USER_EVENTS_FILE") or ""
    if not path and not users and not wanted:
        _list_machine(as_json)
        return 0
    if check:
        if not path and not users:
            raise UsageError("no file of derived events given", "name a FILE, or set PAPI_USER_EVENTS_FILE")
        return _check(read_events(path or Path(users)))
    numbers = dict(map(_base, values))
    files = [read_events(path)] if path else known_files(users)
    console = Console("vtrace", NORMAL)
    for file in files:
        for problem in file.errors:
            console.warn(plain(f"{file.path}:{problem.line}:{problem.column}: {problem.text}: line left out"))
    _check_pmu(files, pmu)
    if evaluated is not None and values:
        _evaluate(files, evaluated, pmu=pmu, numbers=numbers, console=console)
    elif name := evaluated or expanded:
        for native in _event_set(files, name, pmu).natives(name):
            if native not in NO_COUNTERS:
                click.echo(plain(native))
    else:
        _list(files, pmu, as_json)
    return 0


_NO_EVENT = "it is not an event of Linux"


def _list_machine(as_json: bool) -> None:
    """The events that Linux counts for threads, and other counters, with the reasons why some cannot be counted."""
    from vtrace.settings import lines_of_runtime

    columns = ("name", "counted_by", "description", "missing", "unsampled")
    rows = [dict(zip(columns, row, strict=True)) for row in lines_of_runtime("vt_perf_list")]
    others = ("name", "unit", "description", "missing")
    for line in lines_of_runtime("vt_counters_list"):
        one = dict(zip(others, line, strict=True))
        rows.append({key: one.get(key, "") for key in columns} | {"counted_by": "kernel", "unsampled": _NO_EVENT})
    rows.sort(key=lambda row: row["name"] if "/" in row["name"] else "")  # the kernel's PMUs come in no order
    if as_json:
        click.echo(json_text(rows, indent=1))
        return
    for row in rows:
        shown = "" if row["missing"] else "count" if row["unsampled"] else "yes"
        say(row["description"], plain(f"{row['name']:<24} {shown:<5} {row['counted_by']:<10} "), " " * 42)
    console = Console("vtrace", NORMAL)
    reasons = (row["missing"] or row["unsampled"] for row in rows)
    for reason in dict.fromkeys(reason for reason in reasons if reason and reason != _NO_EVENT):
        names = [row["name"] for row in rows if reason in (row["missing"], row["unsampled"])]
        console.note(plain(f"{_some(names)}: {reason}"))
    if any("allow" in row["missing"] for row in rows):
        console.note("next: sudo sysctl kernel.perf_event_paranoid=1   allows them")
    console.note("next: vtrace run --counters page-faults,ru_utime PROGRAM")
    console.note("next: VT_SAMPLE_EVENT=page-faults:100 vtrace run --sample --sample-clock perf PROGRAM")


def _some(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - 24
    return ", ".join(names[:24]) + (f" and {more} more" if more > 0 else "")


def _base(text: str) -> tuple[str, int | float]:
    name, equals, value = text.rpartition("=")  # names of native events may have =
    if not equals or not name:
        raise UsageError(f"{text} is not BASE=VALUE", "for example PAPI_TOT_CYC=1000000")
    try:
        return name, int(value)
    except ValueError:
        pass
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{text}: {value or 'nothing'} is not a number", "for example PAPI_TOT_CYC=1000000")
    return name, number


def _check(file: EventFile) -> int:
    from vtrace.analysis.derived.event_check import problems
    from vtrace.settings import lines_of_runtime

    lists = ("vt_perf_list", "vt_counters_list")
    found = problems(file, {row[0] for name in lists for row in lines_of_runtime(name)})
    for problem in found:
        kind = "warning: " if problem.warning else ""
        line = f"{file.path}:{problem.line}:{problem.column}: {kind}{problem.text}"
        click.echo(plain(line), err=problem.warning)
    errors = sum(not problem.warning for problem in found)
    events = sum(len(section.events) for section in file.sections)
    counts = (some(events, "event"), some(errors, "error"), some(len(found) - errors, "warning"))
    click.echo(plain(f"{file.path}: {', '.join(counts)}"), err=True)
    return 1 if errors else 0


def _check_pmu(files: list[EventFile], pmu: str | None) -> None:
    """Raises VtraceError: no file has events of this PMU."""
    pmus = {known: None for file in files for section in file.sections for known in section.pmus}
    if pmu is not None and pmu not in pmus:
        path = files[0].path if len(files) == 1 else "derived events"
        raise VtraceError(f"{path}: no CPU line names {pmu}", near(pmu, pmus))


def _event_set(files: list[EventFile], name: str, pmu: str | None) -> EventSet:
    """The events for name and PMU. Raises VtraceError."""
    from vtrace.analysis.derived.event_set import Circle
    from vtrace.analysis.derived.known_events import chosen_events, pmus_of

    sections = [section for file in files for section in file.sections]
    path = files[0].path if len(files) == 1 else "derived events"
    events = chosen_events(files, [name], pmu)
    if name not in events.events:
        names = {event: None for section in sections for event in section.events}
        others = [known for file in files for known in pmus_of([file], name)]
        where = f" for {pmu}" if others else ""
        if len(files) > 1 and not os.environ.get("PAPI_USER_EVENTS_FILE"):
            hint = _pmus(others) or near(name, names) or "name a FILE, or set PAPI_USER_EVENTS_FILE"
            raise UsageError(f"no derived event {name}{where}", hint)
        raise VtraceError(f"{path}: no event {name}{where}", _pmus(others) or near(name, events.events or names))
    try:
        events.order(name)
    except Circle as circle:
        raise VtraceError(f"{path}: {name} is defined by itself: {circle}") from None
    return events


def _pmus(pmus: list[str]) -> str | None:
    return f"PMUs with this event: {_some(pmus)}" if pmus else None


def _evaluate(
    files: list[EventFile], name: str, pmu: str | None, numbers: dict[str, int | float], *, console: Console
) -> None:
    from vtrace.analysis.derived.event_set import CLOCK_RATE

    events = _event_set(files, name, pmu)
    used = {CLOCK_RATE, *(base for event in events.order(name) for base in event.bases)}
    for base in numbers:
        if base not in used:
            console.warn(plain(f"{name} does not use {base}"))
    value = events.value(name, numbers)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        value = int(value)
    click.echo(str(value))


def _list(files: list[EventFile], pmu: str | None, as_json: bool) -> None:
    rows = [
        {
            "name": event.name,
            "pmus": section.pmus,
            "type": event.type,
            "bases": list(event.bases),
            "description": event.texts.get("LDESC") or event.texts.get("SDESC") or event.texts.get("NOTE") or "",
            "line": event.line,
        }
        for file in files
        for section in file.sections
        if pmu is None or pmu in section.pmus
        for event in section.events.values()
    ]
    if as_json:
        click.echo(json_text(rows, indent=1))
        return
    for row in rows:
        say(str(row["description"]), plain(f"{row['name']:<24} {row['type']:<16} "), " " * 42)
