# SPDX-License-Identifier: BSD-3-Clause
"""Packed archives against the OTF2 archives of the same runs: bytes, CPU time of vtunify, a summary, a window."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from measure import BIN, ENVIRONMENT, Row, at_least, at_most
from unify import HEAT_STEPS, children_cpu, prepare, record

import vtrace
from vtrace.io.archive.batches import BatchBuffer

__all__ = ["measure", "prepare"]

EVENTS = 100_000_000
WINDOW = 1_000_000
"""ns."""
WINDOWS = 20


def measure(work: Path, repetitions: int) -> list[Row]:
    """The local files stay, so that each repetition unifies the same run."""
    shares, sizes, rates, windows = [], [], [], []
    record(work, EVENTS, 1)
    for _ in range(repetitions):
        whole, packed = _unified(work, "traced"), _unified(work, "traced", "--packed")
        shares.append(packed / whole)
        sizes.append(_bytes(work / "u_traced.trace") / _bytes(work / "u_traced.vtz"))
        start = _cpu("vtrace", "info", "u_traced.vtz", cwd=work)
        rates.append(EVENTS / (_cpu("vtrace", "summary", "u_traced.vtz", cwd=work) - start) / 1e6)
        windows.append(_window(work / "u_traced.vtz"))
    command = [BIN / "mpiexec", "-n", "4", "./heat2d", "400", str(HEAT_STEPS)]
    subprocess.run(command, cwd=work, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    for words in ((), ("--packed",)):
        _unified(work, "heat2d", *words)
    heat = _bytes(work / "u_heat2d.trace") / _bytes(work / "u_heat2d.vtz")
    return [
        at_most("vtunify --packed of 100 M events, CPU", "x vtunify's", shares, 1 / 3),
        at_least("bytes of OTF2 for a byte of a packed archive, functions", "", sizes, 50),
        at_least(f"the same for heat2d, {HEAT_STEPS} steps", "", [heat], 5),
        at_least("summary of a packed archive, a core", "M events/s", rates, 100),
        at_most("the events of 1 ms in the middle of a packed archive", "ms", windows, 50),
    ]


def _cpu(name: str, *words: object, cwd: Path) -> float:
    """CPU seconds of a command on one core."""
    begin = children_cpu()
    command = ["taskset", "-c", "0", BIN / name, *map(str, words)]
    subprocess.run(command, cwd=cwd, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return children_cpu() - begin


def _unified(work: Path, prefix: str, *options: str) -> float:
    return _cpu("vtunify", "-q", "-k", "-j", 1, "--force", *options, prefix, cwd=work)


def _bytes(archive: Path) -> int:
    files = [archive] if archive.is_file() else archive.rglob("*")
    return sum(path.stat().st_size for path in files if path.is_file())


def _window(archive: Path) -> float:
    """The slowest of some windows, ms."""
    trace, batch, draw = vtrace.open(archive), BatchBuffer(), random.Random(1)
    slowest = 0.0
    with trace.reader() as reader:
        for _ in range(WINDOWS):
            begin = draw.randrange(trace.duration - WINDOW)
            start = time.perf_counter()
            reader.read(0, batch, lambda: None, start=begin, stop=begin + WINDOW)
            slowest = max(slowest, (time.perf_counter() - start) * 1e3)
    return slowest
