# SPDX-License-Identifier: BSD-3-Clause
"""A second user creates links, FIFOs and files at the paths of a traced program's files: vtrace does not write to them
or replace them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify
from support.oracles.check import check
from support.tools import call, environment
from support.users.second_user import KINDS, OTHER, as_other, plant, shared_directory, state, unharmed, victim

CALLS = {"main": 1, "work": 10}
NAMES = ("many.1.def.z", "many.1.events.z", "many.uctl", "many.1.events.z.tmp")


def recorded(place: Path) -> dict[str, int]:
    """The calls in the archive of this user's run."""
    ours = [path for path in place.glob("many*.1.def.z") if path.lstat().st_uid == 0 and path.is_file()]
    prefix = ours[0].name.removesuffix(".1.def.z")
    unify(place, prefix)
    return check(place / f"{prefix}.trace").calls()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_planted_before_the_start(build: Builder, shared: Path, tmp_path: Path, name: str, kind: str) -> None:
    """A file of the second user has a name of the run: the program behaves normally, and the run gets another name."""
    target = victim(tmp_path)
    tmp_path.chmod(0o755)
    plant(shared / name, kind, target)
    before = state(shared / name)
    done = run(build("many.c"), shared, timeout=30)
    assert done.stdout == "done 10\n"
    assert unharmed(target)
    ours = kind == "hard link"  # an inode of this user: the name may be replaced, and the content stays
    assert ours or state(shared / name) == before
    said = [line for line in done.stderr.splitlines() if "another user has" in line]
    if not ours:
        assert len(said) == 1, str(done)
        assert f"{shared / name} " in said[0] or "files named many in" in said[0], str(done)
    assert recorded(shared) == CALLS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["lock", "lock.tmp", "uctl.tmp"])
def test_names_with_the_process_number(build: Builder, shared: Path, tmp_path: Path, ending: str, kind: str) -> None:
    """The second user guesses the process id in temporary names. VT_FILE_UNIQUE counts in PREFIX.lock."""
    target, name = victim(tmp_path), f"many.{ending}"
    tmp_path.chmod(0o755)
    program = build("many.c")
    with subprocess.Popen(
        ["sh", "-c", 'read go; exec "$0"', program], cwd=shared, env=environment({"VT_FILE_UNIQUE": "yes"}),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as started:  # fmt: skip
        name = f"many{'_1' if 'uctl' in ending else ''}.{ending}{started.pid if 'tmp' in ending else ''}"
        plant(shared / name, kind, target)
        before = state(shared / name)
        out, said = started.communicate("go\n", timeout=30)
    assert (out, started.returncode) == ("done 10\n", 0), said
    assert unharmed(target)
    assert kind == "hard link" or state(shared / name) == before
    assert kind == "hard link" or said.count("another user has") == 1, said
    assert recorded(shared) == CALLS


@pytest.mark.parametrize("kind", [*KINDS, "gone"])
@pytest.mark.parametrize("pattern", ["*.events.z", "*.def.z", "*.buffer"])
def test_swapped_during_the_run(build: Builder, tmp_path: Path, pattern: str, kind: str) -> None:
    """The directory has no sticky bit: the second user replaces or removes a file that the program opens again. The
    program behaves normally, and the file of the second user stays unchanged."""
    target = victim(tmp_path)
    tmp_path.chmod(0o755)
    env = environment({"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"})
    with shared_directory(0o777) as place, subprocess.Popen(
        [build("pauses.c"), "1000000"], cwd=place, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as started:  # fmt: skip
        assert started.stdout
        assert started.stdout.readline() == "ready\n"
        (found,) = place.glob(pattern)
        as_other(found.unlink)
        if kind != "gone":
            plant(found, kind, target)
        before = state(found)
        out, said = started.communicate("\n", timeout=60)
        assert (out, started.returncode) == ("done\n", 7), said
        assert unharmed(target)
        assert kind == "hard link" or pattern == "*.buffer" or state(found) == before
        if pattern != "*.buffer" and (pattern, kind) != ("*.def.z", "gone"):  # vtrace creates that file again
            assert said.count(f"{found.name} cannot be") == 1, said


def test_files_of_another_user_stay(build: Builder, shared: Path) -> None:
    """A complete run of the second user has the same name: this user's run gets a number, and both can be unified."""
    program = build("many.c")
    done = call(["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", program, "3"], shared)
    theirs = {path.name: path.read_bytes() for path in shared.iterdir()}
    assert set(theirs) == {"many.1.def.z", "many.1.events.z", "many.uctl"}, str(done)
    done = run(program, shared)
    assert "another user has files named many in this directory: this run names its files many_1" in done.stderr
    assert {name: (shared / name).read_bytes() for name in theirs} == theirs
    assert recorded(shared) == CALLS


@pytest.mark.parametrize("kind", ["directory", "link", "group", "sticky"])
@pytest.mark.parametrize("setting", ["VT_FILE_PREFIX", "VT_PFORM_GDIR"])
def test_directory_of_the_run(build: Builder, shared: Path, tmp_path: Path, setting: str, kind: str) -> None:
    """The second user has created the directory for the files of the run."""
    made, own, target = shared / "run.7", tmp_path / "own", tmp_path / "elsewhere"
    own.mkdir()
    target.mkdir()
    if kind == "link":
        as_other(lambda: made.symlink_to(target))
    else:
        as_other(made.mkdir)
        os.chown(made, OTHER, 0 if kind == "group" else OTHER)
        made.chmod({"directory": 0o777, "group": 0o2775, "sticky": 0o1777}[kind])
    env = {setting: f"{shared}/run.%j" + ("/many" if setting == "VT_FILE_PREFIX" else ""), "PBS_JOBID": "7"}
    done = run(build("many.c"), own, env=env)
    assert done.stdout == "done 10\n"
    refused = kind in ("directory", "link")
    assert done.stderr.count("a directory that another user has created: ") == refused, str(done)
    assert recorded(own if refused else made) == CALLS
    assert not list(target.iterdir())
    assert not refused or not list(made.iterdir())


def test_link_and_directories_of_one_other_user(build: Builder, tmp_path: Path, shared: Path) -> None:
    """The link and the directories belong to the same other user, for example a colleague: the run uses them."""
    os.chown(shared, OTHER, OTHER)
    as_other((shared / "runs").mkdir)
    as_other(lambda: (shared / "run.7").symlink_to("runs"))
    run(build("many.c"), tmp_path, env={"VT_FILE_PREFIX": f"{shared}/run.%j/many", "PBS_JOBID": "7"})
    assert recorded(shared / "runs") == CALLS


def test_root_unifies_files_of_another_user(build: Builder, shared: Path) -> None:
    """root unifies the files of another user: the files stay, and a line names their owner."""
    call(["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", build("many.c"), "3"], shared)
    theirs = names(shared)
    done = unify(shared, "many")
    assert "many.1.def.z, many.1.events.z, many.uctl belong to another user (nobody): not removed" in done.stderr
    assert names(shared) == {*theirs, "many.trace"}
    assert check(shared / "many.trace").calls() == {"main": 1, "work": 3}


def test_a_file_of_another_user_in_the_run(build: Builder, shared: Path) -> None:
    """A file of the run belongs to another user, who could have changed it: a warning names the file and its owner."""
    run(build("many.c"), shared)
    os.chown(shared / "many.1.events.z", OTHER, OTHER)
    done = unify(shared, "many")
    assert "warning: many.1.events.z belongs to another user (nobody)" in done.stderr
    assert names(shared) == {"many.1.events.z", "many.trace"}
