# SPDX-License-Identifier: BSD-3-Clause
"""Programs built without vtrace give the same results with both shims, of I/O and of memory, preloaded. Their traces
unify, and the heap in the trace agrees with the calls."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.program_inputs import PYTHON, SCRIPTS
from support.build.run import run, unify
from support.oracles.check import check
from support.oracles.heap import check_heap
from support.oracles.io_calls import io_calls
from support.readers.archive import Trace
from support.tools import Done, call, need, unavailable
from vtrace import paths

PRELOAD = [paths.LIB / name for name in ("libvtrace.so.1", "libvtrace-io.so", "libvtrace-mem.so")]
BOTH = {"VT_IOTRACE": "yes", "VT_MEMTRACE": "yes", "VT_MAX_FLUSHES": "0"}

REDIS = """
export VT_FILE_PREFIX=server
LD_PRELOAD=$PRELOAD redis-server --port 0 --unixsocket s --save '' --dir . --io-threads 2 >/dev/null &
for i in $(seq 200); do redis-cli -s s ping 2>/dev/null | grep -q PONG && break; sleep 0.1; done
VT_FILE_PREFIX=client LD_PRELOAD=$PRELOAD redis-benchmark -s s -n 100 -c 5 --csv -t set,lpush | cut -d, -f1
redis-cli -s s dbsize; redis-cli -s s set k v; redis-cli -s s get k
redis-cli -s s flushall; redis-cli -s s shutdown nosave
wait; echo $?
"""
ASAN = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    char *volatile block = malloc(100);
    free(block);
    if (argc > 1) return block[7];
    puts("fine");
    return 3;
}
"""
LIBRARY_PLACES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")


def preloaded(words: list[str], *more: Path) -> list[str]:
    """Words of a command that preloads both shims first. The run begins at the inner env, before a shell reads its
    environment."""
    return ["env", f"LD_PRELOAD={':'.join(map(str, (*PRELOAD, *more)))}", "env", *words]


def trace_of(place: Path, prefix: str = "local", unseen: int = 0) -> Trace:
    """The checked trace of a run with all calls recorded; unseen: see check_heap."""
    unify(place, prefix)
    trace = check(place / f"{prefix}.trace", complete=False)
    assert any(io_calls(trace, location) for location in trace.locations)
    assert check_heap(trace, unseen) > 0
    return trace


def _run(here: Path, words: list[str], env: dict[str, str]) -> tuple[Done, dict[str, bytes]]:
    here.mkdir()
    done = call(words, here, env=env, check=False)
    return done, {str(f.relative_to(here)): f.read_bytes() for f in here.rglob("*") if f.is_file()}


@pytest.mark.parametrize(
    "name", ["python", *(pytest.param(name, marks=pytest.mark.full if name == "tar" else ()) for name in SCRIPTS)]
)
def test_same_as_without(tmp_path: Path, name: str) -> None:
    words = [sys.executable, "-c", PYTHON] if name == "python" else [need("bash"), "-c", SCRIPTS[name]]
    for tool in () if name in ("python", "bash") else (name,):
        need(tool)
    local = tmp_path / "local"
    local.mkdir()
    env = BOTH | {"VT_VERBOSE": "0", "VT_FILE_PREFIX": "local"}
    env |= {"VT_PFORM_GDIR": str(local), "VT_PFORM_LDIR": str(local)}
    plain, files = _run(tmp_path / "plain", words, {})
    traced, same = _run(tmp_path / "traced", preloaded(words), env)
    assert plain.returncode == {"python": 5, "bash": 4, "gcc": 7, "perl": 5}.get(name, 0), str(plain)
    assert (traced.returncode, traced.stdout) == (plain.returncode, plain.stdout)
    assert traced.stderr == plain.stderr
    assert same == files
    trace_of(local, unseen=0 if name in ("perl", "sqlite3") else 2)  # the other programs use vfork


