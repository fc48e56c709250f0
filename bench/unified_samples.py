# SPDX-License-Identifier: BSD-3-Clause
"""Unifying samples: the kernel that writes them, 1 M samples of 4 processes from files to profile, and the union of
calling contexts."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import numpy as np
from measure import ENVIRONMENT, HERE, Row, at_least, at_most, build

from vtrace.console import QUIET, Console
from vtrace.io.local import kernel
from vtrace.unify.merge.context_tree import merge_trees
from vtrace.unify.run import Request, unify

SAMPLES = 1_000_000
PROCESSES = 4
CONTEXTS = 1_000_000


def prepare(work: Path) -> None:
    """Records the samples: the handler's work in a loop, on a stack of 20 frames, with two stacks in turn."""
    csrc = HERE.parent / "csrc"
    sources = [
        path for folder in ("core", "funwrap", "sampling", "providers") for path in sorted((csrc / folder).glob("*.c"))
    ]
    build("gcc", "-g", "-O2", "-w", HERE / "sampling.c", *sources, "-o", "handler", "-lpthread", "-ldl", cwd=work)
    environment = ENVIRONMENT | {"VT_SAMPLE_RATE": "3600s", "VT_VERBOSE": "0"}
    _record(work, environment | {"VT_FILE_PREFIX": "one"}, SAMPLES, 1)
    _record(work, environment | {"VT_FILE_PREFIX": "four"}, SAMPLES // PROCESSES, PROCESSES)


def _record(work: Path, environment: dict[str, str], rounds: int, processes: int) -> None:
    words = ["mpiexec", "-n", str(processes), "./handler", "20", str(rounds)]
    subprocess.run(words, cwd=work, env=environment, check=True, stdout=subprocess.DEVNULL)


def writing(work: Path) -> float:
    """Million samples per second of CPU time in the kernel that writes them."""
    taken: list[float] = []
    inner = kernel.Kernel.transcode

    def timed(self: kernel.Kernel, *arguments: object, **named: object) -> kernel.Transcoded:
        begin = time.thread_time()
        result = inner(self, *arguments, **named)  # type: ignore[arg-type]
        taken.append(result.events / (time.thread_time() - begin) / 1e6)
        return result

    kernel.Kernel.transcode = timed  # type: ignore[method-assign,assignment]
    try:
        unify(Request(prefix=work / "one", keep=True, force=True, jobs=1), Console("vtunify", QUIET, False))
    finally:
        kernel.Kernel.transcode = inner  # type: ignore[method-assign]
    return max(taken)


def to_profile(work: Path) -> float:
    """Seconds from the local files of all processes to the profile."""
    begin = time.perf_counter()
    for words in (["vtunify", "-q", "-k", "--force", "four"], ["vtrace", "profile", "u_four.trace", "--csv"]):
        subprocess.run(words, cwd=work, env=os.environ | ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def union() -> float:
    """Seconds to join the calling contexts of all processes, each with its own part of them."""
    random = np.random.default_rng(1)
    trees = []
    for _ in range(PROCESSES):
        count = CONTEXTS // PROCESSES + 1
        parents = np.zeros(count, np.uint32)
        parents[1:] = np.arange(1, count) * random.random(count - 1)
        trees.append(kernel.ContextTree(parents, random.integers(0, 100_000, count).astype(np.uint32)))
    begin = time.perf_counter()
    merge_trees(trees)
    return time.perf_counter() - begin


def measure(work: Path, repetitions: int) -> list[Row]:
    """All three figures."""
    return [
        at_least("samples written by the kernel", "M samples/s", [writing(work) for _ in range(repetitions)], 20),
        at_most("1 M samples of 4 processes, to profile", "s", [to_profile(work) for _ in range(repetitions)], 10),
        at_most("union of 10^6 calling contexts", "s", [union() for _ in range(repetitions)], 3),
    ]
