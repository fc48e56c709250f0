# SPDX-License-Identifier: BSD-3-Clause
"""vtrace.open against libotf2 with callbacks that only count; time and memory of a summary of a large archive."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import _otf2
from measure import BIN, ENVIRONMENT, HERE, Row, at_most, build, run
from unify import HEAT_STEPS, record, unified
from unify import prepare as prepare_heat

EVENTS = 20_000_000
LARGE = 100_000_000
SUMMARY = ("profile", "message_matrix", "collective_totals", "io")
ASK = """
import sys, time, resource, vtrace
from vtrace.analysis.question import Part, Question
class Columns(Question):
    kinds = frozenset({"Enter", "Leave"})
    def part(self, trace, location):
        return Part()
trace = vtrace.open(sys.argv[1])
begin, cpu = time.perf_counter(), time.process_time()
trace.prepare(*sys.argv[2:]) if sys.argv[2:] else trace.scan([Columns()], jobs=1)
print(time.perf_counter() - begin, time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
"""Prints seconds, CPU seconds and MiB. Without questions one thread only fills the columns."""


CUT = """
import sys, time, vtrace
from pathlib import Path
from vtrace.analysis.selection import Patterns, Selection
from vtrace.console import QUIET, Console
from vtrace.transform.cut import cut
trace = vtrace.open(sys.argv[1])
window = Selection.of_options(trace, *(sys.argv[2:] or (None, None)), None, helpers=True)
cpu = time.process_time()
made = cut(trace, window, Patterns(), Path("cut.trace"), Console("vtrace", QUIET))
print(time.process_time() - cpu, made.events)
"""
"""Prints the CPU seconds and the events of a cut from a time to another, or of the whole archive."""

COMMAND = """
import resource, subprocess, sys, time
begin = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""
"""Prints seconds and MiB of a command."""


def prepare(work: Path) -> None:
    """Builds the floor and heat2d. The traced program with functions is that of functions.py."""
    build("gcc", "-O2", HERE / "reader.c", "-o", "reader", "-ldl", cwd=work)
    prepare_heat(work)


def ask(archive: Path, *questions: str) -> list[float]:
    """Runs ASK in a process of its own. Returns the figures that it prints."""
    return run(sys.executable, "-c", ASK, archive, *questions, cwd=archive.parent)


def heat(work: Path) -> tuple[Path, int]:
    """The archive of heat2d on 4 ranks, and its number of events."""
    words = ["mpiexec", "-n", "4", "./heat2d", "400", str(HEAT_STEPS)]
    subprocess.run(words, cwd=work, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    archive = unified(work, "heat2d")
    sizes = run(sys.executable, "-c", "import vtrace; print(vtrace.open('heat2d').locations.events.sum())", cwd=work)
    return archive, int(sizes[0])


def measure_cut(work: Path, archive: Path, floor: float, repetitions: int) -> list[Row]:
    """The events that vtrace cut copies, in millions per second on one processor: all events, in one pass, and those
    of the window from 1 % to 99 %, in two passes. floor: the rate of reading alone."""
    rates: dict[str, list[float]] = {"": [], "1% 99%": []}
    for _ in range(repetitions):
        for words, found in rates.items():
            seconds, events = run(sys.executable, "-c", CUT, archive, *words.split(), cwd=work)
            found.append(events / seconds / 1e6)
            shutil.rmtree(work / "cut.trace")
    whole, part = (sorted(values)[len(values) // 2] for values in rates.values())
    return [
        Row("vtrace cut of a whole archive, a core", "M events/s", floor, whole, whole / floor, ">= 10", whole >= 10),
        Row("vtrace cut of a window, a core", "M events/s", floor, part, part / floor, ">= 10", part >= 10),
    ]


def measure(work: Path, repetitions: int) -> list[Row]:
    """Rates in millions of events per second on one processor."""
    library, floors, rates, profiles, mixed = _otf2.Config.lib_path(), [], [], [], []
    record(work, EVENTS, 1)
    archive = unified(work, "traced")
    messages, events = heat(work)
    for _ in range(repetitions):
        floors.append(1e3 / run("./reader", library, archive / "traces.otf2", 0, cwd=work)[0])
        rates.append(EVENTS / ask(archive)[1] / 1e6)
        profiles.append(EVENTS / ask(archive, "profile")[1] / 1e6)
        mixed.append(events / ask(messages, *SUMMARY)[1] / 1e6)
    floor, rate, profile, mix = (sorted(values)[len(values) // 2] for values in (floors, rates, profiles, mixed))
    return [
        Row("reading calls into columns, a core", "M events/s", floor, rate, rate / floor, ">= 10", rate >= 10),
        Row("their profile, a core", "M events/s", floor, profile, profile / floor, ">= 10", profile >= 10),
        Row("summary of heat2d (messages), a core", "M events/s", None, mix, None, ">= 5", mix >= 5),
        *measure_cut(work, archive, floor, repetitions),
    ]


def measure_memory(work: Path) -> list[Row]:
    """vtrace summary of 100 M events of two threads: seconds and MiB."""
    record(work, LARGE, 2)
    unified(work, "traced")
    seconds, size = run(sys.executable, "-c", COMMAND, BIN / "vtrace", "summary", "traced", cwd=work)
    what = f"vtrace summary of {LARGE // 10**6} M events, {os.cpu_count()} cores"
    return [at_most(what, "s", [seconds], 15), at_most(what, "MiB", [size], 500)]
