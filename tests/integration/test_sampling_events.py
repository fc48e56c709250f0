# SPDX-License-Identifier: BSD-3-Clause
"""Samples by the events of Linux (VT_SAMPLE_CLOCK=perf), against the kernel's own counts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import otf2
import pytest

from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.damage.failing_calls import inject, injected
from support.readers.sample_dump import samples, sums, weights
from support.tools import call, command

PERF = {"VT_SAMPLE_RATE": "100", "VT_SAMPLE_CLOCK": "perf"}


def sampled(build: Builder, where: Path, *words: str, **env: str) -> Any:
    program = build("sampled_faults.c", flags=("-O1",), plain=True)
    return call([*command("vtrace"), "run", program, *words], where, PERF | env)


def is_allowed() -> bool:
    try:
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) <= 2
    except OSError:
        return False


needs_events = pytest.mark.skipif(not is_allowed(), reason="the kernel does not allow perf_event_open")


@needs_events
@pytest.mark.parametrize("step", [1, 10])
def test_page_faults(build: Builder, tmp_path: Path, step: int) -> None:
    """Each step-th page fault of f and g is a sample of f or g; the kernel and the program count the same faults."""
    done = sampled(build, tmp_path, "4000", VT_SAMPLE_EVENT=f"page-faults:{step}", VT_BUFFER_SIZE="4M")
    of_f, of_g = map(int, done.stdout.split())
    found = weights(samples(tmp_path, "sampled_faults"))
    for name, exact in (("f", of_f), ("g", of_g)):  # a fault of the handler itself is not counted
        assert abs(found[name] - exact) <= max(2 * step, 0.01 * exact), name
    unify(tmp_path, "sampled_faults")
    rows = {
        r["function"]: r for r in json.loads(vtrace(tmp_path, "profile", "sampled_faults", "--json").stdout)["profile"]
    }
    share = rows["f"]["exclusive_ns"] / (rows["f"]["exclusive_ns"] + rows["g"]["exclusive_ns"])
    assert share == pytest.approx(found["f"] / (found["f"] + found["g"]), abs=1e-6)


@needs_events
def test_the_archive_names_the_event(build: Builder, tmp_path: Path) -> None:
    """OTF2's interrupt generator counts page faults, and the profile says that its times are estimates."""
    sampled(build, tmp_path, "2000", VT_SAMPLE_EVENT="page-faults:50")
    unify(tmp_path, "sampled_faults")
    with otf2.reader.open(str(tmp_path / "sampled_faults.trace/traces.otf2")) as trace:
        (generator,) = trace.definitions.interrupt_generators
        assert (generator.name, generator.period, generator.exponent) == ("page-faults", 50, 0)
        assert generator.interrupt_generator_mode == otf2.InterruptGeneratorMode.COUNT
    said = vtrace(tmp_path, "profile", "sampled_faults").stderr
    assert "samples of page-faults come by count: times are estimated" in said


@needs_events
def test_cpu_time_by_an_event(build: Builder, tmp_path: Path) -> None:
    """task-clock, the default, has the shares and sums of the CPU clock, also above the kernel's ticks."""
    program = build("sampled.c", flags=("-O1", "-pthread"), plain=True)
    words = [*command("vtrace"), "run", "--sample=2000", "--sample-clock=perf", program, "600", "2"]
    done = call(words, tmp_path)
    found = [s for s in samples(tmp_path, "sampled") if "odd" in s["stack"]]
    cpu, of_f = map(int, done.stdout.splitlines()[1].split())  # main has the CPU time of vtrace run, too
    weight, total = weights(found), sum(s["weight"] for s in found)
    effective = total**2 / sum(s["weight"] ** 2 for s in found)
    share = of_f / cpu
    assert effective > 100  # 200 ms and more
    assert abs(weight["f"] / (weight["f"] + weight["g"]) - share) < 5 * math.sqrt(share * (1 - share) / effective)
    assert abs(total - cpu) < 0.1 * cpu


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("page-fault:10", "unknown event (vtrace counters lists them)"),
        ("r:10", "unknown event (vtrace counters lists them)"),
        ("page-faults", "say after how many events a sample is taken, as in cycles:1000000"),
        ("task-clock:10", "this event counts ns: give at least 100000"),
    ],
)
def test_wrong_events(build: Builder, tmp_path: Path, event: str, said: str) -> None:
    """One line, and the CPU clock samples the program."""
    done = sampled(build, tmp_path, "100", VT_SAMPLE_EVENT=event)
    line = f"vtrace: VT_SAMPLE_EVENT={event}: {said}; cpu is used as VT_SAMPLE_CLOCK"
    assert done.stderr.splitlines()[0] == line


