# SPDX-License-Identifier: BSD-3-Clause
"""vtrace report of 10 M events; vtrace view of 1 M calls until a browser shows them; frames of these and of 1000 ranks;
tiles of 20 M events, and the text picture made from them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from measure import BIN, ENVIRONMENT, HERE, Row, at_least, at_most, run
from unify import prepare, record, unified

__all__ = ["measure", "prepare", "view"]

EVENTS, CALLS, TILED, RANKS = 10_000_000, 1_000_000, 20_000_000, 1000
TILES = """
import sys, tempfile, time, vtrace
from vtrace.timeline.tiles import TileBuilder
trace = vtrace.open(sys.argv[1])
with tempfile.TemporaryFile() as scratch:
    begin, cpu = time.perf_counter(), time.process_time()
    builder = TileBuilder(trace, scratch, lambda events: None)
    trace.scan([builder])
    index = builder.answer()
    print(time.process_time() - cpu, int(index.bytes.sum()))
"""
"""Prints CPU seconds, with those of reading the events, and the bytes of the tiles."""
FRAMES = """
const done = arguments[0], chart = document.getElementById('chart'), box = chart.getBoundingClientRect(), times = [];
const painted = () => new Promise((ended) => requestAnimationFrame(() => requestAnimationFrame(ended)));
(async () => {
  for (let n = 0; n < 120; n += 1) {
    const x = box.left + 200 + ((n * 37) % (box.width - 220)), kind = n % 4, begin = performance.now();
    chart.dispatchEvent(new WheelEvent('wheel', {clientX: x, clientY: box.top + 200, bubbles: true, cancelable: true,
      deltaY: kind === 3 ? 90 : n % 40 < 24 ? -160 : 250, ctrlKey: kind < 2, shiftKey: kind === 2}));
    await painted();
    times.push(performance.now() - begin);
    await new Promise((ended) => setTimeout(ended, 30));
  }
  done(times);
})();
"""
"""Zooms, moves and scrolls; gives the ms from the input until the second frame begins, when the first is painted."""


def measure(work: Path, repetitions: int) -> list[Row]:
    """Seconds from the command to the file, and to the page."""
    record(work, EVENTS, 2)
    unified(work, "traced")
    reports = [_report(work) for _ in range(repetitions)]
    record(work, 2 * CALLS, 2)
    unified(work, "traced")
    pages = [view(work, "traced") for _ in range(repetitions)]
    synthetic = [sys.executable, HERE / "synthetic.py", "ranks", "--ranks", RANKS, "--events", EVENTS]
    subprocess.run([str(word) for word in synthetic], cwd=work, check=True, capture_output=True)
    unified(work, "ranks")
    ranks = [view(work, "ranks") for _ in range(repetitions)]
    subprocess.run([*map(str, synthetic[:2]), "few", "--ranks", "64", "--events", "1e6"], cwd=work, check=True,
                   capture_output=True)  # fmt: skip
    unified(work, "few")
    few = [view(work, "few") for _ in range(repetitions)]
    return [
        at_most("report of 10 M events", "s", reports, 10),
        at_most("view of 1 M calls", "s", [each.seconds for each in pages], 15),
        at_most("view: input to painted frame, p95 of 120", "ms", [each.painted for each in pages], 150),
        at_most("the same of 1000 ranks and 10 M events", "ms", [each.painted for each in ranks], 150),
        at_most("view: scripts of a frame, CPU, 64 ranks", "ms", [each.scripts for each in few], 16),
        at_most("view: scripts of a frame, CPU, 1000 ranks", "ms", [each.scripts for each in ranks], 16),
        at_most("view: first picture of 64 ranks", "s", [each.picture for each in few], 1),
        at_most("view: first picture of 1000 ranks and 10 M events", "s", [each.picture for each in ranks], 1),
        at_most("view: panels of 64 ranks", "s", [each.panels for each in few], 2),
        at_most("view: panels of 1000 ranks and 10 M events", "s", [each.panels for each in ranks], 2),
        *_tiles(work, repetitions),
    ]  # fmt: skip


def _tiles(work: Path, repetitions: int) -> list[Row]:
    record(work, TILED, 2)
    archive = unified(work, "traced")
    size = sum(file.stat().st_size for file in archive.rglob("*.evt"))
    built = [run(sys.executable, "-c", TILES, archive, cwd=work) for _ in range(repetitions)]
    texts = []
    for _ in range(repetitions + 1):
        begin = time.perf_counter()
        subprocess.run(
            [BIN / "vtrace", "view", "--text", "traced"], cwd=work, env=ENVIRONMENT, check=True, capture_output=True
        )
        texts.append(time.perf_counter() - begin)
    return [
        at_least("tiles of 20 M events, a core", "M events/s", [TILED / cpu / 1e6 for cpu, _ in built], 25),
        at_most("size of tiles", "% of the events", [100 * stored / size for _, stored in built], 2),
        at_most("view --text of 20 M events with tiles", "s", texts[1:], 2),
    ]


def _report(work: Path) -> float:
    begin = time.perf_counter()
    words = [BIN / "vtrace", "report", "traced", "-o", "traced.html"]
    subprocess.run(words, cwd=work, env=ENVIRONMENT, check=True, capture_output=True)
    return time.perf_counter() - begin


class Viewed(NamedTuple):
    """seconds: from the command until the page shows the whole trace, without the browser's start; picture: from the
    request for the page until then; panels: until all panels are filled; painted: the 95th percentile of the time from
    an input (wheel: zoom, move, scroll) to the painted frame, ms; scripts: CPU time of a frame, ms."""

    seconds: float
    picture: float
    panels: float
    painted: float
    scripts: float


def view(work: Path, archive: str) -> Viewed:
    sys.path.insert(0, str(HERE.parent / "tests"))
    from support.users.browser import browser

    with browser(work / f"browser{time.monotonic_ns()}") as page:
        begin = time.perf_counter()
        words = [BIN / "vtrace", "view", archive, "--no-browser"]
        process = subprocess.Popen(
            words, cwd=work, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            assert process.stdout
            address = process.stdout.readline().strip()
            asked = time.perf_counter()
            page.open(address)
            page.until(lambda: page.run("return document.body.dataset.ready"))
            seconds, picture = time.perf_counter() - begin, time.perf_counter() - asked
            page.settled()
            panels = time.perf_counter() - asked
            page.driver.set_script_timeout(120)
            page.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
            cpu, frames = _scripts(page), int(page.run("return document.body.dataset.frames"))
            times = sorted(page.driver.execute_async_script(FRAMES))
            cpu, frames = _scripts(page) - cpu, int(page.run("return document.body.dataset.frames")) - frames
            return Viewed(seconds, picture, panels, times[len(times) * 95 // 100], 1000 * cpu / frames)
        finally:
            process.terminate()
            process.wait()


def _scripts(page: Any) -> float:
    """CPU seconds of the page's scripts so far."""
    found = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(each["value"] for each in found if each["name"] == "ScriptDuration"))
