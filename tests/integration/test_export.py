# SPDX-License-Identifier: BSD-3-Clause
"""vtrace export: an independent reader reads each format."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import _otf2
import pytest

import vtrace as package
from support.build.run import vtrace
from support.recorded_archives import unpack
from support.synthetic_runs import random_mpi, viewed
from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.tools import Done
from vtrace.io.archive.reader_abi import KINDS as WAITS

KINDS = {"Enter": 209, "Leave": 209, "MpiSend": 100, "MpiRecv": 100, "MpiCollectiveBegin": 2, "MpiCollectiveEnd": 2}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with the archive odd.trace."""
    viewed.write(tmp_path / "odd.trace")
    return tmp_path


def test_csv(place: Path) -> None:
    assert vtrace(place, "export", "odd", "--to", "csv").stdout.startswith("odd.csv: 622 events, ")
    with (place / "odd.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["event"] for row in rows) == KINDS
    sends = [row for row in rows if row["event"] == "MpiSend"]
    assert [row["tag"] for row in sends] == [str(n) for n in range(100)]
    first = sends[0]
    assert (first["time"], first["process"], first["comm"], first["bytes"]) == ("5000", "process 0", viewed.WORLD, "8")
    names = {row["region"] for row in rows if row["event"] == "Enter"}
    assert names == set(viewed.NAMES.values())


def test_csv_of_a_part(place: Path) -> None:
    words = ("--to", "csv", "-o", "part.csv", "--from", "0.8ms", "--to", "850us", "--ranks", "1")
    assert vtrace(place, "export", "odd", *words).stdout.startswith("part.csv: 2 events, ")
    lines = (place / "part.csv").read_text().splitlines()
    assert lines == [
        "time,process,thread,event,region", '800000,process 1,thread 1,Enter,<script>window.hit=1</script>',
        "801000,process 1,thread 1,Enter,</script><img src=x onerror=window.hit=2><b>bold</b>",
    ]  # fmt: skip


def test_values(tmp_path: Path) -> None:
    """Integers of counters are exact in csv; parquet has double precision."""
    last, values = [4, 8, 10], [(4, 2**64 - 1), (4, 2**53 + 1), (8, -(2**53) - 1), (10, 0.5), (10, 3.0)]
    archive = Foreign(tmp_path / "a.trace")
    words = {4: "unsigned_int", 8: "signed_int", 10: "floating_point"}
    written = [(last.index(kind), [kind], [_otf2.MetricValue(**{words[kind]: value})]) for kind, value in values]
    archive.events(0, [(n, "Metric", *each) for n, each in enumerate(written)])
    archive.begin_definitions()
    archive.machine(length=9)
    archive.location(0)
    for number, kind in enumerate(last):
        archive.define("MetricMember", number, f"m{number}", "", 1, 4, kind, 0, 0, "m")
        archive.define("MetricClass", number, [number], 0, 0)
    archive.close()
    vtrace(tmp_path, "export", "a", "--to", "csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        assert [row["value"] for row in csv.DictReader(file)] == [str(value) for _, value in values]
    parquet = pytest.importorskip("pyarrow.parquet")
    vtrace(tmp_path, "export", "a", "--to", "parquet")
    found = parquet.read_table(tmp_path / "a.parquet")
    assert found["value"].to_pylist() == [float(value) for _, value in values]


def replayed(profile: dict[str, Any], frames: list[dict[str, Any]]) -> Counter[str]:
    """Exclusive time by frame of an evented profile; checks the order of time, and that calls nest."""
    found: Counter[str] = Counter()
    stack: list[int] = []
    now = profile["startValue"]
    for event in profile["events"]:
        assert now <= event["at"] <= profile["endValue"]
        if stack:
            found[frames[stack[-1]]["name"]] += event["at"] - now
        now = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            assert stack.pop() == event["frame"]
    assert not stack
    return found


def speedscope(where: Path, archive: Path, *words: str) -> tuple[dict[str, Any], Done]:
    done = vtrace(where, "export", archive, "--to", "speedscope", "-o", "x.json", *words)
    return json.loads((where / "x.json").read_text()), done


def test_speedscope_calls(place: Path) -> None:
    """Replayed, the begins and ends give the exclusive times of vtrace profile."""
    found, done = speedscope(place, place / "odd.trace")
    assert found["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert done.stdout.startswith("x.json: 209 calls, 0 samples, ")
    times: Counter[str] = Counter()
    for profile in found["profiles"]:
        assert (profile["type"], profile["unit"]) == ("evented", "nanoseconds")
        times += replayed(profile, found["shared"]["frames"])
    told = json.loads(vtrace(place, "profile", "odd", "--json").stdout)["profile"]
    assert times == Counter({row["function"]: row["exclusive_ns"] for row in told if row["exclusive_ns"]})


def test_speedscope_samples(tmp_path: Path) -> None:
    found, _ = speedscope(tmp_path, unpack("scorep-sampling", tmp_path))
    (profile,) = found["profiles"]
    assert (profile["type"], len(profile["samples"])) == ("sampled", 117)
    frames = found["shared"]["frames"]
    stacks = Counter(tuple((frames[n]["name"], frames[n]["line"]) for n in stack) for stack in profile["samples"])
    main, body = ("main", 15), ("body", 8)
    assert stacks == {(main, body): 89, (main, body, ("tiny", 12)): 15, (main, body, ("tiny", 4)): 13}
    assert set(profile["weights"]) == {round(4001812.5)}
    assert profile["endValue"] == sum(profile["weights"])


def test_speedscope_of_many(tmp_path: Path) -> None:
    """If there are too many, the longest calls and each n-th sample are written; contexts in a circle."""
    archive = Foreign(tmp_path / "a.trace")
    samples = [(10 * n + 1, "CallingContextSample", n % 2, 1, 0) for n in range(3000)]
    calls = [
        (10 * n + t, f"CallingContext{k}", 0, *m)
        for n in range(3000)
        for t, k, m in ((2, "Enter", (1,)), (3 + n % 5, "Leave", ()))
    ]
    archive.events(0, sorted([*samples, *calls], key=lambda event: event[0]))
    archive.begin_definitions()
    archive.machine(length=30_000)
    archive.location(0)
    archive.region(0, "f")
    archive.define("CallingContext", 0, 0, UNDEFINED, 1)
    archive.define("CallingContext", 1, 0, UNDEFINED, 0)
    archive.define("InterruptGenerator", 0, "timer", 0, 1, -9, 10)
    found, done = speedscope(tmp_path, archive.close(), "--most", "1000")
    evented, sampled = found["profiles"]
    times = [event["at"] for event in evented["events"]]
    assert {end - begin for begin, end in zip(times[::2], times[1::2], strict=True)} == {5}
    assert (len(sampled["samples"]), sum(sampled["weights"])) == (1000, 30_000)
    assert all(len(stack) == 2 for stack in sampled["samples"])
    assert "one of 3 samples is written" in done.stderr
    assert "are left out" in done.stderr


def test_parquet(place: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    vtrace(place, "export", "odd", "--to", "parquet")
    table = parquet.read_table(place / "odd.parquet")
    assert Counter(table["event"].to_pylist()) == KINDS
    assert sum(value or 0 for value in table["bytes"].to_pylist()) == 200 * 8


def test_chrome(place: Path) -> None:
    vtrace(place, "export", "odd", "--to", "chrome")
    events = json.loads((place / "odd.json").read_text())["traceEvents"]
    assert Counter(event["ph"] for event in events) == {"M": 4, "X": 209, "s": 100, "f": 100}
    one = next(event for event in events if event["name"] == viewed.NAMES[viewed.SCRIPT])
    assert (one["ts"], one["dur"], one["cat"]) == (800, 101, "user")


def expected_waits(archive: Path) -> dict[tuple[int, int], tuple[str, int, int]]:
    """By location and end of a call that waits: kind and partner of the longest wait, ns of all. The calls differ."""
    found: dict[tuple[int, int], tuple[str, int, int]] = {}
    for row in package.open(archive).call_waits().order("time_ns", descending=False).records():
        key = row["location"], row["end"]
        found[key] = WAITS[row["kind"]], found.get(key, ("", 0, 0))[1] + row["time_ns"], row["partner"]
    return found


def test_waits(tmp_path: Path) -> None:
    """csv has the waits of a call at its Leave, chrome as arguments of the call."""
    archive = random_mpi.archive(tmp_path / "a.trace", random_mpi.program(5, ranks=3))
    expected = expected_waits(archive)
    assert len({kind for kind, _, _ in expected.values()}) > 3
    vtrace(tmp_path, "export", "a", "--to", "csv", "--waits")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["wait"] or row["wait_ns"] or row["wait_for"]]
    assert {row["event"] for row in rows} == {"Leave"}
    ranks = {"": -1} | {f"process {rank}": rank for rank in range(3)}
    told = {
        (ranks[row["process"]], int(row["time"])): (row["wait"], int(row["wait_ns"]), ranks[row["wait_for"]])
        for row in rows
    }
    assert told == expected
    vtrace(tmp_path, "export", "a", "--to", "chrome", "--waits")
    calls = [one for one in json.loads((tmp_path / "a.json").read_text())["traceEvents"] if one["ph"] == "X"]
    for one in calls:
        words = one.get("args", {})
        kind, ns, partner = expected.pop((one["tid"], round(one["ts"] * 1000 + one["dur"] * 1000)), ("", 0, -1))
        assert sum(value for word, value in words.items() if word.endswith(" ns")) == ns
        if partner >= 0:
            assert ranks[words["waits for"]] == partner
        if ns:
            assert words[f"{kind} ns"] == max(value for word, value in words.items() if word.endswith(" ns"))
    assert not expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no format given"), (("--to", "1s"), "--to perfetto, --to chrome"),
        (("--to", "csv", "--from", "x"), "x is not a time"), (("--to", "csv", "--ranks", "0-2"), "ranks 0 to 1"),
        (("--to", "csv", "--ranks", "a"), "a is not a rank"),
        (("--to", "speedscope", "--waits"), "the format speedscope has no place for waits"),
        (("--to", "csv", "--from", "2us", "--to", "1us"), "not before"),
        (("--to", "csv", "-o", "-"), "-o - does not mean standard output"),
    ],
)  # fmt: skip
def test_mistakes(place: Path, words: tuple[str, ...], said: str) -> None:
    done = vtrace(place, "export", "odd", *words, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


def test_no_archive(place: Path) -> None:
    (place / "bad.otf2").write_text("no archive")
    for words in (("view", "bad.otf2"), ("report", "bad.otf2"), ("export", "bad.otf2", "--to", "csv")):
        done = vtrace(place, *words, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert {path.name for path in place.iterdir()} == {"odd.trace", "bad.otf2"}


COMMANDS = {
    "odd.html": ("report", "odd"), "odd.pftrace": ("export", "odd", "--to", "perfetto"),
    "odd.json": ("export", "odd", "--to", "chrome"), "odd.csv": ("export", "odd", "--to", "csv"),
    "odd.parquet": ("export", "odd", "--to", "parquet"),
}  # fmt: skip
"""The command for each default name of an output file."""


@pytest.mark.parametrize("name", COMMANDS)
def test_own_file_is_replaced(place: Path, name: str) -> None:
    """The same command twice: the second run replaces the file of the first."""
    if name == "odd.parquet":
        pytest.importorskip("pyarrow")
    vtrace(place, *COMMANDS[name])
    size = (place / name).stat().st_size
    assert size > 1000
    vtrace(place, *COMMANDS[name], "--ranks", "0")
    assert 1000 < (place / name).stat().st_size < size


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("content", [b"", b"my page about vtrace\n", b"PAR1\xff\xff\xff\x7fPAR1"])
def test_file_of_the_user_stays(place: Path, name: str, content: bytes) -> None:
    """A file of the user has the default name: a command replaces it only if -o names it."""
    if name == "odd.parquet":
        pytest.importorskip("pyarrow")
    (place / name).write_bytes(content)
    done = vtrace(place, *COMMANDS[name], check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    told = f"{name} exists, and vtrace has not written it (replace it with -o {name}, or give -o another name)"
    assert told in done.stderr
    assert (place / name).read_bytes() == content
    vtrace(place, *COMMANDS[name], "-o", name)
    assert (place / name).stat().st_size > 1000


def test_link_of_the_user_stays(place: Path) -> None:
    (place / "odd.csv").symlink_to("elsewhere")
    done = vtrace(place, *COMMANDS["odd.csv"], check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert (place / "odd.csv").is_symlink()
    assert not (place / "elsewhere").exists()
