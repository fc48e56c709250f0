# SPDX-License-Identifier: BSD-3-Clause
"""vtrace profile: show where the time went inside the program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.part_options import opened, selected_part, stale_lines, title, warn_of_caveats, window_options
from vtrace.console import Console, environment_level
from vtrace.errors import UsageError
from vtrace.text import json_text, plain, shell_word

if TYPE_CHECKING:
    from collections.abc import Callable

    from vtrace.analysis.findings.finding import Finding
    from vtrace.analysis.selection import Patterns, Selection
    from vtrace.analysis.trace import Trace
    from vtrace.reports.metric_sheets import CounterRun
    from vtrace.reports.profile_sheets import ProfileNumbers
    from vtrace.reports.sheet import Sheet

_UNITS = ("function", "loop", "line", "callpath", "section", "rank", "thread")
"""section, and those of analysis/questions/cost_rows.py, repeated here: importing that module loads numpy."""
_SECTION_METRICS = ("mpi", "memory")
_NO_SECTIONS = {
    "time": "no calls and no sections were recorded here", "mpi": "no calls of MPI were recorded in sections here",
    "memory": "no calls and no sections were recorded here",
}  # fmt: skip
_SORTS = ("exclusive", "inclusive", "calls", "samples", "mpi", "barrier", "max", "name")


@click.command()
@click.argument(
    "archives", nargs=-1, required=True, metavar="ARCHIVE [ARCHIVE [ARCHIVE]]", shell_complete=complete_target
)
@click.option("--by", type=click.Choice(_UNITS), default="function", show_default=True, help="One row for each ...")
@click.option("--sort", type=click.Choice(_SORTS), default="exclusive", show_default=True, help="Sort rows by this.")
@click.option("--top", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="Rows to show.")
@click.option(
    "--select", "chosen", metavar="KIND=PATTERN", multiple=True,
    help="Only time of a region, class, path or location whose name matches PATTERN[,PATTERN...]; may be repeated.",
)  # fmt: skip
@click.option(
    "--source", "file", metavar="FILE", type=click.Path(path_type=Path),
    help="Print a source file with the time of each line.",
)  # fmt: skip
@click.option(
    "--metrics",
    metavar="NAME[,NAME...]",
    help="Instead of times: increases of counters, or values derived from them; the first sorts the rows. topdown: "
    "where the processor lost its slots. With --by section: mpi, the functions of MPI, or memory, that of malloc.",
)
@click.option(
    "--events", metavar="FILE", type=click.Path(path_type=Path), help="File of derived events [PAPI_USER_EVENTS_FILE].",
)  # fmt: skip
@window_options
@click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON; times in ns.")
@click.option("--csv", "as_csv", is_flag=True, help="Print all rows as CSV; times in ns.")
def command(
    archives: tuple[str, ...], by: str, sort: str, top: int, *, chosen: tuple[str, ...], file: Path | None,
    metrics: str | None, events: Path | None, begin: str | None, end: str | None, ranks: str | None, helpers: bool,
    as_json: bool, as_csv: bool,
) -> None:  # fmt: skip
    """Recorded calls give exact times; samples give estimates with their standard error. ARCHIVE is a prefix, the
    directory of an OTF2 archive or its .otf2 file, written by any tool. Two or three archives are compared: the numbers
    of each run appear side by side.

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
      vtrace profile one two three --by function        three runs side by side
    """
    from vtrace.reports import profile_sheets, sheet

    _check(archives, by, file=file, metrics=metrics, events=events, sort=sort, two_formats=as_json and as_csv)
    console = Console("vtrace", environment_level("vtrace"))
    patterns = _patterns(chosen, by, metrics)

    def opened_part(archive: str) -> tuple[Trace, Selection]:
        trace = opened(archive)
        return trace, selected_part(
            console, trace, patterns=patterns, begin=begin, end=end, ranks=ranks, helpers=helpers
        )

    most = None if as_json or as_csv else top
    if by == "section" and metrics in (None, *_SECTION_METRICS):
        _print_sections(*opened_part(archives[0]), patterns, metrics or "time", most, as_json, as_csv)
        return
    if metrics is not None:
        asked = _MetricsOptions(by, patterns, metrics, events)
        _print_metrics(
            [_runs_of(archive, opened_part) for archive in archives], asked, most=most, as_json=as_json, as_csv=as_csv
        )
        return
    unit = "line" if file else by
    every = [profile_sheets.read(*opened_part(archive), unit, patterns) for archive in archives]
    if len(every) > 1:
        _compare(console, every, sort=sort, most=most, as_json=as_json, as_csv=as_csv)
        return
    ((archive,), (numbers,)) = archives, every
    trace, part = numbers.trace, numbers.window
    made = profile_sheets.listing(numbers, file) if file else profile_sheets.sheet(numbers, sort, most)
    for note in numbers.notes:
        console.warn(note)
    if as_json:
        about = {"caveats": [*stale_lines(trace), *numbers.caveats], **_about(numbers)}
        click.echo(json_text({**about, **sheet.data([made]), "notes": numbers.notes}, indent=1))
    elif as_csv:
        warn_of_caveats(console, trace, part)
        click.echo(sheet.csv_text([made]), nl=False)
    else:
        _show(numbers, made if file else profile_sheets.shown(made), shell_word(Path(archive)))


def _patterns(chosen: tuple[str, ...], by: str, metrics: str | None) -> Patterns:
    """The patterns of --select. Raises UsageError for those that the table cannot have."""
    from vtrace.analysis.selection import Patterns

    patterns = Patterns.of_options(chosen)
    if by == "section" and any(patterns.of(kind) for kind in ("region", "class", "path")):
        raise UsageError("--by section cannot --select a region, class or path", "select a location")
    if metrics is not None and (patterns.of("class") or patterns.of("path")):
        raise UsageError("--metrics cannot --select a class or path", "select a region or location")
    return patterns


def _check(
    archives: tuple[str, ...], by: str, file: Path | None, metrics: str | None, *, events: Path | None, sort: str,
    two_formats: bool,
) -> None:  # fmt: skip
    """Raises UsageError for options that exclude each other."""
    from vtrace.reports.profile_comparison import MOST_RUNS

    if two_formats:
        raise UsageError("--json and --csv exclude each other", "use one of them")
    if events and metrics is None:
        raise UsageError("--events belongs to --metrics", "give --metrics NAME")
    if metrics is not None and (file or sort != _SORTS[0]):
        raise UsageError("--metrics takes neither --source nor --sort", "the first metric sorts the rows")
    if metrics in _SECTION_METRICS and by != "section":
        raise UsageError(f"--metrics {metrics} is about sections", f"give --by section --metrics {metrics}")
    if by == "section" and (file or sort != _SORTS[0]):
        raise UsageError("--by section takes neither --source nor --sort", "the sections that take longest come first")
    if len(archives) > MOST_RUNS:
        raise UsageError(f"{len(archives)} archives", f"vtrace profile compares up to {MOST_RUNS}")
    one_alone = by == "section" and metrics in (None, *_SECTION_METRICS)
    for option, given in (("--source", file is not None), ("--by section", one_alone)):
        if given and len(archives) > 1:
            raise UsageError(f"{option} with several archives", "give one archive")


class _MetricsOptions(NamedTuple):
    """The options about metrics."""

    by: str
    patterns: Patterns
    metrics: str
    events: Path | None


def _runs_of(archive: str, opened_part: Callable[[str], tuple[Trace, Selection]]) -> list[CounterRun]:
    """The run of an archive, and those that vtrace run --repeat-groups has recorded with further counters."""
    from vtrace.analysis.counter_runs import later_runs
    from vtrace.reports.metric_sheets import CounterRun

    first = CounterRun(*opened_part(archive))
    return [first, *(CounterRun(*opened_part(str(path))) for path in later_runs(first.trace))]


def _print_metrics(
    every_runs: list[list[CounterRun]], asked: _MetricsOptions, most: int | None, as_json: bool, *, as_csv: bool
) -> None:
    """Prints the metrics of a trace, or of several side by side. every_runs: of each, with its later runs."""
    from vtrace.reports import metric_sheets, sheet
    from vtrace.reports.profile_comparison import metric_comparison

    parts = [runs[0] for runs in every_runs]
    if len(parts) == 1:
        ((trace, part),) = parts
        made, findings = _metrics_of(every_runs[0], asked, most)
        _print_sheet(
            made, [finding.told() for finding in findings], trace=trace, part=part, as_json=as_json, as_csv=as_csv
        )
        return
    every = [_metrics_of(runs, asked, None) for runs in every_runs]
    made = metric_comparison([one for one, _ in every], most)
    if as_json:
        told = [
            {"archive": str(trace.path), "caveats": [*stale_lines(trace), *part.caveats(trace)],
             "findings": [finding.told() for finding in findings]}
            for (trace, part), (_, findings) in zip(parts, every, strict=True)
        ]  # fmt: skip
        click.echo(json_text({"runs": told, **sheet.data([made])}, indent=1))
    elif as_csv:
        click.echo(sheet.csv_text([made]), nl=False)
    else:
        for number, ((trace, part), (_, findings)) in enumerate(zip(parts, every, strict=True), 1):
            click.echo(f"{number}  {plain(title(trace))}")
            for line in [*part.caveats(trace), *(finding.text for finding in findings)]:
                click.echo(f"   {plain(line)}")
        sheet.show([metric_sheets.shown(made)])


def _metrics_of(runs: list[CounterRun], asked: _MetricsOptions, most: int | None) -> tuple[Sheet, list[Finding]]:
    """The table of metrics of runs with different counters, and its findings. Raises UsageError."""
    from vtrace.analysis.derived.known_events import chosen_events, known_files, recorded_pmu
    from vtrace.analysis.derived.topdown import NAME, SLOTS
    from vtrace.reports import metric_sheets, topdown_sheets
    from vtrace.wrappers.launch.counter_names import split_names

    by, patterns, metrics, events = asked
    console = Console("vtrace", environment_level("vtrace"))
    wanted = split_names(metrics)
    if not wanted:
        raise UsageError("--metrics has no name", "give --metrics NAME")
    if NAME in wanted and len(wanted) > 1:
        raise UsageError(f"--metrics {NAME} excludes other metrics", f"give --metrics {NAME}")
    if by not in metric_sheets.UNITS:
        raise UsageError(f"--metrics has no rows by {by}", f"give --by {', '.join(metric_sheets.UNITS)}")
    files = known_files(events or os.environ.get("PAPI_USER_EVENTS_FILE"))
    for file in files:
        for problem in file.errors:
            console.warn(plain(f"{file.path}:{problem.line}:{problem.column}: {problem.text}: line left out"))
    pmu = recorded_pmu([name for run in runs for name in run.trace.metric_members["name"].tolist()], files)
    if wanted == [NAME]:
        known = chosen_events(files, [SLOTS] if pmu else [], pmu)
        made, findings, notes = topdown_sheets.read(runs, by, patterns=patterns, events=known, most=most)
    else:
        numbers = metric_sheets.read(
            runs, by, patterns=patterns, wanted=wanted, events=chosen_events(files, wanted, pmu)
        )
        made, findings, notes = metric_sheets.sheet(numbers, most), [], numbers.notes
    for note in notes:
        console.warn(note)
    return made, findings


def _print_sections(  # noqa: PLR0917
    trace: Trace, part: Selection, patterns: Patterns, what: str, most: int | None, as_json: bool, as_csv: bool
) -> None:
    """what: time, or one of _SECTION_METRICS."""
    from vtrace.reports import section_sheets, sheet

    console = Console("vtrace", environment_level("vtrace"))
    made, notes = getattr(section_sheets, f"{what}_sheets")(trace, part, most)
    caveats = part.caveats(trace)
    for note in notes:
        console.warn(plain(note))
    if as_json:
        about = {"caveats": [*stale_lines(trace), *caveats], "archive": str(trace.path), "by": "section"}
        click.echo(json_text({**about, **sheet.data(made), "notes": notes}, indent=1))
    elif as_csv:
        warn_of_caveats(console, trace, part)
        click.echo(sheet.csv_text(made), nl=False)
    else:
        click.echo(click.style(plain(title(trace)), bold=True))
        for line in caveats:
            click.echo(f"  {plain(line)}")
        sheet.show([each for each in made if each.rows])
        if not made[0].rows:
            click.echo(_NO_SECTIONS[what])


def _print_sheet(
    made: Sheet, findings: list[dict[str, Any]], trace: Trace, part: Selection, *, as_json: bool, as_csv: bool
) -> None:
    from vtrace.commands.tool_options import archive_of
    from vtrace.reports import metric_sheets, sheet

    caveats = part.caveats(trace)
    if as_json:
        about = {"caveats": [*stale_lines(trace), *caveats], "archive": str(trace.path), "by": made.columns[0].key}
        more = {"findings": findings} if made.name == "topdown" else {}
        click.echo(json_text({**about, **sheet.data([made]), **more}, indent=1))
    elif as_csv:
        warn_of_caveats(Console("vtrace", environment_level("vtrace")), trace, part)
        click.echo(sheet.csv_text([made]), nl=False)
    else:
        for line in caveats:
            click.echo(f"  {plain(line)}")
        sheet.show([metric_sheets.shown(made)])
        if made.columns[0].key == "function":
            console = Console("vtrace", environment_level("vtrace"))
            console.note(
                f"next: the same with --by callpath, or vtrace view {shell_word(archive_of(trace))}   for the curves"
            )


def _compare(
    console: Console, runs: list[ProfileNumbers], sort: str, most: int | None, *, as_json: bool, as_csv: bool
) -> None:
    """Prints the profiles of several runs side by side."""
    from vtrace.reports import profile_sheets, sheet
    from vtrace.reports.profile_comparison import comparison

    made = comparison(runs, sort, most)
    notes = [f"{number}: {note}" for number, run in enumerate(runs, 1) for note in run.notes]
    for note in notes:
        console.warn(note)
    if as_json:
        ends = [{"caveats": [*stale_lines(run.trace), *run.caveats], **_about(run)} for run in runs]
        click.echo(json_text({"runs": ends, **sheet.data([made]), "notes": notes}, indent=1))
    elif as_csv:
        for run in runs:
            warn_of_caveats(console, run.trace, run.window)
        click.echo(sheet.csv_text([made]), nl=False)
    else:
        for number, run in enumerate(runs, 1):
            click.echo(f"{number}  {plain(title(run.trace))}")
            for line in run.caveats:
                click.echo(f"   {plain(line)}")
        sheet.show([profile_sheets.shown(made)])
        if not made.rows:
            click.echo("no calls and no samples were recorded here")


def _about(numbers: ProfileNumbers) -> dict[str, Any]:
    trace = numbers.trace
    begin, end = numbers.window.ends(trace)
    return {
        "archive": str(trace.path), "creator": trace.creator, "by": numbers.by,
        "window": {"from_ns": begin, "to_ns": end, "text": numbers.window.text, "select": numbers.patterns.text},
        "time_ns": round(numbers.found.whole), "ranks": len(numbers.found.processes),
        "samples": int(numbers.costs.samples["count"].sum()),
    }  # fmt: skip


def _show(numbers: ProfileNumbers, made: Sheet, archive: str) -> None:
    from vtrace.reports import sheet

    click.echo(click.style(plain(title(numbers.trace)), bold=True))
    for line in numbers.caveats:
        click.echo(f"  {plain(line)}")
    if not made.rows:
        click.echo("no calls and no samples were recorded here")
        return
    sheet.show([made])
    console = Console("vtrace", environment_level("vtrace"))
    if numbers.by == "function":
        console.note(f"next: vtrace profile {archive} --by callpath   for the calls; --by line   for the lines")
    else:
        console.note(f"next: vtrace view {archive}   for the timeline")