def test_redis(tmp_path: Path) -> None:
    """redis: a server with threads and its own allocator (jemalloc), and its client."""
    for tool in ("redis-server", "redis-benchmark", "redis-cli"):
        need(tool)
    results = []
    for name, setup in (("plain", {}), ("traced", BOTH | {"PRELOAD": ":".join(map(str, PRELOAD))})):
        place = tmp_path / name
        place.mkdir()
        results.append(call(["bash", "-c", REDIS], place, setup))
    assert results[0].stdout == results[1].stdout
    assert "OK" in results[0].stdout
    client, server = (trace_of(tmp_path / "traced", name) for name in ("client", "server"))
    sent, received = ({handle: n for handle, n in _bytes(trace, mode).items() if handle.startswith("socket:")}
                      for trace, mode in ((client, "WRITE"), (server, "READ")))  # fmt: skip
    assert sum(sent.values()) > 5_000
    assert sum(received.values()) >= sum(sent.values())  # the server also receives from redis-cli


def _bytes(trace: Trace, mode: str) -> Counter[str]:
    """The transferred bytes of each handle, by its name."""
    modes = {}
    done: Counter[str] = Counter()
    for event in trace.events:
        key = (event.location, event.attrs.get("handle"), event.attrs.get("matching_id"))
        if event.kind == "IoOperationBegin":
            modes[key] = event.attrs["mode"]
        elif event.kind == "IoOperationComplete" and modes.pop(key) == mode:
            done[trace.handles[event.attrs["handle"]].name] += event.attrs["bytes_result"]
    return done


def test_jemalloc_behind(tmp_path: Path) -> None:
    """With jemalloc preloaded, too, the shim comes first and records its calls."""
    found = next((x for x in map(Path, LIBRARY_PLACES) for x in x.glob("libjemalloc.so.2")), None)
    if not found:
        unavailable("libjemalloc.so.2 is not installed")
    env = BOTH | {"VT_FILE_PREFIX": "local"}
    done = call(
        preloaded([need("perl"), "-e", 'print length("x" x 5e6), "\\n"; exit 4'], found), tmp_path, env, check=False
    )
    assert (done.returncode, done.stdout) == (4, "5000000\n"), str(done)
    trace_of(tmp_path)


@pytest.mark.full
def test_below_mpi_io(build: Builder, tmp_path: Path) -> None:
    """The MPI library's own I/O calls are nested in the MPI-IO calls; each rank has a heap."""
    program = build("mpi_io.c", compiler="mpicc", flags=("-w", "-O1"), mode="mpi")
    run(program, tmp_path, ranks=2, env=BOTH)
    unify(tmp_path, "mpi_io")
    trace = check(tmp_path / "mpi_io.trace")
    assert check_heap(trace) == 2
    assert {handle.paradigm for handle in trace.handles.values()} == {"POSIX", "ISOC", "MPI-IO"}
    below = {callee for caller, callee in trace.edges() if caller and caller.startswith("MPI_File_")}
    assert below & {"open", "open64"}
    assert below & {"pwrite", "pwrite64", "write"}
    assert "malloc" in below


def test_asan_program(tmp_path: Path) -> None:
    """ASan requires to be the first library. With the documented option the program works after the shims, and ASan
    still finds a use after free."""
    (tmp_path / "a.c").write_text(ASAN)
    call([need("gcc"), "-fsanitize=address", "a.c", "-o", "a"], tmp_path)
    words = ["env", f"LD_PRELOAD={':'.join(map(str, PRELOAD))}", "./a"]
    refused = call(words, tmp_path, BOTH, check=False)
    assert "ASan runtime does not come first" in refused.stderr
    env = BOTH | {"ASAN_OPTIONS": "verify_asan_link_order=0"}
    done = call(words, tmp_path, env, check=False)
    assert (done.returncode, done.stdout) == (3, "fine\n"), str(done)
    trace = trace_of(tmp_path, "a")
    assert "puts w:stdout:5:5" in io_calls(trace)
    found = call([*words, "wrong"], tmp_path, env, check=False)
    assert found.returncode not in (0, 3)
    assert "heap-use-after-free" in found.stderr
