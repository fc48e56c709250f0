# SPDX-License-Identifier: BSD-3-Clause
"""The driver of MPICH's test suite reads testlists as the suite does, and reports failures."""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.job import TIMEOUT, Ended
from conformance.judge import listed, ours, passes, same_output
from conformance.suite import Compilers, Line, Trees, lines, sample
from conformance.table import failures, known_failures, table, untraced_failures
from conformance.ways import Result, Setup, run_test
from support.tools import call

LINE = Line("pt2pt", "ping", 2, 1)


def ended(code: int = 0, out: str = " No Errors\n", err: str = "") -> Ended:
    return Ended(code, out, err, 0.1)


def test_testlists(tmp_path: Path) -> None:
    source, build = tmp_path / "source", tmp_path / "build"
    for folder in ("", "pt2pt", "threads", "threads/rma"):
        (source / folder).mkdir(parents=True, exist_ok=True)
    (build / "pt2pt").mkdir(parents=True)
    (build / "testlist").write_text("pt2pt\n#coll\nthreads\n")
    (build / "pt2pt" / "testlist").write_text("")  # empty, so the list in the source directory counts
    (source / "pt2pt" / "testlist").write_text(
        "# a comment\nping 2\nbig 3 mem=6.5\nsend 4 arg=-a=1 arg=-b env=A=B=C timeLimit=9 resultTest=TestStatus\n"
        "late 1 xfail=ticket1 mpiexecarg=-x\nrma/put\n"
    )
    (source / "threads" / "testlist").write_text("rma\n")
    (source / "threads" / "rma" / "testlist").write_text("ping 2 # said\n")
    found = lines(Trees(source, build, build, Compilers("mpicc")))
    assert [line.name for line in found] == [
        "pt2pt/ping 2", "pt2pt/big 3", "pt2pt/send 4 A=B=C -a=1 -b", "pt2pt/late 1", "pt2pt/rma/put 2",
        "threads/rma/ping 2",
    ]  # fmt: skip
    assert found[2] == Line("pt2pt", "send", 4, 4, ("-a=1", "-b"), ("A=B=C",), (), 9, 0, "TestStatus", False)
    assert (found[1].memory, found[3].xfail, found[3].mpiexec) == (6.5, True, ("-x",))


def test_a_sample_takes_all_directories() -> None:
    tests = [Line(f"d{i % 7}", f"p{i}", 2, i) for i in range(70)]
    chosen = sample(tests, 10, seed=1)
    assert len(chosen) == len(set(chosen)) == 10
    assert {line.directory for line in chosen} == {f"d{i}" for i in range(7)}
    assert chosen == sample(tests, 10, seed=1) != sample(tests, 10, seed=2)
    assert sample(tests, 1000, seed=1) == tests
    left = chosen[0]
    other = sample(tests, 10, seed=1, excepted=(f"{left.directory}/{left.program}",))
    assert len(set(chosen) - set(other)) == len(set(other) - set(chosen)) == 1
    assert left not in other


def test_what_passes() -> None:
    fatal, status = (Line("errhan", "fatal", 1, 1, expect=kind) for kind in ("TestErrFatal", "TestStatusNoErrors"))
    assert passes(LINE, ended()) == ""
    assert "exit code 3: Error: oh" in passes(LINE, ended(3, " No Errors\nError: oh\n"))
    assert "No Errors" in passes(LINE, ended(0, "Found 1 errors\n"))
    assert "no end within 180 s" in passes(LINE, ended(TIMEOUT))
    assert "exit code 0" in passes(fatal, ended(0))
    assert passes(fatal, ended(9, "aborted")) == ""
    assert passes(status, ended(9)) == ""
    assert passes(status, ended(9, "")) != ""


def test_same_lines() -> None:
    closing = "vtrace: 12 events recorded; next: vtunify test\n"
    assert same_output(ended(0, "a\nb\n"), ended(0, "b\na\n", closing))
    assert not same_output(ended(0, "a\nb\n"), ended(0, "a\n"))
    assert not same_output(ended(), ended(err="glibc: corrupted\n"))
    assert ours(ended(err=closing)) == ""
    assert ours(ended(err="vtrace: warning: no memory\n" + closing)) == "vtrace: warning: no memory"


def test_the_table_counts_and_names() -> None:
    results = [
        Result("a/x 2", "a", "plain"),
        Result("a/x 2", "a", "traced", archive="", events=1000),
        Result("a/x 2", "a", "preloaded", archive="AssertionError: message", events=24),
        Result("b/y 2", "b", "plain", reason="exit code 1"),
        Result("b/z 2", "b", "plain"),
        Result("b/z 2", "b", "traced", reason="exit code 7, without vtrace 0"),
    ]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table(results).splitlines()]
    assert rows[2:] == [
        ["a", "1", "1", "1/1", "1/1", "1/2", "1 024"],
        ["b", "2", "1", "0/1", "0/0", "0/0", "0"],
        ["all", "3", "2", "1/2", "1/1", "1/2", "1 024"],
    ]
    assert failures(results) == [
        "a/x 2 (preloaded): AssertionError: message",
        "b/z 2 (traced): exit code 7, without vtrace 0",
    ]
    assert untraced_failures(results) == ["b/y 2: exit code 1"]


def test_options_of_mpichs_launcher_are_not_given_to_open_mpi(tmp_path: Path) -> None:
    """Open MPI's mpiexec would fail on these options, and a test that expects a failure would wrongly pass."""
    trees = Trees(tmp_path, tmp_path, tmp_path, Compilers("false"))
    test = Line("errors/comm", "subcomm_abort", 4, 1, mpiexec=("-disable-auto-cleanup",), expect="TestErrFatal")
    (result,) = run_test(Setup(trees, ("false",), {}, tmp_path, is_open=True), test, "")
    assert (result.way, result.reason) == (
        "plain", "needs an option of MPICH's mpiexec: -disable-auto-cleanup"
    )  # fmt: skip


def test_a_job_leaves_nothing(tmp_path: Path) -> None:
    """run kills a job that exceeds its time, with a child that has left the process group. The test calls run in a
    process of its own, because run kills all children.
    """
    code = f"""
import sys, pathlib
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from conformance.job import become_worker, run
become_worker()
done = run(["sh", "-c", "setsid sleep 1000 & echo $!; exec sleep 1000"], pathlib.Path.cwd(), {{}}, 0.5)
print(done.code, done.out)
"""
    said, left = call([sys.executable, "-c", code], tmp_path).stdout.split()
    assert int(said) == TIMEOUT
    assert not Path("/proc", left).exists()


def test_known_failures_are_told_apart() -> None:
    known = Result("a/x 2", "a", "traced", reason="exit code 1", known="it frees twice")
    assert failures([known]) == []
    assert known_failures([known]) == ["a/x 2 (traced): it frees twice"]
    assert known_failures([Result("a/x 2", "a", "traced", archive="", known="it frees twice")]) == []
    assert listed(LINE, {"pt2pt/pi": "why"}) == "why"
    assert listed(LINE, {"rma/": "why"}) == ""
