# SPDX-License-Identifier: BSD-3-Clause
"""vtrace import of 2 M intervals and of 1 M lines with two values each, as a whole command."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from measure import BIN, ENVIRONMENT, Row, at_least
from unify import prepare, record, unified

__all__ = ["measure", "prepare"]

INTERVALS, VALUES = 2_000_000, 1_000_000


def measure(work: Path, repetitions: int) -> list[Row]:
    """Millions of lines per second."""
    record(work, 2_000_000, 2)
    unified(work, "traced")
    host, begin, end, ids = _span(work)
    intervals, values = (work / f"{name}-hostname-{host}.csv" for name in ("intervals", "values"))
    step = (end - begin) / INTERVALS
    with intervals.open("w") as file:
        file.write("name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc,pid,tid\n")
        for i in range(INTERVALS):
            at = begin + int(i * step)
            file.write(f"phase {i % 20},{at},{at + int(step)},{ids[i % len(ids)]}\n")
    with values.open("w") as file:
        file.write("tsc.CLOCK_MONOTONIC_RAW,events.COUNT,power.INST,pid,tid\n")
        file.writelines(f"{begin + int(2 * i * step)},{i},{i / 7:.3f},{ids[0]}\n" for i in range(VALUES))
    with_names = [INTERVALS / 1e6 / _seconds(work, intervals) for _ in range(repetitions)]
    with_numbers = [VALUES / 1e6 / _seconds(work, values) for _ in range(repetitions)]
    return [
        at_least("vtrace import of intervals", "M lines/s", with_names, 1),
        at_least("vtrace import of lines with two values", "M lines/s", with_numbers, 1),
    ]


def _span(work: Path) -> tuple[str, int, int, list[str]]:
    """The host of the trace, its first and last time of CLOCK_MONOTONIC_RAW, and pid and tid of each thread."""
    subprocess.run(
        [BIN / "vtrace", "export", "traced", "--to", "vtune", "-o", "span"], cwd=work, env=ENVIRONMENT, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    (path,) = work.glob("span-intervals-hostname-*.csv")
    rows = [line.rsplit(",", 4) for line in path.read_text().splitlines()[1:]]
    begin, end = min(int(row[1]) for row in rows), max(int(row[2]) for row in rows)
    host = path.name.removeprefix("span-intervals-hostname-").removesuffix(".csv")
    return host, begin, end, sorted({f"{row[3]},{row[4]}" for row in rows})


def _seconds(work: Path, file: Path) -> float:
    """The time of the command, the copy of the trace included."""
    words = [BIN / "vtrace", "import", "traced", file, "-o", "imported", "--force"]
    begin = time.perf_counter()
    subprocess.run([str(word) for word in words], cwd=work, env=ENVIRONMENT, check=True, capture_output=True)
    return time.perf_counter() - begin
