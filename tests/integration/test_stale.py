# SPDX-License-Identifier: BSD-3-Clause
"""Messages on a name whose archive belongs to an earlier run, or does not exist."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.parallel import unify_mpi
from support.build.run import run, unify, vtrace
from support.tools import Done, call, command, need

COMMANDS = (
    ("summary",), ("info",), ("report", "-o", "r.html"), ("export", "--to", "csv"), ("timers", "--all"), ("score",),
    ("profile",), ("view", "--no-browser", "--idle", "0.01"), ("mpip",),
)  # fmt: skip


@pytest.fixture(scope="module")
def ran(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with heat.trace of a first run, and the local files of a second run."""
    where = tmp_path_factory.mktemp("ran")
    program = build("endings.c", output="heat")
    run(program, where, "return", "5")
    unify(where, "heat")
    shutil.copytree(where / "heat.trace", where / "alone" / "heat.trace")
    run(program, where, "return", "7")
    return where


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_every_command_first_warns_of_a_later_run(ran: Path, words: tuple[str, ...]) -> None:
    done = vtrace(ran, words[0], "heat", *words[1:], check=False)
    assert "heat.trace is not the last run, which began at 20" in done.stderr.splitlines()[0], str(done)
    assert done.stderr.splitlines()[0].endswith("and left local files (vtunify --force heat)")
    assert "not the last run" not in vtrace(ran / "alone", words[0], "heat", *words[1:], check=False).stderr


def test_a_later_run_beside_other_operands(ran: Path) -> None:
    """The anchor, whose name does not contain the archive's directory; the second of two archives."""
    for done in (vtrace(ran / "heat.trace", "summary", "traces.otf2"), vtrace(ran, "diff", "alone/heat.trace", "heat")):
        assert "heat.trace is not the last run" in done.stderr.splitlines()[0], str(done)


def test_the_suggested_command_works(ran: Path, tmp_path: Path) -> None:
    place = tmp_path / "p"
    shutil.copytree(ran, place)
    unify(place, "--force", "heat")
    assert "warning" not in vtrace(place, "summary", "heat").stderr


def test_files_that_were_kept(ran: Path, tmp_path: Path) -> None:
    """Local files kept by vtunify -k belong to the archive: no warning."""
    place = tmp_path / "p"
    shutil.copytree(ran, place)
    unify(place, "-k", "heat")
    assert "warning" not in vtrace(place, "info", "u_heat").stderr
    shutil.rmtree(place / "heat.trace")
    shutil.move(place / "u_heat.trace", place / "heat.trace")
    assert "warning" not in vtrace(place, "info", "heat").stderr


def test_files_of_an_earlier_run(ran: Path, build: Builder, tmp_path: Path) -> None:
    place = tmp_path / "later"
    place.mkdir()
    run(build("endings.c", output="heat"), place, "return", "9")
    unify(place, "heat")
    for path in ran.glob("heat.*.z"):
        shutil.copy2(path, place)
    (line, *_) = vtrace(place, "summary", "heat").stderr.splitlines()
    assert line == (
        "vtrace: warning: local files of an earlier run of heat are beside heat.trace "
        "(vtunify --partial -o NAME heat unifies the remaining files into another archive)"
    )


@pytest.mark.parametrize("ranks", [0, 2], ids=["vtunify", "vtunify-mpi"])
def test_already_unified(ran: Path, build: Builder, tmp_path: Path, ranks: int) -> None:
    """With vtunify-mpi one rank prints the message, and all ranks end alike."""

    def unified(*words: str, check: bool = True) -> Done:
        if not ranks:
            return unify(tmp_path, *words, check=check)
        return unify_mpi(mpis.find("mpich-wheel", build), tmp_path, *words, ranks=ranks, check=check)

    shutil.copytree(ran / "alone" / "heat.trace", tmp_path / "heat.trace")
    before = (tmp_path / "heat.trace" / "traces.otf2").stat()
    said = "heat.trace: already unified, and there are no local files of a later run\n"
    for words in (["heat"], ["--force", "heat"], ["heat.trace"]):
        done = unified(*words)
        assert (done.stdout.startswith(said), done.stdout.count(said)) == (True, 1)
    assert (tmp_path / "heat.trace" / "traces.otf2").stat() == before
    done = unified("-o", "other", "heat", check=False)
    assert (done.returncode, done.stdout, done.stderr.count(": error: ")) == (1, "", 1)


