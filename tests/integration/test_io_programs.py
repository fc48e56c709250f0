# SPDX-License-Identifier: BSD-3-Clause
"""I/O in child processes, threads and signal handlers, without descriptors, and with a full disk."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.oracles.io_calls import io_calls
from support.readers.archive import Trace
from support.tools import call, need, unavailable
from vtrace import paths

IO = {"VT_IOTRACE": "yes"}


def _trace(build: Builder, here: Path, name: str, *args: str, complete: bool = True) -> Trace:
    program = build(f"{name}.c", flags=("-w", "-O1", "-pthread"), mode="seq")
    words = ["sh", "-c", 'exec "$@" </dev/null 9>told', "sh"]
    run(program, here, *args, env={**IO, "VT_MAX_FLUSHES": "0"}, launch=words)
    unify(here, name)
    return check(here / f"{name}.trace", complete=complete)


def test_children(build: Builder, tmp_path: Path) -> None:
    """A forked child continues with the parent's handles. Nothing is recorded of a vfork child, and nothing disturbs
    it."""
    trace = _trace(build, tmp_path, "io_forks")
    assert io_calls(trace, 0) == (tmp_path / "told").read_text().splitlines()
    others = [io_calls(trace, location) for location in trace.locations if location]
    assert others == [["write w:data:5:5", "close -data", "open +child", "write w:child:6:6", "close -child"]]
    assert (tmp_path / "data").read_text() == "childafterparentend"
    assert (tmp_path / "other").read_text() == "vfork"


def test_closed_descriptors(build: Builder, tmp_path: Path) -> None:
    trace = _trace(build, tmp_path, "io_closes")
    assert io_calls(trace) == (tmp_path / "told").read_text().splitlines()
    assert (tmp_path / "one").read_text() == "abctext\n"


def test_threads(build: Builder, tmp_path: Path) -> None:
    """Four threads with 500 rounds each, which reuse each other's descriptors: each thread has only its own file."""
    trace = _trace(build, tmp_path, "io_threads")
    threads = [location for location in trace.locations if location]
    assert len(threads) == 4
    files = set()
    for location in threads:
        lines = Counter(io_calls(trace, location))
        (name,) = {line.rpartition("+")[2] for line in lines if line.startswith("open ")}
        files.add(name)
        assert lines == Counter(
            {
                f"open +{name}": 500, f"write w:{name}:10:10": 500, f"dup {name}={name}": 500,
                f"pread @5 r:{name}:1:1": 500, f"close -{name}": 1000, f"fopen +{name} +{name}": 500,
                f"fgetc r:{name}:1:1": 500, f"fclose -{name} -{name}": 500,
            }
        )  # fmt: skip
    assert files == {f"file{i}" for i in range(4)}


def test_handler(build: Builder, tmp_path: Path) -> None:
    """The calls of a signal handler are recorded or count as lost; a cancelled read ends with its thread."""
    program = build("io_handler.c", flags=("-w", "-O1", "-pthread"), mode="seq")
    done = run(program, tmp_path, "10000", env={**IO, "VT_MAX_FLUSHES": "0", "VT_BUFFER_SIZE": "64M"})
    rounds, handled = map(int, done.stdout.split())
    unify(tmp_path, "io_handler")
    trace = check(tmp_path / "io_handler.trace", complete=False)  # cancelled reads have no IoOperationComplete
    assert rounds == 10_000
    assert handled > 100
    calls = trace.calls(0)
    assert [calls[name] for name in ("fopen", "fread", "fclose", "write")] == [rounds, rounds, rounds, rounds + 1]
    lost = json.loads(vtrace(tmp_path, "info", "--json", "io_handler.trace").stdout)["locations"][0]["lost"]
    assert handled // 2 < calls["pread"] <= handled
    assert handled - calls["pread"] <= lost
    assert trace.calls()["read"] == 20


def test_before_and_after_main(build: Builder, tmp_path: Path) -> None:
    """The first call precedes the shim's constructor; at the last call recording may have ended."""
    library = build("io_early.c", flags=("-shared", "-fPIC", "-O1"), output="libearly.so", plain=True)
    flags = ("-O1", "-Wl,--no-as-needed", library, f"-Wl,-rpath,{library.parent}")
    program = build("quiet.c", flags=flags, output="early", plain=True)
    libraries = ":".join(str(paths.LIB / name) for name in ("libvtrace.so.1", "libvtrace-io.so"))
    run(program, tmp_path, env=IO, launch=["env", f"LD_PRELOAD={libraries}"])
    assert (tmp_path / "early").read_text() + (tmp_path / "late").read_text() == "earlylater"
    unify(tmp_path, "early")
    lines = io_calls(check(tmp_path / "early.trace"))
    assert lines[:3] == ["open +early", "write w:early:5:5", "close -early"]


@pytest.mark.full
@pytest.mark.parametrize("name", ["io_threads", "io_streams", "io_aio", "io_closes"])
def test_valgrind(build: Builder, tmp_path: Path, name: str) -> None:
    program = build(f"{name}.c", flags=("-w", "-O1", "-pthread"), mode="seq")
    words = ["sh", "-c", 'exec "$@" </dev/null 9>told', "sh", need("valgrind"), "-q", "--error-exitcode=99"]
    done = run(program, tmp_path, env={**IO, "VT_VERBOSE": "0"}, launch=words, code=None)
    assert done.returncode == 0, str(done)


@pytest.mark.parametrize("limit", ["full", "readonly"])
def test_nowhere_to_write(build: Builder, tmp_path: Path, limit: str) -> None:
    """VT_PFORM_GDIR and VT_PFORM_LDIR are full or read-only: recording ends with a line, and the program's I/O
    works."""
    program = build("io_descriptors.c", flags=("-w", "-O1"), mode="seq")
    there = tmp_path / "there"
    there.mkdir()
    size = "64k" if limit == "full" else "1m,ro"
    script = f'mount -t tmpfs -o size={size} none there && exec "$@" </dev/null 9>told'
    words = ["unshare", "--mount", "sh", "-c", script, "sh"]
    env = {**IO, "VT_PFORM_GDIR": str(there), "VT_PFORM_LDIR": str(there)}
    if call([need("unshare"), "--mount", "mount", "-t", "tmpfs", "none", there], tmp_path, check=False).returncode:
        unavailable("only root may mount a file system")
    done = run(program, tmp_path, env=env, launch=words)
    assert done.stdout == "done\n"
    lines = done.stderr.splitlines()
    assert lines
    assert all(line.startswith("vtrace: ") for line in lines)
    assert (tmp_path / "told").read_text().splitlines()[-1] == "write w:stdout:5:5"
