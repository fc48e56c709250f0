# SPDX-License-Identifier: BSD-3-Clause
"""VT_MODE=PROFILE counts calls and their times by call path, and writes no events: the calls are those of a trace of
the same program, however it ends, and the commands show the same tables."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtrace as vtrace_api
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import prefix_of, run, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace, read
from support.readers.call_paths import Calls, by_name, calls
from support.tools import environment
from vtrace.console import QUIET, Console
from vtrace.errors import VtraceError
from vtrace.io.local import records as r
from vtrace.io.sidecar import sidecar
from vtrace.unify.run import Request
from vtrace.unify.run import unify as unify_run

MODES = ("TRACE", "PROFILE")
FLAGS = ("-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-pthread", "-DVTRACE")


def both(
    program: Path, where: Path, *args: str, env: dict[str, str] | None = None, code: int = 0, launch: Sequence[str] = ()
) -> tuple[Calls, Calls]:
    """The calls of a program in a trace and in a profile."""
    found = []
    for mode in MODES:
        here = where / mode
        here.mkdir()
        run(program, here, *args, env={"VT_MODE": mode, **(env or {})}, code=code, launch=launch)
        unify(here, prefix_of(program))
        archive = here / f"{prefix_of(program)}.trace"
        check(archive)
        found.append(calls(archive))
    assert not vtrace_api.open(archive).locations["events"].any(), "a profile has no events"
    return found[0], found[1]


@pytest.mark.parametrize(
    ("how", "turns", "code"),
    [
        ("end", 0, 0), ("end", 1, 0), ("end", 5000, 0), ("fails", 600, -9), ("flush", 5000, 0), ("switch", 3000, 0),
    ],
)  # fmt: skip
def test_functions(build: Builder, tmp_path: Path, how: str, turns: int, code: int) -> None:
    traced, counted = both(build("counted.c", flags=FLAGS), tmp_path, how, str(turns), code=code)
    assert counted == traced
    recorded = (turns + 1) // 2 if how == "switch" else turns
    expected = {"main": 1, "turn": recorded, "leaf": 11 * recorded, "fall": 3 * recorded}
    functions = {name: by_name(counted)[name] for name in expected}
    assert functions == expected


@pytest.mark.parametrize("how", ["return", "_exit", "quick_exit", "abort", "kill", "thread", "atexit", "true", "again"])
def test_ends(build: Builder, tmp_path: Path, how: str) -> None:
    code = {"abort": -6, "kill": -9}.get(how, 0)
    traced, counted = both(build("endings.c", flags=FLAGS), tmp_path, how, "5000", code=code)
    assert counted == traced
    assert by_name(counted)["work"] == {"atexit": 10_000, "again": 10_000}.get(how, 5_000)


@pytest.mark.parametrize(("how", "reuse"), [("together", "yes"), ("after", "yes"), ("after", "no")])
def test_threads(build: Builder, tmp_path: Path, how: str, reuse: str) -> None:
    program = build("threads.c", flags=FLAGS)
    traced, counted = both(program, tmp_path, how, "4", "5000", env={"VT_PTHREAD_REUSE": reuse})
    assert by_name(counted) == by_name(traced)
    assert by_name(counted)["work"] == 5 * 5_000
    if how == "after":
        assert counted == traced


def test_forks(build: Builder, tmp_path: Path) -> None:
    traced, counted = both(build("forks.c", flags=FLAGS), tmp_path)
    assert counted == traced
    assert len({process for process, _, _ in counted}) > 1


REPEATED = ("parallel", "parallel_if", "nested", "barriers", "loop_static", "parallel_loop", "doacross")
"""Constructs of omp.c whose threads make the same calls in each run."""


def test_openmp(build: Builder, tmp_path: Path) -> None:
    program = build("omp.c", flags=("-O1", "-fopenmp"))
    traced, counted = both(program, tmp_path, *REPEATED, env={"OMP_NUM_THREADS": "2"})
    assert by_name(counted) == by_name(traced)
    assert sum(counted.values()) > 100


def without_polls(found: Calls) -> Calls:
    """The calls without those that the program repeats until an operation is complete."""
    return Counter({call: n for call, n in found.items() if call[2][-1] not in ("MPI_Test", "MPI_Win_test", "rest")})


@pytest.mark.parametrize("source", ["mpi_collectives.c", "mpi_messages.c", "mpi_rma.c"])
def test_mpi(mpi: Mpi, tmp_path: Path, source: str) -> None:
    program = mpi.build(source)
    traced, counted = both(program, tmp_path, env={**mpi.env}, launch=[*mpi.launch, "-n", "2"])
    assert without_polls(counted) == without_polls(traced)
    assert {process for process, _, _ in counted} == {0, 1}


def test_python(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "def leaf(n): return n\n"
        "def generate():\n    for n in range(30): yield leaf(n)\n"
        "def deep(n): return deep(n - 1) if n else sum(map(leaf, range(20)))\n"
        "for _ in range(2000): leaf(1)\n"
        "deep(20)\nlist(generate())\n"
    )
    found = []
    for mode in MODES:
        words = ("run", "--python", "--no-sample", "--no-unify", "-o", mode, sys.executable, "program.py")
        vtrace(tmp_path, *words, env={"VT_MODE": mode})
        unify(tmp_path, mode)
        found.append(calls(tmp_path / f"{mode}.trace"))
    assert found[0] == found[1]
    assert sum(count for name, count in by_name(found[1]).items() if name.endswith("leaf")) == 2050


def test_io_and_memory(build: Builder, tmp_path: Path) -> None:
    """The calls of I/O and memory are those of the events."""
    program = build("heap.c", flags=("-O1", "-pthread"), plain=True)
    for mode in MODES:
        words = ("run", "--io", "--memory", "--no-sample", "--no-unify", "-o", mode, program)
        vtrace(tmp_path, *words, env={"VT_MODE": mode})
        unify(tmp_path, mode)
    assert calls(tmp_path / "TRACE.trace") == calls(tmp_path / "PROFILE.trace")


def test_bytes(build: Builder, tmp_path: Path) -> None:
    """The bytes of calls are those of the events in them."""
    program = build("mpi_messages.c", compiler="mpicc")
    found = []
    for mode in MODES:
        run(program, tmp_path, env={"VT_MODE": mode, "VT_FILE_PREFIX": mode}, ranks=2)
        unify(tmp_path, mode)
        found.append(json.loads(vtrace(tmp_path, "summary", mode, "--json").stdout))
    assert not found[0]["bytes"]
    sent = {row["region"]: (row["out_bytes"], row["in_bytes"]) for row in found[1]["bytes"]}
    assert sent == bytes_of(read(tmp_path / "TRACE.trace"))


SENT, RECEIVED = {"MpiSend", "MpiIsend"}, {"MpiRecv", "MpiIrecv"}


def bytes_of(trace: Trace) -> dict[str, tuple[int, int]]:
    """The bytes that the events of MPI state, by the innermost region."""
    out, into = Counter[str](), Counter[str]()
    for location in trace.locations:
        stack: list[str] = []
        for event in trace.of(location):
            if event.kind == "Enter":
                stack.append(trace.region_of(event).name)
            elif event.kind == "Leave":
                stack.pop()
            elif event.kind in SENT | RECEIVED:
                (out if event.kind in SENT else into)[stack[-1]] += event.attrs["msg_length"]
            elif event.kind == "MpiCollectiveEnd":
                out[stack[-1]] += event.attrs["size_sent"]
                into[stack[-1]] += event.attrs["size_received"]
    return {name: (out[name], into[name]) for name in out.keys() | into.keys() if out[name] or into[name]}


def profile_of(archive: Path) -> Any:
    """The only location's call paths."""
    profile = vtrace_api.open(archive).recorded_profile
    assert profile is not None
    (table,) = profile.locations.values()
    return table


