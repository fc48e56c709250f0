# SPDX-License-Identifier: BSD-3-Clause
"""Sampling: shares of CPU time, and call stacks, of programs that were built without vtrace."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import otf2
import pytest

from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.readers.sample_dump import Item, items, samples, sums, weights
from support.tools import call, command, need

TICK = 4_000_000
"""ns; no kernel has a longer tick by default (HZ 250), and HZ 100 has 10 ms."""
SAMPLE = "CallingContextSample"
BUILDS = [
    ("clang", ("-O2",)), ("gcc", ("-O2", "-s", "-rdynamic")), ("gcc", ("-O2", "-flto", "-fomit-frame-pointer")),
    *(pytest.param("gcc", (level,), marks=pytest.mark.full) for level in ("-O0", "-O2")),
]  # fmt: skip


def sampled(program: Path, where: Path, *arguments: str, **env: str) -> str:
    """Runs a program under vtrace run --sample; returns what vtrace prints."""
    words = [*command("vtrace"), "run", *(() if "VT_SAMPLE_RATE" in env else ("--sample=200",)), program, *arguments]
    return call(words, where, env).stderr


def effective_samples(found: list[Item]) -> float:
    """The number of samples of equal weight that would say as much. The number is small if the machine was suspended:
    the CPU time of a thread continues then, and one sample has the weight of many."""
    return sum(s["weight"] for s in found) ** 2 / sum(s["weight"] ** 2 for s in found)


@pytest.mark.parametrize(("compiler", "flags"), BUILDS, ids=lambda value: "".join(value).replace("-", ""))
def test_shares(build: Builder, tmp_path: Path, compiler: str, flags: tuple[str, ...]) -> None:
    """The share of f in each thread is within 5 standard errors, and the weights are the threads' CPU times."""
    program = build("sampled.c", compiler=compiler, flags=(*flags, "-pthread"), plain=True)
    outermost = ("main", "odd", "even")
    for attempt in range(12):
        place = tmp_path / str(attempt)
        place.mkdir()
        done = call([*command("vtrace"), "run", "--sample=200", program, "2000", "3"], place)
        all_samples = samples(place, "sampled")
        numbers = {name: s["location"] for s in all_samples for name in outermost if name in s["stack"]}
        of_threads = [[s for s in all_samples if s["location"] == numbers[name]] for name in outermost]
        times = [int(line.split()[0]) for line in done.stdout.splitlines()]
        # A machine suspended as a thread ends omits one sample, of much time.
        missing = [cpu - sum(weights(found).values()) for cpu, found in zip(times, of_threads, strict=True)]
        if min(map(effective_samples, of_threads)) > 20 and max(missing) < 10 * TICK:
            break
    for number, line in enumerate(done.stdout.splitlines()):
        cpu, of_f = map(int, line.split())
        found = of_threads[number]
        weight, effective = weights(found), effective_samples(found)
        share, total = of_f / cpu, weight["f"] + weight["g"]
        assert effective > 20
        assert abs(share - (0.25 if number % 2 else 0.75)) < 0.2
        assert abs(weight["f"] / total - share) < 5 * math.sqrt(share * (1 - share) / effective)
        assert abs(sum(weight.values()) - cpu) < 0.05 * cpu + 10 * TICK
        complete = [s["stack"] for s in found if s["end"] == "COMPLETE"]
        assert len(complete) > 0.8 * len(found)
        # the others: start and end of the program
        assert sum(outermost[number] in stack for stack in complete) > 0.9 * len(complete)


def own_functions(sample: Item, program: str) -> list[str]:
    """The functions of the program itself in a stack, outermost first, without those that have no events."""
    names = [n for n, at in zip(sample["stack"], sample["at"], strict=True) if at.startswith(f"{program}+")]
    hooks = ("__cyg_profile_func_enter", "__cyg_profile_func_exit", "first_ask_enter", "first_ask_leave")
    hooks += ("__fentry__", "__return__")
    return [name for name in reversed(names) if name not in ("spin", "_start", *hooks)]


