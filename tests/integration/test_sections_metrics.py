# SPDX-License-Identifier: BSD-3-Clause
"""vtrace profile --by section --metrics mpi and memory: archives with known calls, and a program with known blocks."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.build.run import unify, vtrace
from support.synthetic_runs import fapp_run
from support.tools import PROGRAMS, call, need

MS = 1_000_000
CLASSES = ("calls_from_0", "calls_from_4096", "calls_from_65536", "calls_from_1048576")
LEVELS = "malloc-arena,malloc-in-use,malloc-free,malloc-mmapped,malloc-mmapped-bytes,malloc-arenas"
PAGE = os.sysconf("SC_PAGE_SIZE")


def tables(archive: Path, *words: str) -> dict[str, Any]:
    done = vtrace(archive.parent, "profile", archive, "--by", "section", "--json", *words)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fapp_run.write(tmp_path_factory.mktemp("metrics") / "known").parent


def sends(time: float, calls: float, mean: float, *classes: float) -> dict[str, Any]:
    of = {"time_ns": time, "wait_ns": 0, "calls": calls, "mean_bytes": mean, **dict(zip(CLASSES, classes, strict=True))}
    return {**of, "function": "MPI_Send", "section": "loop/1"}


FIRST = sends(400 * MS, 4, (100 + 4096 + 70_000 + (1 << 20)) // 4, 1, 1, 1, 1)
SECOND = sends(100 * MS, 1, 1 << 20, 0, 0, 0, 1)


def test_mpi_by_hand(archive: Path) -> None:
    """For the application, each column is computed separately; a thread without calls of MPI has no row."""
    found = tables(archive, "--metrics", "mpi")
    assert [row for row in found["section_mpi"] if row["section"] == "loop/1"] == [
        {"kind": "average", **sends(250 * MS, 2.5, 664_634.5, 0.5, 0.5, 0.5, 1), "processes": 2},
        {"kind": "maximum", **sends(400 * MS, 4, 1 << 20, 1, 1, 1, 1), "processes": 2},
        {"kind": "minimum", **sends(100 * MS, 1, 280_693, 0, 0, 0, 1), "processes": 2},
    ]
    for unit, labels in (("process", ("process 0", "process 1")), ("thread", ("process 0, thread 0", "process 1"))):
        rows = [row for row in found[f"section_mpi_by_{unit}"] if row["section"] == "loop/1"]
        assert rows == [{unit: labels[0], **FIRST}, {unit: labels[1], **SECOND}]
    assert {row["section"] for row in found["section_mpi"]} == {"all/0", "loop/1"}


def test_mpi_of_a_window(archive: Path) -> None:
    """Calls in the part of a section inside the window: for rank 0 the calls at 1.5 s and 1.7 s."""
    rows = tables(archive, "--metrics", "mpi", "--from", "1.35s", "--ranks", "0")["section_mpi_by_process"]
    expected = sends(200 * MS, 2, (70_000 + (1 << 20)) // 2, 0, 0, 1, 1)
    assert [row for row in rows if row["section"] == "loop/1"] == [{"process": "process 0", **expected}]


def test_text_and_csv(archive: Path) -> None:
    words = ("profile", "known", "--by", "section", "--metrics")
    done = vtrace(archive.parent, *words, "memory", "--csv")
    assert "neither the counters of malloc nor its calls were recorded" in done.stderr
    names = [line[2:] for line in done.stdout.splitlines() if line.startswith("# ")]
    assert names == [f"section_{of}" for of in (
        "memory", "memory_by_process", "memory_by_thread", "allocations", "allocations_by_process",
        "allocations_by_thread", "allocations_by_library", "arenas",
    )]  # fmt: skip
    text = vtrace(archive.parent, *words, "memory").stdout.splitlines()
    at = text.index("Arenas and searches, which glibc does not count")
    assert text[at + 2].split() == ["-"] * 13 + ["all/0"]
    shown = vtrace(archive.parent, *words, "mpi", "--top", "1").stdout
    assert "the first 3 of 6: --top shows more" in shown
    table = vtrace(archive.parent, *words, "mpi", "--csv").stdout.split("\n\n")[1]
    rows = list(csv.DictReader(io.StringIO(table.partition("\n")[2])))
    assert [(row["process"], row["calls"]) for row in rows if row["section"] == "all/0"] == [
        ("process 0", "4"), ("process 1", "1")
    ]  # fmt: skip


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The tables of the program sections_memory, recorded with the counters of malloc and its calls."""
    where = tmp_path_factory.mktemp("memory")
    vtrace(where, "compat", "--install", "tools")
    call([need("gcc"), "-pthread", "-Itools/include", PROGRAMS / "sections_memory.c", "-o", "blocks"], where)
    env = {"VT_METRICS_AT": "user", "VT_MEMTRACE_LIBRARIES": "yes"}
    vtrace(where, "run", "--counters", LEVELS, "--memory", "./blocks", env=env)
    unify(where, "blocks")
    return tables(where / "blocks.trace", "--metrics", "memory")


