# SPDX-License-Identifier: BSD-3-Clause
"""vtrace profile: its numbers agree with a slow computation from the events in the otf2 package."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.oracles.slow_profile import Rows, pieces
from support.recorded_archives import unpack
from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.tools import call, command

UNITS = ("function", "line", "callpath", "rank", "thread")
HEAD = ("exclusive_ns", "inclusive_ns", "share", "calls", "samples", "source")


@pytest.fixture(scope="module")
def score_p(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the archives of Score-P."""
    where = tmp_path_factory.mktemp("score-p")
    for name in ("heat2d", "omp", "sampling"):
        unpack(f"scorep-{name}", where)
    return where


def test_not_running(build: Builder, tmp_path: Path) -> None:
    """Threads that sleep and calculate: the time without a processor is the time that the program itself measures; in
    calls with exact times, such as pthread_join, it is none."""
    program = build("sampled_idle.c", flags=("-O1", "-pthread"), plain=True)
    done = call([*command("vtrace"), "run", "--sample=200", program], tmp_path)
    idle = list(map(int, done.stdout.split()))
    unify(tmp_path, "sampled_idle")
    archive = tmp_path / "sampled_idle.trace"
    rows = {row["name"]: row for row in profile(archive, "--by", "thread")["profile"]}
    found = [rows[name]["not_running_ns"] for name in ("Master thread", "Thread 1")]
    for measured, shown in zip(idle, found, strict=True):
        assert abs(shown - measured) < 0.05e9 + 0.1 * measured
    (rank,) = profile(archive, "--by", "rank")["profile"]
    assert rank["not_running_ns"] == pytest.approx(sum(found), abs=2)
    assert "not running s" in vtrace(tmp_path, "profile", "sampled_idle", "--by", "thread").stdout
    for words in (["--from", "10%"], ["--select", "class=user"]):
        (part,) = profile(archive, "--by", "rank", *words)["profile"]
        assert part["not_running_ns"] is None, "unknown for a part of the trace"


