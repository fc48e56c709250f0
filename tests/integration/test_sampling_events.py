# SPDX-License-Identifier: BSD-3-Clause
"""Samples by the events of Linux (VT_SAMPLE_CLOCK=perf), against the kernel's own counts."""

from __future__ import annotations

import ctypes.util
import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import otf2
import pytest

from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.damage.failing_calls import inject, injected
from support.readers.sample_dump import items, samples, sums, weights
from support.tools import call, command, need

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
        ("page-fault:10", "unknown event, did you mean page-faults? (vtrace counters lists them)"),
        ("software/cnfig=2/:10", "unknown event (vtrace counters lists them)"),
        ("instrutcions:1000000", "unknown event, did you mean instructions? (vtrace counters lists them)"),
        ("r:10", "unknown event (vtrace counters lists them)"),
        ("page-faults", "give the number of events per sample, such as cycles:1000000"),
        ("cpu-clock:x", "expected a whole number of events after the colon"),
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
    """The program continues, its own file under the same number is not touched, and one line reports the loss."""
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
    """Page faults can be counted and sampled; a listed event is accepted, or refused with the reason in the list."""
    done = call([*command("vtrace"), "counters", "--json"], tmp_path)
    rows = json.loads(done.stdout)
    there = {row["name"]: row["unsampled"] for row in rows if not row["missing"]}
    assert {"task-clock", "page-faults", "cpu-migrations"} <= {name for name, reason in there.items() if not reason}
    assert {row["counted_by"] for row in rows} == {"kernel", "processor"}
    assert all(row["unsampled"] for row in rows if row["missing"])
    for name, reason in there.items():
        env = {"VT_SAMPLE_EVENT": f"{name}:1000000"} | PERF
        said = call([*command("vtrace"), "run", "true"], tmp_path, env).stderr
        if reason:
            begin, end = f"vtrace: VT_SAMPLE_EVENT={name}:1000000: ", "; cpu is used as VT_SAMPLE_CLOCK"
            line = said.splitlines()[0]
            if reason == "it is not an event of Linux":
                assert line.startswith(f"{begin}unknown event")
            else:
                assert line == f"{begin}{reason}{end}"
        else:
            assert "VT_SAMPLE_EVENT" not in said


DEVICES = Path("/sys/bus/event_source/devices")


def test_vtrace_counters_lists_the_kernels_pmus(tmp_path: Path) -> None:
    """Each event of sysfs that needs no terms of the user is listed, with its terms."""
    files = [
        path for path in DEVICES.glob("*/events/*") if path.suffix not in (".scale", ".unit", ".snapshot", ".per-pkg")
    ]
    wanted = {f"{path.parts[-3]}/{path.name}/": text for path in files if "?" not in (text := path.read_text().strip())}
    if not wanted:
        pytest.skip(f"no events in {DEVICES}")
    rows = {row["name"]: row for row in json.loads(call([*command("vtrace"), "counters", "--json"], tmp_path).stdout)}
    assert {name for name in rows if name.endswith("/")} == {*wanted}
    assert all(rows[name]["description"].endswith(text) for name, text in wanted.items())
    listed = call([*command("vtrace"), "counters"], tmp_path).stdout
    assert all(name in listed for name in wanted)


def same_as_page_faults(build: Builder, where: Path, event: str) -> None:
    """Samples by an event that counts page faults; the archive has the event's name."""
    done = sampled(build, where, "4000", VT_SAMPLE_EVENT=f"{event}:10", VT_BUFFER_SIZE="4M")
    assert "VT_SAMPLE_EVENT" not in done.stderr
    found = weights(samples(where, "sampled_faults"))
    for name, exact in zip("fg", map(int, done.stdout.split()), strict=True):
        assert abs(found[name] - exact) <= 20 + 0.02 * exact, name  # the handler's own faults are not counted
    unify(where, "sampled_faults")
    with otf2.reader.open(str(where / "sampled_faults.trace/traces.otf2")) as trace:
        (generator,) = trace.definitions.interrupt_generators
        assert (generator.name, generator.period) == (event, 10)


@needs_events
@pytest.mark.skipif(not (DEVICES / "software/type").exists(), reason=f"no PMUs in {DEVICES}")
def test_an_event_of_a_pmu(build: Builder, tmp_path: Path) -> None:
    """The PMU of the kernel's software events has no names of its own; config 2 is page-faults."""
    same_as_page_faults(build, tmp_path, "software/config=0x2/")


