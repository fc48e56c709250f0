# SPDX-License-Identifier: BSD-3-Clause
"""Bad input to vtunify: one line names the input, the exit code is right, and no file is deleted or half-written."""

from __future__ import annotations

import os
import signal
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify, vtrace
from support.oracles.check import check
from support.tools import Done, call, command, need

LOCAL = {"many.1.def.z", "many.1.events.z", "many.uctl"}
HEAD = 2048  # bytes of a file's head
VERSION = 8  # offset of the version in a file's head


@pytest.fixture
def local(build: Builder, tmp_path: Path) -> Path:
    """A directory with the files of one run."""
    run(build("many.c"), tmp_path, "3000")
    assert names(tmp_path) == LOCAL
    return tmp_path


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def refused(done: Done, *texts: str, code: int = 1) -> None:
    """The command failed with this exit code and one line on stderr with the texts."""
    assert done.returncode == code, str(done)
    assert len(done.stderr.splitlines()) == 1, str(done)
    assert "Traceback" not in done.stderr
    for text in texts:
        assert text in done.stderr, f"no {text!r} in: {done.stderr}"
    assert done.stdout == ""


def refused_untouched(directory: Path, *texts: str, options: tuple[str, ...] = ()) -> None:
    """vtunify refuses the run `many`, and the directory stays unchanged."""
    before = contents(directory)
    refused(unify(directory, *options, "many", check=False), *texts)
    assert contents(directory) == before
    assert not [path for path in directory.iterdir() if path.is_dir()], "vtunify left a half-written directory"


@pytest.mark.parametrize("prefix", ["nothing", "nothing.uctl", "nowhere/many", "n" * 255, "n" * 5000])
def test_missing_prefix(tmp_path: Path, prefix: str) -> None:
    refused(unify(tmp_path, prefix, check=False), "n")
    assert names(tmp_path) == set()


def flipped(at: int) -> Callable[[bytes], bytes]:
    """Changes one bit of the byte at this place."""
    return lambda data: data[:at] + bytes([data[at] ^ 0x40]) + data[at:][1:]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    **{f"the first {left} bytes": lambda data, left=left: data[:left] for left in (0, 5, 100, HEAD - 1)},  # type: ignore[misc]
    "all but 9 bytes": lambda data: data[:-9],
    "another file": lambda data: b"#!/bin/sh\n" + b"echo not a trace\n" * 400,
    "the checksum of a block": flipped(-20),
    "the checksum of the head": flipped(64),
}


@pytest.mark.parametrize("file", ["many.1.events.z", "many.1.def.z"])
@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_file(local: Path, file: str, what: str) -> None:
    (local / file).write_bytes(DAMAGE[what]((local / file).read_bytes()))
    refused_untouched(local, file)


def test_other_version(local: Path) -> None:
    for file in ("many.1.def.z", "many.1.events.z"):
        data = bytearray((local / file).read_bytes())
        struct.pack_into("<H", data, VERSION, 77)
        (local / file).write_bytes(data)
    refused_untouched(local, "77")


def test_damaged_uctl_is_no_obstacle(local: Path) -> None:
    """The uctl file has random bytes. vtunify succeeds, because the heads of the local files have the same data."""
    (local / "many.uctl").write_bytes(os.urandom(40))
    unify(local, "many")
    assert check(local / "many.trace").calls() == {"main": 1, "work": 3000}


def test_existing_output_with_force(local: Path, build: Builder) -> None:
    unify(local, "many")
    run(build("many.c"), local, "12")
    refused(unify(local, "many", check=False), "many.trace", "--force")
    unify(local, "--force", "many")
    assert names(local) == {"many.trace"}
    assert check(local / "many.trace").calls() == {"main": 1, "work": 12}


def test_output_into_no_directory(local: Path) -> None:
    (local / "plain").write_text("a file\n")
    for name in ("nowhere", "plain"):
        refused_untouched(local, name, options=("-o", f"{name}/result"))


def test_no_permission_to_write(local: Path) -> None:
    """vtunify runs in a directory without write permission, without the capability by which root writes anywhere."""
    restricted = []
    if os.geteuid() == 0:
        restricted = [need("setpriv"), "--bounding-set=-dac_override,-dac_read_search"]
    local.chmod(0o555)
    before = contents(local)
    done = call([*restricted, *command("vtunify"), "many"], local, check=False)
    local.chmod(0o755)
    refused(done, "permission")
    assert contents(local) == before
    assert not [path for path in local.iterdir() if path.is_dir()]


READS = """if True:
    import os, sys
    from pathlib import Path
    from vtrace.io.archive.reader import Reader
    reader = Reader(Path(sys.argv[1]))
    if sys.argv[3] == "closed":
        reader.close()
    os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.mark.parametrize("end", [signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE])
def test_a_crash_of_libotf2_is_told(local: Path, end: signal.Signals) -> None:
    """While an archive is open, the process tells which one it was reading, and fails; then signals act as always."""
    unify(local, "-o", "result", "many")
    anchor = local / "result.trace" / "traces.otf2"
    done = call([sys.executable, "-c", READS, anchor, str(end.value), "open"], local, check=False)
    assert done.returncode == 1, str(done)
    (line,) = done.stderr.splitlines()
    assert line == f"vtrace: error: {anchor}: the process crashed while it read the archive (is the file damaged?)"
    done = call([sys.executable, "-c", READS, anchor, str(end.value), "closed"], local, check=False)
    assert (done.returncode, done.stderr) == (-end.value, ""), str(done)


def test_a_group_without_a_command_shows_its_help(tmp_path: Path) -> None:
    """vtrace alone shows the runs in the directory instead: tests/integration/test_next_step.py."""
    done = vtrace(tmp_path, "shim", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == vtrace(tmp_path, "shim", "--help").stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run", "-o"), 2, "see vtrace run --help"),
        (("filter", "missing"), 1, "missing: No such file or directory (name an existing filter file"),
        (("score", "many", "--fit", "1G", "-o", "nodir/f"), 1, "give -o a file name in an existing directory"),
        (("mpip", "many", "-f", "nodir"), 1, "nodir is not a directory (give -f an existing directory)"),
    ],
)
def test_message_has_a_next_step(local: Path, words: tuple[str, ...], code: int, said: str) -> None:
    done = vtrace(local, *words, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1), str(done)
    assert said in done.stderr
