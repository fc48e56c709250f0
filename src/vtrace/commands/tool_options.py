# SPDX-License-Identifier: BSD-3-Clause
"""Options that the commands of the Instant and of the Advanced Profiler share, and the data they keep in -d DIR."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.console import vtrace_console
from vtrace.errors import UsageError, VtraceError
from vtrace.text import shell_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vtrace.analysis.derived.event_set import EventSet
    from vtrace.analysis.trace import Trace
    from vtrace.compat.fapp import FappChoices, FappReport
    from vtrace.compat.fipp import FippChoices
    from vtrace.compat.program_facts import Collected
    from vtrace.wrappers.launch.choices import Choices

MOST = 2**31 - 1
"""The largest number that an option accepts."""
KERNEL_TOO = "mode=usr: counters include kernel mode where this machine allows it"
"""A warning."""


collects_option = click.option("-C", "collects", is_flag=True, required=True, help="Collect the data of a run.")
shows_option = click.option("-A", "shows", is_flag=True, required=True, help="Show the data.")
new_directory_option = click.option(
    "-d", "directory", metavar="DIR", required=True, help="Directory for the data: new or empty."
)
program_argument = click.argument("words", metavar="PROGRAM [ARGUMENTS]...", nargs=-1, required=True, type=click.Path())
output_option = click.option("-o", "output", metavar="FILE", default="stdout", help="Write to FILE [default: stdout].")
kind_option = click.option(
    "-t", "kind", type=click.Choice(["text", "csv"]), default="text", show_default=True, help="Format."
)
processes_option = click.option(
    "-p", "processes", metavar="all|N,...|input=N|limit=N",
    help="Processes to read and to show [default: input=0,limit=16].",
)  # fmt: skip


def items_of(words: tuple[str, ...], known: tuple[str, ...], option: str, default: str = "") -> dict[str, str]:
    """The values of -I: of each item named, and of the default item, the text after a colon."""
    found = {default: ""} if default else {}
    for word in (item for text in words for item in text.split(",")):
        name, _, rest = word.partition(":")
        plain = name.removeprefix("no")
        if plain not in known or (rest and name != "src"):
            raise UsageError(f"{option}{word}: unknown item", "one of " + ", ".join(f"{n}, no{n}" for n in known))
        found.pop(plain, None)
        if plain == name:
            found[plain] = rest
    return found


class Collect(click.Command):
    """Options end at the program's name, and -H needs no value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        made: list[str] = []
        rest = [*args]
        while rest:
            word = rest.pop(0)
            made.append(word)
            if word == "--" or not word.startswith("-"):
                break
            if word == "-H":
                has_value = rest and rest[0].startswith(("event=", "event_number=", "mode=", "pa=", "method="))
                made[-1] = f"-H{rest.pop(0)}" if has_value else "-H-"
            elif len(word) == 2 and word not in ("-C", "-h"):
                made += [rest.pop(0)] if rest else []
        return super().parse_args(ctx, [*made, *rest])


def new_directory(directory: str) -> Path:
    """The directory of -d, which is new or empty."""
    place = Path(directory).absolute()
    try:
        place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise VtraceError(f"{directory} is not empty", "give -d a new directory, or empty this one")
    except OSError as error:
        raise VtraceError(f"cannot create {directory}: {error.strerror}", "give -d another directory") from None
    return place


def frequency() -> str:
    """The highest frequency of this machine's processors in MHz, "" if unknown."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return f"{max(float(line.partition(':')[2]) for line in lines if line.startswith('cpu MHz')):.0f}"
    except (OSError, ValueError):
        return ""


def recorded_frequency(trace: Trace) -> str:
    """The clock rate of the processors in MHz that an archive with counters has, "" if unknown or not the same."""
    from vtrace.analysis.host_clocks import clock_rate

    found = clock_rate(trace)
    return "" if found is None else f"{found:.0f}"


def run_and_exit(tool: str, directory: str, notes: Collected, chosen: Choices, *, environ: dict[str, str]) -> None:
    """Writes the notes into the directory, runs the program, unifies, and exits with the program's code."""
    from vtrace.commands.whole_run import run_and_unify
    from vtrace.wrappers.launch import start

    notes.write(notes_file(tool, directory))
    code = run_and_unify(start.prepare(chosen, environ), chosen, environ)
    vtrace_console().note(f"next: vtrace compat {tool} -A -d {shell_path(directory)}")
    click.get_current_context().exit(code)


def notes_file(tool: str, directory: str) -> Path:
    """The file with the notes of tool -C in a directory of -d."""
    return Path(directory) / f"{tool}.json"


def archive_in(tool: str, directory: str) -> str:
    """The archive of tool -C in a directory of -d, or the directory, which may be any archive."""
    archive = Path(directory) / f"{tool}.trace"
    return str(archive.with_suffix("")) if archive.exists() else directory