def test_memory_of_malloc(memory: dict[str, Any]) -> None:
    """The block of 1 MiB has a mapping of its own, with a page for its head; the small ones are in the arena."""
    rows = {row["section"]: row for row in memory["section_memory_by_process"]}
    for name, sign in (("grow/1", 1), ("shrink/1", -1)):
        row = rows[name]
        assert (row["mmapped"], row["mmapped_bytes"], row["arenas"]) == (sign, sign * ((1 << 20) + PAGE), 0)
        assert row["memory_bytes"] == row["arena_bytes"] + row["mmapped_bytes"]
        assert row["arena_bytes"] == row["in_use_bytes"] + row["free_bytes"]
    assert rows["spread/1"]["arenas"] == 1
    assert 50 * 1000 <= rows["grow/1"]["in_use_bytes"] <= 100 * 1024
    assert -50 * 1024 - 1024 <= rows["shrink/1"]["in_use_bytes"] <= -40 * 1000
    assert 0 < rows["grow/1"]["in_use_start"] < rows["grow/1"]["in_use_end"] == rows["shrink/1"]["in_use_start"] < 1
    assert {row["mmapped"] for row in memory["section_memory"] if row["section"] == "grow/1"} == {1}
    assert [row["mmapped"] for row in memory["section_memory_by_thread"] if row["section"] == "grow/1"] == [1]


def test_calls_of_malloc(memory: dict[str, Any]) -> None:
    for unit in ("process", "thread"):
        rows = memory[f"section_allocations_by_{unit}"]
        found = {(row["section"], row["function"]): row for row in rows if row["section"] in ("grow/1", "shrink/1")}
        sizes = {key: [row[f"{of}_bytes"] for of in ("least", "most", "mean")] for key, row in found.items()}
        assert {key: row["calls"] for key, row in found.items()} == {
            ("grow/1", "malloc"): 100, ("grow/1", "calloc"): 1, ("grow/1", "posix_memalign"): 1, ("grow/1", "free"): 50,
            ("shrink/1", "free"): 52,
        }  # fmt: skip
        assert sizes["grow/1", "malloc"] == [1000, 1000, 1000]
        assert sizes["grow/1", "calloc"] == [1 << 20] * 3
        assert sizes["grow/1", "posix_memalign"] == [640] * 3
        assert sizes["shrink/1", "free"] == [0, 0, 0]
        (refused,) = [row for row in rows if row["section"] == "refuse/1"]
        assert [refused[f"{of}_bytes"] for of in ("least", "most", "mean")] == [2**64 - 1] * 2 + [float(2**64)]
        assert all(0 <= row["least_ns"] <= row["mean_ns"] <= row["most_ns"] > 0 for row in found.values())
    averages = [row for row in memory["section_allocations"] if (row["kind"], row["section"]) == ("average", "grow/1")]
    found = [(row["function"], row["calls"]) for row in averages]
    assert found == [("malloc", 100), ("free", 50), ("calloc", 1), ("posix_memalign", 1)], "most calls first"


def test_calls_by_library(memory: dict[str, Any]) -> None:
    """The program calls; the loader calls for pthread_create, which needs memory of the thread. All together are the
    calls of the process."""
    found = memory["section_allocations_by_library"]
    calls = {(row["section"], row["function"]): row for row in found if row["library"] == "blocks"}
    assert {key: (row["calls"], row["most_bytes"]) for key, row in calls.items() if key[0] != "all/0"} == {
        ("grow/1", "malloc"): (100, 1000), ("grow/1", "calloc"): (1, 1 << 20), ("grow/1", "free"): (50, 0),
        ("grow/1", "posix_memalign"): (1, 640), ("shrink/1", "free"): (52, 0), ("refuse/1", "malloc"): (2, 2**64 - 1),
    }  # fmt: skip
    assert {row["library"] for row in found} > {"blocks"}
    sums: dict[tuple[str, str], int] = {}
    for row in found:
        key = row["section"], row["function"]
        sums[key] = sums.get(key, 0) + row["calls"]
    assert sums == {(r["section"], r["function"]): r["calls"] for r in memory["section_allocations_by_process"]}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--by", "rank", "--metrics", "mpi"), "--metrics mpi is about sections"),
        (("known", "--by", "section", "--metrics", "memory"), "--by section with several archives"),
        (("--by", "section", "--metrics", "mpi", "--select", "region=x"), "--by section cannot --select a region"),
    ],
)  # fmt: skip
def test_errors(archive: Path, words: tuple[str, ...], says: str) -> None:
    done = vtrace(archive.parent, "profile", "known", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
