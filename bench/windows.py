# SPDX-License-Identifier: BSD-3-Clause
"""Windows of a timeline of 100 locations and 20 M events: pictures from tiles, and the events themselves; the tiles
with all their tables, those of 10 000 locations, and those of vtunify --tiles."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measure import BIN, ENVIRONMENT, HERE, Row, at_least, at_most, run
from unify import children_cpu, unified

__all__ = ["measure", "prepare"]

EVENTS, RANKS, WINDOWS, PIXELS = 20_000_000, 100, 1000, 2000
MANY, LARGE = 10_000, 1_000_000_000
BUILD = """
import resource, sys, time, vtrace
from vtrace.console import QUIET, Console
from vtrace.timeline.tile_cache import tiles_of
trace = vtrace.open(sys.argv[1])
before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
tiles_of(trace, Console("bench", QUIET))
print(time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
"""Prints CPU seconds and the largest resident memory in MiB."""
LOOK = """
import random, sys, time, vtrace
from vtrace.console import QUIET, Console
from vtrace.timeline.tile_cache import tiles_of
from vtrace.timeline.window_reader import WindowReader
trace, windows, pixels = vtrace.open(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
tiles = tiles_of(trace, Console("bench", QUIET))
rows, draw = range(trace.locations.rows), random.Random(1)
reader = WindowReader(trace, tiles)
def far(start, width):
    for row in rows:
        levels = tiles.levels(row)
        level = min((level for level in levels if width >> level <= pixels), default=levels[-1])
        tiles.bins(row, level, start >> level, ((start + width) >> level) + 1)
def near(start, width):
    reader.window(rows, start, start + width)
def last_in_twenty(look, width):
    times = []
    for _ in range(windows):
        ns = width()
        start = draw.randrange(trace.duration - ns + 1)
        begin = time.process_time()
        look(start, ns)
        times.append(time.process_time() - begin)
    return 1000 * sorted(times)[len(times) * 95 // 100]
events = trace.locations["events"].max()
print(last_in_twenty(far, lambda: int(trace.duration * 10 ** draw.uniform(-1, 0))))
print(last_in_twenty(near, lambda: int(trace.duration * pixels / events)))
"""
"""Prints the 95th percentile of the CPU time of a window, ms: from tiles, and of one event per pixel in each row."""


def prepare(work: Path) -> None:
    """Nothing to build: synthetic.py makes the local files."""


def measure(work: Path, repetitions: int) -> list[Row]:
    archive = _archive(work, "windows", EVENTS, RANKS)
    built = [_built(work, archive) for _ in range(repetitions)]
    size = sum(file.stat().st_size for file in archive.rglob("*.evt"))
    tiles = sum(file.stat().st_size for file in (archive / "vtrace").glob("tiles*"))
    far, near = zip(*(_look(work, archive) for _ in range(repetitions)), strict=True)
    added = [_added(work) for _ in range(repetitions)]
    many = _archive(work, "many", 36 * MANY, MANY, calls=5)
    first = [_built(work, many)[0] for _ in range(repetitions)]
    return [
        at_least("tiles of 20 M events of 100 ranks, all", "M events/s", [EVENTS / cpu / 1e6 for cpu, _ in built], 25),
        at_most("these files", "% of the events", [100 * tiles / size], 2),
        at_most("memory meanwhile", "MiB", [memory for _, memory in built], 500),
        at_most("window of 2000 px x 100 rows from tiles, CPU, p95", "ms", far, 10),
        at_most("the same of 2000 events a row, CPU, p95", "ms", near, 50),
        at_most("what --tiles adds to vtunify of these events, CPU", "ns/event", added, 12),
        at_most("tiles of 10 000 ranks of 36 events, CPU", "s", first, 1),
    ]  # fmt: skip


def measure_large(work: Path) -> list[Row]:
    """1000 M events: tiles, windows, and the page."""
    from viewing import view

    archive = _archive(work, "huge", LARGE, RANKS)
    cpu, memory = _built(work, archive)
    size = sum(file.stat().st_size for file in archive.rglob("*.evt"))
    tiles = sum(file.stat().st_size for file in (archive / "vtrace").glob("tiles*"))
    far, near = _look(work, archive)
    page = view(work, "huge")
    return [
        at_least(f"tiles of {LARGE // 10**6} M events of {RANKS} ranks", "M events/s", [LARGE / cpu / 1e6], 25),
        at_most("these files", "% of the events", [100 * tiles / size], 2),
        at_most("memory meanwhile", "MiB", [memory], 500),
        at_most("window of 2000 px x 100 rows from tiles, CPU, p95", "ms", [far], 10),
        at_most("the same of 2000 events a row, CPU, p95", "ms", [near], 50),
        at_most("vtrace view, first picture with tiles", "s", [page.seconds], 2),
        at_most("view: input to painted frame, p95 of 120", "ms", [page.painted], 150),
    ]  # fmt: skip


def _recorded(work: Path, name: str, events: int, ranks: int, *, calls: int = 50) -> None:
    """calls: of each step, with messages after them."""
    words = [sys.executable, HERE / "synthetic.py", name, "--ranks", ranks, "--events", events, "--calls", calls]
    subprocess.run([*map(str, words), "-j", "2"], cwd=work, check=True, capture_output=True)


def _archive(work: Path, name: str, events: int, ranks: int, *, calls: int = 50) -> Path:
    _recorded(work, name, events, ranks, calls=calls)
    return unified(work, name)


def _added(work: Path) -> float:
    """ns per event."""
    _recorded(work, "added", EVENTS, RANKS)
    cpu = []
    for options in (["-k"], ["--tiles"]):
        begin = children_cpu()
        words = [BIN / "vtunify", "-q", "-j", "2", "--force", "-o", "both", *options, "added"]
        subprocess.run(words, cwd=work, env=ENVIRONMENT, check=True)
        cpu.append(children_cpu() - begin)
    return (cpu[1] - cpu[0]) / EVENTS * 1e9


def _built(work: Path, archive: Path) -> tuple[float, float]:
    for file in (archive / "vtrace").glob("tiles*"):
        file.unlink()
    seconds, memory = run(sys.executable, "-c", BUILD, archive, cwd=work)
    return seconds, memory


def _look(work: Path, archive: Path) -> tuple[float, float]:
    far, near = run(sys.executable, "-c", LOOK, archive, WINDOWS, PIXELS, cwd=work)
    return far, near
