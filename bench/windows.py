# SPDX-License-Identifier: BSD-3-Clause
"""Windows of a timeline of 100 locations and 20 M events: pictures from tiles, and the events themselves; the tiles
with all their tables, those of 10 000 locations, and those of vtunify --tiles; the server's answers for windows of
10 000 locations and 100 M events; their page as one file."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from measure import BIN, ENVIRONMENT, HERE, Row, at_least, at_most, run
from unify import children_cpu, unified

__all__ = ["measure", "prepare"]

EVENTS, RANKS, WINDOWS, PIXELS = 20_000_000, 100, 1000, 2000
MANY, WIDE, LARGE = 10_000, 100_000_000, 1_000_000_000
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
ANSWERS = """
import random, sys, time, vtrace
from functools import partial
from vtrace.commands.view import WHOLE, _shown
from vtrace.console import QUIET, Console
from vtrace.timeline.viewer_site import VERSION, ViewerSite
site = ViewerSite([partial(_shown, sys.argv[1], WHOLE, Console("bench", QUIET))])
(shown,), windows, pixels, draw = site.shown, int(sys.argv[2]), int(sys.argv[3]), random.Random(1)
locations, top, duration = shown.trace.locations.rows, shown.row_tiles.top, shown.trace.duration
def cpu(name, /, **words):
    query, begin = {word: str(value) for word, value in {"trace": 0, **words}.items()}, time.process_time()
    site.answer(VERSION + name, query, lambda: True)
    return 1000 * (time.process_time() - begin)
def tiles(keys, begin, end, finest):
    level = next(n for n in range(64) if (end - begin) >> n <= pixels)
    for at in {top, min(top, max(level, finest))}:
        for number in range(begin // (256 << at), (end - 1) // (256 << at) + 1):
            yield cpu("tiles", rows=keys, level=at, number=number)
    if finest > level and keys.startswith("l"):
        for number in range(begin // (256 << level), (end - 1) // (256 << level) + 1):
            first = number * (256 << level)
            yield cpu("calls", rows=keys, **{"from": first}, to=first + (256 << level), shortest=1 << level >> 1)
def picture(keys, begin, end):
    where = {"rows": ",".join(keys), "from": begin, "to": end}
    for first in range(0, len(keys), 128):
        part = keys[first : first + 128]
        yield from tiles(",".join(part), begin, end, max(shown.row_tiles.finest))
    yield cpu("messages", **where, smallest=0, tag="", comm=-1, lines=2000)
    yield cpu("collectives", **where)
    yield cpu("rare", **where, bins=pixels, every=0)
every = [f"r{10 * row}-{10 * row + 9}" for row in range(locations // 10)]
all_rows, first, later, panels = [], [], [], []
whole = [cpu("panel", name="profile", rows="", **{"from": 0, "to": duration})]
for number in range(windows):
    width = max(1000, int(duration * 10 ** draw.uniform(-5, 0)))
    begin = draw.randrange(duration - width + 1)
    all_rows += picture(every, begin, begin + width)
    if number % 10 == 0:
        at = draw.randrange(locations - 64)
    (later if number % 10 else first).extend(picture([f"l{row}" for row in range(at, at + 64)], begin, begin + width))
    if number % 10 == 0:
        panels.append(cpu("panel", name="profile", rows="", **{"from": begin, "to": begin + width}))
for found in (all_rows, first, later, panels, whole):
    print(sorted(found)[len(found) * 95 // 100])
"""
"""Prints the 95th percentile of the CPU time of an answer, ms, for windows of all widths: of the picture of all
locations in rows of ten, of the first picture of 64 of them, of later ones of these, and of the profile; and the CPU
time of the first profile of the whole run."""
ANSWERED = (
    ("view: answer for a window of 10 000 ranks of 10 000 events in 1000 rows, CPU, p95", 50),
    ("the same of 64 other ranks", 50),
    ("the same of these 64 ranks in other windows", 50),
    ("view: profile of such a window, CPU, p95", 2000),
    ("view: profile of the whole run of these, CPU", 2000),
)
"""What ANSWERS prints, and the bars."""


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
    _built(work, _archive(work, "wide", WIDE, MANY))
    first = [_built(work, many)[0] for _ in range(repetitions)]
    saved, sizes = zip(*(_saved(work, "many") for _ in range(repetitions)), strict=True)
    answers = zip(*(_answers(work, "wide") for _ in range(repetitions)), strict=True)
    return [
        at_least("tiles of 20 M events of 100 ranks, all", "M events/s", [EVENTS / cpu / 1e6 for cpu, _ in built], 25),
        at_most("these files", "% of the events", [100 * tiles / size], 2),
        at_most("memory meanwhile", "MiB", [memory for _, memory in built], 500),
        at_most("window of 2000 px x 100 rows from tiles, CPU, p95", "ms", far, 10),
        at_most("the same of 2000 events a row, CPU, p95", "ms", near, 50),
        at_most("what --tiles adds to vtunify of these events, CPU", "ns/event", added, 12),
        at_most("tiles of 10 000 ranks of 36 events, CPU", "s", first, 1),
        at_most("view --save of these, CPU", "s", saved, 2),
        at_most("size of this page", "MB", sizes, 5),
        *(at_most(what, "ms", each, bar) for (what, bar), each in zip(ANSWERED, answers, strict=True)),
    ]  # fmt: skip


def measure_large(work: Path) -> list[Row]:
    """1000 M events: tiles, windows, and the page; the page and the commands for those of one thread."""
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
        *_of_one_thread(work, _archive(work, "one", LARGE, 1)),
    ]  # fmt: skip


def _of_one_thread(work: Path, archive: Path) -> list[Row]:
    from viewing import view

    cpu, _ = _built(work, archive)
    page = view(work, archive.stem)
    seconds = []
    for command in ("summary", "diagnose"):
        begin = time.perf_counter()
        subprocess.run([BIN / "vtrace", command, archive], cwd=work, env=ENVIRONMENT, check=True, capture_output=True)
        seconds.append(time.perf_counter() - begin)
    return [
        at_least(f"tiles of {LARGE // 10**6} M events of one thread", "M events/s", [LARGE / cpu / 1e6], 25),
        at_most("view: first picture of these", "s", [page.picture], 1),
        at_most("view: panels of these", "s", [page.panels], 2),
        Row("summary of these", "s", None, seconds[0], None, "", True),
        Row("diagnose of these", "s", None, seconds[1], None, "", True),
    ]


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


def _answers(work: Path, name: str) -> list[float]:
    return list(run(sys.executable, "-c", ANSWERS, name, 60, PIXELS, cwd=work))


def _saved(work: Path, name: str) -> tuple[float, float]:
    """CPU seconds of vtrace view --save, and MB of the file."""
    begin = children_cpu()
    words = [BIN / "vtrace", "view", "--save", "saved.html", name]
    subprocess.run(words, cwd=work, env=ENVIRONMENT, check=True, capture_output=True)
    return children_cpu() - begin, (work / "saved.html").stat().st_size / 1e6


def _look(work: Path, archive: Path) -> tuple[float, float]:
    far, near = run(sys.executable, "-c", LOOK, archive, WINDOWS, PIXELS, cwd=work)
    return far, near
