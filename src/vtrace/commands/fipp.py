# SPDX-License-Identifier: BSD-3-Clause
"""vtrace compat fipp, vtrace compat fipppx: the commands of the Instant Profiler."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.commands.window import opened, warn_of_caveats
from vtrace.console import CLICK_SETTINGS, Console, environment_level
from vtrace.errors import UsageError, VtraceError
from vtrace.text import shell_word

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace
    from vtrace.compat.fipp import FippChoices, FippCollected, FippReport

_PREFIX, _NOTES = "fipp", "fipp.json"
"""Names in the directory of -d: of the archive, and of what fipp -C notes."""
_MOST = 2**31 - 1
_MOST_MEMORY = 131_072
"""KB for the samples of a thread: an eighth of the largest VT_BUFFER_SIZE."""
_HARDWARE = "samples have no hardware monitor information: -H and -Ihwm are ignored (vtrace run --counters)"
_EVENTS = ("Instructions_SIMD", "Instruction_SIMD", "MEM_access", "Statistics")


def _console() -> Console:
    return Console("vtrace", environment_level("vtrace"))


def _items(words: tuple[str, ...], known: tuple[str, ...], option: str) -> dict[str, str]:
    """The values of -I: of each item named, True or what is behind a colon."""
    found: dict[str, str] = {}
    for word in (item for text in words for item in text.split(",")):
        name, _, rest = word.partition(":")
        plain = name.removeprefix("no")
        if plain not in known or (rest and name != "src"):
            raise UsageError(f"{option}{word}: unknown item", "one of " + ", ".join(f"{n}, no{n}" for n in known))
        found.pop(plain, None)
        if plain == name:
            found[plain] = rest
    return found


# ---- fipp -C ----


class _Collect(click.Command):
    """Options end at the program's name, and -H may stand alone."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        made: list[str] = []
        rest = [*args]
        while rest:
            word = rest.pop(0)
            made.append(word)
            if word == "--" or not word.startswith("-"):
                break
            if word == "-H":
                has_value = rest and rest[0].startswith(("event=", "mode="))
                made[-1] = f"-H{rest.pop(0)}" if has_value else "-H-"
            elif len(word) == 2 and word not in ("-C", "-h"):
                made += [rest.pop(0)] if rest else []
        return super().parse_args(ctx, [*made, *rest])


@click.command(cls=_Collect, context_settings={**CLICK_SETTINGS, "allow_interspersed_args": False})
@click.option("-C", "collects", is_flag=True, required=True, help="Collect the data of a run.")
@click.option("-d", "directory", metavar="DIR", required=True, help="Directory for the data: new or empty.")
@click.option(
    "-I", "items", metavar="ITEM", multiple=True, help="call, nocall, hwm, nohwm; call paths are always there."
)
@click.option(
    "-l", "limit", metavar="N", type=click.IntRange(0, _MOST), default=0,
    help="Keep N procedures, and call the others __other__; 0: all.",
)  # fmt: skip
@click.option("-H", "hardware", metavar="[event=E,mode=M]", help="Hardware monitor: not recorded yet.")
@click.option(
    "-P", "library", type=click.Choice(["userfunc", "nouserfunc"]), default="nouserfunc",
    help="userfunc: the costs of libraries are those of the procedures that call them; needs -Icall.",
)  # fmt: skip
@click.option(
    "-S", "section", type=click.Choice(["total", "range"]), default="total",
    help="range: sample only between fipp_start and fipp_stop.",
)  # fmt: skip
@click.option(
    "-i", "interval", metavar="MS", type=click.IntRange(10, 3_600_000), default=100, help="Sampling interval."
)  # fmt: skip
@click.option(
    "-m", "memory", metavar="KB", type=click.IntRange(1, 2_147_483),
    help="Memory of each thread for samples, in KB [default: by VT_BUFFER_SIZE].",
)  # fmt: skip
@click.option(
    "-L", "lines", type=click.Choice(["shared", "noshared"]), default="noshared",
    help="Accepted: lines of shared libraries are always there.",
)  # fmt: skip
@click.argument("words", metavar="PROGRAM [ARGUMENTS]...", nargs=-1, required=True, type=click.Path())
def collect(
    collects: bool, directory: str, items: tuple[str, ...], limit: int, hardware: str | None, library: str,
    section: str, interval: int, memory: int | None, lines: str, words: tuple[str, ...],
) -> None:  # fmt: skip
    """Run PROGRAM, which may be mpiexec, and collect the data of the Instant Profiler. -A shows them: vtrace compat
    fipppx --help. The exit code is the program's.

    \b
    Examples:
      vtrace compat fipp -C -d prof ./heat
      vtrace compat fipp -C -d prof -Icall -i 10 mpiexec -n 4 ./heat
      vtrace compat fipp -A -d prof
    """
    from vtrace.commands.run import run_and_unify
    from vtrace.wrappers.launch import choices, start

    asked = _items(items, ("call", "hwm"), "-I")
    if library == "userfunc" and "call" not in asked:
        raise UsageError("-Puserfunc needs -Icall", "fipp -C -Icall -Puserfunc -d DIR PROGRAM")
    _check_hardware(hardware)
    if hardware or "hwm" in asked:
        _console().warn(_HARDWARE)
    place = _new_directory(directory)
    chosen = choices.Choices(list(words))
    chosen.unify, chosen.prefix, chosen.sample = True, str(place / _PREFIX), f"{interval}ms"
    environ = start.environment() | {"VT_SAMPLE_SECTIONS": "yes" if section == "range" else "no"}
    if memory is not None:  # samples get an eighth of the memory of events, in addition
        used = min(memory, _MOST_MEMORY)
        if used < memory:
            _console().warn(f"-m {memory}: {used} is used, the most; a full buffer is written out, and nothing is lost")
        environ |= dict.fromkeys(("VT_BUFFER_SIZE", "VT_THREAD_BUFFER_SIZE"), f"{8 * used}K")
    os.environ.update(environ)
    notes: dict[str, Any] = {
        "date": time.strftime("%a %b %e %H:%M:%S %Y"), "frequency": _frequency(), "limit": limit,
        "userfunc": library == "userfunc", "sections": section == "range",
    }  # fmt: skip
    (place / _NOTES).write_text(json.dumps(notes, indent=1) + "\n")
    code = run_and_unify(start.prepare(chosen, environ), chosen, environ)
    _console().note(f"next: vtrace compat fipp -A -d {shlex.quote(directory)}")
    click.get_current_context().exit(code)


