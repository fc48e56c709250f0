# SPDX-License-Identifier: BSD-3-Clause
"""Understand: Report MPI time and bytes by call site, in mpiP's format."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace import __version__
from vtrace.analysis.shared_scan import ask
from vtrace.commands.completion import complete_target
from vtrace.commands.trace_command import opened, title, warn_of_caveats
from vtrace.console import Console, terminal_width, vtrace_console, wide_option
from vtrace.errors import UsageError, VtraceError
from vtrace.io.archive.properties import PID
from vtrace.io.common.outfile import complete
from vtrace.text import plain, shell_word
from vtrace.wrappers.launch import mpip_variable

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace
    from vtrace.compat.mpip import Frame, FunctionTime, MpipProfile, Resolve


class _WithVariable(click.Command):
    """The options of MPIP stand before those of the command line; -z there concerns the end of the run, and -f gives
    way to -o."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        console = vtrace_console()
        given, said = mpip_variable.options(os.environ)
        named = any(word.startswith(("-o", "--output")) for word in args)
        kept: list[str] = []
        for word in given:
            if named and (word == "-f" or kept[-1:] == ["-f"]):
                kept = [*kept, word] if word == "-f" else kept[:-1]
            elif word != "-z":
                kept.append(word)
        own = [word for word in args if word in mpip_variable.MEANINGS]
        for line in [*said, *(f"{word}: {mpip_variable.MEANINGS[word]}" for word in own)]:
            console.note(line)
        return super().parse_args(ctx, [*kept, *(word for word in args if word not in own)])


