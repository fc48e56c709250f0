# SPDX-License-Identifier: BSD-3-Clause
"""vtunify against libotf2 writing as many events in a loop; sizes, memory, processor time from start to archive; and
vtunify-mpi on two ranks against one."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import _otf2
import synthetic
from measure import BIN, ENVIRONMENT, HERE, Row, at_most, build, run
from synthetic_program import Clocks, Program

EVENTS = 60_000_000
SHARED = 240_000_000
"""Events of 4 ranks for vtunify-mpi: so many that starting Python, which ranks do not share, counts little."""
LARGE = (10_000_000, 100_000_000, 1_000_000_000)
HEAT_STEPS = 2000
LOCATIONS = (2500, 5000, 10_000, 20_000)


def prepare(work: Path) -> None:
    """Builds the floor, and heat2d; the traced function program is functions.py's."""
    build("gcc", "-O2", HERE / "writer.c", "-o", "writer", "-ldl", cwd=work)
    sources = [HERE.parent / "examples" / "heat2d" / name for name in ("heat.c", "halo.c")]
    build("vtrace-cc", "-O2", *sources, "-o", "heat2d", "-lm", cwd=work)


def record(work: Path, events: int, threads: int) -> None:
    """Leaves the local files of a program that makes that many events, shared by its threads."""
    run("./traced", events // 2 // threads, 1, "exe", threads, cwd=work, VT_MAX_FLUSHES="0")


def vtunify(work: Path, jobs: int, prefix: str = "traced") -> float:
    """Seconds that it takes, start-up and all."""
    begin = time.perf_counter()
    words = [BIN / "vtunify", "-q", "--force", "-j", str(jobs), prefix]
    subprocess.run(words, cwd=work, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def children_cpu() -> float:
    """Processor seconds of all children so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(work: Path, repetitions: int) -> list[Row]:
    """Rates in millions of events a second; the 2-thread run has two locations of half the events each."""
    floors, rates, gains, cpu, bytes_per_event = [], [], [], [], []
    library = _otf2.Config.lib_path()
    for _ in range(repetitions):
        shutil.rmtree(work / "floor.archive", ignore_errors=True)
        floors.append(1e3 / run("./writer", library, work / "floor.archive", EVENTS, cwd=work)[0])
        begin = children_cpu()
        record(work, EVENTS, 1)
        rates.append(EVENTS / vtunify(work, 1) / 1e6)
        cpu.append((children_cpu() - begin) / EVENTS * 1e9)
        record(work, 3 * EVENTS, 2)
        one = vtunify_kept(work, 1)
        gains.append(one / vtunify_kept(work, 2))
        bytes_per_event.append(heat_bytes(work))
    shutil.rmtree(work / "floor.archive", ignore_errors=True)
    rate, floor, gain = (sorted(v)[len(v) // 2] for v in (rates, floors, gains))
    return [
        Row("vtunify -j 1", "M events/s", floor, rate, rate / floor, ">= 20 M events/s", rate >= 20),
        Row("vtunify -j 2, two locations", "x -j 1", None, gain, None, ">= 1.8 x", gain >= 1.8),
        ranks_row(work, repetitions),
        at_most("start of the program to archive, all CPU", "ns/event", cpu, 55),
        *measure_repair(work, repetitions),
        at_most(f"local files of heat2d, {HEAT_STEPS} steps", "bytes/event", bytes_per_event, 2),
    ]


def ranks_row(work: Path, repetitions: int) -> Row:
    """The whole commands, start-up and all, with the same files."""
    place = work / "ranks"
    place.mkdir(exist_ok=True)
    make = [sys.executable, HERE / "synthetic.py", "big", "--ranks", "4", "--events", str(SHARED)]
    subprocess.run(make, cwd=place, check=True, stdout=subprocess.DEVNULL)
    gains = []
    for _ in range(repetitions):
        one = vtunify_mpi(place, 1)
        gains.append(one / vtunify_mpi(place, 2))
    shutil.rmtree(place)
    gain = sorted(gains)[len(gains) // 2]
    return Row("vtunify-mpi, 2 ranks", "x 1 rank", None, gain, None, ">= 1.8 x", gain >= 1.8)


def vtunify_mpi(place: Path, ranks: int) -> float:
    """Seconds that it takes; the local files stay."""
    begin = time.perf_counter()
    words = [BIN / "mpiexec", "-n", str(ranks), BIN / "vtunify-mpi", "-q", "-k", "--force", "big"]
    subprocess.run(words, cwd=place, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def vtunify_kept(work: Path, jobs: int) -> float:
    """As vtunify, but the local files stay for another time."""
    begin = time.perf_counter()
    words = [BIN / "vtunify", "-q", "-k", "--force", "-j", str(jobs), "traced"]
    subprocess.run(words, cwd=work, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def heat_bytes(work: Path) -> float:
    """Bytes of all local files of heat2d on 4 ranks, per event of its archive."""
    subprocess.run(
        [BIN / "mpiexec", "-n", "4", "./heat2d", "400", str(HEAT_STEPS)],
        cwd=work, env=ENVIRONMENT | {"VT_MAX_FLUSHES": "0"},
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    size = sum(path.stat().st_size for path in work.glob("heat2d.*.z"))
    words = [BIN / "vtunify", "--force", "heat2d"]
    done = subprocess.run(
        words, cwd=work, env=ENVIRONMENT | {"VT_VERBOSE": "1"}, check=True, capture_output=True, text=True
    )
    events = next(word for word in done.stdout.split(", ") if word.endswith(" events"))
    return size / int(events.split()[0].replace(",", ""))


WRONG = Clocks(offset=2, drift=100, error=500, wave=20_000, period=0.05)
"""Two hosts, between which about a third of all messages and collectives run backwards."""


def measure_repair(work: Path, repetitions: int) -> list[Row]:
    """4 ranks on 2 hosts with wrong clocks, without and with the repair, in one thread; a tenth is MPI's."""
    program = Program(ranks=4, calls=100, clocks=WRONG)
    steps = EVENTS // 2 // program.ranks // program.events_of_step()
    synthetic.write(work / "hosts", replace(program, steps=steps))
    events = program.ranks * steps * program.events_of_step()
    without, repaired = [], []
    for _ in range(repetitions):
        without.append(events / keep(work, "hosts", "--no-repair") / 1e6)
        repaired.append(events / keep(work, "hosts") / 1e6)
    rates = [sorted(values)[len(values) // 2] for values in (without, repaired)]
    return [
        Row(f"vtunify -j 1, two hosts, {what}", "M events/s", None, rate, None, f">= {bar} M events/s", rate >= bar)
        for what, rate, bar in (("--no-repair", rates[0], 20), ("repaired", rates[1], 14))
    ]


def keep(work: Path, prefix: str, *options: str) -> float:
    """Seconds of vtunify in one thread; the local files stay."""
    begin = time.perf_counter()
    words = [BIN / "vtunify", "-q", "-k", "--force", "-j", "1", *options, prefix]
    subprocess.run(words, cwd=work, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def measure_scaling(work: Path) -> list[Row]:
    """Processor time and memory for twice as many locations of 126 events, on hosts of 50 with wrong clocks."""
    rows: list[Row] = []
    before = 0.0
    for ranks in LOCATIONS:
        prefix = work / "wide"
        synthetic.write(prefix, Program(ranks=ranks, steps=2, calls=20, ranks_per_host=50, clocks=WRONG))
        begin = children_cpu()
        pid = os.spawnve(
            os.P_NOWAIT, BIN / "vtunify", ["vtunify", "-q", "--force", "-j", "1", str(prefix)], ENVIRONMENT
        )
        _, status, usage = os.wait4(pid, 0)
        if status:
            raise SystemExit("vtunify failed")
        seconds = children_cpu() - begin
        what = f"vtunify of {ranks} locations, CPU of twice as many ({seconds:.1f} s, {usage.ru_maxrss / 1024:.0f} MiB)"
        if before:
            rows.append(at_most(what, "x", [seconds / before], 2.3))
        before = seconds
        shutil.rmtree(work / "wide.trace")
    return rows


def measure_memory(work: Path) -> list[Row]:
    """The largest resident memory of vtunify for traces of growing length, in MiB."""
    rows = []
    for events in LARGE:
        record(work, events, 1)
        pid = os.spawnve(
            os.P_NOWAIT, BIN / "vtunify", ["vtunify", "-q", "--force", "-j", "2", str(work / "traced")], ENVIRONMENT
        )  # fmt: skip
        begin = time.perf_counter()
        _, status, usage = os.wait4(pid, 0)
        if status:
            raise SystemExit("vtunify failed")
        rate = events / (time.perf_counter() - begin) / 1e6
        what = f"vtunify of {events // 10**6} M events ({rate:.0f} M events/s)"
        rows.append(at_most(what, "MiB", [usage.ru_maxrss / 1024], 200))
        shutil.rmtree(work / "traced.trace")
    return rows
