# SPDX-License-Identifier: BSD-3-Clause
"""The archive has the bytes of each file as the kernel moved them: strace counts them in a run without vtrace."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import need
from vtrace import paths

_READS = ("read", "pread64", "readv", "preadv", "preadv2")
_WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2")
_COPIES = ("sendfile", "copy_file_range", "splice")
_CALL = re.compile(r"^(\w+)\((.*)\) += (\d+)")
_FILE = re.compile(r"\d+<([^<>]+)>")
PRELOAD = ":".join(str(paths.LIB / name) for name in ("libvtrace.so.1", "libvtrace-io.so"))

Bytes = Counter[tuple[str, str]]


def _of_strace(program: list[str | Path], here: Path) -> Bytes:
    """Bytes by (READ or WRITE, file name), according to strace."""
    names = ",".join((*_READS, *_WRITES, *_COPIES))
    run(Path(need("strace")), here, "-y", "-o", "strace.txt", "-e", f"trace={names}", *program)
    moved: Bytes = Counter()
    for line in (here / "strace.txt").read_text().splitlines():
        match = _CALL.match(line)
        if not match:
            continue
        files = _FILE.findall(match[2])
        to_first = match[1] == "sendfile"
        modes = ("WRITE", "READ") if to_first else ("READ", "WRITE") if match[1] in _COPIES else ()
        for file, mode in zip(files, modes or (("READ",) if match[1] in _READS else ("WRITE",)), strict=False):
            moved[mode, file] += int(match[3])
    return _inside(moved, here)


def _of_archive(trace: Trace, here: Path) -> Bytes:
    moved: Bytes = Counter()
    modes = {}
    for event in trace.events:
        key = event.location, event.attrs.get("handle"), event.attrs.get("matching_id")
        if event.kind == "IoOperationBegin":
            modes[key] = event.attrs["mode"]
        elif event.kind == "IoOperationComplete" and modes[key] != "FLUSH":
            handle = trace.handles[event.attrs["handle"]]
            moved[modes[key], handle.file or ""] += event.attrs["bytes_result"]
    return _inside(moved, here)


def _inside(moved: Bytes, here: Path) -> Bytes:
    """The bytes of the files below `here` only, by relative names."""
    start = f"{here}/"
    return Counter({(m, f.removeprefix(start)): n for (m, f), n in moved.items() if f.startswith(start) and n})


COMMANDS = {
    "cp": ("cp", "one", "copy"),
    "dd": ("dd", "if=one", "of=copy", "bs=4k", "count=9", "status=none"),
    "cat": ("cat", "one", "one"),
    "head": ("head", "-c", "70000", "one"),
    "python": ("python3", "-S", "-c", "open('copy','wb').write(open('one','rb').read()*3)"),
}


def _prepared(here: Path) -> Path:
    here.mkdir()
    (here / "one").write_bytes(b"0123456789" * 12345)
    return here


@pytest.mark.parametrize("name", COMMANDS)
def test_real_programs(tmp_path: Path, name: str) -> None:
    program, *args = COMMANDS[name]
    path = Path(need(program)).resolve()
    plain, traced = _prepared(tmp_path / "plain"), _prepared(tmp_path / "traced")
    counted = _of_strace([path, *args], plain)
    assert sum(counted.values()) > 60_000
    out = traced.parent / "local"
    out.mkdir()
    env = {"VT_IOTRACE": "yes", "VT_PFORM_GDIR": str(out), "VT_PFORM_LDIR": str(out), "VT_FILE_PREFIX": "local"}
    run(path, traced, *args, env=env, launch=["env", f"LD_PRELOAD={PRELOAD}"])
    unify(out, "local")
    assert _of_archive(check(out / "local.trace"), traced) == counted


def test_every_function_of_descriptors(build: Builder, tmp_path: Path) -> None:
    plain, traced = _prepared(tmp_path / "plain"), _prepared(tmp_path / "traced")
    counted = _of_strace([build("io_descriptors.c", flags=("-w", "-O1"), plain=True)], plain)
    assert counted["READ", "data"] > 50
    run(build("io_descriptors.c", flags=("-w", "-O1"), mode="seq"), traced, env={"VT_IOTRACE": "yes"})
    unify(traced, "io_descriptors")
    assert _of_archive(check(traced / "io_descriptors.trace"), traced) == counted