@click.command(cls=_WithVariable)
@click.argument("archive", shell_complete=complete_target)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write to FILE [default: standard output]."
)
@click.option(
    "-f", "directory", metavar="DIR", type=click.Path(path_type=Path), help="Write to DIR/PROGRAM.RANKS.PID.N.mpiP."
)
@click.option("-c", "concise", is_flag=True, help="Write the concise report: no lines for single ranks.")
@click.option("-v", "both", is_flag=True, help="Write the verbose report, then the concise one.")
@click.option("-d", "brief", is_flag=True, help="Omit call sites and their statistics.")
@click.option("-e", "floating", is_flag=True, help="Print decimals in full, not three digits.")
@click.option(
    "-k", "depth", metavar="N", type=click.IntRange(0),
    help="Number of stack frames that identify a call site; 0: none [default: all recorded frames].",
)  # fmt: skip
@click.option("-n", "full", is_flag=True, help="Print full paths of source files.")
@click.option("-p", "pt2pt", is_flag=True, help="Show bytes sent, by sizes of messages and communicators.")
@click.option(
    "-y", "collective", is_flag=True, help="Show time of collectives, by sizes of messages and communicators."
)
@click.option("-s", "hash_size", metavar="N", type=int, help="Ignored: vtrace mpip uses no hash table.")
@click.option(
    "-t",
    "threshold",
    metavar="X",
    type=click.FloatRange(0, 100),
    default=0.0,
    help="Omit lines of ranks with MPI% below X.",
)
@click.option(
    "-x", "executable", metavar="EXE", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Look up missing source lines in EXE, the program with debug information.",
)  # fmt: skip
@click.option("-z", "silent", is_flag=True, help="Write no report; check only that the trace allows one.")
@click.pass_context
def command(
    context: click.Context, archive: str, output: Path | None, directory: Path | None, *, concise: bool, both: bool,
    brief: bool, floating: bool, depth: int | None, full: bool, pt2pt: bool, collective: bool, hash_size: int | None,
    threshold: float, executable: Path | None, silent: bool,
) -> None:  # fmt: skip
    """The layout and the options are those of mpiP 3.4.1. Run the program with VT_MPI_CALLSITES=N to record N stack
    frames per MPI call; without, the functions around the MPI calls are the call sites. ARCHIVE is a prefix, the
    directory of an OTF2 archive or its .otf2 file, written by any tool.

    \b
    Examples:
      VT_MPI_CALLSITES=1 mpiexec -n 4 ./heat && vtunify heat && vtrace mpip heat
      vtrace mpip heat -c -p -y
      vtrace mpip heat -v -f reports
    """
    from vtrace.analysis.selection import Selection
    from vtrace.compat import mpip

    if output and directory:
        raise UsageError("-o and -f exclude each other", "-o FILE, or -f DIR for a file with mpiP's name")
    if directory and not directory.is_dir():
        raise VtraceError(f"{directory} is not a directory", "give -f an existing directory")
    console = vtrace_console()
    if hash_size is not None:
        console.note("-s is ignored: vtrace mpip uses no hash table")
    trace = opened(archive)
    profiles = _profiles(trace, depth, full, _resolver(trace, executable) if executable else None)
    profile = profiles[-1][1]
    if profile is None:
        raise VtraceError(f"{archive}: no MPI calls in this trace", f"see vtrace info {shell_word(Path(archive))}")
    profile.functions = _functions(trace)
    for problem in profile.problems:
        console.warn(problem)
    caveats = warn_of_caveats(console, trace, Selection()) if output or directory or silent else trace.caveats()
    _remark(console, profile, depth)
    if silent:
        console.note(f"-z: no report written; {len(profile.sites)} call sites found")
        return
    width = None if output or directory else terminal_width()
    style = mpip.Style(
        detail=not brief, floating=floating, pt2pt=pt2pt, collective=collective, threshold=threshold, width=width
    )  # fmt: skip
    kinds = [mpip.verbose, mpip.concise] if both else [mpip.concise] if concise else [mpip.verbose]
    place = str(directory or (output.parent if output else "."))
    about = mpip.header(_facts(trace, profile, _options(context), place), _command(trace), caveats)
    made = [
        (kind, one) for level, one in profiles for kind in ({3: [mpip.verbose], 4: [mpip.concise]}.get(level, kinds))
    ]
    texts = ["\n".join(map(plain, [*about, *kind(one, style)])) + "\n" for kind, one in made if one]
    if directory:
        for text, path in zip(texts, _paths(directory, trace, len(profile.tasks)), strict=False):
            _write(path, text)
    elif output:
        _write(output, "\n".join(texts))
    else:
        click.echo("\n".join(texts), nl=False)
    console.note(f"next: vtrace summary {shell_word(Path(archive))}   for functions, I/O and memory")


command.params.append(wide_option())


def _profiles(
    trace: Trace, depth: int | None, full: bool, resolve: Resolve | None
) -> list[tuple[int, MpipProfile | None]]:
    """The reports that MPI_Pcontrol asked for, each with its level, and that of the end of the run."""
    from vtrace.compat import mpip
    from vtrace.compat.mpip_moments import moments

    return [
        (moment.level, mpip.read(trace, depth, full=full, resolve=resolve, windows=moment.windows))
        for moment in moments(trace)
    ]


def _functions(trace: Trace) -> list[FunctionTime]:
    """The functions that samples show; none without samples."""
    from vtrace.analysis.questions.costs import CostQuestion
    from vtrace.analysis.selection import Selection
    from vtrace.compat.mpip import FunctionTime
    from vtrace.reports.sample_sheets import samples

    if not trace.contexts.rows:
        return []
    costs = CostQuestion()
    ask(trace, [costs])
    rows = samples(trace, Selection(), costs.answer()).rows
    return [
        FunctionTime(row["function"], row["exclusive_ns"], _error(row), row["samples"])
        for row in rows if row["exclusive_ns"]
    ]  # fmt: skip


def _error(row: Mapping[str, Any]) -> float:
    """One standard error of the time in ns: the error of the share of the same row, in time."""
    return row["exclusive_ns"] * (row["share_error"] or 0.0) / row["share"] if row["share"] else 0.0


