# SPDX-License-Identifier: BSD-3-Clause
"""vtunify against libotf2, which writes as many events in a loop; sizes, memory, CPU time from start to archive; and
vtunify-mpi on two ranks against one."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import _otf2
import synthetic
from measure import BIN, ENVIRONMENT, HERE, Row, at_most, build, run
from synthetic_program import Clocks, Program

EVENTS = 60_000_000
SHARED = 240_000_000
"""Events of 4 ranks for vtunify-mpi. Enough for the start of Python, which ranks do not share, to matter little."""
LARGE = (10_000_000, 100_000_000, 1_000_000_000)
SHM = Path("/dev/shm")
ROOM = 6 << 30
"""Bytes of two archives of SHARED events, of their local files, with some reserve."""
HEAT_STEPS = 2000
LOCATIONS = (12_500, 25_000, 50_000, 100_000)


def prepare(work: Path) -> None:
    """Builds the floor and heat2d. The traced program with functions is that of functions.py."""
    build("gcc", "-O2", HERE / "writer.c", "-o", "writer", "-ldl", cwd=work)
    sources = [HERE.parent / "examples" / "heat2d" / name for name in ("heat.c", "halo.c")]
    build("vtrace-cc", "-O2", *sources, "-o", "heat2d", "-lm", cwd=work)


@contextmanager
def memory(work: Path) -> Iterator[Path]:
    """A directory in memory if there is room for it, so that no disk limits several writing threads; else work."""
    place = os.statvfs(SHM) if SHM.is_dir() else None
    if place is None or place.f_bavail * place.f_frsize < ROOM:
        print(f"{SHM} has no room for {ROOM >> 30} GiB: all rows are the disk's", file=sys.stderr)
        yield work
        return
    with tempfile.TemporaryDirectory(dir=SHM, prefix="vtrace-bench-") as name:
        for program in ("traced", "writer"):
            (Path(name) / program).symlink_to(work / program)
        yield Path(name)


def record(work: Path, events: int, threads: int) -> None:
    """Writes the local files of a program with this number of events, shared by its threads."""
    run("./traced", events // 2 // threads, 1, "exe", threads, cwd=work, VT_MAX_FLUSHES="0")


def seconds(work: Path, commands: Sequence[Sequence[object]]) -> float:
    """Seconds of commands that run at the same time, with their start. Earlier archives are removed first."""
    for archive in work.glob("*.trace"):
        shutil.rmtree(archive)
    begin = time.perf_counter()
    running = [
        subprocess.Popen([str(w) for w in words], cwd=work, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
        for words in commands
    ]
    codes = [command.wait() for command in running]
    if any(codes):
        raise SystemExit(f"{commands[0][0]} failed")
    return time.perf_counter() - begin


def vtunify(work: Path, prefix: str, *options: str, jobs: int = 1, programs: int = 1) -> float:
    """Seconds of this number of commands at the same time, each with an archive of its own. The local files stay."""
    words = [BIN / "vtunify", "-q", "-k", "-j", jobs, *options, prefix, "-o"]
    return seconds(work, [[*words, f"archive{number}"] for number in range(programs)])


def unified(work: Path, prefix: str) -> Path:
    """The archive PREFIX.trace of the local files of a prefix, made by two threads."""
    archive = work / f"{prefix}.trace"
    shutil.rmtree(archive, ignore_errors=True)
    subprocess.run([BIN / "vtunify", "-q", "-j", "2", prefix], cwd=work, env=ENVIRONMENT, check=True)
    return archive


def vtunify_mpi(work: Path, prefix: str, ranks: int, programs: int = 1) -> float:
    """As above, with this number of ranks each."""
    words = [BIN / "mpiexec", "-n", ranks, BIN / "vtunify-mpi", "-q", "-k", prefix, "-o"]
    return seconds(work, [[*words, f"archive{number}"] for number in range(programs)])


def writers(work: Path, count: int) -> float:
    """Seconds of this number of programs at the same time, in each of which libotf2 writes EVENTS events."""
    places = [work / f"floor{number}.trace" for number in range(count)]
    return seconds(work, [["./writer", _otf2.Config.lib_path(), place, EVENTS] for place in places])


def children_cpu() -> float:
    """CPU seconds of all children so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(work: Path, repetitions: int) -> list[Row]:
    """Rates in millions of events per second, on disk and in memory, and sizes."""
    rows = measure_place(work, repetitions, "on disk", on_disk=True)
    with memory(work) as place:
        rows += measure_place(place, repetitions, "in memory", on_disk=False)
        rows.append(ranks_row(place, repetitions, "4 processes", "--ranks", "4"))
        rows.append(ranks_row(place, repetitions, "a process of 16 threads", "--ranks", "1", "--threads", "16"))
        rows += measure_repair(place, repetitions)
    sizes = [heat_bytes(work) for _ in range(repetitions)]
    return [*rows, at_most(f"local files of heat2d, {HEAT_STEPS} steps", "bytes/event", sizes, 2)]