@pytest.mark.parametrize(("compiler", "flags"), [("gcc", "-O2"), ("clang", "-O1")])
def test_stacks_are_the_open_functions(build: Builder, tmp_path: Path, compiler: str, flags: str) -> None:
    """At 10 kHz of elapsed time each stack is the list of functions that are open at that time by their events. They
    may differ by one function just before its enter or after its leave."""
    compare_stacks(build("nested_calls.c", compiler=compiler, flags=(flags,)), tmp_path, 400)


@pytest.mark.full
@pytest.mark.parametrize(
    ("compiler", "flags"),
    [("gcc", ("-O1",)), ("gcc", ("-O2",)), ("gcc", ("-O3",)), ("gcc", ("-O2", "-flto")),
     ("clang", ("-O0",)), ("clang", ("-O2",)), ("clang", ("-O3",))],
)  # fmt: skip
def test_many_stacks(build: Builder, tmp_path: Path, compiler: str, flags: tuple[str, ...]) -> None:
    """As above, for 10^5 stacks altogether."""
    assert compare_stacks(build("nested_calls.c", compiler=compiler, flags=flags), tmp_path, 4000) > 12_500


def compare_stacks(program: Path, tmp_path: Path, rounds: int) -> int:
    """Returns the number of equal stacks."""
    settings = {"VT_SAMPLE_RATE": "10000", "VT_SAMPLE_CLOCK": "wall", "VT_BUFFER_SIZE": "64M"}
    run(program, tmp_path, str(rounds), env=settings)
    found = items(tmp_path, "nested_calls")
    open_at: list[str] = []
    events = iter([i for i in found if i["type"] == "record" and i["kind"].startswith("FUNCTION")])
    event = next(events, None)
    met: Counter[str] = Counter()
    for sample in (i for i in found if i["type"] == "sample"):
        while event and event["ticks"] <= sample["ticks"]:
            if event["kind"] == "FUNCTION_ENTER":
                open_at.append(event["name"])
            else:
                assert open_at.pop() == event["name"]
            event = next(events, None)
        if sample["end"] != "COMPLETE":
            met[sample["end"]] += 1
            continue
        stack = own_functions(sample, "nested_calls")
        if stack == open_at:
            met["equal"] += 1
        elif stack[:-1] == open_at or stack == open_at[:-1]:
            met["at the border"] += 1
        else:
            raise AssertionError(f"stack {stack}, open {open_at}")
    assert met["equal"] > 200
    assert met["at the border"] < 0.1 * met["equal"]
    assert met["NO_RULE"] + met["STACK"] < 0.02 * met["equal"]
    assert met["DEPTH"] == 0
    return met["equal"]


def test_waiting_counts_by_elapsed_time_only(build: Builder, tmp_path: Path) -> None:
    for clock, least, most in (("cpu", 0.0, 0.3), ("wall", 0.9, 10.0)):
        where = tmp_path / clock
        where.mkdir()
        sampled(Path(need("sleep")), where, "1", VT_SAMPLE_RATE="100", VT_SAMPLE_CLOCK=clock)
        total = sum(of["weight"] for of in sums(where, "sleep").values()) / 1e9
        assert least <= total <= most, clock


def test_a_child_that_only_calculates(build: Builder, tmp_path: Path) -> None:
    """A forked child without events is sampled; a child that soon calls exec leaves no files of its own."""
    program = build("sampled_forks.c", plain=True)
    sampled(program, tmp_path)
    found = [item for item in samples(tmp_path, "sampled_forks") if "in_child" in item["stack"]]
    assert len({item["pid"] for item in found}) == 1
    assert sum(item["weight"] for item in found) > 0.3e9
    assert all(item["rank"] is None for item in found)


def test_threads_that_fork_at_once(build: Builder, tmp_path: Path) -> None:
    """No child keeps the lock of the tables: later forks would wait a second each, and dlclose forever."""
    program = build("sampled_fork_threads.c", flags=("-O1", "-pthread"), plain=True)
    assert call([*command("vtrace"), "run", "--sample", program], tmp_path).stdout == "done\n"


