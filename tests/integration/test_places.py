# SPDX-License-Identifier: BSD-3-Clause
"""Directories of the files of a run, several runs with one name, and names from VT_GNU_NMFILE (guide, Table 4.5)."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, record, run, unify
from support.damage.failing_calls import inject, injected
from support.oracles.check import check
from support.tools import call, environment, need

CALLS = {"main": 1, "work": 10}


@pytest.fixture(scope="module")
def many(build: Builder) -> Path:
    return build("many.c")


def files(prefix: str) -> set[str]:
    return {f"{prefix}.1.def.z", f"{prefix}.1.events.z", f"{prefix}.uctl"}


def test_runs_are_counted(many: Path, tmp_path: Path) -> None:
    for count in (1, 2):
        done = run(many, tmp_path, env={"VT_FILE_UNIQUE": "yes"})
        assert done.stderr.endswith(f"vtunify many_{count}\n")
    assert names(tmp_path) == files("many_1") | files("many_2") | {"many.lock"}
    assert (tmp_path / "many.lock").read_text() == "2\n"
    unify(tmp_path, "many_2")
    assert check(tmp_path / "many_2.trace").calls() == CALLS
    assert names(tmp_path) == files("many_1") | {"many.lock", "many_2.trace"}


def test_a_number_of_the_user(many: Path, tmp_path: Path) -> None:
    run(many, tmp_path, env={"VT_FILE_UNIQUE": "17"})
    assert names(tmp_path) == files("many_17")


@pytest.mark.parametrize("unique", ["yes", "5"])
def test_all_ranks_have_one_number(build: Builder, tmp_path: Path, unique: str) -> None:
    program = build("ranks_threads.c", compiler="mpicc", flags=("-O1", "-pthread"), output="heat")
    (tmp_path / "heat.lock").write_text("4\n")
    run(program, tmp_path, "5", ranks=2, env={"VT_FILE_UNIQUE": unique})
    left = {name.split(".")[0] for name in names(tmp_path)}
    assert left == {"heat", "heat_5"}
    unify(tmp_path, "heat_5")
    trace = check(tmp_path / "heat_5.trace")
    assert {location.group for location in trace.locations.values()} == {"MPI Rank 0", "MPI Rank 1"}


def test_two_jobs_at_once(build: Builder, tmp_path: Path) -> None:
    """Two jobs with one prefix at the same time: one of them gets a number and prints it; both archives are whole."""
    program = build("ranks_threads.c", compiler="mpicc", flags=("-O1", "-pthread"), output="heat")
    os.mkfifo(tmp_path / "meet")
    words = [need("mpiexec"), "-n", "2", program, "2000", "meet"]
    jobs = [
        subprocess.Popen([*words, mode], cwd=tmp_path, env=environment({}), stderr=subprocess.PIPE, text=True)
        for mode in ("0", "1")
    ]
    said = [job.communicate(timeout=300)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0]
    assert len([text for text in said if "this run names its files heat_1" in text]) == 1
    for prefix in ("heat", "heat_1"):
        unify(tmp_path, prefix)
        assert check(tmp_path / f"{prefix}.trace", complete=False).calls(0)["work"]


def test_a_name_in_use(build: Builder, tmp_path: Path) -> None:
    """Two programs with one prefix overlap: the program that ends later gets a number, also for its children."""
    many = build("many.c", output="forks")
    forks = build("forks.c", output="forks-too")
    env = environment({"VT_FILE_PREFIX": "one"})
    first = subprocess.Popen([forks], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)
    first.communicate(timeout=60)
    os.mkfifo(tmp_path / "goes on")
    before = names(tmp_path)
    words = [many, "10", "0", "goes on"]
    slow = subprocess.Popen(words, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)
    while names(tmp_path) == before and slow.poll() is None:
        time.sleep(0.01)
    run(many, tmp_path, env={"VT_FILE_PREFIX": "one"})
    assert slow.poll() is None
    (tmp_path / "goes on").write_bytes(b"")
    said = slow.communicate(timeout=300)[1]
    assert "this run names its files one_1" in said
    assert files("one_1") <= names(tmp_path)


@pytest.mark.parametrize("place", ["gone", "plain"])
def test_unusable_directories(many: Path, tmp_path: Path, place: str) -> None:
    (tmp_path / "plain").write_text("a file\n")
    done = run(many, tmp_path, env={"VT_PFORM_GDIR": place, "VT_PFORM_LDIR": place})
    both = f"VT_PFORM_GDIR={place} and VT_PFORM_LDIR={place}"
    said = f"vtrace: {both} are not writable directories: {tmp_path} is used"
    assert done.stderr.splitlines()[0] == said
    assert names(tmp_path) == files("many") | {"plain"}


def test_directories_of_a_job(many: Path, tmp_path: Path) -> None:
    env = {"VT_PFORM_GDIR": "job-%j", "VT_PFORM_LDIR": "$SCRATCH/r%r", "SLURM_JOB_ID": "12", "SCRATCH": str(tmp_path)}
    run(many, tmp_path, env=env | {"VT_CLEAN": "no"})
    assert names(tmp_path) == {"job-12", "r0"}
    assert names(tmp_path / "job-12") == files("many")
    assert len(names(tmp_path / "r0")) == 1
    unify(tmp_path, "job-12/many")
    assert names(tmp_path / "r0") == set()


def test_a_variable_that_is_not_set(many: Path, tmp_path: Path) -> None:
    done = run(many, tmp_path, env={"VT_PFORM_GDIR": "$NO_SUCH_THING/x"})
    assert "VT_PFORM_GDIR=$NO_SUCH_THING/x contains $NO_SUCH_THING, which is not set" in done.stderr
    assert names(tmp_path) == files("many")


@pytest.mark.parametrize(("magic", "kind"), [("69690000", "NFS"), ("d00bd00b", "Lustre")])
def test_the_buffer_leaves_network_file_systems(many: Path, tmp_path: Path, magic: str, kind: str) -> None:
    """strace makes the first statfs of the program report a network file system: the buffer is in TMPDIR instead."""
    (tmp_path / "node").mkdir()
    network = inject(f"statfs:poke_exit=@arg2={magic}:when=1", tmp_path / "log")
    env = {"TMPDIR": str(tmp_path / "node"), "VT_CLEAN": "no"}
    done = call([*network, many], tmp_path, env)
    assert done.stdout == "done 10\n"
    assert injected(tmp_path / "log") == 1
    assert f"on a network file system ({kind}): the buffer is in {tmp_path / 'node'}" in done.stderr
    assert len(names(tmp_path / "node")) == 1
    kept = call([*network, many], tmp_path, env | {"VT_PFORM_LDIR": str(tmp_path)})
    assert "network" not in kept.stderr, "a directory set by the user must be used"


def test_names_from_nm(build: Builder, tmp_path: Path) -> None:
    program = build("many.c", output="bare")
    listed = call([need("nm"), "--demangle", "--line-numbers", program], tmp_path).stdout
    (tmp_path / "a.nm").write_text(listed)
    call([need("strip"), program], tmp_path)
    assert "work" not in record(program, tmp_path).calls()
    (tmp_path / "bare.trace").rename(tmp_path / "nameless.trace")
    assert record(program, tmp_path, env={"VT_GNU_NMFILE": "a.nm", "VT_GNU_NM": "nm"}).calls() == CALLS
    (tmp_path / "bare.trace").rename(tmp_path / "named.trace")
    (tmp_path / "other.nm").write_text(listed.replace(" work", " labour"))
    run(program, tmp_path, env={"VT_GNU_NMFILE": "a.nm"})
    unify(tmp_path, "bare", env={"VT_GNU_NMFILE": "other.nm"})
    assert check(tmp_path / "bare.trace").calls() == {"main": 1, "labour": 10}, "vtunify's environment has priority"


def test_a_bad_nm_file(many: Path, tmp_path: Path) -> None:
    run(many, tmp_path, env={"VT_GNU_NMFILE": "nowhere.nm"})
    done = unify(tmp_path, "many")
    assert len([line for line in done.stderr.splitlines() if "nowhere.nm" in line]) == 1
    check(tmp_path / "many.trace")


def test_all_ranks_flush_together(build: Builder, tmp_path: Path) -> None:
    program = build("mpi_rounds.c", compiler="mpicc", output="rounds")
    env = {"VT_SYNC_FLUSH": "yes", "VT_BUFFER_SIZE": "1M", "VT_MAX_FLUSHES": "0"}
    trace = record(program, tmp_path, "10000", "10", ranks=2, env=env)
    assert trace.calls() == {
        "main": 2,
        "work": 110000,
        "MPI_Init": 2,
        "MPI_Comm_rank": 2,
        "MPI_Barrier": 20,
        "MPI_Finalize": 2,
    }
    flushes = [trace.kinds(location)["BufferFlush"] for location in trace.locations]
    assert flushes[0] == flushes[1] >= 3, "rank 1 has a tenth of the events of rank 0, and must flush as often"


def test_a_common_flush_counts(build: Builder, tmp_path: Path) -> None:
    program = build("mpi_rounds.c", compiler="mpicc", output="rounds")
    env = {"VT_SYNC_FLUSH": "yes", "VT_BUFFER_SIZE": "1M", "VT_MAX_FLUSHES": "1"}
    trace = record(program, tmp_path, "10000", "10", ranks=2, env=env)
    rounds = [trace.calls(location)["MPI_Barrier"] for location in trace.locations]
    assert rounds[0] == rounds[1] < 10, "both ranks must stop at the same collective"


def test_no_place_at_all(many: Path, tmp_path: Path) -> None:
    """A directory in which not even root may write: vtrace prints one line, and the program's output stays the same."""
    place = Path("/proc/self")
    for env, begin in (
        ({}, ""),
        ({"VT_PFORM_LDIR": "/nowhere"}, "VT_PFORM_LDIR=/nowhere is not a writable directory: "),
    ):
        done = run(many, place, env=env)
        assert done.stderr.startswith(f"vtrace: {begin}/proc/")
        assert "nothing is recorded" in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr


def test_a_directory_that_takes_no_files(many: Path, tmp_path: Path) -> None:
    """For root the directory looks writable, but no file can be created: the next command is that for the buffer."""
    if os.geteuid() != 0:
        pytest.skip("others see that they may not write there")
    done = run(many, tmp_path, env={"VT_PFORM_GDIR": "/proc"})
    assert done.stderr.endswith("next: vtunify many\n"), done.stderr
    unify(tmp_path, "many")
    assert check(tmp_path / "many.trace", complete=False).calls() == CALLS
