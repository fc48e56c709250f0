# SPDX-License-Identifier: BSD-3-Clause
"""vtrace compat fipp, vtrace compat fipppx: the commands of the Instant Profiler."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vtrace.commands import tool_options as tools
from vtrace.commands.trace_command import opened, warn_of_caveats
from vtrace.console import CLICK_SETTINGS, Console, vtrace_console
from vtrace.errors import UsageError, VtraceError
from vtrace.text import shell_word

if TYPE_CHECKING:
    from vtrace.compat.fipp import FippChoices, FippReport

_TOOL = "fipp"
_MOST_MEMORY = 131_072
"""The most KB for the samples of a thread: an eighth of the largest VT_BUFFER_SIZE."""
_EVENTS = ("Instructions_SIMD", "Instruction_SIMD", "MEM_access", "Statistics")


# ---- fipp -C ----


@click.command(cls=tools.Collect, context_settings={**CLICK_SETTINGS, "allow_interspersed_args": False})
@tools.collects_option
@tools.new_directory_option
@click.option(
    "-I", "items", metavar="ITEM", multiple=True, help="call, nocall, hwm, nohwm; call paths are always there."
)
@click.option(
    "-l", "limit", metavar="N", type=click.IntRange(0, tools.MOST), default=0,
    help="Keep N procedures, and call the others __other__; 0: all.",
)  # fmt: skip
@click.option(
    "-H", "hardware", metavar="[event=E,mode=M]", help="Hardware monitor: Instruction_SIMD, MEM_access, Statistics."
)
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
    help="shared: lines and loops of shared libraries, too.",
)  # fmt: skip
@tools.program_argument
def collect(
    collects: bool, directory: str, items: tuple[str, ...], limit: int, *, hardware: str | None, library: str,
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
    from vtrace.compat import fapp_hardware
    from vtrace.compat.fipp import FippCollected
    from vtrace.wrappers.launch import choices, start

    asked = tools.items_of(items, ("call", "hwm"), "-I")
    if library == "userfunc" and "call" not in asked:
        raise UsageError("-Puserfunc needs -Icall", "fipp -C -Icall -Puserfunc -d DIR PROGRAM")
    event = _event(hardware) if hardware or "hwm" in asked else ""
    place = tools.new_directory(directory)
    chosen = choices.Choices(list(words))
    chosen.unify, chosen.prefix, chosen.sample = True, str(place / _TOOL), f"{interval}ms"
    environ = start.environment()
    if event:
        wanted = tools.hardware_counters(fapp_hardware.items(event), environ)
        chosen.counters = ",".join([*tools.own_counters(environ), *wanted]) or None
    environ |= {"VT_SAMPLE_SECTIONS": "yes" if section == "range" else "no"}
    if memory is not None:  # samples get an eighth of the memory of events, in addition
        used = min(memory, _MOST_MEMORY)
        if used < memory:
            vtrace_console().warn(
                f"-m {memory}: {used} is used, the maximum; a full buffer is written to disk, and nothing is lost"
            )
        environ |= dict.fromkeys(("VT_BUFFER_SIZE", "VT_THREAD_BUFFER_SIZE"), f"{8 * used}K")
    os.environ.update(environ)
    date = time.strftime("%a %b %e %H:%M:%S %Y")
    notes = FippCollected(
        date, tools.frequency(), event, limit=limit, userfunc=library == "userfunc", sections=section == "range",
        shared=lines == "shared",
    )  # fmt: skip
    tools.run_and_exit(_TOOL, directory, notes=notes, chosen=chosen, environ=environ)


def _event(text: str | None) -> str:
    """The event of -H. Raises UsageError."""
    event = "Statistics"
    for part in (text or "-").removeprefix("-").split(","):
        name, _, value = part.partition("=")
        if name == "event" and value in _EVENTS:
            event = value.replace("Instruction_", "Instructions_")
        elif part == "mode=usr":
            vtrace_console().warn(tools.KERNEL_TOO)
        elif part and part != "mode=sys":
            raise UsageError(f"-H{part}: unknown", f"event={'|'.join(_EVENTS[1:])}, mode=sys|usr")
    return event


# ---- fipppx -A ----

_SHOWN = ("cpu", "balance", "call", "hwm", "src")


@click.command(cls=tools.Show, context_settings=CLICK_SETTINGS)
@tools.shows_option
@click.option("-d", "directory", metavar="DIR", help="The data of fipp -C, or any OTF2 archive with samples.")
@click.option(
    "-I", "items", metavar="ITEM", multiple=True,
    help="cpu, balance, call, src[:PATH]..., hwm, or each with no in front [default: cpu].",
)  # fmt: skip
@click.option(
    "-l", "limit", metavar="N", type=click.IntRange(0, tools.MOST), default=10, show_default=True,
    help="Rows of a table; 0: all.",
)  # fmt: skip
@click.option(
    "-T", "threads", metavar="all|N,...|limit=N", help="Threads to show, before those with the highest costs."
)
@click.option("-f", "function", metavar="NAME", help="Also show this procedure, whatever -l is.")
@tools.output_option
@tools.processes_option
@tools.kind_option
def fipppx(
    shows: bool, directory: str | None, items: tuple[str, ...], limit: int, *, threads: str | None,
    function: str | None, output: str, processes: str | None, kind: str,
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
    from vtrace.compat.program_facts import not_there

    if directory is None:
        raise UsageError("-d is missing", "vtrace compat fipppx -A -d DIR")
    asked = tools.items_of(items, _SHOWN, "-I") if items else {"cpu": ""}
    chosen = _choices(frozenset(asked), limit, function=function, threads=threads, processes=processes)
    console = vtrace_console()
    collected = fipp.FippCollected.read(tools.notes_file(_TOOL, directory))
    trace = opened(tools.archive_in(_TOOL, directory))
    collected.frequency = collected.frequency or tools.recorded_frequency(trace)
    warn_of_caveats(console, trace, Selection())
    costs = fipp_costs.FippCosts(trace, userfunc=collected.userfunc, shared=collected.shared)
    for problem in [*costs.problems, not_there(costs.processes, chosen.first_processes)]:
        if problem:
            console.warn(problem)
    if not costs.costs.samples.rows:
        raise VtraceError(
            f"{directory}: no samples in this trace", "collect them with vtrace compat fipp -C, or run --sample"
        )
    events = tools.derived_events(os.environ, trace.metric_members["name"].tolist())
    report = fipp.make(costs, chosen, collected, events)
    if kind == "csv":
        made = fipp_layout.csv_text(report, __version__)
    else:
        sources = _sources(console, report, asked.get("src", ""))
        made = "\n".join(map(tools.printable, fipp_layout.text(report, __version__, sources))) + "\n"
    tools.write(output, made)
    console.note(f"next: vtrace profile {shell_word(tools.archive_of(trace))}   for standard errors and exact events")


def _choices(
    items: frozenset[str], limit: int, function: str | None, threads: str | None, *, processes: str | None
) -> FippChoices:
    from vtrace.compat.fipp import FippChoices

    found = FippChoices(items, limit, function)
    if threads is not None:
        numbers, named = tools.numbers_of(threads, "-T", ("limit",))
        found.first_threads, found.most_threads = numbers, named.get("limit", 0)
    tools.choose_processes(found, processes)
    return found


def _sources(console: Console, report: FippReport, paths: str) -> dict[str, list[str]]:
    """The lines of the source files, from the directories of -Isrc:PATH or their recorded paths."""
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


# ---- fipp: either ----

fipp = tools.Either("fipp", collect, fipppx)
