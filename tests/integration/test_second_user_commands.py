# SPDX-License-Identifier: BSD-3-Clause
"""A second user creates links, FIFOs and files at the output paths of commands: each command refuses in one line, and
changes nothing."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.tools import command, environment
from support.users.second_user import KINDS, VICTIM, as_other, plant, state, unharmed, victim

WRITERS = {
    "chrome": ["export", "many", "--to", "chrome", "-o", "out"],
    "perfetto": ["export", "many", "--to", "perfetto", "-o", "out"],
    "csv": ["export", "many", "--to", "csv", "-o", "out"],
    "report": ["report", "many", "-o", "out"],
    "score": ["score", "many", "--fit", "1K", "-o", "out"],
}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    found = victim(tmp_path)
    tmp_path.chmod(0o755)
    return found


def started(place: Path, words: list[str], name: str, kind: str, target: Path) -> tuple[str, int, str]:
    """Runs a command from a shell whose process id the second user knows: {pid} in the name of that user's file."""
    with subprocess.Popen(
        ["sh", "-c", 'read go; exec "$@"', "sh", *words], cwd=place, env=environment(), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as shell:  # fmt: skip
        name = name.format(pid=shell.pid, host=platform.node())
        plant(place / name, kind, target)
        before = state(place / name)
        out, said = shell.communicate("go\n", timeout=100)
    assert kind == "hard link" or state(place / name) == before, said
    assert unharmed(target)
    return name, shell.returncode, out + said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["out", ".out.{pid}.part"])
@pytest.mark.parametrize("writer", ["chrome", *(pytest.param(w, marks=pytest.mark.full) for w in WRITERS)])
def test_output_of_a_command(build: Builder, shared: Path, target: Path, writer: str, name: str, kind: str) -> None:
    run(build("many.c"), shared)
    unify(shared, "many")
    words = [*command("vtrace"), *WRITERS[writer]]
    name, code, said = started(shared, words, name, kind, target)
    if kind == "hard link":  # an inode of this user: the name is replaced, and the content stays
        assert code == 0, said
        assert (shared / "out").read_bytes() not in (b"", VICTIM)
    else:
        assert code == 1, said
        assert len(said.splitlines()) == 1
        assert str(name) in said
        assert not (shared / "out").exists() or name == "out"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [".many.trace.tmp-{host}-{pid}", "many.trace"])
def test_archive(build: Builder, shared: Path, target: Path, name: str, kind: str) -> None:
    """The directory in which vtunify builds the archive has a name that the second user can guess."""
    run(build("many.c"), shared)
    name, code, said = started(shared, [*command("vtunify"), "many"], name, kind, target)
    if kind == "hard link" and name != "many.trace":
        kind = "directory"  # a file of this user: vtunify does not remove files that it has not created
    assert code == 1, said
    assert len(said.splitlines()) == 1
    assert name in said
    assert (shared / "many.1.def.z").exists()
    unify(shared, "-o", "other", "many")
    assert check(shared / "other.trace").calls() == {"main": 1, "work": 10}


def test_directories_of_another_user_stay(build: Builder, shared: Path) -> None:
    """A directory of another user looks like the archive of a killed vtunify: it stays."""
    run(build("many.c"), shared)
    left = shared / f".many.trace.tmp-{platform.node()}-999999999"
    as_other(left.mkdir)
    os.utime(left, (0, 0))
    unify(shared, "many")
    assert left.is_dir()
    assert (shared / "many.trace").stat().st_mode & 0o777 == 0o777 & ~mask(), "the archive needs the usual permissions"


def test_unfinished_archive_is_private(build: Builder, shared: Path) -> None:
    """While vtunify writes an archive, only its user has access: libotf2 follows links that others could create."""
    run(build("many.c"), shared)
    script = (
        "import os, sys; from pathlib import Path; from vtrace.io.archive.writer import Archive;"
        "os.umask(0); Archive(Path('made')); print(oct(os.stat('made').st_mode & 0o777))"
    )
    python = Path(command("vtunify")[0]).parent / "python"
    done = subprocess.run([python, "-c", script], cwd=shared, env=environment(), capture_output=True, text=True)
    assert done.stdout == "0o700\n", done.stderr


def test_own_links_and_devices(build: Builder, shared: Path) -> None:
    """A link of the same user is replaced. An output path that is not a regular file is refused."""
    run(build("many.c"), shared)
    unify(shared, "many")
    (shared / "mine").write_text("mine")
    (shared / "out").symlink_to("mine")
    vtrace(shared, *WRITERS["chrome"])
    assert not (shared / "out").is_symlink()
    assert (shared / "mine").read_text() == "mine"
    done = vtrace(shared, "export", "many", "--to", "csv", "-o", "/dev/null", check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), str(done)
    assert Path("/dev/null").is_char_device()


def mask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found
