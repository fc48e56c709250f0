# SPDX-License-Identifier: BSD-3-Clause
"""Run MPICH's MPI tests with and without vtrace; exit code 1 if vtrace changed or misrecorded a test."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from conformance import suite, table
from conformance.job import become_worker
from conformance.suite import Compilers, Line
from conformance.ways import PLAIN, PRELOADED, TRACED, Result, Setup, run_program
from support.build import mpis
from support.build.builder import Builder
from support.shell_commands import shell_commands
from support.tools import environment


def main(arguments: Sequence[str]) -> int:
    """Runs the suite; prints a table and the failures; writes table.md and results.json into --out. Returns the exit
    code."""
    options = _options().parse_args(arguments)
    out = Path(options.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    setup, tests = _prepare(options, out)
    left_out = [test for test in tests if test.memory > options.memory]
    tests = [test for test in tests if test.memory <= options.memory]
    _choose_ways(setup, tests, options.rotate)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as place, shell_commands(Path(place)) as bin:
        setup = replace(setup, bin=bin)
        results = _run(setup, tests, options.jobs)
        results = _again(setup, tests, results, untraced=not options.limit)
    ran = {result.test for result in results}
    not_run = [test for test in tests if test.name not in ran]
    text = _report(options, results, left_out, not_run)
    print(text)
    (out / "table.md").write_text(text + "\n")
    (out / "results.json").write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")
    return 1 if table.failures(results) or not results else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("conformance", description=__doc__)
    parser.add_argument("suite", type=Path, help="MPICH's source, or its directory test/mpi")
    parser.add_argument("--mpi", choices=mpis.NAMES, default=mpis.NAMES[0], help="default: %(default)s")
    parser.add_argument(
        "--only", default="", help="only tests whose directory/program begins with one of these, by comma"
    )
    parser.add_argument(
        "--except",
        default="",
        dest="excepted",
        metavar="NAMES",
        help="sample no tests whose directory/program begins with one of these, by comma",
    )
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="run N random tests from all directories")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the sample")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="run N tests at a time")
    parser.add_argument("--memory", type=float, default=4, metavar="GB", help="omit tests that need more memory")
    parser.add_argument(
        "--limit", type=int, metavar="S", help="end untraced tests after S seconds, if less than the test's own limit"
    )
    parser.add_argument("--rotate", action="store_true", help="trace each test in one way, alternating, not in both")
    parser.add_argument("--keep", action="store_true", help="keep programs, local files and archives of all tests")
    parser.add_argument("--out", default="conformance", help="directory for builds, runs and results")
    return parser


def _prepare(options: argparse.Namespace, out: Path) -> tuple[Setup, list[Line]]:
    source = suite.find_source(options.suite.resolve())
    mpi = mpis.find(options.mpi, Builder(out))
    env = environment(mpi.env)
    beside = {name: mpi.mpicc.with_name(mpi.mpicc.name.replace("mpicc", name)) for name in ("mpif77", "mpif90")}
    fortran = [str(mpis.without_expr(path, out)) if path.exists() else "" for path in beside.values()]
    compilers = Compilers(str(mpis.without_expr(mpi.mpicc, out)), *fortran)
    trees = suite.prepare(source, out / f"build-{options.mpi}", compilers, mpi.is_open, env, mpi.builder.yielding())
    tests = suite.lines(trees)
    if options.only:
        starts = tuple(options.only.split(","))
        tests = [test for test in tests if f"{test.directory}/{test.program}".startswith(starts)]
    if options.sample:
        excepted = tuple(filter(None, options.excepted.split(",")))
        small = [test for test in tests if test.memory <= options.memory]
        tests = suite.sample(small, options.sample, options.seed, excepted)
    if options.limit:
        tests = [replace(test, limit=min(test.limit, options.limit)) for test in tests]
    work = Path(tempfile.mkdtemp(prefix=f"run-{options.mpi}-", dir=out))
    return Setup(trees, mpi.launch, env, work, mpi.is_open, options.keep), tests


def _choose_ways(setup: Setup, tests: Iterable[Line], rotate: bool) -> None:
    for number, test in enumerate(tests):
        setup.ways[test] = ((TRACED, PRELOADED)[number % 2],) if rotate else (TRACED, PRELOADED)


def _run(setup: Setup, tests: Sequence[Line], jobs: int) -> list[Result]:
    programs: dict[tuple[str, str], list[Line]] = {}
    for test in tests:
        programs.setdefault((test.directory, test.program), []).append(test)
    groups = _mixed(programs)
    results: list[Result] = []
    with ProcessPoolExecutor(jobs, initializer=become_worker) as pool:
        running = [pool.submit(partial(run_program, setup), group) for group in groups]
        try:
            for number, done in enumerate(as_completed(running), 1):
                results += done.result()
                for failure in table.failures(done.result()):
                    print(f"[{number}/{len(running)}] {failure}", file=sys.stderr, flush=True)
                if number % 50 == 0:
                    print(f"[{number}/{len(running)}]", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    order = {test.name: number for number, test in enumerate(tests)}
    return sorted(results, key=lambda result: order[result.test])


def _mixed(programs: dict[tuple[str, str], list[Line]]) -> list[list[Line]]:
    """The tests of each program, alternating between directories. Programs built at the same time then do not wait for
    each other's make, and a run that is stopped early has covered all directories."""
    place: Counter[str] = Counter()
    order = {}
    for key in programs:
        order[key] = (place[key[0]], key[0])
        place[key[0]] += 1
    return [programs[key] for key in sorted(programs, key=lambda key: order[key])]


def _again(setup: Setup, tests: Sequence[Line], results: list[Result], untraced: bool) -> list[Result]:
    """Runs tests that exceeded their time once more, one at a time: the load of the machine may have been the cause.

    untraced: also tests that exceeded their time without vtrace.
    """
    late = {r.test for r in results if "no end within" in r.reason and (untraced or r.way != PLAIN)}
    if not late:
        return results
    print(f"repeating {len(late)} tests that exceeded their time, one at a time", file=sys.stderr, flush=True)
    chosen = [test for test in tests if test.name in late]
    anew = _run(replace(setup, keep=True), chosen, 1)
    return sorted([r for r in results if r.test not in late] + anew, key=lambda result: result.directory)


def _report(
    options: argparse.Namespace, results: Sequence[Result], left_out: Sequence[Line], not_run: Sequence[Line]
) -> str:
    parts = [f"{options.mpi}, {os.uname().machine}", "", table.table(results)]
    lists = {
        "Failures": table.failures(results),
        "Known to differ with vtrace": table.known_failures(results),
        "Fail without vtrace": table.untraced_failures(results),
        f"Omitted, need more than {options.memory:g} GB": [test.name for test in left_out],
    }
    if not_run:
        parts += ["", f"Stopped early: {len(not_run)} tests did not run."]
    for head, lines in lists.items():
        if lines:
            parts += ["", f"{head} ({len(lines)}):", *(f"- {' '.join(line.split())}" for line in lines)]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
