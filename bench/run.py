# SPDX-License-Identifier: BSD-3-Clause
"""Measures vtrace against floors taken in the same run, and prints one table. Called by `make bench`.

Every repetition measures floor and vtrace one after the other; the figures are medians over the repetitions, the ratios
medians of the ratios within one repetition, since the speed of a shared machine changes over time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import _otf2
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
CALLS = 1_000_000
EVENTS = 20_000_000


@dataclass
class Row:
    """One line of the table: ns an event (or a rate), the floor in the same unit, and the bar to hold."""

    what: str
    unit: str
    floor: float | None
    measured: float
    ratio: float | None
    bar: str


def run(*words: object, cwd: Path, **settings: str) -> list[float]:
    """The numbers that a program prints."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("VT_")} | {"VT_VERBOSE": "0"} | settings
    done = subprocess.run([str(w) for w in words], cwd=cwd, env=environment, check=True, capture_output=True, text=True)
    return [float(w) for w in done.stdout.split()]


def build(work: Path) -> None:
    """Compiles the programs: untraced, with the floor's hooks, and with vtrace-cc."""
    source, hooks = HERE / "functions.c", work / "libfloor.so"
    subprocess.run(["gcc", "-O2", source, "-o", work / "plain"], check=True)
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", HERE / "floor.c", "-o", hooks], check=True)
    subprocess.run(["gcc", "-O2", "-finstrument-functions", source, "-o", work / "floor", hooks], check=True)
    subprocess.run([BIN / "vtrace-cc", "-vt:seq", "-O2", source, "-o", work / "traced"], check=True)
    subprocess.run(["gcc", "-O2", HERE / "writer.c", "-o", work / "writer", "-ldl"], check=True)


def function_events(work: Path, repetitions: int) -> list[Row]:
    """Passes of the same loop in a buffer of 5.8 passes' half: the first touches new memory, the third flushes it, the
    fourth and fifth find it warm."""
    costs: dict[str, list[tuple[float, float]]] = {"first pass": [], "warm": []}
    flush: list[float] = []
    for _ in range(repetitions):
        plain = min(run(work / "plain", CALLS, 5, cwd=work))
        floor = [t - plain for t in run(work / "floor", CALLS, 6, cwd=work, LD_LIBRARY_PATH=str(work))]
        traced = [t - plain for t in run(work / "traced", CALLS, 5, cwd=work, VT_BUFFER_SIZE="64M", VT_MAX_FLUSHES="0")]
        warm = statistics.mean(traced[3:5])
        costs["first pass"].append((floor[0] / 2, traced[0] / 2))
        costs["warm"].append((statistics.mean(floor[3:6]) / 2, warm / 2))
        flush.append((traced[2] - warm) * CALLS / (64 * 1024 * 1024 * 0.7 / 8))
    rows = [Row(f"function event, {name}", "ns", *medians(pairs), "<= 1.3 x floor") for name, pairs in costs.items()]
    return [*rows, Row("flush of a buffered event", "ns", None, statistics.median(flush), None, "<= 10 ns")]


def medians(pairs: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Floor, measured, ratio."""
    return (
        statistics.median(f for f, _ in pairs),
        statistics.median(m for _, m in pairs),
        statistics.median(m / f for f, m in pairs),
    )


def unify(work: Path, repetitions: int) -> list[Row]:
    """vtunify as a user calls it, start-up and all, against libotf2 writing as many events in a loop."""
    pairs: list[tuple[float, float]] = []
    sizes: list[float] = []
    cpu: list[float] = []
    library = _otf2.Config.lib_path()
    for _ in range(repetitions):
        shutil.rmtree(work / "floor.archive", ignore_errors=True)
        floor = run(work / "writer", library, work / "floor.archive", EVENTS, cwd=work)[0]
        begin_cpu = os.times()
        run(work / "traced", EVENTS // 2, 1, cwd=work, VT_MAX_FLUSHES="0")
        local = work / "traced.1.events.z"
        sizes.append(local.stat().st_size / EVENTS)
        begin = time.monotonic()
        subprocess.run(
            [BIN / "vtunify", "-q", "--force", "-j", "1", "traced"], cwd=work, check=True, stdout=subprocess.DEVNULL
        )
        pairs.append((floor, (time.monotonic() - begin) * 1e9 / EVENTS))
        end_cpu = os.times()
        cpu.append((end_cpu[2] + end_cpu[3] - begin_cpu[2] - begin_cpu[3]) * 1e9 / EVENTS)
    floor, measured, ratio = medians(pairs)
    return [
        Row("vtunify, one core", "M events/s", 1e3 / floor, 1e3 / measured, 1 / ratio, ">= 20 M events/s"),
        Row("local files", "bytes/event", None, statistics.median(sizes), None, "<= 2"),
        Row("program start to archive, all CPU", "ns/event", None, statistics.median(cpu), None, "<= 55 ns"),
    ]


def show(rows: list[Row]) -> None:
    """The table on standard output."""
    table = Table(title=f"vtrace benchmarks ({os.cpu_count()} cores)")
    for heading in ("what", "unit", "floor", "measured", "ratio", "to hold"):
        table.add_column(heading, justify="left" if heading in ("what", "unit", "to hold") else "right")
    for row in rows:
        floor = "" if row.floor is None else f"{row.floor:.2f}"
        table.add_row(
            row.what, row.unit, floor, f"{row.measured:.2f}", "" if row.ratio is None else f"{row.ratio:.2f}", row.bar
        )
    Console(width=110).print(table)


def main() -> None:
    """Builds, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--repetitions", type=int, default=7)
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "."), prefix="bench-") as name:
        work = Path(name).resolve()
        build(work)
        rows = function_events(work, args.repetitions) + unify(work, max(1, args.repetitions // 2))
    show(rows)
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
