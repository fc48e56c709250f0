# SPDX-License-Identifier: BSD-3-Clause
"""vtrace report of 10 M events, and vtrace view of 1 M calls until a browser shows them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from measure import BIN, ENVIRONMENT, HERE, Row, at_most
from unify import prepare, record, vtunify

__all__ = ["measure", "prepare"]

EVENTS, CALLS = 10_000_000, 1_000_000


def measure(work: Path, repetitions: int) -> list[Row]:
    """Seconds from the command to the file, and to the page."""
    record(work, EVENTS, 2)
    vtunify(work, 2)
    reports = [_report(work) for _ in range(repetitions)]
    record(work, 2 * CALLS, 2)
    vtunify(work, 2)
    pages = [_view(work) for _ in range(repetitions)]
    return [at_most("report of 10 M events", "s", reports, 10), at_most("view of 1 M calls", "s", pages, 15)]


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
