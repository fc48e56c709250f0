# SPDX-License-Identifier: BSD-3-Clause
"""vtrace import of 2 M intervals, of 1 M lines with two values each, and of 1 M intervals in Chrome's JSON, as a whole
command."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from measure import BIN, ENVIRONMENT, Row, at_least, at_most
from unify import prepare, record, unified

__all__ = ["measure", "prepare"]

INTERVALS, VALUES, EVENTS = 2_000_000, 1_000_000, 1_000_000
_MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
"""Starts a command from a small process, since the memory of a new process is at first that of its parent."""


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
        *_of_json(work / "torch.json", repetitions),
    ]


def _of_json(path: Path, repetitions: int) -> list[Row]:
    """A file as PyTorch's profiler writes it: 200 MB, so that the largest memory is that of the columns."""
    args = '"args": {"External id": 1025, "Record function id": 0, "Sequence number": 120, "Ev Idx": 42}'
    head = '"ph": "X", "cat": "cpu_op", "pid": 404, "tid": 404'
    with path.open("w") as file:
        file.write('{"schemaVersion": 1, "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [\n')
        file.writelines(
            f'{{{head}, "name": "aten::operator_{i % 50}", "ts": {5224762272018 + 3 * i}.{i % 1000:03d}, "dur": 2.145,'
            f" {args}}},\n"
            for i in range(EVENTS)
        )
        file.write('{"ph": "M", "name": "process_name", "pid": 404, "args": {"name": "python"}}]}')
    rates, memory = [], []
    for _ in range(repetitions):
        words = [str(BIN / "vtrace"), "import", str(path), "-o", str(path.with_suffix("")), "--force"]
        found = subprocess.run(
            [sys.executable, "-c", _MEASURED, *words], env=ENVIRONMENT, check=True, capture_output=True
        )
        seconds, kilobytes = map(float, found.stdout.split())
        rates.append(path.stat().st_size / 1e6 / seconds)
        memory.append(kilobytes / 1024)
    return [
        at_least("vtrace import of Chrome's JSON, a core", "MB/s", rates, 20),
        at_most("memory meanwhile, 1 M intervals", "MiB", memory, 300),
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
