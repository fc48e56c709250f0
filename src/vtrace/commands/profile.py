# SPDX-License-Identifier: BSD-3-Clause
"""Understand: Show the time of functions, lines, call paths and threads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from vtrace.commands.trace_command import (
    Output,
    caveats,
    opened,
    print_head,
    stale_lines,
    trace_command,
    warn_of_caveats,
)
from vtrace.console import say
from vtrace.errors import UsageError
from vtrace.reports.table_names import (
    ALLOCATION_SORTS,
    METRIC_UNITS,
    PROFILE_SORTS,
    PROFILE_UNITS,
    SECTION_METRICS,
    TIMER_METRICS,
)
from vtrace.text import json_text, plain, shell_word

if TYPE_CHECKING:
    from vtrace.analysis.findings.finding import Finding
    from vtrace.analysis.selection import Selection
    from vtrace.analysis.trace import Trace
    from vtrace.reports.metric_sheets import CounterRun
    from vtrace.reports.profile_sheets import ProfileNumbers
    from vtrace.reports.sheet import Sheet

    Part = tuple[Trace, Selection]

_NO_ROWS = "no calls and no samples were recorded here"
_NO_SECTIONS = {
    "time": "no calls and no sections were recorded here", "mpi": "no calls of MPI were recorded in sections here",
    "memory": "no calls and no sections were recorded here",
}  # fmt: skip
_OF_UNIT: dict[str, tuple[str | None, ...]] = {
    "section": (None, *SECTION_METRICS), "timer": (None, *TIMER_METRICS), "allocation": (None,),
}  # fmt: skip
"""Rows with tables of their own, and the metrics that these have."""


def _check(values: dict[str, Any]) -> None:
    """Raises UsageError for options that exclude each other."""
    from vtrace.reports.comparison import MOST_RUNS

    _check_allocations(values)
    by, metrics, patterns, archives = (values[name] for name in ("by", "metrics", "patterns", "archive"))
    is_sorted = values["file"] or values["sort"] != PROFILE_SORTS[0]
    alone = metrics in _OF_UNIT.get(by, ())
    if values["events"] and metrics is None:
        raise UsageError("--events belongs to --metrics", "give --metrics NAME")
    if metrics is not None and is_sorted:
        raise UsageError("--metrics takes neither --source nor --sort", "the first metric sorts the rows")
    for unit, known in _OF_UNIT.items():
        if metrics and metrics in known and by != unit:
            raise UsageError(f"--metrics {metrics} is about {unit}s", f"give --by {unit} --metrics {metrics}")
    if by in _OF_UNIT and by != "allocation" and is_sorted:
        raise UsageError(f"--by {by} takes neither --source nor --sort", f"the {by}s that take longest come first")
    if by == "timer" and not alone:
        raise UsageError(f"--by timer has no --metrics {metrics}", f"give --metrics {TIMER_METRICS[0]}, or none")
    if len(archives) > MOST_RUNS:
        raise UsageError(f"{len(archives)} archives", f"vtrace profile compares up to {MOST_RUNS}")
    for option, given in (("--source", values["file"] is not None), (f"--by {by}", alone)):
        if given and len(archives) > 1:
            raise UsageError(f"{option} with several archives", "give one archive")
    if by == "section" and any(patterns.of(kind) for kind in ("region", "class", "domain", "category", "path")):
        raise UsageError("--by section cannot --select a region, class, domain, category or path", "select a location")
    if by == "timer" and patterns.of("path"):
        raise UsageError("--by timer cannot --select a path", "select a region, class, domain or location")
    if metrics is not None and by != "timer" and (patterns.of("class") or patterns.of("path")):
        raise UsageError("--metrics cannot --select a class or path", "select a region, domain or location")


def _check_allocations(values: dict[str, Any]) -> None:
    """A sort that only allocations have implies --by allocation. Raises UsageError for options that these lack."""
    if values["by"] != "allocation":
        if values["sort"] not in ALLOCATION_SORTS:
            return
        if click.get_current_context().get_parameter_source("by") is not ParameterSource.DEFAULT:
            raise UsageError(f"--sort {values['sort']} is about allocations", "give --by allocation")
        values["by"] = "allocation"
    known = (PROFILE_SORTS[0], *ALLOCATION_SORTS, "calls", "name")
    if values["file"] or values["sort"] not in known:
        wrong = "--source" if values["file"] else f"--sort {values['sort']}"
        raise UsageError(f"--by allocation has no {wrong}", f"give --sort {', '.join(known[1:])}")
    if any(values["patterns"].of(kind) for kind in ("region", "class", "domain", "category")):
        raise UsageError(
            "--by allocation cannot --select a region, class, domain or category", "select a path or location"
        )


@trace_command(
    archives=-1, metavar="ARCHIVE [ARCHIVE [ARCHIVE]]", check=_check, by=PROFILE_UNITS,
    sort=(*PROFILE_SORTS, *ALLOCATION_SORTS), top=20,
    select="Only time of a region, class, domain, category, path or location matching PATTERN[,...]; repeatable.",
    json="Print all rows as JSON; times in ns.", csv=True,
)  # fmt: skip
@click.option(
    "--source", "file", metavar="FILE", type=click.Path(path_type=Path),
    help="Print a source file with the time of each line.",
)  # fmt: skip
@click.option(
    "--metrics",
    metavar="NAME[,NAME...]",
    help="Instead of times: increases of counters, or values derived from them; the first sorts the rows. topdown: "
    "where the processor lost its slots. With --by section: mpi, the functions of MPI, or memory, that of malloc. With "
    "--by timer: perf.hh, the JSON of the user-level timers of perf.hh, times in s.",
)
@click.option("--events", type=click.Path(path_type=Path), hidden=True)
def command(
    traces: list[Trace], _: list[Selection], output: Output, file: Path | None, *, metrics: str | None,
    events: Path | None,
) -> None:  # fmt: skip
    """Recorded calls give exact times; samples give estimates with their standard error. ARCHIVE is a prefix, the
    directory of an OTF2 archive or its .otf2 file, written by any tool. Two or three archives are compared: the numbers
    of each run appear side by side. PAPI_USER_EVENTS_FILE names a file of derived events for --metrics. A timer is a
    region of the user API on a thread, or one that --select names. Allocations need addresses (vtrace run --memory);
    never-freed, peak and bytes sort them.

    \b
    Examples:
      vtrace profile heat
      vtrace profile heat --by callpath --sort inclusive
      vtrace profile heat --by thread --select region=solve --from 25% --to 75%
      vtrace profile heat --by line --select 'class=user' --csv > lines.csv
      vtrace profile heat --by loop --sort inclusive
      vtrace profile heat --source heat.c
      vtrace profile heat --metrics page-faults,context-switches --by rank
      vtrace profile before after --metrics topdown     two runs side by side
      vtrace profile heat --by section                  sections that the program marks
      vtrace profile heat --by section --metrics mpi    the functions of MPI in sections
      vtrace profile heat --by timer --json             timers of the user API, for scripts
      vtrace profile heat --by allocation               who allocates memory, and what is never freed
      vtrace profile one two three --by function        three runs side by side
    """
    from vtrace.reports import path_tree, profile_sheets, sheet

    parts = [(trace, output.selected(trace)) for trace in traces]
    if metrics in _OF_UNIT.get(output.by, ()):
        _OWN[output.by](*parts[0], output, metrics)
        return
    if metrics is not None:
        _print_metrics([_runs_of(part, output) for part in parts], metrics, events, output)
        return
    every = [profile_sheets.read(*part, "line" if file else output.by, output.patterns) for part in parts]
    if len(every) > 1:
        _compare(parts, every, output)
        return
    (numbers,) = every
    made = profile_sheets.listing(numbers, file) if file else profile_sheets.sheet(numbers, output.sort, output.most)
    output.warn(numbers.notes)

    def text() -> None:
        print_head(numbers.trace, numbers.window)
        if not made.rows:
            click.echo(_NO_ROWS)
            return
        if numbers.by == "callpath":
            sheet.show([path_tree.tree_sheet(numbers, output.sort, output.most)])
        else:
            sheet.show([made if file else profile_sheets.shown(made)])
        archive = shell_word(Path(output.archives[0]))
        if numbers.by == "function":
            output.console.note(
                f"next: vtrace profile {archive} --by callpath   for the calls; --by line   for the lines"
            )
        elif not numbers.trace.recorded_profile:
            output.console.note(f"next: vtrace view {archive}   for the timeline")

    output.print(parts, [made], lambda: _about(numbers), text, notes=numbers.notes)


def _compare(parts: list[Part], runs: list[ProfileNumbers], output: Output) -> None:
    """Prints the profiles of several runs side by side."""
    from vtrace.reports.comparison import comparison
    from vtrace.reports.profile_sheets import shown

    made = comparison(runs, output.sort, output.most)
    notes = [f"{number}: {note}" for number, run in enumerate(runs, 1) for note in run.notes]
    output.warn(notes)
    output.print_compared(parts, made, [_about(run) for run in runs], shown=shown, notes=notes)
    if not made.rows and output.most:
        click.echo(_NO_ROWS)


def _about(numbers: ProfileNumbers) -> dict[str, Any]:
    trace = numbers.trace
    begin, end = numbers.window.ends(trace)
    return {
        "caveats": [*stale_lines(trace), *numbers.caveats],
        "archive": str(trace.path), "creator": trace.creator, "by": numbers.by,
        "window": {"from_ns": begin, "to_ns": end, "text": numbers.window.text, "select": numbers.patterns.text},
        "time_ns": round(numbers.found.whole), "ranks": len(numbers.found.processes),
        "samples": int(numbers.costs.samples["count"].sum()),
    }  # fmt: skip


# ---- --metrics ----


def _runs_of(part: Part, output: Output) -> list[CounterRun]:
    """The run of an archive, and those that vtrace run --repeat-groups has recorded with further counters."""
    from vtrace.analysis.counter_runs import later_runs
    from vtrace.reports.metric_sheets import CounterRun

    later = (opened(str(path)) for path in later_runs(part[0]))
    return [CounterRun(*part), *(CounterRun(trace, output.selected(trace)) for trace in later)]


def _print_metrics(every_runs: list[list[CounterRun]], metrics: str, events: Path | None, output: Output) -> None:
    """Prints the metrics of a trace, or of several side by side. every_runs: of each, with its later runs."""
    from vtrace.commands.tool_options import archive_of
    from vtrace.reports.comparison import metric_comparison
    from vtrace.reports.metric_sheets import shown
    from vtrace.reports.sheet import show

    several = len(every_runs) > 1
    parts: list[Part] = [(runs[0].trace, runs[0].window) for runs in every_runs]
    most = None if several else output.most
    every = [_metrics_of(runs, metrics, events, output, most=most) for runs in every_runs]
    findings = [[finding.told() for finding in found] for _, found in every]
    if several:
        told = [
            {"archive": str(trace.path), "caveats": caveats(trace, part), "findings": found}
            for (trace, part), found in zip(parts, findings, strict=True)
        ]
        lines = [[finding.text for finding in found] for _, found in every]
        made = metric_comparison([one for one, _ in every], output.most)
        output.print_compared(parts, made, told, lines, shown=shown)
        return
    (((trace, part),), ((made, _),)) = parts, every

    def text() -> None:
        for line in part.caveats(trace):
            say(line, "  ")
        show([shown(made)])
        if made.columns[0].key == "function":
            word = shell_word(archive_of(trace))
            output.console.note(f"next: the same with --by callpath, or vtrace view {word}   for the curves")

    def head() -> dict[str, Any]:
        return {"caveats": caveats(trace, part), "archive": str(trace.path), "by": made.columns[0].key}

    output.print(parts, [made], head, text, **({"findings": findings[0]} if made.name == "topdown" else {}))


def _metrics_of(
    runs: list[CounterRun], metrics: str, events: Path | None, output: Output, *, most: int | None
) -> tuple[Sheet, list[Finding]]:
    """The table of metrics of runs with different counters, and its findings. Raises UsageError."""
    from vtrace.analysis.derived.known_events import chosen_events, known_files, recorded_pmu
    from vtrace.analysis.derived.topdown import NAME, SLOTS
    from vtrace.reports import metric_sheets, topdown_sheets
    from vtrace.wrappers.launch.counters import split_names

    by, patterns, wanted = output.by, output.patterns, split_names(metrics)
    if not wanted:
        raise UsageError("--metrics has no name", "give --metrics NAME")
    if NAME in wanted and len(wanted) > 1:
        raise UsageError(f"--metrics {NAME} excludes other metrics", f"give --metrics {NAME}")
    if by not in METRIC_UNITS:
        raise UsageError(f"--metrics has no rows by {by}", f"give --by {', '.join(METRIC_UNITS)}")
    files = known_files(events or os.environ.get("PAPI_USER_EVENTS_FILE"))
    output.warn(
        plain(f"{file.path}:{problem.line}:{problem.column}: {problem.text}: line left out")
        for file in files
        for problem in file.errors
    )
    pmu = recorded_pmu([name for run in runs for name in run.trace.metric_members["name"].tolist()], files)
    if wanted == [NAME]:
        known = chosen_events(files, [SLOTS] if pmu else [], pmu)
        made, findings, notes = topdown_sheets.read(runs, by, patterns=patterns, events=known, most=most)
    else:
        numbers = metric_sheets.read(
            runs, by, patterns=patterns, wanted=wanted, events=chosen_events(files, wanted, pmu)
        )
        made, findings, notes = metric_sheets.sheet(numbers, most), [], numbers.notes
    output.warn(notes)
    return made, findings


# ---- --by section, --by timer ----


def _print_sections(trace: Trace, part: Selection, output: Output, metrics: str | None) -> None:
    from vtrace.reports import section_sheets, sheet

    what = metrics or "time"
    made, notes = getattr(section_sheets, f"{what}_sheets")(trace, part, output.most)
    output.warn(map(plain, notes))

    def text() -> None:
        print_head(trace, part)
        sheet.show([each for each in made if each.rows])
        if not made[0].rows:
            click.echo(_NO_SECTIONS[what])

    def head() -> dict[str, Any]:
        return {"caveats": caveats(trace, part), "archive": str(trace.path), "by": "section"}

    output.print([(trace, part)], made, head, text, notes=notes)


def print_timers(trace: Trace, part: Selection, output: Output, metrics: str | None) -> None:
    """Prints the user-defined regions as timers; metrics: None, or perf.hh for its JSON."""
    from vtrace.analysis.questions import timers
    from vtrace.compat import perf_hh
    from vtrace.reports import sheet
    from vtrace.reports.profile_sheets import timer_sheet

    if output.as_json or metrics:
        warn_of_caveats(output.console, trace, part)
    if metrics:
        threads, notes = perf_hh.timers(trace, part, output.patterns)
        output.warn(notes)
        click.echo(json_text(threads, indent=1))
        return
    found, notes = timers.timers(trace, part, output.patterns)
    output.warn(notes)
    start, stop = part.ends(trace)
    made = timer_sheet(found, output.most)

    def text() -> None:
        print_head(trace, part)
        sheet.show([made])

    def head() -> dict[str, Any]:
        about = {"caveats": caveats(trace, part), "archive": str(trace.path), "creator": trace.creator}
        return {**about, "from_ns": start, "to_ns": stop}

    output.print([(trace, part)], [made], head, text, notes=notes)
    if not found and not output.patterns.all:
        output.console.note("no user-defined regions in this trace: --select 'region=*' prints all regions")


def _print_allocations(trace: Trace, part: Selection, output: Output, _: str | None) -> None:
    from vtrace.reports import allocation_sheets, sheet

    made, notes = allocation_sheets.sheet(trace, part, output.patterns, sort=output.sort, most=output.most)
    output.warn(notes)

    def text() -> None:
        print_head(trace, part)
        sheet.show([made])

    def head() -> dict[str, Any]:
        return {"caveats": caveats(trace, part), "archive": str(trace.path), "by": "allocation"}

    output.print([(trace, part)], [made], head, text, notes=notes)


_OWN = {"section": _print_sections, "timer": print_timers, "allocation": _print_allocations}