def test_killed(build: Builder, tmp_path: Path) -> None:
    """The samples of a killed program are in its buffer, and get into the archive."""
    program = build("sampled_dies.c", plain=True)
    words = [*command("vtrace"), "run", "--sample=200", program]
    done = call(words, tmp_path, check=False)
    assert done.returncode == -9
    assert len(list(tmp_path.glob("*.buffer"))) == 1
    found = samples(tmp_path, "sampled_dies")
    assert weights(found)["busy"] > 0.3e9
    unify(tmp_path, "sampled_dies")
    rows = json.loads(vtrace(tmp_path, "profile", "sampled_dies", "--json").stdout)["profile"]
    times = {row["function"]: row["exclusive_ns"] for row in rows}
    assert times["busy"] == weights(found)["busy"]


def test_a_program_takes_the_signal(build: Builder, tmp_path: Path) -> None:
    """Sampling stops with a message, and the program's handler gets only its own signals."""
    program = build("sampled_takes.c", plain=True)
    done = call([*command("vtrace"), "run", "--sample=200", program], tmp_path)
    assert done.stdout == "3\n"
    assert re.search(r"^vtrace: the program uses signal \d+ for itself: sampling stops$", done.stderr, re.M)
    assert samples(tmp_path, "sampled_takes")


def test_a_thread_that_waits_for_all_signals(build: Builder, tmp_path: Path) -> None:
    """The program does not get the signals of the timer."""
    program = build("sampled_waits.c", flags=("-O1", "-pthread"), plain=True)
    assert call([program], tmp_path).stdout == "1\n" * 4
    words = [*command("vtrace"), "run", "--sample=1000", program]
    assert call(words, tmp_path, {"VT_SAMPLE_CLOCK": "wall"}).stdout == "1\n" * 4


def test_samples_in_the_archive(build: Builder, tmp_path: Path) -> None:
    """The archive has each sample of the local files with its stack and its weight, for any number of threads; without
    samples it has Enter and Leave."""
    program = build("sampled.c", flags=("-O1", "-g", "-pthread"), plain=True)
    call([*command("vtrace"), "run", "--sample=200", program, "1000", "2"], tmp_path)
    recorded = samples(tmp_path, "sampled")
    unify(tmp_path, "-k", "sampled", "-j", "1")
    one = tmp_path / "u_sampled.trace"
    with otf2.reader.open(str(one / "traces.otf2")) as trace:
        events = [(location, event) for location, event in trace.events if type(event).__name__ == SAMPLE]
    weight = Counter[str]()
    for _, event in events:
        weight[path_of(event.calling_context)[-1]] += event.interrupt_generator.period
    assert len(events) == len(recorded)
    assert sum(weight.values()) == sum(sample["weight"] for sample in recorded)
    expected = weights(recorded)
    assert {name: weight[name] for name in ("f", "g")} == {name: expected[name] for name in ("f", "g")}
    printed = call([need("otf2-print"), one / "traces.otf2"], tmp_path).stdout
    assert printed.count("CALLING_CONTEXT_SAMPLE ") == len(events)
    assert "\nENTER " not in printed
    rows = json.loads(vtrace(tmp_path, "profile", one, "--json").stdout)["profile"]
    assert {row["function"]: row["exclusive_ns"] for row in rows if row["function"] in ("f", "g")} == {
        name: expected[name] for name in ("f", "g")
    }
    deep = [event.calling_context for _, event in events if path_of(event.calling_context)[-1] == "f"]
    cut = {tuple(reversed(sample["stack"])) for sample in recorded if sample["end"] != "COMPLETE"}  # before the tables
    assert {tuple(path_of(context)) for context in deep} <= {("main", "even", "work", "f"), ("odd", "work", "f"), *cut}
    assert all(context.source_code_location.file.endswith("sampled.c") for context in deep)
    assert "complete" in vtrace(tmp_path, "info", one).stdout
    kept = contents(one)
    unify(tmp_path, "-k", "--force", "sampled", "-j", "2")
    assert contents(one) == kept
    unify(tmp_path, "-k", "--force", "sampled", "--samples=none")
    with otf2.reader.open(str(one / "traces.otf2")) as trace:
        assert {type(event).__name__ for _, event in trace.events}.isdisjoint({SAMPLE, "CallingContextEnter"})