@pytest.fixture(scope="module")
def recorded(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a program of two ranks with threads, made by vtrace."""
    where = tmp_path_factory.mktemp("recorded")
    mpi = mpis.find("mpich-wheel", build)
    mpi.run(mpi.build("ranks_threads.c", flags=("-O1", "-pthread")), where, "50", ranks=2)
    unify(where, "ranks_threads")
    return where / "ranks_threads.trace"


def test_commands_of_ranks_are_no_ranks(build: Builder, tmp_path: Path) -> None:
    """The least and the mean time of a rank are not those of the commands that ranks start."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build("mpi_starts.c", plain=True)
    call([*command("vtrace"), "run", "-o", "t", *mpi.launch, "-n", "2", program, "true"], tmp_path, mpi.env)
    unify(tmp_path, "t")
    told = profile(tmp_path / "t.trace")
    assert len(profile(tmp_path / "t.trace", "--by", "rank")["profile"]) >= 2
    (row,) = (row for row in told["profile"] if row["function"] == "MPI_Init")
    assert row["calls"] == 2
    assert 0 < row["min_ns"] <= row["mean_ns"] == row["exclusive_ns"] / 2 <= row["max_ns"]


def profile(archive: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(archive.parent, "profile", archive, "--json", *words).stdout)
    return found


def key_of(row: dict[str, Any], by: str) -> Any:
    """The oracle's key of a row."""
    if by == "line":
        return row["line"] if row["line_number"] else "", row["function"]
    return tuple(row[by]) if by == "callpath" else row["name"] if by == "thread" else row[by]


def agree(archive: Path, by: str, *words: str, start: int = 0, stop: int = 2**62) -> list[dict[str, Any]]:
    told = profile(archive, "--by", by, *words)
    expected = Rows(pieces(archive, start, stop), by)
    whole = sum(row.exclusive for row in expected.values())
    assert told["time_ns"] == pytest.approx(whole, abs=1)
    rows: list[dict[str, Any]] = told["profile"]
    keys = [(row["process"], row["name"]) if by == "thread" else key_of(row, by) for row in rows]
    assert len({*keys}) == len(rows)
    if by == "thread":  # threads of several processes have one name
        assert sum(row["exclusive_ns"] for row in rows) == pytest.approx(whole, abs=len(rows))
        return rows
    assert {*keys} == {*expected}
    for row in rows:
        slow = expected[key_of(row, by)]
        near = [row[f"{name}_ns"] for name in ("exclusive", "inclusive", "mpi", "barrier", "max")]
        slowly = (slow.exclusive, slow.inclusive, slow.mpi, slow.barrier, max(slow.ranks.values(), default=0))
        assert near == [pytest.approx(number, abs=1.01) for number in slowly], row
        assert (row["calls"], row["samples"]) == (slow.calls, slow.samples), row
        assert row["source"] == ("samples" if slow.estimated else "events"), row
        assert row["share"] == pytest.approx(slow.exclusive / whole if whole else 0)
        least = min(slow.ranks.values()) if len(slow.ranks) == told["ranks"] else 0
        assert (row["min_ns"], row["mean_ns"]) == (
            pytest.approx(least, abs=1.01), pytest.approx(slow.exclusive / told["ranks"], abs=1.01)
        )  # fmt: skip
    return rows


@pytest.mark.parametrize("by", UNITS)
def test_three_runs_side_by_side(recorded: Path, score_p: Path, by: str) -> None:
    """The numbers of each run are those of its own profile, matched by name."""
    archives = [recorded, score_p / "scorep-heat2d", score_p / "scorep-omp"]
    told = json.loads(vtrace(recorded.parent, "profile", *archives, "--by", by, "--json").stdout)
    assert [run["archive"] for run in told["runs"]] == [profile(archive)["archive"] for archive in archives]
    rows = {json.dumps(row[by]): row for row in told["comparison"]}
    assert len(rows) == len(told["comparison"])
    met = set()
    for number, archive in enumerate(archives, 1):
        alone: dict[str, dict[str, float]] = {}
        for row in profile(archive, "--by", by)["profile"]:
            sums = alone.setdefault(
                json.dumps(row[by]), dict.fromkeys(("exclusive_ns", "share", "calls", "samples"), 0)
            )
            for key in sums:
                sums[key] += row[key]
        for name, sums in alone.items():
            assert {key: rows[name][f"{key}_{number}"] for key in sums} == pytest.approx(sums, abs=2)
        for name in rows.keys() - alone.keys():
            assert rows[name][f"exclusive_ns_{number}"] is None
        met |= alone.keys()
    assert met == rows.keys()


def test_runs_side_by_side_for_people(recorded: Path, score_p: Path) -> None:
    """A column of each run; the same run twice has equal numbers. Wrong calls give one line."""
    heat = score_p / "scorep-heat2d"
    done = vtrace(recorded.parent, "profile", recorded, recorded, "--by", "function", "--top", "3")
    assert re.search(r"exclusive s 1 .*% 1 .*exclusive s 2 .*% 2", done.stdout)
    table = vtrace(recorded.parent, "profile", recorded, recorded, "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert rows[0].keys() >= {"function", "exclusive_ns_1", "share_1", "exclusive_ns_2", "share_2"}
    assert next(iter(rows[0])) == "function"
    assert all(row["exclusive_ns_1"] == row["exclusive_ns_2"] for row in rows)
    for words, said in (
        ([recorded, heat, heat, heat], "vtrace profile compares up to 3"),
        ([recorded, heat, "--source", "x.c"], "--source with several archives"),
        ([recorded, recorded.parent / "nothing"], "nothing"),
        ([], "ARCHIVE"),
    ):
        wrong = call([*command("vtrace"), "profile", *words], recorded.parent, check=False)
        assert wrong.returncode in (1, 2)
        assert said in wrong.stderr


@pytest.mark.parametrize("by", UNITS)
def test_calls(recorded: Path, score_p: Path, by: str) -> None:
    """Exact calls, of vtrace and of Score-P, with MPI and with OpenMP's barriers."""
    for archive in (recorded, score_p / "scorep-heat2d", score_p / "scorep-omp"):
        rows = agree(archive, by)
        assert {row["source"] for row in rows} == {"events"}
        assert any(row["mpi_ns"] for row in rows) == ("omp" not in archive.name)
        assert any(row["barrier_ns"] for row in rows) == ("omp" in archive.name)


@pytest.mark.parametrize("by", UNITS)
def test_samples(score_p: Path, by: str) -> None:
    rows = agree(score_p / "scorep-sampling", by)
    assert sum(row["samples"] for row in rows) == 117
    assert {row["source"] for row in rows} == {"samples"}
    for row in rows:
        part = row["samples"] / 117
        assert row["share_error"] == pytest.approx(math.sqrt(part * (1 - part) / 117))


def test_a_window(score_p: Path) -> None:
    for name in ("scorep-heat2d", "scorep-sampling"):
        window = ("--from", "200ms", "--to", "320ms")
        rows = agree(score_p / name, "function", *window, start=200 * 10**6, stop=320 * 10**6)
        assert rows


def test_csv_and_json(score_p: Path) -> None:
    """The first column is the word after --by; then the columns that every unit has. Both formats have all rows."""
    for by in UNITS:
        archive = score_p / "scorep-heat2d"
        text = vtrace(score_p, "profile", archive, "--by", by, "--csv", "--top", "1").stdout
        rows = [*csv.DictReader(io.StringIO(text))]
        assert tuple(rows[0])[:7] == (by, *HEAD)
        told = profile(archive, "--by", by, "--top", "1")
        assert next(iter(told)) == "caveats"
        assert len(told["profile"]) == len(rows) > 1
        assert [int(row["exclusive_ns"]) for row in rows] == [row["exclusive_ns"] for row in told["profile"]]


def test_order_and_rows(score_p: Path) -> None:
    archive = score_p / "scorep-heat2d"
    for sort in ("exclusive", "inclusive", "calls", "max", "mpi"):
        key = sort if sort == "calls" else f"{sort}_ns"
        values = [row[key] for row in profile(archive, "--sort", sort)["profile"]]
        assert values == sorted(values, reverse=True)
    names = [row["function"] for row in profile(archive, "--sort", "name")["profile"]]
    assert names == sorted(names)
    shown = vtrace(score_p, "profile", archive, "--top", "2").stdout.splitlines()
    assert [line.split()[-1] for line in shown[3:5]] == ["MPI_Init", "update"]
    assert "the first 2 of 27" in shown[-1]


def test_select(score_p: Path) -> None:
    archive = score_p / "scorep-heat2d"
    rows = profile(archive, "--select", "region=MPI_*,update", "--select", "class=user")["profile"]
    assert [row["function"] for row in rows] == ["update"]
    everything = {row["function"]: row for row in profile(archive)["profile"]}
    assert rows == [everything["update"]], "a selection must not change a row"
    paths = profile(archive, "--by", "callpath", "--select", "path=main > solve*")["profile"]
    assert paths
    assert all(row["callpath"][:2] == ["main", "solve"] for row in paths)
    inside = profile(archive, "--by", "rank", "--select", "path=main > solve*", "--select", "location=*Rank 2")
    assert [row["rank"] for row in inside["profile"]] == ["MPI Rank 2"]
    assert 0 < inside["profile"][0]["exclusive_ns"] < sum(row["exclusive_ns"] for row in paths)
    assert {row["class"] for row in profile(archive, "--select", "class=mpi/collective")["profile"]} == {"MPI"}


@pytest.mark.parametrize("command", ["profile", "diagnose"])
def test_a_name_that_matches_nothing(score_p: Path, command: str) -> None:
    words = ("--select", "region=updat,main", "--select", "path=main > MPI_Ini", "--select", "class=zzz")
    done = vtrace(score_p, command, score_p / "scorep-heat2d", *words)
    assert [line for line in done.stderr.splitlines() if "--select" in line] == [
        "vtrace: warning: --select: no region matches updat; did you mean update or part?",
        "vtrace: warning: --select: no class matches zzz",
        "vtrace: warning: --select: no region matches MPI_Ini of main > MPI_Ini; did you mean MPI_Init "
        "or MPI_Isend or MPI_Iscan?",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--select", "name=f"), "--select name=f: not KIND=PATTERN"), (("--select", "region="), "not KIND=PATTERN"),
        (("--select", "location=nobody"), "no location matches location=nobody"),
        (("--json", "--csv"), "--json and --csv exclude each other"),
        (("--source", "missing.c"), "--source missing.c: No such file or directory"),
        (("--source", "/dev/zero"), "--source /dev/zero is not a regular file"),
        (("--source", "other.c"), "--source other.c: the trace has no times of its lines"),
        (("--by", "colour"), "colour"),
    ],
)  # fmt: skip
def test_wrong_options(score_p: Path, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "other.c").write_text("int other;\n")
    done = vtrace(tmp_path, "profile", score_p / "scorep-sampling", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_source_file(score_p: Path, tmp_path: Path) -> None:
    """The lines of a file with their times; lines beyond the end of the file give a note."""
    (tmp_path / "funcs.c").write_text("".join(f"\tline {number}\x1b[31m\n" for number in range(1, 13)))
    archive = score_p / "scorep-sampling"
    found = json.loads(vtrace(tmp_path, "profile", archive, "--source", "funcs.c", "--json").stdout)["source"]
    assert [row["line"] for row in found] == [*range(1, 13)]
    by_line = {row["line_number"]: row for row in profile(archive, "--by", "line")["profile"]}
    for row in found:
        expected = by_line.get(row["line"])
        assert row["exclusive_ns"] == (expected["exclusive_ns"] if expected else None)
        assert row["samples"] == (expected["samples"] if expected else None)
    text = vtrace(tmp_path, "profile", archive, "--source", "funcs.c").stdout
    assert "examples/funcs.c in the trace" in text
    assert any("76.1" in line and r"        line 8\x1b[31m" in line for line in text.splitlines())
    (tmp_path / "funcs.c").write_text("short\n" * 5)
    assert "beyond the end of the file" in vtrace(tmp_path, "profile", archive, "--source", "funcs.c").stdout


def test_the_rate_of_samples(score_p: Path, tmp_path: Path) -> None:
    """A timer that is slower than asked for, and a generator that counts: each gives a note."""
    done = vtrace(score_p, "profile", "scorep-sampling")
    assert "samples of timer come every 4 ms, not every 2 ms: each counts as 4 ms" in done.stderr
    archive = Foreign(tmp_path / "a.trace")
    archive.events(0, [(100 * n, "CallingContextSample", 0, 1, 0) for n in range(9)])
    archive.begin_definitions()
    archive.machine()
    archive.location(0)
    archive.region(0, "f")
    archive.define("CallingContext", 0, 0, UNDEFINED, UNDEFINED)
    archive.define("InterruptGenerator", 0, "cycles\x1b[31m", 1, 1, 0, 10**6)
    done = vtrace(tmp_path, "profile", archive.close())
    assert r"samples of cycles\x1b[31m come by count: times are estimated, 100 ns a sample" in done.stderr


def test_damaged_contexts(tmp_path: Path) -> None:
    """Contexts in a circle, of unknown regions and undefined: the samples count, and nothing hangs."""
    archive = Foreign(tmp_path / "a.trace")
    samples = [(100 * n, "CallingContextSample", n % 5, 1, n % 3) for n in range(1, 40)]
    archive.events(0, [(0, "CallingContextEnter", 9, 1), *samples, (9000, "CallingContextLeave", 9)])
    archive.begin_definitions()
    archive.machine()
    archive.location(0)
    archive.region(0, "f")
    for number, region, around in ((0, 0, 1), (1, 0, 0), (2, 77, 2), (3, 0, 88)):
        archive.define("CallingContext", number, region, 99, around)
    archive.define("InterruptGenerator", 0, "odd", 7, 9, -(2**62), 2**64 - 1)
    path = archive.close()
    for by in UNITS:
        rows = profile(path.parent, "--by", by)["profile"]
        assert sum(row["samples"] for row in rows) == 39
        assert all(0 <= row["exclusive_ns"] < 10**6 for row in rows)


def test_samples_in_the_summary(score_p: Path, tmp_path: Path) -> None:
    """vtrace summary has the same numbers of the functions that samples found, also for a window, with shares of the
    time of all threads, and a line with the first of them; it says nothing of samples where there are none."""
    archive = score_p / "scorep-sampling"
    for words in ((), ("--from", "25%", "--to", "75%")):
        summary = json.loads(vtrace(score_p, "summary", archive, "--json", *words).stdout)
        found, whole = summary["samples"], sum(row["total_ns"] for row in summary["classes"])
        rows = [row for row in profile(archive, *words)["profile"] if row["samples"] and row["source"] == "samples"]
        same = found[0].keys() - {"share", "share_error"}
        assert [{key: row[key] for key in same} for row in rows] == [{key: row[key] for key in same} for row in found]
        for row, other in zip(found, rows, strict=True):
            assert row["share"] == pytest.approx(row["exclusive_ns"] / whole)
            assert row["share_error"] / row["share"] == pytest.approx(other["share_error"] / other["share"])
        assert {row["function"] for row in found} >= {"body", "tiny"}
    shown = vtrace(score_p, "summary", archive).stdout
    assert re.search(r"^  inside +\d+ samples in the program's own code: [\d.]+ % body, ", shown, re.MULTILINE)
    assert "Time inside the program, by samples" in shown
    without = vtrace(score_p, "summary", score_p / "scorep-heat2d").stdout
    assert "inside " not in without
    assert "samples" not in without