@needs_events
@pytest.mark.skipif(not ctypes.util.find_library("pfm"), reason="libpfm4 is not installed")
def test_an_event_of_libpfm4(build: Builder, tmp_path: Path) -> None:
    """The library's own allocations and files give no records."""
    same_as_page_faults(build, tmp_path, "perf::PAGE-FAULTS")
    program = build("sampled_faults.c", flags=("-O1",), plain=True)
    words = [*command("vtrace"), "run", "--io", "--memory", program, "10"]
    kinds = []
    for prefix, event in ("without", "page-faults:1000000"), ("with", "perf::PAGE-FAULTS:1000000"):
        call(words, tmp_path, PERF | {"VT_FILE_PREFIX": prefix, "VT_SAMPLE_EVENT": event})
        kinds.append([item["kind"] for item in items(tmp_path, prefix) if item["type"] == "record"])
    assert kinds[0] == kinds[1]
    assert "ENTER_ALLOC" in kinds[0]


def test_without_libpfm4(build: Builder, tmp_path: Path) -> None:
    """Names of libpfm4 are unknown then; the kernel's names work. The loader finds a file that is not a library."""
    where = tmp_path / "run"
    where.mkdir()
    program = build("sampled_faults.c", flags=("-O1",), plain=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "libpfm.so.4").write_text("no library\n")
    env = PERF | {"VT_SAMPLE_EVENT": "perf::PAGE-FAULTS:10", "LD_LIBRARY_PATH": str(tmp_path / "empty")}
    done = call([*command("vtrace"), "run", program, "10"], where, env)
    line = "vtrace: VT_SAMPLE_EVENT=perf::PAGE-FAULTS:10: unknown event (vtrace counters lists them); cpu is used"
    assert done.stderr.startswith(line)
    done = call([*command("vtrace"), "run", program, "10"], where, env | {"VT_SAMPLE_EVENT": "page-faults:10"})
    assert "VT_SAMPLE_EVENT" not in done.stderr


def test_the_kernel_forbids_events(build: Builder, tmp_path: Path) -> None:
    """The CPU clock takes the place of the event; vtrace counters names the remedy."""
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


@pytest.mark.parametrize("error", ["EPERM", "ENOENT", "EINVAL", "ENOSYS", "ENODEV", "EOPNOTSUPP", "EMFILE", "EBUSY"])
def test_the_kernel_refuses_the_event(build: Builder, tmp_path: Path, error: str) -> None:
    """For any error one line says that the CPU clock takes the place of the event."""
    program = build("sampled_blocks.c", flags=("-O1",), plain=True)
    words = [*inject(f"perf_event_open:error={error}", tmp_path / "log"), *command("vtrace"), "run", program, "exec"]
    done = call(words, tmp_path, PERF)
    assert done.stdout == "alive\n"
    first, *others = done.stderr.splitlines()
    assert re.fullmatch("vtrace: VT_SAMPLE_EVENT=task-clock: .+; cpu is used as VT_SAMPLE_CLOCK", first)
    assert not any(("VT_SAMPLE_CLOCK" in line and line != first) or "not sampled" in line for line in others)
    assert injected(tmp_path / "log")


@pytest.mark.parametrize("event", ["cycles:100", "instructions:9999", "rc0:1"])
def test_few_events_of_the_processor(build: Builder, tmp_path: Path, event: str) -> None:
    """Smaller periods become 10000, so that the program makes progress. Here the event's descriptor is that of a
    file."""
    where, name = tmp_path / "run", event.partition(":")[0]
    where.mkdir()
    program = build("sampled_faults.c", flags=("-O1",), plain=True)
    words = [*inject("perf_event_open:retval=0", tmp_path / "log"), *command("vtrace"), "run", program, "100"]
    done = call(words, where, PERF | {"VT_SAMPLE_EVENT": event})
    line = f"vtrace: VT_SAMPLE_EVENT={event}: a sample is taken after 10000 events, the minimum for this event"
    assert done.stderr.splitlines()[0] == line
    (found,) = items(where, "sampled_faults", "--only", "SAMPLING")
    assert (found["fields"]["period"], found["fields"]["event"]) == (10000, name)


@needs_events
def test_the_event_starts_at_the_end_of_the_handler(build: Builder, tmp_path: Path) -> None:
    """Nothing that the handler does can be an event: the program makes progress between two samples."""
    program, log = build("sampled_faults.c", flags=("-O1",), plain=True), tmp_path / "log"
    strace = [need("strace"), "-f", "-o", log, "-e", "trace=ioctl,rt_sigreturn,rt_sigprocmask,rt_sigpending"]
    call([*strace, *command("vtrace"), "run", program, "2000"], tmp_path, PERF | {"VT_SAMPLE_EVENT": "page-faults:50"})
    calls: dict[str, list[str]] = {}
    for line in log.read_text(errors="replace").splitlines():
        thread, what = line.split(maxsplit=1)
        if not what.startswith(("<...", "---", "+++")):
            calls.setdefault(thread, []).append(what.partition("(")[0] + " PERIOD" * ("IOC_PERIOD" in what))
    after = [of[i + 2] for of in calls.values() for i, what in enumerate(of) if what == "ioctl PERIOD"]
    assert len(after) > 20
    assert set(after) == {"rt_sigreturn"}


