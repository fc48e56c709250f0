# SPDX-License-Identifier: BSD-3-Clause
"""Bad input to vtunify: one line names the input, the exit code is right, and no file is deleted or half-written."""

from __future__ import annotations

import os
import signal
import struct
import sys
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify, vtrace
from support.oracles.check import check
from support.tools import Done, call, command, need, unavailable

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


@pytest.mark.parametrize("prefix", ["nothing", "nothing.uctl", "n" * 255, "n" * 5000])
def test_missing_prefix(tmp_path: Path, prefix: str) -> None:
    refused(unify(tmp_path, prefix, check=False), "n")
    assert names(tmp_path) == set()


def test_missing_directory(tmp_path: Path) -> None:
    refused(unify(tmp_path, "nowhere/many", check=False), "nowhere")
    assert names(tmp_path) == set()


def test_no_operand(tmp_path: Path) -> None:
    done = unify(tmp_path, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_unknown_option(local: Path) -> None:
    done = unify(local, "--nonsense", "many", check=False)
    assert done.returncode == 2
    assert "--nonsense" in done.stderr
    assert names(local) == LOCAL


@pytest.mark.parametrize("file", ["many.1.events.z", "many.1.def.z"])
@pytest.mark.parametrize("left", [0, 5, 100, HEAD - 1])
def test_file_cut_in_its_head(local: Path, file: str, left: int) -> None:
    with (local / file).open("r+b") as opened:
        opened.truncate(left)
    refused_untouched(local, file)


@pytest.mark.parametrize("file", ["many.1.events.z", "many.1.def.z"])
def test_file_cut_in_its_last_block(local: Path, file: str) -> None:
    with (local / file).open("r+b") as opened:
        opened.truncate((local / file).stat().st_size - 9)
    refused_untouched(local, file)


@pytest.mark.parametrize("file", ["many.1.events.z", "many.1.def.z"])
def test_foreign_file(local: Path, file: str) -> None:
    (local / file).write_bytes(b"#!/bin/sh\n" + b"echo not a trace\n" * 400)
    refused_untouched(local, file)


@pytest.mark.parametrize("file", ["many.1.events.z", "many.1.def.z"])
def test_wrong_checksum_of_a_block(local: Path, file: str) -> None:
    data = bytearray((local / file).read_bytes())
    data[-20] ^= 0x40
    (local / file).write_bytes(data)
    refused_untouched(local, file)


def test_wrong_checksum_of_a_head(local: Path) -> None:
    data = bytearray((local / "many.1.events.z").read_bytes())
    data[64] ^= 1
    (local / "many.1.events.z").write_bytes(data)
    refused_untouched(local, "many.1.events.z")


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


def test_files_of_another_run_are_named_and_left(build: Builder, tmp_path: Path) -> None:
    program = build("ranks_threads.c", compiler="mpicc", flags=("-O1", "-pthread"), output="heat")
    run(program, tmp_path, "5", ranks=3)
    old = {name for name in names(tmp_path) if name.startswith(("heat.3", "heat.30001", "heat.30002"))}
    assert len(old) == 6
    run(program, tmp_path, "8", ranks=2)
    before = {name: (tmp_path / name).read_bytes() for name in old}
    done = unify(tmp_path, "heat")
    about = [line for line in done.stderr.splitlines() if "heat.3" in line]
    assert len(about) == 1, str(done)
    trace = check(tmp_path / "heat.trace")
    assert {location.group for location in trace.locations.values()} == {"MPI Rank 0", "MPI Rank 1"}
    assert trace.calls(0)["work"] == 8
    assert {name: data for name, data in contents(tmp_path).items() if name in old} == before
    assert names(tmp_path) == old | {"heat.trace"}


def test_missing_rank_is_named(build: Builder, tmp_path: Path) -> None:
    program = build("ranks_threads.c", compiler="mpicc", flags=("-O1", "-pthread"), output="heat")
    run(program, tmp_path, "5", ranks=2)
    for name in names(tmp_path):
        if name.startswith("heat.2"):
            (tmp_path / name).unlink()
    left = names(tmp_path)
    done = unify(tmp_path, "heat", check=False)
    assert len(done.stderr.splitlines()) == 1, str(done)
    assert "1" in done.stderr
    assert "rank" in done.stderr
    if done.returncode:
        assert names(tmp_path) == left
    else:
        check(tmp_path / "heat.trace", complete=False)


def test_existing_output(local: Path) -> None:
    (local / "many.trace").mkdir()
    (local / "many.trace" / "precious").write_text("mine\n")
    before = contents(local)
    refused(unify(local, "many", check=False), "many.trace", "--force")
    assert contents(local) == before
    assert (local / "many.trace" / "precious").read_text() == "mine\n"


def test_existing_output_with_force(local: Path, build: Builder) -> None:
    unify(local, "many")
    run(build("many.c"), local, "12")
    refused(unify(local, "many", check=False), "many.trace", "--force")
    unify(local, "--force", "many")
    assert names(local) == {"many.trace"}
    assert check(local / "many.trace").calls() == {"main": 1, "work": 12}


def test_output_into_a_missing_directory(local: Path) -> None:
    refused_untouched(local, "nowhere", options=("-o", "nowhere/result"))


def test_output_below_a_file(local: Path) -> None:
    (local / "plain").write_text("a file\n")
    refused_untouched(local, "plain", options=("-o", "plain/result"))


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


def test_full_disk(local: Path) -> None:
    if os.geteuid() != 0:
        unavailable("only root may mount a small file system")
    small = local / "small"
    small.mkdir()
    mounted = call([need("mount"), "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], local, check=False)
    if mounted.returncode:
        unavailable(f"a small file system cannot be mounted: {mounted.stderr.strip()}")
    try:
        before = contents(local)
        done = unify(local, "-o", "small/result", "many", check=False)
        assert done.returncode == 1, str(done)
        assert len(done.stderr.splitlines()) == 1, str(done)
        assert "small" in done.stderr
        assert contents(local) == before
        assert names(small) == set(), "vtunify left a half-written archive"
    finally:
        call([need("umount"), small], local)


def test_vtrace_info_of_a_missing_archive(tmp_path: Path) -> None:
    refused(vtrace(tmp_path, "info", "nothing", check=False), "nothing")


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


def test_program_on_a_full_disk_ends_normally(build: Builder, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        unavailable("only root may mount a small file system")
    small = tmp_path / "small"
    small.mkdir()
    mounted = call([need("mount"), "-t", "tmpfs", "-o", "size=256k", "tmpfs", small], tmp_path, check=False)
    if mounted.returncode:
        unavailable(f"a small file system cannot be mounted: {mounted.stderr.strip()}")
    try:
        done = run(build("many.c"), small, "100000", "7", code=7)
        assert done.stdout == "done 100000\n"
        assert 1 <= len(done.stderr.splitlines()) <= 5, str(done)
        assert all(line.startswith("vtrace: ") for line in done.stderr.splitlines())
    finally:
        call([need("umount"), small], tmp_path)


def test_program_with_a_file_size_limit_ends_normally(build: Builder, tmp_path: Path) -> None:
    done = call(["sh", "-c", 'ulimit -f 100; exec "$0" 100000 7', build("many.c")], tmp_path, check=False)
    assert done.returncode == 7, str(done)
    assert done.stdout == "done 100000\n"


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