def _check_hardware(text: str | None) -> None:
    for part in (text or "-").removeprefix("-").split(","):
        name, _, value = part.partition("=")
        if part and not (name == "event" and value in _EVENTS) and not (name == "mode" and value in ("sys", "usr")):
            raise UsageError(f"-H{part}: unknown", f"event={'|'.join(_EVENTS[1:])}, mode=sys|usr")


def _new_directory(directory: str) -> Path:
    """The directory of -d, which is new or empty."""
    place = Path(directory).absolute()
    try:
        place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise VtraceError(f"{directory} is not empty", "give -d a new directory, or empty this one")
    except OSError as error:
        raise VtraceError(f"cannot create {directory}: {error.strerror}", "give -d another directory") from None
    return place


def _frequency() -> str:
    """The highest frequency of this machine's processors in MHz, "" if unknown."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return f"{max(float(line.partition(':')[2]) for line in lines if line.startswith('cpu MHz')):.0f}"
    except (OSError, ValueError):
        return ""


# ---- fipppx -A ----

_SHOWN = ("cpu", "balance", "call", "hwm", "src")


class _Show(click.Command):
    """-d may be missing before the directory, which is the last word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before = args[-2] if len(args) > 1 else ""
        takes = len(before) == 2 and before.startswith("-") and before != "-A"
        if args and not args[-1].startswith("-") and not takes:
            args = [*args[:-1], "-d", args[-1]]
        return super().parse_args(ctx, args)


@click.command(cls=_Show, context_settings=CLICK_SETTINGS)
@click.option("-A", "shows", is_flag=True, required=True, help="Show the data.")
@click.option("-d", "directory", metavar="DIR", help="The data of fipp -C, or any OTF2 archive with samples.")
@click.option(
    "-I", "items", metavar="ITEM", multiple=True,
    help="cpu, balance, call, src[:PATH]..., hwm, or each with no in front [default: cpu].",
)  # fmt: skip
@click.option(
    "-l", "limit", metavar="N", type=click.IntRange(0, _MOST), default=10, show_default=True,
    help="Rows of a table; 0: all.",
)  # fmt: skip
@click.option(
    "-T", "threads", metavar="all|N,...|limit=N", help="Threads to show, before those with the highest costs."
)
@click.option("-f", "function", metavar="NAME", help="Also show this procedure, whatever -l is.")
@click.option("-o", "output", metavar="FILE", default="stdout", help="Write to FILE [default: stdout].")
@click.option(
    "-p", "processes", metavar="all|N,...|input=N|limit=N",
    help="Processes to read and to show [default: input=0,limit=16].",
)  # fmt: skip
@click.option("-t", "kind", type=click.Choice(["text", "csv"]), default="text", show_default=True, help="Format.")
def fipppx(
    shows: bool, directory: str | None, items: tuple[str, ...], limit: int, threads: str | None, function: str | None,
    output: str, processes: str | None, kind: str,
) -> None:  # fmt: skip
    """Show the data of the Instant Profiler, in its layouts: time statistics, costs of procedures and lines, call
    graph, annotated sources.

    \b
    Examples:
      vtrace compat fipppx -A -d prof
      vtrace compat fipppx -A -Icpu,balance,call -p0,limit=2 -d prof
      vtrace compat fipppx -A -Isrc:src:../lib -l0 -o report.txt prof
      vtrace compat fipppx -A -tcsv prof
    """
    from vtrace import __version__
    from vtrace.analysis.selection import Selection
    from vtrace.compat import fipp, fipp_costs, fipp_layout

    if directory is None:
        raise UsageError("-d is missing", "vtrace compat fipppx -A -d DIR")
    if not shows:
        raise UsageError("fipppx needs -A", "fipppx -A -d DIR")
    asked = _items(items, _SHOWN, "-I") if items else {"cpu": ""}
    chosen = _choices(frozenset(asked), limit, function, threads, processes)
    console = _console()
    if "hwm" in asked:
        console.warn(_HARDWARE)
    place = Path(directory)
    collected = _read_notes(place)
    trace = opened(str(place / _PREFIX) if (place / f"{_PREFIX}.trace").exists() else directory)
    warn_of_caveats(console, trace, Selection())
    costs = fipp_costs.FippCosts(trace, collected.userfunc)
    for problem in costs.problems:
        console.warn(problem)
    if not costs.costs.samples.rows:
        raise VtraceError(
            f"{directory}: no samples in this trace", "collect them with vtrace compat fipp -C, or run --sample"
        )
    report = fipp.make(costs, chosen, collected)
    if kind == "csv":
        made = fipp_layout.csv_text(report, __version__)
    else:
        sources = _sources(console, report, asked.get("src", ""))
        made = "\n".join(map(_printable, fipp_layout.text(report, __version__, sources))) + "\n"
    _write(output, made)
    console.note(f"next: vtrace profile {shell_word(_archive_of(trace))}   for standard errors and exact events")


