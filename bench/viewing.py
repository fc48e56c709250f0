# SPDX-License-Identifier: BSD-3-Clause
"""vtrace report of 10 M events; vtrace view of 1 M calls until a browser shows them; tiles of 20 M events, and the text
picture made from them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from measure import BIN, ENVIRONMENT, HERE, Row, at_least, at_most, run
from unify import prepare, record, unified

__all__ = ["measure", "prepare"]

EVENTS, CALLS, TILED = 10_000_000, 1_000_000, 20_000_000
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


def measure(work: Path, repetitions: int) -> list[Row]:
    """Seconds from the command to the file, and to the page."""
    record(work, EVENTS, 2)
    unified(work, "traced")
    reports = [_report(work) for _ in range(repetitions)]
    record(work, 2 * CALLS, 2)
    unified(work, "traced")
    pages = [_view(work) for _ in range(repetitions)]
    return [
        at_most("report of 10 M events", "s", reports, 10), at_most("view of 1 M calls", "s", pages, 15),
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


def _view(work: Path) -> float:
    """Seconds until the page shows the tracks, without the start of the browser."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from support.users.browser import browser

    with browser(work / f"browser{time.monotonic_ns()}") as page:
        begin = time.perf_counter()
        words = [BIN / "vtrace", "view", "traced", "--no-browser"]
        process = subprocess.Popen(
            words, cwd=work, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            assert process.stdout
            page.open(process.stdout.readline().strip())
            page.driver.switch_to.frame("ui")
            page.until(lambda: "Master thread" in page.text())
            return time.perf_counter() - begin
        finally:
            process.terminate()
            process.wait()