def recorded(build: Builder, where: Path, *args: str, **env: str) -> Path:
    """The archive of a profile of counted.c."""
    run(build("counted.c", flags=FLAGS), where, *args, env={"VT_MODE": "PROFILE", **env})
    unify(where, "counted")
    return where / "counted.trace"


def test_times(build: Builder, tmp_path: Path) -> None:
    """Times nest: a call takes as long as the calls in it and its own code, and the mean is between the ends."""
    table = profile_of(recorded(build, tmp_path, "end", "3000"))
    inside = np.zeros(table.rows)
    np.add.at(inside, table["parent"][1:], table["inclusive"][1:])
    assert (np.abs(table["inclusive"] - table["exclusive"] - inside) <= table.rows).all()
    mean = table["inclusive"] / np.maximum(table["calls"], 1)
    assert (table["min"] <= mean + 1)[1:].all()
    assert (mean <= table["max"] + 1)[1:].all()
    assert (table["deviations"][1:] <= table["calls"][1:] * (table["max"] - table["min"])[1:] ** 2.0 + 1).all()
    assert (table["deviations"][table["calls"] == 1] == 0).all()


def test_times_without_recording(build: Builder, tmp_path: Path) -> None:
    """The ledger has their sum, as for a trace."""
    run(build("counted.c", flags=FLAGS), tmp_path, "switch", "20000", env={"VT_MODE": "PROFILE"})
    unify(tmp_path, "counted")
    trace = vtrace_api.open(tmp_path / "counted")
    (row,) = trace.not_recorded().intervals.records()
    assert (row["reason"], row["class"]) == ("switched off", "all")
    assert 0 < row["ns"] < trace.duration
    assert any(line.startswith("left out (switched off): events on 1 location") for line in trace.caveats())


