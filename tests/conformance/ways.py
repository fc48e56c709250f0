# SPDX-License-Identifier: BSD-3-Clause
"""Builds and runs a program of the suite: plain, instrumented by the compiler wrappers, or with preloaded libraries."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from conformance.job import TIMEOUT, Ended, run
from conformance.judge import KNOWN, OPEN_ENDS, judge_archive, listed, ours, passes, same_output
from conformance.suite import NO_REMAKE, Compilers, Line, Trees
from support.tools import BIN, urgent

PLAIN, TRACED, PRELOADED = "plain", "traced", "preloaded"
PREFIX = "test"
_BUILD_LIMIT = 600
_TRACING = {"VT_FILE_PREFIX": PREFIX, "VT_MAX_FLUSHES": "0"}


@dataclass
class Result:
    """The result of a test in one way. reason: of a failure, empty if the test passed; archive: error in the
    archive, empty if consistent, None without archive; said: messages of vtrace."""

    test: str
    directory: str
    way: str
    reason: str = ""
    archive: str | None = None
    events: int = 0
    seconds: float = 0
    said: str = ""
    differs_untraced: bool = False
    """Two runs without vtrace print different lines; only exit code and No Errors can be compared."""

    known: str = ""
    """Reason of a known failure, or empty."""

    @property
    def failed(self) -> bool:
        """True if vtrace changed or misrecorded the test; False for a test that fails without vtrace."""
        return self.way != PLAIN and bool(self.reason or self.archive)


@dataclass(frozen=True)
class Setup:
    """The settings of a run. launch: the launcher's command; work: directory of all runs; is_open: the MPI is Open
    MPI; keep: keep all files; slow:
    factor of time limits with vtrace; ways: the ways of tracing; bin: the directory of the wrappers and vtunify."""

    trees: Trees
    launch: tuple[str, ...]
    env: Mapping[str, str]
    work: Path
    is_open: bool = False
    keep: bool = False
    slow: float = 3
    ways: dict[Line, tuple[str, ...]] = field(default_factory=dict)
    bin: Path = BIN


def run_program(setup: Setup, tests: list[Line]) -> list[Result]:
    """Builds a program and runs its tests, one after the other."""
    ways = {way for test in tests for way in setup.ways[test]}
    first = tests[0]
    plain = build(setup, first, setup.trees.plain, setup.trees.compilers)
    if plain:
        return [Result(test.name, test.directory, PLAIN, f"does not build: {plain}") for test in tests]
    failed = TRACED in ways and build(setup, first, setup.trees.traced, setup.trees.compilers.traced(setup.bin))
    results: list[Result] = []
    for test in tests:
        results += run_test(setup, test, failed or "")
    for result in results:
        result.known = listed(first, KNOWN)
    for tree in (setup.trees.plain, setup.trees.traced):
        for path in (tree / first.directory).glob(f"{first.program}*"):
            if path.name in (first.program, f"{first.program}.o") and not setup.keep:
                path.unlink()
    return results


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Allows one make at a time in a directory, since its programs share objects."""
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(setup: Setup, line: Line, tree: Path, compilers: Compilers) -> str:
    """Builds a program. Returns an empty text, or the reason of a failure."""
    place = tree / line.directory
    with _alone(place):
        work = setup.work / f"make-{os.getpid()}"
        work.mkdir(exist_ok=True)
        words = ["make", "-C", place, *NO_REMAKE, *compilers.variables(), line.program]
        done = run(words, work, setup.env, _BUILD_LIMIT)
    if done.code == 0 and (place / line.program).exists():
        return ""
    text = (done.err + done.out).splitlines()
    return next((x.strip() for x in text if re.search(r"[Ee]rror|undefined|No rule", x)), f"make: {done.code}")[:300]


def run_test(setup: Setup, test: Line, not_traced: str) -> list[Result]:
    """Runs one test plain, then in each of its ways. not_traced: why vtrace did not build it, or empty."""
    if test.mpiexec and setup.is_open:
        reason = f"needs an option of MPICH's mpiexec: {' '.join(test.mpiexec)}"
        return [Result(test.name, test.directory, PLAIN, reason)]
    plain = _start(setup, test, PLAIN)
    first = Result(test.name, test.directory, PLAIN, passes(test, plain), seconds=plain.seconds)
    results = [first]
    for way in () if first.reason else setup.ways[test]:
        if way == TRACED and not_traced:
            reason = f"vtrace's compiler wrapper does not build it: {not_traced}"
            results.append(Result(test.name, test.directory, way, reason))
        else:
            results.append(_traced(setup, test, way, plain))
    return results


def _traced(setup: Setup, test: Line, way: str, plain: Ended) -> Result:
    """Runs a test traced and compares with the untraced run. If the output differs, compares with a second untraced run
    as well: some tests print different lines in each run."""
    ended = _start(setup, test, way)
    result = Result(test.name, test.directory, way, passes(test, ended), seconds=ended.seconds, said=ours(ended))
    if not result.reason and not test.expect and plain.code != ended.code:
        result.reason = f"exit code {ended.code}, without vtrace {plain.code}"
    if not result.reason and not same_output(plain, ended):
        again = _start(setup, test, PLAIN)
        result.differs_untraced = not same_output(plain, again)
        if not result.differs_untraced and not test.expect:
            result.reason = f"prints other lines than without vtrace: {ended.out[-200:]!r} {ended.err[-300:]!r}"
    if ended.code != TIMEOUT and not result.reason:
        complete = ended.code == 0 and not listed(test, OPEN_ENDS)
        where = _place(setup, test, way)
        result.archive, result.events = judge_archive(where, PREFIX, complete, setup.env, setup.bin)
    if not result.failed and not setup.keep:
        shutil.rmtree(_place(setup, test, way))
    return result


def _place(setup: Setup, test: Line, way: str) -> Path:
    return setup.work / test.directory / f"{test.program}.{test.number}" / way


def _start(setup: Setup, test: Line, way: str) -> Ended:
    """Runs the program in its own directory as ./PROGRAM: tests that spawn processes expect the program there."""
    where = _place(setup, test, way)
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    tree = setup.trees.traced if way == TRACED else setup.trees.plain
    os.link(tree / test.directory / test.program, where / test.program)
    env = {**setup.env, **dict(pair.split("=", 1) for pair in test.env)}
    words: list[str | Path] = [*setup.launch, *test.mpiexec, "-n", str(test.ranks), f"./{test.program}", *test.args]
    limit: float = test.limit
    if way != PLAIN:
        env |= _TRACING
        limit *= setup.slow
    if way == PRELOADED:
        words = [BIN / "vtrace", "run", *words]
    ended = run([*urgent(), *words], where, env, limit)
    if way == PLAIN and not setup.keep:
        shutil.rmtree(where)
    return ended