@needs_events
def test_a_program_closes_the_descriptor(build: Builder, tmp_path: Path) -> None:
    """The program runs on, a file of its own under the same number is not touched, and one line tells."""
    done = sampled(build, tmp_path, "1000", "close", VT_SAMPLE_EVENT="page-faults:1", VT_BUFFER_SIZE="4M")
    assert "the program has closed a descriptor of vtrace: the samples of a thread end there" in done.stderr
    assert done.returncode == 0
    assert all(s["weight"] for s in sums(tmp_path, "sampled_faults").values())


@needs_events
def test_a_forked_child(build: Builder, tmp_path: Path) -> None:
    """A child has events of its own, and its samples are its CPU time."""
    program = build("sampled_forks.c", plain=True)
    call([*command("vtrace"), "run", "--sample=1000", "--sample-clock=perf", program], tmp_path)
    found = [item for item in samples(tmp_path, "sampled_forks") if "in_child" in item["stack"]]
    assert len({item["pid"] for item in found}) == 1
    assert 0.3e9 < sum(item["weight"] for item in found) < 1e9


@needs_events
def test_vtrace_counters_lists_the_events(tmp_path: Path) -> None:
    """Page faults can be counted; a sample by each listed event of the kernel is accepted."""
    rows = json.loads(call([*command("vtrace"), "counters", "--json"], tmp_path).stdout)
    there = {row["name"] for row in rows if not row["missing"]}
    assert {"task-clock", "page-faults", "cpu-migrations"} <= there
    assert {row["counted_by"] for row in rows} == {"kernel", "processor"}
    for name in there:
        env = {"VT_SAMPLE_EVENT": f"{name}:1000000"} | PERF
        assert "VT_SAMPLE_EVENT" not in call([*command("vtrace"), "run", "true"], tmp_path, env).stderr


def test_the_kernel_forbids_events(build: Builder, tmp_path: Path) -> None:
    """The CPU clock takes the place of the event; vtrace counters says what to do."""
    program, where = build("sampled.c", flags=("-O1", "-pthread"), plain=True), tmp_path / "run"
    where.mkdir()
    forbidden = inject("perf_event_open:error=EACCES", tmp_path / "log")
    done = call([*forbidden, *command("vtrace"), "run", program, "300", "1"], where, PERF)
    line = "vtrace: VT_SAMPLE_EVENT=task-clock: the kernel does not allow the event; cpu is used as VT_SAMPLE_CLOCK"
    assert done.stderr.splitlines()[0] == line
    assert injected(tmp_path / "log")
    assert weights(samples(where, "sampled"))["f"]
    done = call([*forbidden, *command("vtrace"), "counters"], where)
    assert "yes" not in done.stdout
    assert "next: sudo sysctl kernel.perf_event_paranoid=1" in done.stderr


@needs_events
def test_programs_that_call_exec(tmp_path: Path) -> None:
    """A signal that waits while exec resets its action would end the new program: exec itself has page faults."""
    script = (
        "for i in 1 2 3; do sh -c 'exec sh -c \"exec echo $0\"' $i; done; (exec /nonexistent) 2>/dev/null || echo no"
    )
    words = [*command("vtrace"), "run", "bash", "-c", f"{script}; exec bash -c 'exec echo end'"]
    done = call(words, tmp_path, PERF | {"VT_SAMPLE_EVENT": "page-faults:1", "VT_FILE_PREFIX": "chain"})
    assert done.stdout.split() == ["1", "2", "3", "no", "end"]
    assert "descriptor" not in done.stderr


def test_settings_without_effect(build: Builder, tmp_path: Path) -> None:
    """An event without the clock perf, and a name that is too long, are one line each."""
    said = sampled(build, tmp_path, "10", VT_SAMPLE_EVENT="page-faults:10", VT_SAMPLE_CLOCK="cpu").stderr
    assert said.splitlines()[0] == "vtrace: VT_SAMPLE_EVENT has no effect without VT_SAMPLE_CLOCK=perf"
    said = sampled(build, tmp_path, "10", VT_SAMPLE_EVENT="x" * 64, VT_FILE_PREFIX="long").stderr
    assert said.splitlines()[0] == "vtrace: VT_SAMPLE_EVENT has more than 63 bytes: it is ignored"