def blocks(build: Builder, where: Path, mode: str, *before: str | Path, **env: str) -> Any:
    program = build("sampled_blocks.c", flags=("-O1",), plain=True)
    alone = call([program, mode], where)
    env = PERF | {"VT_SAMPLE_EVENT": "page-faults:1", "VT_BUFFER_SIZE": "16M"} | env
    done = call([*before, *command("vtrace"), "run", program, mode], where, env)
    assert sorted(done.stdout.splitlines()) == sorted(alone.stdout.splitlines())
    return done


def inside(where: Path, function: str) -> int:
    return weights(samples(where, "sampled_blocks"))[function]  # needs no table, which may not exist yet


@needs_events
@pytest.mark.parametrize("mode", ["exec", "fork", "spawn"])
def test_exec_with_blocked_signals(build: Builder, tmp_path: Path, mode: str) -> None:
    """The signal of the event waits when the program calls exec: the new program lives on when it unblocks it."""
    for event in ("page-faults:1", "task-clock:100000"):
        where = tmp_path / event.partition(":")[0]
        where.mkdir()
        blocks(build, where, mode, VT_SAMPLE_EVENT=event)


@needs_events
@pytest.mark.parametrize("step", [1, 10])
def test_a_program_waits_for_all_signals(build: Builder, tmp_path: Path, step: int) -> None:
    """The program gets only its own signals, in four ways; later each event is a sample."""
    blocks(build, tmp_path, "waits", VT_SAMPLE_EVENT=f"page-faults:{step}")
    assert 1000 - step <= inside(tmp_path, "after") <= 1010 + 2 * step


@needs_events
def test_a_signalfd_for_the_signal(build: Builder, tmp_path: Path) -> None:
    """The program takes the signal with signalfd: sampling stops, and the program reads its own signals only."""
    done = blocks(build, tmp_path, "file")
    assert "vtrace: the program uses signal 62 for itself: sampling stops" in done.stderr
    assert inside(tmp_path, "blocked") <= 1000


@pytest.mark.parametrize("clock", ["cpu", "wall"])
def test_a_signalfd_for_all_signals(build: Builder, tmp_path: Path, clock: str) -> None:
    """The timers of the other clocks also do not reach the program."""
    blocks(build, tmp_path, "waits", VT_SAMPLE_CLOCK=clock, VT_SAMPLE_RATE="10000", VT_SAMPLE_EVENT="")


@needs_events
@pytest.mark.parametrize("limited", [False, True], ids=["by itself", "from the start"])
def test_no_signal_may_wait(build: Builder, tmp_path: Path, limited: bool) -> None:
    """SIGIO, which the kernel sends then, neither ends the program nor reaches its handler, and is a sample."""
    before = [need("bash"), "-c", 'ulimit -i 0; exec "$@"', "-"] if limited else []
    blocks(build, tmp_path, "queue", *before)
    assert 990 <= inside(tmp_path, "with_handler") <= 1010
    assert inside(tmp_path, "by_default") >= 990


@needs_events
@pytest.mark.parametrize("event", ["task-clock:100000", "page-faults:1"])
def test_a_program_with_sigio(build: Builder, tmp_path: Path, event: str) -> None:
    """The program's handler, which blocks all signals, gets each SIGIO of its own file."""
    program = build("sampled_io.c", flags=("-O1", "-pthread"), plain=True)
    assert call([*command("vtrace"), "run", program], tmp_path, PERF | {"VT_SAMPLE_EVENT": event}).stdout == "1000\n"


@needs_events
def test_sigio_of_others(build: Builder, tmp_path: Path) -> None:
    """A SIGIO that another process or the program itself sends ends the program, as without vtrace."""
    program = build("sampled_blocks.c", flags=("-O1",), plain=True)
    words = shlex.join(map(str, [*command("vtrace"), "run", program, "dies"]))
    done = call([need("bash"), "-c", f"{words}; echo $?"], tmp_path, PERF)
    assert done.stdout.split()[-1] == str(128 + 29)


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
    said = sampled(build, tmp_path, "10", VT_SAMPLE_EVENT="x" * 256, VT_FILE_PREFIX="long").stderr
    assert said.splitlines()[0] == "vtrace: VT_SAMPLE_EVENT has more than 255 bytes: the setting is ignored"