def measure_place(work: Path, repetitions: int, where: str, *, on_disk: bool) -> list[Row]:
    """One thread against libotf2. For two threads the floor is two programs at the same time against one: with libotf2
    on disk, with vtunify in memory."""
    rates, gains, cpu = [], [], []
    for _ in range(repetitions):
        floor = writers(work, 1)
        begin = children_cpu()
        record(work, EVENTS, 1)
        one = vtunify(work, "traced")
        rates.append((EVENTS / floor / 1e6, EVENTS / one / 1e6))
        cpu.append((children_cpu() - begin) / EVENTS * 1e9)
        most = 2 * floor / writers(work, 2) if on_disk else 2 * one / vtunify(work, "traced", programs=2)
        record(work, (3 if on_disk else 6) * EVENTS, 2)  # the start matters little then
        gains.append((most, vtunify(work, "traced") / vtunify(work, "traced", jobs=2)))
    one = against(f"vtunify -j 1, {where}", "M events/s", rates, ">= 20 M events/s", lambda ratio, rate: rate >= 20)
    two = f"vtunify -j 2, two locations, {where}"
    if on_disk:
        both = against(two, "x -j 1", gains, ">= 0.9 x what two writers gain", lambda ratio, gain: ratio >= 0.9)
    else:
        both = against(two, "x -j 1", gains, ">= 1.8 x", lambda ratio, gain: gain >= 1.8)
    return [one, both, at_most(f"start of the program to archive, all CPU, {where}", "ns/event", cpu, 55)]


def against(
    what: str, unit: str, pairs: Sequence[tuple[float, float]], bar: str, held: Callable[[float, float], bool]
) -> Row:
    """A row of (floor, measured) pairs. held gets the medians of the ratio and of the measured values."""
    ratio = statistics.median(measured / floor for floor, measured in pairs)
    floor, measured = (statistics.median(values) for values in zip(*pairs, strict=True))
    return Row(what, unit, floor, measured, ratio, bar, held(ratio, measured))


def ranks_row(place: Path, repetitions: int, what: str, *program: str) -> Row:
    """The whole commands, with their start, on the same files of a program. The floor is two programs of one rank at
    the same time against one."""
    make = [sys.executable, HERE / "synthetic.py", "big", *program, "--events", str(SHARED)]
    subprocess.run(make, cwd=place, check=True, stdout=subprocess.DEVNULL)
    gains = []
    for _ in range(repetitions):
        one = vtunify_mpi(place, "big", 1)
        gains.append((2 * one / vtunify_mpi(place, "big", 1, programs=2), one / vtunify_mpi(place, "big", 2)))
    for path in place.glob("big.*"):
        path.unlink() if path.is_file() else shutil.rmtree(path)
    row = f"vtunify-mpi, 2 ranks, {what}, in memory"
    return against(row, "x 1 rank", gains, ">= 1.8 x", lambda ratio, gain: gain >= 1.8)


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
"""Two hosts with clocks by which about a third of all messages and collectives run backwards."""


def measure_repair(work: Path, repetitions: int) -> list[Row]:
    """4 ranks on 2 hosts with wrong clocks, without and with the repair, in one thread; a tenth of the events is of
    MPI. The floor of two threads is two programs at the same time against one."""
    program = Program(ranks=4, calls=100, clocks=WRONG)
    steps = SHARED // 2 // program.ranks // program.events_of_step()  # the start matters little then
    synthetic.write(work / "hosts", replace(program, steps=steps))
    events = program.ranks * steps * program.events_of_step()
    without, repaired, gains = [], [], []
    for _ in range(repetitions):
        without.append(events / vtunify(work, "hosts", "--no-repair") / 1e6)
        one = vtunify(work, "hosts")
        repaired.append(events / one / 1e6)
        gains.append((2 * one / vtunify(work, "hosts", programs=2), one / vtunify(work, "hosts", jobs=2)))
    plain, rate = (statistics.median(values) for values in (without, repaired))
    what = "vtunify -j 1, two hosts, in memory"
    return [
        Row(f"{what}, --no-repair", "M events/s", None, plain, None, ">= 20 M events/s", plain >= 20),
        Row(f"{what}, repaired", "M events/s", None, rate, None, ">= 14 M events/s", rate >= 14),
        against("the same with -j 2", "x -j 1", gains, ">= 1.8 x", lambda ratio, gain: gain >= 1.8),
    ]


def measure_scaling(work: Path) -> list[Row]:
    """CPU time and memory for twice as many locations of 126 events, on hosts of 50 locations with wrong clocks."""
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
    """The largest resident memory of vtunify for traces of increasing length, in MiB."""
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