def test_written_at_a_signal(build: Builder, tmp_path: Path) -> None:
    """The files have the calls up to the signal, also if the buffer is lost afterwards."""
    (tmp_path / "buffer").mkdir()
    env = {"VT_MODE": "PROFILE", "VT_RING_SIGNAL": "USR1", "VT_PFORM_LDIR": "buffer"}
    run(build("counted.c", flags=FLAGS), tmp_path, "signal", "3000", env=env, code=-9)
    shutil.rmtree(tmp_path / "buffer")
    unify(tmp_path, "--partial", "counted")
    found = by_name(calls(tmp_path / "counted.trace"))
    assert (found["turn"], found["leaf"]) == (3000, 33_000)


def test_stat_is_the_same_mode(build: Builder, tmp_path: Path) -> None:
    assert profile_of(recorded(build, tmp_path, "end", "10", VT_MODE="STAT")).rows > 3


def test_deep_recursion_is_bounded(build: Builder, tmp_path: Path) -> None:
    """Calls that are more than 1024 deep have no row, but all calls are counted."""
    archive = recorded(build, tmp_path, "deep", "50000")
    table = profile_of(archive)
    assert table.rows == 1025
    assert int(table["calls"].sum()) == 50_002
    lines = vtrace_api.open(archive).caveats()
    assert any(f"incomplete (VT_PROFILE_SIZE): {50_002 - 1024:,} events are missing" in line for line in lines)


def test_many_call_paths_are_bounded(build: Builder, tmp_path: Path) -> None:
    """2**17 call paths, of which the rows of 64 KiB hold some; the other calls are counted, and are told."""
    archive = recorded(build, tmp_path, "paths", "16", VT_PROFILE_SIZE="64K")
    table = profile_of(archive)
    assert table.rows <= 738
    assert int(table["calls"].sum()) == 17 * 2**16 + 1
    done = vtrace(tmp_path, "summary", "counted")
    assert f"incomplete (VT_PROFILE_SIZE): {int(table['calls'][0]):,} events are missing on 1 location" in done.stdout
    sizes = [path.stat().st_size for path in (archive / "vtrace").iterdir()]
    assert sum(sizes) < 100_000


def test_the_files_do_not_grow(build: Builder, tmp_path: Path) -> None:
    sizes = []
    for turns in ("100", "30000"):
        here = tmp_path / turns
        here.mkdir()
        run(build("counted.c", flags=FLAGS), here, "end", turns, env={"VT_MODE": "PROFILE"})
        sizes.append(sum(path.stat().st_size for path in here.iterdir()))
    assert sizes[1] < sizes[0] + 1000


