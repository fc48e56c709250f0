# SPDX-License-Identifier: BSD-3-Clause
"""vtrace compat fapp, vtrace compat fapppx: the commands of the Advanced Profiler."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from vtrace.commands import tool_options as tools
from vtrace.commands.trace_command import opened, warn_of_caveats
from vtrace.console import CLICK_SETTINGS, vtrace_console
from vtrace.errors import UsageError, VtraceError
from vtrace.text import shell_word

if TYPE_CHECKING:
    from vtrace.compat.fapp import FappChoices

_TOOL = "fapp"
_CPU = ("ru_utime", "ru_stime")
_RUNS = 11
"""Runs of the precision PA sheets."""
_ALONE = ("lpgusage", "lpgstats")
"""Items of -I that exclude other items and -H."""

# ---- fapp -C ----


@dataclass
class _Hardware:
    """The values of -H. pa: 0 without it."""

    event: str = "Statistics"
    mode: str = "sys"
    method: str = "normal"
    pa: int = 0


def _hardware(text: str | None) -> _Hardware | None:
    """The values of -H, None without -H. Raises UsageError."""
    from vtrace.compat.fapp_hardware import EVENTS

    if text is None:
        return None
    found, known = _Hardware(), {"event": (*EVENTS,), "mode": ("sys", "usr"), "method": ("raw", "normal")}
    for part in filter(None, text.removeprefix("-").split(",")):
        name, _, value = part.partition("=")
        if name == "event_number":
            raise UsageError(
                f"-H{part}: the numbers are those of SPARC64 XIfx", "-Hevent=EVENT, or vtrace run --counters"
            )
        if name == "pa" and value.isdecimal() and 1 <= int(value) <= _RUNS:
            found.pa = int(value)
        elif value in known.get(name, ()):
            setattr(found, name, value)
        else:
            one_of = ", ".join(f"{key}={'|'.join(values)}" for key, values in known.items())
            raise UsageError(f"-H{part}: unknown", f"{one_of}, pa=1 to {_RUNS}")
    if found.method == "raw" and not found.pa:
        raise UsageError("-Hmethod=raw needs -Hpa=N", "fapp -C -Hmethod=raw,pa=1 -d DIR PROGRAM")
    return found


def _counters(asked: _Hardware, environ: dict[str, str]) -> list[str]:
    """The counters of -H. Each of the eleven runs of precision PA counts a part of the counters of all items."""
    from vtrace.compat.fapp_hardware import EVENTS, dealt, items
    from vtrace.compat.fapp_precision import sheet_items

    if not asked.pa:
        return tools.hardware_counters(items(asked.event), environ)
    every = [item for event in EVENTS for item in items(event)]
    return dealt(tools.hardware_counters([*every, *sheet_items()], environ), asked.pa, _RUNS)


def _check(words: tuple[str, ...], asked: dict[str, str], hardware: _Hardware | None) -> None:
    """The items of Table 3.4 that exclude each other. Raises UsageError."""
    named = {word for text in words for word in text.split(",")}
    if hardware and hardware.pa and "mpi" in named:
        raise UsageError("-Hpa and -Impi exclude each other", "collect them in two runs")
    for item in _ALONE:
        others = [other for other in ("mpi", "hwm", *_ALONE) if other in named and other in asked and other != item]
        if item in asked and (others or hardware):
            other = f"-I{others[0]}" if others else "-H"
            raise UsageError(f"-I{item} and {other} exclude each other", "collect them in two runs")


@click.command(cls=tools.Collect, context_settings={**CLICK_SETTINGS, "allow_interspersed_args": False})
@tools.collects_option
@tools.new_directory_option
@click.option(
    "-I", "items", metavar="ITEM", multiple=True,
    help="mpi, hwm, lpgusage, lpgstats, or each with no in front [default: mpi].",
)  # fmt: skip
@click.option(
    "-L", "level", metavar="LEVEL", type=click.IntRange(0, tools.MOST), default=0, show_default=True,
    help="Measure sections of this priority level or a lower one.",
)  # fmt: skip
@click.option(
    "-H", "hardware", metavar="[event=E,mode=M,pa=N,method=M]",
    help="Hardware monitor: Cache, Instructions_SIMD, Instructions_NOSIMD, MEM_access, Performance, Statistics, TLB.",
)  # fmt: skip
@tools.program_argument
def collect(
    collects: bool, directory: str, items: tuple[str, ...], level: int, *, hardware: str | None, words: tuple[str, ...]
) -> None:
    """Run PROGRAM, which may be mpiexec, and collect the data of the Advanced Profiler: of sections between fapp_start
    and fapp_stop. -A shows them: vtrace compat fapppx --help. The exit code is the program's.

    \b
    Examples:
      vtrace compat fapp -C -d prof ./solve
      vtrace compat fapp -C -d prof -L 1 -Hevent=Cache mpiexec -n 2 ./solve
      vtrace compat fapp -A -d prof
    """
    from vtrace.analysis.questions.section_sums import LEVELS
    from vtrace.compat.fapp import FappCollected
    from vtrace.wrappers.launch import choices, start

    asked, chosen_hardware = tools.items_of(items, ("mpi", "hwm", *_ALONE), "-I", "mpi"), _hardware(hardware)
    if chosen_hardware is None and "hwm" in asked:
        chosen_hardware = _Hardware()
    _check(items, asked, chosen_hardware)
    if chosen_hardware and chosen_hardware.mode == "usr":
        vtrace_console().warn(tools.KERNEL_TOO)
    place = tools.new_directory(directory)
    chosen, environ = choices.Choices(list(words)), start.environment()
    chosen.unify, chosen.prefix, chosen.section_level = True, str(place / _TOOL), str(level)
    wanted = _counters(chosen_hardware, environ) if chosen_hardware else []
    chosen.counters = ",".join([*tools.own_counters(environ), *_CPU, *wanted])
    of_pa = chosen_hardware is not None and chosen_hardware.pa > 0
    environ["VT_SECTION_ROUTINES"] = "collection" if of_pa else "fapp"
    if "lpgstats" in asked:
        chosen.switches["memory"] = True
        environ.setdefault("VT_MEMTRACE_LIBRARIES", "yes")
    if "lpgusage" in asked:  # no reading at calls of MPI, since a reading takes malloc's locks
        chosen.counters += "," + ",".join(LEVELS)
        environ.setdefault("VT_METRICS_AT", "user")
    os.environ.update(environ)
    alone = [item for item in _ALONE if item in asked]
    event, pa = (chosen_hardware.event, chosen_hardware.pa) if chosen_hardware else ("", 0)
    notes = FappCollected(
        time.strftime("%a %b %e %H:%M:%S %Y"), tools.frequency(), event=event, items=alone or [*asked], pa=pa
    )
    tools.run_and_exit(_TOOL, directory, notes=notes, chosen=chosen, environ=environ)


# ---- fapppx -A ----


@click.command(cls=tools.Show, context_settings=CLICK_SETTINGS)
@tools.shows_option
@click.option("-d", "directory", metavar="DIR", help="The data of fapp -C, or any OTF2 archive with sections.")
@click.option(
    "-I", "items", metavar="ITEM", multiple=True,
    help="mpi, hwm, lpg, or each with no in front [default: mpi, if it was collected].",
)  # fmt: skip
@tools.output_option
@tools.processes_option
@click.option("-H", "hardware", type=click.Choice(["pa"]), help="pa: show the counters themselves.")
@click.option(
    "-l", "limit", metavar="N", type=click.IntRange(0, tools.MOST), help="With -Hpa: sections; 0: all [default: 10]."
)
@tools.kind_option
def fapppx(
    shows: bool, directory: str | None, items: tuple[str, ...], output: str, *, processes: str | None,
    hardware: str | None, limit: int | None, kind: str,
) -> None:  # fmt: skip
    """Show the data of the Advanced Profiler, in its layouts: times of sections, MPI functions in sections, hardware
    monitor, memory.

    \b
    Examples:
      vtrace compat fapppx -A -d prof
      vtrace compat fapppx -A -Ihwm -p0,limit=2 -d prof
      vtrace compat fapppx -A -Hpa -tcsv -o output_prof_1.csv prof
    """
    from vtrace.analysis.selection import Selection
    from vtrace.compat import fapp

    if directory is None:
        raise UsageError("-d is missing", "vtrace compat fapppx -A -d DIR")
    if limit is not None and not hardware:
        raise UsageError("-l needs -Hpa", "vtrace compat fapppx -A -Hpa -l 10 -d DIR")
    console = vtrace_console()
    collected = fapp.FappCollected.read(tools.notes_file(_TOOL, directory))
    asked = tools.items_of(
        items, ("mpi", "hwm", "lpg"), "-I", "mpi" if "mpi" in collected.items and not hardware else ""
    )
    chosen = _choices({*asked} | ({"pa"} if hardware else set()), processes, limit)
    trace = opened(tools.archive_in(_TOOL, directory))
    collected.frequency = collected.frequency or tools.recorded_frequency(trace)
    warn_of_caveats(console, trace, Selection())
    events = tools.derived_events(dict(os.environ), tuple(map(str, trace.metric_members["name"].tolist())))
    maker = fapp.FappMaker(trace, chosen, collected=collected, events=events, waits=trace.call_waits)
    report = fapp.make(maker)
    for note in report.notes:
        console.warn(note)
    if not maker.sections:
        raise VtraceError(
            f"{directory}: no calls and no sections in this trace",
            "call fapp_start; sections of a level above 0 need fapp -C -L LEVEL: vtrace help sections",
        )
    tools.write_sheets(output, report, kind)
    console.note(
        f"next: vtrace profile {shell_word(tools.archive_of(trace))} --by section   for other columns and windows"
    )


def _choices(items: set[str], processes: str | None, limit: int | None) -> FappChoices:
    from vtrace.compat.fapp import FappChoices

    found = FappChoices(frozenset(items))
    if "pa" in items:
        found.limit = 10 if limit is None else limit
    tools.choose_processes(found, processes)
    return found


# ---- fapp: either ----

fapp = tools.Either("fapp", collect, fapppx)