def test_samples_in_the_sidecar(build: Builder, tmp_path: Path) -> None:
    """--samples=sidecar: the archive has the events of --samples=none, and inside it is the archive of
    --samples=archive, which vtrace reads. Without that part, or with another run's, a line says so."""
    sampled(build("sampled.c", flags=("-O1", "-g", "-pthread"), plain=True), tmp_path, "1000", "2")
    for name in ("archive", "none", "sidecar"):
        unify(tmp_path, "-k", f"--samples={name}", "-o", name, "sampled")
    apart = tmp_path / "sidecar.trace" / "vtrace" / "samples"
    assert events(apart) == events(tmp_path / "archive.trace")
    assert events(tmp_path / "sidecar.trace") == events(tmp_path / "none.trace")
    assert not any(SAMPLE in event for event in events(tmp_path / "none.trace"))
    shown = {name: profile_of(tmp_path, name) for name in ("archive", "none", "sidecar")}
    assert shown["sidecar"] == shown["archive"]
    assert any(row["samples"] for row in shown["sidecar"]["profile"])
    report = json.loads(vtrace(tmp_path, "summary", "sidecar", "--json").stdout)
    assert report["archive"] == "sidecar.trace/traces.otf2"
    assert report["samples"]
    found = contents(tmp_path / "sidecar.trace")
    unify(tmp_path, "-k", "--force", "--samples=sidecar", "-o", "sidecar", "-j", "2", "sampled")
    assert contents(tmp_path / "sidecar.trace") == found
    shutil.rmtree(apart)
    for inside, said in ((None, "is missing"), ("archive.trace", "belongs to another archive")):
        if inside:
            shutil.copytree(tmp_path / inside, apart)
        done = vtrace(tmp_path, "profile", "sidecar", "--by", "callpath", "--json")
        assert json.loads(done.stdout)["profile"] == shown["none"]["profile"]
        line = f"vtrace: warning: the samples of the run are left out: {apart.relative_to(tmp_path)} {said}"
        assert line in done.stderr
    (apart / "traces.def").write_bytes(b"\0" * 100)
    assert profile_of(tmp_path, "sidecar")["profile"] == shown["none"]["profile"]


def profile_of(where: Path, name: str) -> dict[str, Any]:
    found = json.loads(vtrace(where, "profile", name, "--by", "callpath", "--json").stdout)
    return {key: value for key, value in found.items() if key != "archive"}


def events(archive: Path) -> list[str]:
    """The events of an archive, with their locations, names of regions and call paths."""
    found = []
    with otf2.reader.open(str(archive / "traces.otf2")) as trace:
        for location, event in trace.events:
            context, region = (getattr(event, name, None) for name in ("calling_context", "region"))
            name = "/".join(path_of(context)) if context else region.name if region else ""
            found.append(f"{location.name} {event.time} {type(event).__name__} {name}")
    return found


def path_of(context: Any) -> list[str]:
    """The functions of a calling context, outermost first."""
    names = []
    while context is not None:
        names.append(context.region.name)
        context = context.parent
    return names[::-1]


def contents(archive: Path) -> dict[str, bytes]:
    """The bytes of an archive's files but the anchor, which has a random number."""
    return {
        str(path.relative_to(archive)): path.read_bytes()
        for path in archive.rglob("*")
        if path.is_file() and path.suffix in (".evt", ".def")
    }


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("VT_SAMPLE_RATE", "often", "is not a rate of 1 to 10000 per second, or a time of 100us to 3600s: 0 is used"),
        ("VT_SAMPLE_RATE", "10001", "is not a rate of 1 to 10000 per second, or a time of 100us to 3600s: 0 is used"),
        ("VT_SAMPLE_RATE", "3601s", "is not a rate of 1 to 10000 per second, or a time of 100us to 3600s: 0 is used"),
        ("VT_SAMPLE_CLOCK", "tsc", "is not cpu, wall or perf: cpu is used"),
    ],
)
def test_wrong_settings(build: Builder, tmp_path: Path, name: str, value: str, message: str) -> None:
    program = build("sampled.c", flags=("-O1", "-pthread"))
    done = run(program, tmp_path, "1", "1", env={name: value})
    assert done.stderr.splitlines()[0] == f"vtrace: {name}={value} {message}"
    assert not samples(tmp_path, "sampled")