class Show(click.Command):
    """-d may be missing before the directory, which is the last word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before = args[-2] if len(args) > 1 else ""
        takes = len(before) == 2 and before.startswith("-") and before != "-A"
        if args and not args[-1].startswith("-") and not takes:
            args = [*args[:-1], "-d", args[-1]]
        return super().parse_args(ctx, args)


def numbers_of(text: str, option: str, names: tuple[str, ...]) -> tuple[tuple[int, ...], dict[str, int]]:
    """The numbers of -p or -T, and its values by name; all counts as 1. Raises UsageError."""
    numbers, named = [], {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if part == "all":
            named["all"] = 1
        elif part.isdecimal() and int(part) <= MOST:
            numbers.append(int(part))
        elif equals and name in names and value.isdecimal() and int(value) <= MOST:
            named[name] = int(value)
        else:
            hint = ", ".join(["all", "N", *(f"{name}=N" for name in names)])
            raise UsageError(f"{option}{text}: {part or 'nothing'} is not a value", f"of {hint}, joined by commas")
    return tuple(numbers), named


def choose_processes(choices: FippChoices | FappChoices, processes: str | None) -> None:
    """The values of -p; None: the defaults. Raises UsageError."""
    if processes is None:
        return
    numbers, named = numbers_of(processes, "-p", ("input", "limit"))
    choices.first_processes, choices.inputs = numbers, named.get("input", 0)
    choices.most_processes = named.get("limit", 0 if named.get("all") else choices.most_processes)


def write(output: str, text: str) -> None:
    """Writes to the file of -o, or to stdout, with control characters escaped."""
    from vtrace.io.common.outfile import complete
    from vtrace.text import plain

    text = "\n".join(map(plain, text.split("\n")))
    if output == "stdout":
        click.echo(text, nl=False)
        return
    try:
        with complete(Path(output)) as file:
            file.write(text)
    except OSError as error:
        raise VtraceError(f"cannot write {output}: {error.strerror}", "give -o another file") from None


def write_sheets(output: str, report: FappReport, kind: str) -> None:
    """Writes a report of fapp to the file of -o. kind: of -t."""
    from vtrace import __version__
    from vtrace.compat import fapp_layout

    text = "\n".join(map(printable, fapp_layout.text(report, __version__))) + "\n"
    write(output, fapp_layout.csv_text(report, __version__) if kind == "csv" else text)


def archive_of(trace: Trace) -> Path:
    """The directory of an archive, as other commands take it."""
    return trace.archive if trace.path.name == "traces.otf2" else trace.path


def derived_events(environ: Mapping[str, str], metrics: Iterable[str]) -> EventSet:
    """The derived events of vtrace's files and the user's, for the processor that has counted the metrics."""
    from vtrace.analysis.derived.event_set import EventSet
    from vtrace.analysis.derived.known_events import known_files, recorded_pmu

    files = known_files(environ.get("PAPI_USER_EVENTS_FILE"))
    return EventSet(files, recorded_pmu(metrics, files))


def own_counters(environ: Mapping[str, str]) -> list[str]:
    """The counters that the environment names."""
    separators = environ.get("VT_METRICS_SEP") or ":"
    names = environ.get("VT_METRICS", "")
    for separator in separators:
        names = names.replace(separator, separators[0])
    return [name for name in names.split(separators[0]) if name]


def hardware_counters(items: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """The counters that derived events of the guide need and that this machine may have, less those that the
    environment names. Warns of the others."""
    from vtrace.analysis.derived.known_events import known_files
    from vtrace.compat.fapp_hardware import needed

    own, console = own_counters(environ), vtrace_console()
    names, lacking, problems = needed(items, known_files(environ.get("PAPI_USER_EVENTS_FILE")))
    for problem in problems:
        console.warn(problem)
    if missing := [name for name in lacking if name not in own]:
        some = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
        console.warn(f"events of SPARC64 XIfx that this machine does not have: {some}; their items are -")
    return [name for name in dict.fromkeys(names) if name not in own]


def printable(line: str) -> str:
    """A line without tabs and control characters."""
    from vtrace.text import plain

    return plain(line.expandtabs())


class Either(click.Command):
    """NAME -C collects, NAME -A shows; the first of both words decides."""

    def __init__(self, name: str, collect: click.Command, show: click.Command) -> None:
        super().__init__(name)
        self._ways = {"-C": collect, "-A": show}

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        first = next((word for word in args if word in self._ways), "")
        if not first and args and not {"-h", "--help"} & {*args}:
            name = self.name
            raise UsageError(f"{name} needs -C or -A", f"{name} -C -d DIR PROGRAM, then {name} -A -d DIR")
        way = self._ways[first or "-C"]
        context = way.make_context(info_name, args or ["--help"], parent, **extra)
        self.callback = lambda **_: None
        return context