def test_only_local_files(ran: Path, tmp_path: Path) -> None:
    """Only local files exist: for the prefix, with the program beside, and for the directory, the message names the
    next command."""
    for path in ran.glob("heat.*.z"):
        shutil.copy2(path, tmp_path)
    (tmp_path / "heat").write_text("the program")
    said = "there are only local files, not unified yet (vtunify heat)"
    for name in ("heat", "heat.trace", "heat.trace/traces.otf2"):
        done = vtrace(tmp_path, "summary", name, check=False)
        assert done.stderr == f"vtrace: error: {name.removesuffix('/traces.otf2')}: {said}\n"
    done = vtrace(tmp_path, "summary", ".", check=False)
    assert done.stderr == "vtrace: error: .: there are only local files of heat, not unified yet (vtunify heat)\n"
    code = "import vtrace\ntry: vtrace.open('heat')\nexcept vtrace.errors.VtraceError as e: print(e)"
    assert call([sys.executable, "-c", code], tmp_path).stdout == f"heat: {said}\n"


@pytest.mark.parametrize("word", ["info", "summary", "view", "report", "mpip", "timers", "score", "profile"])
def test_no_files(tmp_path: Path, word: str) -> None:
    (tmp_path / "text").write_text("no archive")
    (tmp_path / "program").write_text("not run yet")
    (tmp_path / "program").chmod(0o755)
    for name, said in (
        ("program", "program is a program; there is no archive program.trace and there are no local files of a run"),
        ("nodir/heat", "nodir/heat: no such file or directory"), ("heat", "heat: no such archive"),
        ("text", "text is not an OTF2 archive"), (".", ".: there is no OTF2 archive in this directory"),
    ):  # fmt: skip
        done = vtrace(tmp_path, word, name, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"vtrace: error: {said}")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("word", ["info", "summary"])
def test_no_permission(ran: Path, tmp_path: Path, word: str) -> None:
    """No permission for the directory; then for one file of the archive, where commands show the other files."""
    root = os.geteuid() == 0  # root may read all files
    without = [need("setpriv"), "--bounding-set=-all", "--inh-caps=-all"] if root else []
    shutil.copytree(ran / "alone" / "heat.trace", tmp_path / "heat.trace")
    (tmp_path / "heat.trace").chmod(0)
    for name in ("heat", "heat.trace"):
        done = call([*without, *command("vtrace"), word, name], tmp_path, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "vtrace: error: cannot look into heat.trace: Permission denied\n"
    (tmp_path / "heat.trace").chmod(0o755)
    (tmp_path / "heat.trace" / "traces" / "0.evt").chmod(0)
    done = call([*without, *command("vtrace"), word, "heat"], tmp_path, check=False)
    assert done.returncode == 0
    assert "heat.trace/traces/0.evt cannot be read" in done.stderr or word == "info", str(done)
    done = call([*without, *command("vtrace"), "score", "--fit", "1", "heat"], tmp_path, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "--fit: heat does not have all calls: heat.trace/traces/0.evt cannot be read" in done.stderr


def test_missing_file_of_dump(tmp_path: Path) -> None:
    done = vtrace(tmp_path, "dump", "heat.1.events.z", check=False)
    assert done.stderr == "vtrace: error: heat.1.events.z: no such file\n"


def test_windows_beside_the_trace(ran: Path) -> None:
    for words in (["--from", "1000"], ["--from", "100%"], ["--to", "0"]):
        done = call([*command("vtrace"), "summary", "alone/heat", *words], ran, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "alone/heat.trace lasts " in done.stderr