def _archive_of(trace: Trace) -> Path:
    return trace.path.parent if trace.path.name == "traces.otf2" else trace.path


def _printable(line: str) -> str:
    from vtrace.text import plain

    return plain(line.expandtabs())


def _choices(
    items: frozenset[str], limit: int, function: str | None, threads: str | None, processes: str | None
) -> FippChoices:
    from vtrace.compat.fipp import FippChoices

    found = FippChoices(items, limit, function)
    if threads is not None:
        numbers, named = _numbers(threads, "-T", ("limit",))
        found.first_threads, found.most_threads = numbers, named.get("limit", 0)
    if processes is not None:
        numbers, named = _numbers(processes, "-p", ("input", "limit"))
        found.first_processes, found.inputs = numbers, named.get("input", 0)
        found.most_processes = named.get("limit", 0 if named.get("all") else found.most_processes)
    return found


def _numbers(text: str, option: str, names: tuple[str, ...]) -> tuple[tuple[int, ...], dict[str, int]]:
    """The numbers of -p or -T, and its values by name; all counts as 1. Raises UsageError."""
    numbers, named = [], {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if part == "all":
            named["all"] = 1
        elif part.isdecimal() and int(part) <= _MOST:
            numbers.append(int(part))
        elif equals and name in names and value.isdecimal() and int(value) <= _MOST:
            named[name] = int(value)
        else:
            hint = ", ".join(["all", "N", *(f"{name}=N" for name in names)])
            raise UsageError(f"{option}{text}: {part or 'nothing'} is no value", f"of {hint}, joined by commas")
    return tuple(numbers), named


def _read_notes(place: Path) -> FippCollected:
    from vtrace.compat.fipp import FippCollected

    path = place / _NOTES
    try:
        return FippCollected.of_json(json.loads(path.read_text())) if path.is_file() else FippCollected()
    except (OSError, ValueError) as error:
        raise VtraceError(f"{path}: cannot be read: {error}", "collect the data again") from None


def _sources(console: Console, report: FippReport, paths: str) -> dict[str, list[str]]:
    """The lines of the source files, from the directories of -Isrc:PATH or their own places."""
    found = {}
    for file in report.sources:
        places = [Path(directory) / Path(file).name for directory in paths.split(":") if directory] or [Path(file)]
        for place in places:
            if place.is_file():
                try:
                    found[file] = place.read_text("utf-8", "replace").removesuffix("\n").split("\n")
                except OSError:
                    continue
                break
        else:
            console.warn(f"{file}: no such file here: its lines are not shown (name its directory: -Isrc:DIR)")
    return found


def _write(output: str, text: str) -> None:
    from vtrace.io.common.outfile import complete

    if output == "stdout":
        click.echo(text, nl=False)
        return
    try:
        with complete(Path(output)) as file:
            file.write(text)
    except OSError as error:
        raise VtraceError(f"cannot write {output}: {error.strerror}", "give -o another file") from None


# ---- fipp: either ----


class _Fipp(click.Command):
    """fipp -C collects, fipp -A shows; the first of both words decides."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        first = next((word for word in args if word in ("-C", "-A")), "")
        if not first and args and not {"-h", "--help"} & {*args}:
            raise UsageError("fipp needs -C or -A", "fipp -C -d DIR PROGRAM, then fipp -A -d DIR")
        way = fipppx if first == "-A" else collect
        context = way.make_context(info_name, args or ["--help"], parent, **extra)
        self.callback = lambda **_: None
        return context


fipp = _Fipp("fipp")
