# SPDX-License-Identifier: BSD-3-Clause
"""Counters with samples: values at the time of each sample, and increases in the functions that samples show."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

import otf2
import pytest

from support.build.builder import Builder
from support.build.mpis import find
from support.build.parallel import assert_same, unify_mpi
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.oracles.user_api import MANUAL
from support.readers.sample_dump import samples
from support.tools import Done, call, command

SAMPLED = {"VT_SAMPLE_RATE": "1000", "VT_SAMPLE_CLOCK": "perf", "VT_METRICS_SEP": "|"}
STEP = 10
"""Page faults from one sample to the next."""


class Reading(NamedTuple):
    """The values of one group of counters: at a call, or at the sample after them."""

    at_sample: bool
    values: dict[str, int]


def recorded(program: Path, where: Path, names: str, *words: str, **env: str) -> Done:
    env = SAMPLED | {"VT_METRICS": names, "VT_SAMPLE_EVENT": f"page-faults:{STEP}", "VT_BUFFER_SIZE": "16M"} | env
    return call([*command("vtrace"), "run", program, *words], where, env)


def readings(archive: Path) -> tuple[list[Reading], int]:
    """All readings in order, and the number of samples. Each reading has the time of the event after it."""
    found: list[Reading] = []
    waiting: list[Any] = []
    count = 0
    with otf2.reader.open(str(archive / "traces.otf2")) as trace:
        for _, event in trace.events:
            if isinstance(event, otf2.events.Metric):
                waiting.append(event)
                continue
            at_sample = isinstance(event, otf2.events.CallingContextSample)
            count += at_sample
            for read in waiting:
                assert read.time == event.time
                names = [member.name for member in read.metric.members]
                found.append(Reading(at_sample, dict(zip(names, map(int, read.values), strict=True))))
            waiting = []
    assert not waiting
    return found, count


def profile(where: Path, name: str, *words: str) -> dict[Any, dict[str, Any]]:
    rows = json.loads(vtrace(where, "profile", name, "--json", *words).stdout)["metrics"]
    return {json.dumps(row[next(iter(row))]): row for row in rows}


def replayed(program: Path, where: Path, *words: str, **env: str) -> tuple[list[Reading], int]:
    """The n-th reading has the value n * n."""
    lines = "".join(f"{n * n}\n" for n in range(10000))
    (where / "values.csv").write_text(f"cycles\n{lines}")
    recorded(program, where, "cycles", *words, VT_METRICS_REPLAY="values.csv", **env)
    unify(where, program.name)
    check(where / f"{program.name}.trace")
    found, count = readings(where / f"{program.name}.trace")
    assert [reading.values["cycles"] for reading in found] == [n * n for n in range(len(found))], "none is lost"
    return found, count


@pytest.fixture(scope="module")
def regions(build: Builder) -> Path:
    return build("counter_regions.c", flags=(*MANUAL, "-O1", "-pthread"))


def test_each_reading_is_the_next_one(regions: Path, tmp_path: Path) -> None:
    """Readings at calls and at samples share one sequence: none is later than one with a higher time. Only samples that
    interrupt vtrace while it reads counters have no values."""
    found, count = replayed(regions, tmp_path)
    at_samples = sum(reading.at_sample for reading in found)
    assert len(found) - at_samples == 12
    assert 450 // STEP <= at_samples <= count <= at_samples + 5
    rows = profile(tmp_path, "counter_regions", "--metrics", "cycles")
    assert sum(row["cycles"] for row in rows.values()) == (len(found) - 1) ** 2


@pytest.mark.parametrize(("places", "calls", "sampled"), [("user", 12, False), ("samples", 0, True), ("mpi", 0, False)])
def test_where_counters_are_read(regions: Path, tmp_path: Path, places: str, calls: int, sampled: bool) -> None:
    found, _ = replayed(regions, tmp_path, VT_METRICS_AT=places)
    assert sum(not reading.at_sample for reading in found) == calls
    assert any(reading.at_sample for reading in found) == sampled


@pytest.fixture(scope="module")
def software(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A run with the kernel's counters, unified, and the page faults of f and g by the program itself."""
    where = tmp_path_factory.mktemp("software")
    program = build("sampled_faults.c", flags=("-O1",), plain=True)
    done = recorded(program, where, "page-faults|task-clock|context-switches|ru_minflt|malloc-in-use", "4000")
    unify(where, "sampled_faults")
    check(where / "sampled_faults.trace")
    return where, [*map(int, done.stdout.split())]