def test_wrong_option(tmp_path: Path) -> None:
    for value in ("0", "x", "10001", "99us", "3601s", "1h"):
        done = call([*command("vtrace"), "run", f"--sample={value}", "true"], tmp_path, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith(f"vtrace: error: --sample={value} is not a rate of 1 to 10000 per second, or")


def test_the_option_for_the_clock(tmp_path: Path) -> None:
    """--sample-clock wall samples a program that sleeps; wrong values and no --sample are one line."""
    for clock, most in (("cpu", 0.3e9), ("wall", 10e9)):
        where = tmp_path / clock
        where.mkdir()
        call([*command("vtrace"), "run", "--sample", "--sample-clock", clock, need("sleep"), "1"], where)
        total = sum(of["weight"] for of in sums(where, "sleep").values())
        assert (clock == "wall") * 0.9e9 <= total <= most
    for words, said in (
        (("--sample", "--sample-clock=tsc"), "--sample-clock=tsc is not cpu, wall or perf (give --sample-clock=wall)"),
        (("--sample-clock=wall",), "--sample-clock=wall needs --sample (vtrace run --sample --sample-clock=wall)"),
    ):
        done = call([*command("vtrace"), "run", *words, "true"], tmp_path, check=False)
        assert (done.returncode, done.stderr) == (2, f"vtrace: error: {said}\n")


@pytest.mark.parametrize("clock", ["cpu", "wall"])
def test_bad_moments(build: Builder, tmp_path: Path, clock: str) -> None:
    """Exceptions, 500 threads, siglongjmp, coroutines, plug-ins, forks and a storm of SIGPROF: the program does
    the same as without samples, and its stacks are mostly complete."""
    plugin = build(
        "sampled_plugin.c", flags=("-O1", "-shared", "-fPIC"), output="libsampled_plugin.so", plain=True
    ).parent
    program = build("sampled_storm.cc", compiler="g++", flags=("-O1", "-pthread", "-ldl"), plain=True)
    alone = call([program, plugin], tmp_path)
    words = [*command("vtrace"), "run", "--memory", "--sample=10000", program, plugin]
    done = call(words, tmp_path, {"VT_SAMPLE_CLOCK": clock})
    assert done.stdout == alone.stdout
    found = samples(tmp_path, "sampled_storm")
    ends = Counter(item["end"] for item in found)
    assert ends["NO_RULE"] + ends["STACK"] + ends["DEPTH"] <= 1 + 0.05 * len(found)


def test_a_coroutine(build: Builder, tmp_path: Path) -> None:
    """The stack of a coroutine is complete; its outermost frame is the function of libc to which it returns."""
    program = build("frames.c", flags=("-O2", "-pthread"), plain=True)
    call([*command("vtrace"), "run", "--sample=200", program, "context", "1000000"], tmp_path)
    found = [item for item in samples(tmp_path, "frames") if "second_stack" in item["stack"]]
    assert len(found) > 5
    for item in found:
        outermost = item["stack"][item["stack"].index("second_stack") + 1 :]
        assert item["end"] == "COMPLETE"
        assert len(outermost) == 1
        assert outermost[0] == "__start_context" or outermost[0].startswith("libc.so.6+"), item


def test_loaded_and_unloaded_libraries(build: Builder, tmp_path: Path) -> None:
    """Each library gets a table soon after it is loaded. The next one may be at the place of the last one."""
    words: list[str | Path] = []
    for name in ("first", "second", "third"):
        flags = ("-O1", "-shared", "-fPIC", f"-DWORK={name}_work")
        words += [build("sampled_plugin.c", flags=flags, output=f"lib{name}.so", plain=True), f"{name}_work"]
    program = build("sampled_loads.c", flags=("-O1", "-ldl"), plain=True)
    call([*command("vtrace"), "run", "--sample=200", program, *words], tmp_path)
    found = samples(tmp_path, "sampled_loads")
    for name in ("first", "second", "third"):
        own = [item for item in found if item["stack"][0] == f"{name}_work"]
        complete = [item for item in own if item["end"] == "COMPLETE"]
        assert sum(item["weight"] for item in own) > 0.2e9
        assert len(complete) > 0.6 * len(own)
        assert all(item["stack"][1:3] == ["use", "main"] for item in complete)


@pytest.mark.parametrize("follows", [False, True], ids=["tables only", "frame pointers"])
def test_code_made_at_run_time(build: Builder, tmp_path: Path, follows: bool) -> None:
    """Code without unwind information ends the stack, unless its frame pointers are followed."""
    program = build("sampled_generated.c", flags=("-O1",), plain=True)
    env = {"VT_SAMPLE_FRAME_POINTERS": "yes"} if follows else None
    call([*command("vtrace"), "run", "--sample=200", program, "0.4"], tmp_path, env)
    made = [item for item in samples(tmp_path, "sampled_generated") if item["stack"][0].startswith("0x")]
    ends = Counter((item["end"], *item["stack"][1:3]) for item in made)
    wanted = ("COMPLETE", "use", "main") if follows else ("NO_TABLE",)
    assert ends[wanted] > 0.95 * len(made) > 20, ends


def test_a_window(build: Builder, tmp_path: Path) -> None:
    """VT_START_AFTER and VT_STOP_AFTER apply to a program without events."""
    program = build("sampled.c", flags=("-O1", "-pthread"), plain=True)
    window = {"VT_START_AFTER": "0.3", "VT_STOP_AFTER": "0.8", "VT_SAMPLE_CLOCK": "wall"}
    call([*command("vtrace"), "run", "--sample=200", program, "1500", "1"], tmp_path, window)
    (of,) = sums(tmp_path, "sampled").values()
    assert 0.45e9 < of["weight"] < 0.55e9


def test_off_and_ring(build: Builder, tmp_path: Path) -> None:
    """No samples while recording is off. The flight recorder keeps the last samples and counts the others."""
    program = build("sampled_off.c", flags=("-O1", "-DVTRACE"))
    run(program, tmp_path, env={"VT_SAMPLE_RATE": "200"})
    weight = weights(samples(tmp_path, "sampled_off"))
    assert weight["on"] > 0.1e9
    assert weight["off"] <= 2 * TICK
    wall: dict[str, Any] = {"VT_SAMPLE_RATE": "10000", "VT_SAMPLE_CLOCK": "wall", "VT_BUFFER_SIZE": "100K"}
    where = tmp_path / "ring"
    where.mkdir()
    run(build("sampled.c", flags=("-O0", "-pthread")), where, "2000", "1", env=wall | {"VT_MODE": "RING"})
    (of,) = sums(where, "sampled").values()
    assert len(samples(where, "sampled")) == of["samples"] - of["overwritten"]


def test_info_tells_the_rate(build: Builder, tmp_path: Path) -> None:
    """Samples by weight, expirations without a sample, and stacks that end early, as the local files have them."""
    program = build("sampled.c", flags=("-O1", "-pthread"), plain=True)
    sampled(program, tmp_path, "600", "2", VT_SAMPLE_RATE="1000")
    found = samples(tmp_path, "sampled")
    unify(tmp_path, "sampled")
    known = json.loads(vtrace(tmp_path, "info", "sampled", "--json").stdout)["samples"]
    assert known["samples"] == known["counted"] == len(found)
    assert known["weight_ns"] == sum(s["weight"] for s in found)
    assert known["overruns"] == sum(s["overruns"] for s in found) > 0, "at most a sample for each tick"
    assert known["early"] == Counter(s["end"] for s in found if s["end"] != "COMPLETE")
    (line,) = (line for line in vtrace(tmp_path, "info", "sampled").stdout.splitlines() if line.startswith("  samples"))
    rate = known["counted"] / known["weight_ns"] * 1e9
    assert f"{len(found):,}; {rate:.4g} per second of CPU time (VT_SAMPLE_RATE=1000)" in line
    assert f"; {known['overruns']:,} expirations of timers passed without a sample of their own" in line