def test_killed_at_any_moment(build: Builder, tmp_path: Path) -> None:
    """Each call that had begun is counted, also if the process was just adding its records to the profile."""
    program, chance = build("counted.c", flags=FLAGS), random.Random(1)
    for number in range(10):
        here = tmp_path / str(number)
        here.mkdir()
        (here / "told").write_bytes(bytes(8))
        env = environment({"VT_MODE": "PROFILE", "VT_VERBOSE": "0"})
        process = subprocess.Popen([program, "forever", "told"], cwd=here, env=env)
        while not any((here / "told").read_bytes()):
            time.sleep(0.001)
        time.sleep(0.1 * chance.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        (leaves,) = struct.unpack("q", (here / "told").read_bytes())
        unify(here, "counted")
        named = by_name(calls(here / "counted.trace"))
        assert 0 <= named["leaf"] - leaves <= 1
        assert 11 * (named["turn"] - 1) <= named["leaf"] <= 11 * named["turn"]
        assert 3 * (named["turn"] - 1) <= named["fall"] <= 3 * named["turn"]
        assert named["main"] == 1


def test_tables_of_commands(build: Builder, tmp_path: Path) -> None:
    """Summary, profile, diff, score, info and report read the profile; each says that there are no events."""
    run(build("counted.c", flags=FLAGS), tmp_path, "end", "200", env={"VT_MODE": "TRACE", "VT_FILE_PREFIX": "traced"})
    unify(tmp_path, "traced")
    recorded(build, tmp_path, "end", "200")
    told = "recorded as a profile (VT_MODE=PROFILE): calls and times by call path, no single events"
    tables = []
    for name in ("traced", "counted"):
        found = json.loads(vtrace(tmp_path, "summary", name, "--json").stdout)
        assert (told in found["caveats"]) == (name == "counted")
        tables.append({(row["region"], row["calls"]) for row in found["regions"]})
    assert tables[0] == tables[1]
    paths = []
    for name in ("traced", "counted"):
        rows = json.loads(vtrace(tmp_path, "profile", name, "--by", "callpath", "--json").stdout)["profile"]
        paths.append(sorted((row["callpath"], row["calls"]) for row in rows))
    assert paths[0] == paths[1]
    for words in (("summary", "counted"), ("profile", "counted"), ("info", "counted"), ("score", "counted")):
        done = vtrace(tmp_path, *words)
        assert told in done.stdout + done.stderr, words
    done = vtrace(tmp_path, "diff", "traced", "counted", "--json")
    changes = json.loads(done.stdout)["regions"]
    assert {row["calls_change"] for row in changes} == {0}
    vtrace(tmp_path, "report", "counted", "-o", "report.html")
    assert told in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("view", "--text"), ("diagnose",), ("export", "--to", "csv"), ("cut", "-o", "new"), ("anonymise", "-o", "new"),
        ("summary", "--from", "50%"),
    ],
)  # fmt: skip
def test_commands_that_need_events(build: Builder, tmp_path: Path, words: tuple[str, ...]) -> None:
    recorded(build, tmp_path, "end", "10")
    done = vtrace(tmp_path, *words, "counted", check=False)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "is recorded as a profile" in done.stderr
    assert "(record the run without --profile-only and VT_MODE=PROFILE)" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_the_option_of_vtrace_run(build: Builder, tmp_path: Path) -> None:
    program = build("counted.c", flags=FLAGS)
    done = vtrace(tmp_path, "run", "--unify", "--profile-only", program, "end", "100")
    assert "recorded as a profile" in done.stderr
    assert by_name(calls(tmp_path / "counted.trace"))["leaf"] == 1100
    for option in ("--sample", "--view"):
        done = vtrace(tmp_path, "run", "--profile-only", option, program, "end", "1", check=False)
        assert done.returncode == 2
        assert f"--profile-only and {option} exclude each other" in done.stderr