def test_page_faults_of_sampled_functions(software: tuple[Path, list[int]]) -> None:
    """f and g have no recorded calls. The increase up to a function's first sample may be that of the code before."""
    where, exact = software
    rows = profile(where, "sampled_faults", "--metrics", "page-faults,ru_minflt")
    for name, faults in zip("fg", exact, strict=True):
        assert abs(rows[f'"{name}"']["page-faults"] - faults) <= 3 * STEP
        assert abs(rows[f'"{name}"']["ru_minflt"] - faults) <= 3 * STEP
    paths = profile(where, "sampled_faults", "--metrics", "page-faults", "--by", "callpath")
    assert '["main", "f"]' in paths
    assert paths['["main"]']["page-faults:inclusive"] >= paths['["main", "f"]']["page-faults"]


def test_values_of_one_moment(software: tuple[Path, list[int]]) -> None:
    """The counters rise from sample to sample, page faults by those of a sample and of its handler. A counter whose
    reading takes locks has no values in a signal handler."""
    where, _ = software
    found, count = readings(where / "sampled_faults.trace")
    assert len(found) == count
    assert all(reading.at_sample for reading in found)
    assert {*found[0].values} == {"page-faults", "task-clock", "context-switches", "ru_minflt"}
    for one, other in itertools.pairwise(found):
        assert STEP <= other.values["page-faults"] - one.values["page-faults"] <= 2 * STEP
        assert other.values["task-clock"] > one.values["task-clock"]
        assert other.values["context-switches"] >= one.values["context-switches"]


def test_seen_by_the_other_commands(software: tuple[Path, list[int]]) -> None:
    """dump has the values of each sample, and Trace.metric_values those of the archive."""
    where, _ = software
    found, _ = readings(where / "sampled_faults.trace")
    listed = json.loads(vtrace(where, "summary", "sampled_faults", "--only", "counters", "--json").stdout)["counters"]
    (row,) = [row for row in listed if row["counter"] == "page-faults"]
    assert row["total"] == found[-1].values["page-faults"] - found[0].values["page-faults"]


def test_local_files_and_vtunify_mpi(build: Builder, tmp_path: Path) -> None:
    """The samples of local files have the values, and vtunify-mpi writes the archive that vtunify writes."""
    program = build("sampled_faults.c", flags=("-O1",), plain=True)
    done = recorded(program, tmp_path, "page-faults|ru_minflt", "400")
    assert len(done.stdout.split()) == 2
    of_samples = [sample["counters"] for sample in samples(tmp_path, "sampled_faults")]
    unify(tmp_path, "-k", "-o", tmp_path / "one", "sampled_faults")
    found, _ = readings(tmp_path / "one.trace")
    assert of_samples == [reading.values for reading in found]
    assert len(of_samples) >= 400 // STEP
    unify_mpi(find("mpich-wheel", build), tmp_path, "-k", "-o", tmp_path / "all", "sampled_faults", ranks=2)
    assert_same(tmp_path / "one.trace", tmp_path / "all.trace")


def test_a_small_alternate_stack(build: Builder, tmp_path: Path) -> None:
    """The handler leaves such a stack: reading files of the kernel takes more of it. A suspended machine takes few
    samples in a short time."""
    program = build("sampled_altstack.c", flags=("-O1",), plain=True)
    words = ["run", "--no-unify", "--sample=1000", "--counters", "cpu,sched-run,page-faults", program, "4096", "400"]
    done = vtrace(tmp_path, *words)
    assert done.stdout == "done\n"
    assert any(sample["counters"] for sample in samples(tmp_path, "sampled_altstack"))
    unify(tmp_path, "sampled_altstack")
    assert check(tmp_path / "sampled_altstack.trace").events