def _remark(console: Console, profile: MpipProfile, depth: int | None) -> None:
    if not profile.depth:
        console.note("no call sites recorded: showing the functions around MPI calls (record with VT_MPI_CALLSITES=1)")
    elif depth and depth > profile.depth:
        console.note(
            f"-k {depth}: the trace has stacks of at most {profile.depth} frames (record with VT_MPI_CALLSITES={depth})"
        )


def _options(context: click.Context) -> str:
    """The given options as text, as mpiP's variable MPIP has them."""
    words = []
    for parameter in context.command.params:
        option, value = parameter.opts[0], context.params.get(parameter.name or "")
        if len(option) == 2 and option != "-o" and value not in (None, False, 0.0):
            words.append(option if value is True else f"{option} {value}")
    return " ".join(words) or "[null]"


def _pid(trace: Trace) -> str:
    """The process id that rank 0 had in the run; of this process, if the archive does not have it."""
    groups = [int(row["group"]) for row in trace.processes.records() if row["rank"] == 0]
    known = trace.group_properties.records()
    return next((str(row["value"]) for row in known if row["name"] == PID and row["group"] in groups), str(os.getpid()))


def _command(trace: Trace) -> str:
    words = trace.vtrace.get("ABOUT", {}).get("command") or [title(trace)]
    return " ".join(map(str, words))


def _facts(trace: Trace, profile: MpipProfile, options: str, directory: str) -> Iterator[tuple[str, str]]:
    begin = trace.start or 0
    yield "Version", f"3.4.1 (layout; written by vtrace {__version__})"
    yield "MPIP Build date", f"none: from a trace by {trace.creator or 'an unknown tool'}"
    for name, ns in (("Start time", begin), ("Stop time", begin + trace.duration)):
        yield name, time.strftime("%Y %m %d %H:%M:%S", time.localtime(ns / 1e9)) if begin else "unknown"
    yield "Timer Used", "that of the trace"
    yield "MPIP env var", options
    yield "Collector Rank", "0"
    yield "Collector PID", _pid(trace)
    yield "Final Output Dir", directory
    yield "Report generation", "Single collector task"
    yield "Callsite source", "return addresses" if profile.depth else "functions around the calls (no VT_MPI_CALLSITES)"


def _paths(directory: Path, trace: Trace, ranks: int) -> Iterator[Path]:
    """Unused file names in mpiP's form."""
    program = plain(Path(str(trace.vtrace.get("ABOUT", {}).get("executable") or title(trace))).name)
    number = 0
    while number := number + 1:
        path = directory / f"{program}.{ranks}.{_pid(trace)}.{number}.mpiP"
        if not path.exists():
            yield path


def _write(path: Path, text: str) -> None:
    try:
        with complete(path) as file:
            file.write(text)
    except OSError as error:
        raise VtraceError(f"cannot write {path}: {error.strerror}") from None
    click.echo(plain(f"{path}: {text.count(chr(10)):,} lines"))


def _resolver(trace: Trace, executable: Path) -> Resolve:
    """A function that looks up addresses of the program in executable. Addresses of the program are those in a module
    with executable's name or with the name of the program that ran."""
    from vtrace.symbols.modules import Place
    from vtrace.symbols.symbols import Symbols

    ran = Path(str(trace.vtrace.get("ABOUT", {}).get("executable", ""))).name

    def resolve(frames: list[Frame]) -> dict[Frame, Frame]:
        found = {f: Place((str(executable), b""), f.address) for f in frames if f.module in (executable.name, ran)}
        symbols = Symbols(2**63)
        symbols.resolve(found.values())
        symbols.find_statements(found.values())
        lines = {frame: symbols.call_at(place) for frame, place in found.items()}
        return {
            frame: frame._replace(function=name, file=file, line=line)
            for frame, (name, file, line) in lines.items()
            if file
        }

    return resolve