def test_a_damaged_table(build: Builder, tmp_path: Path) -> None:
    archive = recorded(build, tmp_path, "end", "10")
    (archive / sidecar.FOLDER / "profile").unlink()
    with pytest.raises(VtraceError, match="the table of the profile is missing or damaged"):
        vtrace_api.open(archive).profile()
    done = vtrace(tmp_path, "summary", "counted", check=False)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_damaged_local_file(build: Builder, tmp_path: Path) -> None:
    run(build("counted.c", flags=FLAGS), tmp_path, "end", "10", env={"VT_MODE": "PROFILE", "VT_COMPRESSION": "no"})
    (events,) = tmp_path.glob("*.events")
    data = bytearray(events.read_bytes())
    data[-100] ^= 1
    events.write_bytes(data)
    done = unify(tmp_path, "counted", check=False)
    assert done.returncode == 1
    assert "wrong checksum in the block at byte 2048" in done.stderr
    unify(tmp_path, "--salvage", "counted")


def test_the_memory_of_a_process(build: Builder, tmp_path: Path) -> None:
    """The buffer of a profile stays small: 10 MiB a process."""
    run(build("counted.c", flags=FLAGS), tmp_path, "paths", "16", env={"VT_MODE": "PROFILE", "VT_CLEAN": "no"})
    (buffer,) = tmp_path.glob("*.buffer")
    assert buffer.stat().st_size <= 10 << 20


def test_the_memory_of_64_threads(build: Builder, tmp_path: Path) -> None:
    """10 MiB more than without vtrace."""
    kib = []
    for plain in (True, False):
        program = build("at_once.c", flags=("-O1", "-pthread"), plain=plain)
        done = run(program, tmp_path, "64", "20000", env={"VT_MODE": "PROFILE"})
        kib.append(int(done.stdout.split()[1]))
    assert kib[1] - kib[0] <= 10 << 10


def test_dump(build: Builder, tmp_path: Path) -> None:
    """vtrace dump shows the rows of the profile, and of a killed process also the records that they lack."""
    run(build("counted.c", flags=FLAGS), tmp_path, "end", "100", env={"VT_MODE": "PROFILE"})
    lines = vtrace(tmp_path, "dump", "counted", "--only", "ROW").stdout.splitlines()
    assert re.fullmatch(r"0:0 ROW name=- parent=0 number=0 turns=0 .*", lines[0])
    assert re.fullmatch(r"0:0 ROW name=main parent=0 number=1 turns=2 ticks=\d+ .*", lines[1])
    assert [line.split()[2:5:2] for line in lines[2:4]] == [["name=turn", "number=2"], ["name=leaf", "number=3"]]
    assert "turns=200 " in lines[2]
    heads = vtrace(tmp_path, "dump", "counted", "--only", "DEFINITION", "--json").stdout.splitlines()
    assert {item["content"] for item in map(json.loads, heads) if item["type"] == "block"} == {"definitions", "profile"}


def test_a_damaged_buffer(build: Builder, tmp_path: Path) -> None:
    """vtunify refuses a damaged buffer of a killed process in words, or makes an archive that can be read."""
    env = {"VT_MODE": "PROFILE", "VT_VERBOSE": "0"}
    run(build("counted.c", flags=FLAGS), tmp_path, "fails", "300", env=env, code=-9)
    (buffer,) = tmp_path.glob("*.buffer")
    data, chance = buffer.read_bytes(), random.Random(1)
    used = [at for at in range(r.CHUNK_SIZE, len(data), r.CHUNK_SIZE) if any(data[at : at + r.CHUNK_DATA])]
    read_back = 0
    for number in range(40):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 2, 20))):
            at = chance.choice(used) + chance.choice((0, r.CHUNK_DATA)) + chance.randrange(r.CHUNK_DATA)
            changed[at] = chance.choice((0, 128, 255, chance.randrange(256)))
        buffer.write_bytes(changed)
        request = Request(
            prefix=tmp_path / "counted", name="counted", keep=True, jobs=1, force=True, salvage=bool(number % 2)
        )
        with suppress(VtraceError):
            unify_run(request, Console("vtunify", QUIET))
            calls(tmp_path / "counted.trace")
            read_back += 1
    assert read_back > 10
