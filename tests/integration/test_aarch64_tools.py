# SPDX-License-Identifier: BSD-3-Clause
"""vtrace's commands on aarch64: Python for arm64 with the cross-built libraries, in a root of Debian packages that qemu
runs. Archives and tables are those of x86-64."""

from __future__ import annotations

import shutil
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from support.build.arm_root import ArmRoot
from support.build.run import names
from support.oracles.check import check
from support.synthetic_runs.every_kind import write_run
from support.tools import PROGRAMS, ROOT, Done, call, command
from vtrace.io.local import records

LAST_PROPERTY = b"VTRACE::EVENT_BYTES\0"
"""The end of an anchor file: after the properties comes the number that libotf2 draws for each archive."""


@pytest.fixture(scope="module")
def arm(session_directory: Path, libraries: Path) -> ArmRoot:
    return ArmRoot(session_directory, libraries)


def unpack(name: str, where: Path) -> None:
    with tarfile.open(ROOT / "tests" / "archives" / f"{name}.tar.xz") as packed:
        packed.extractall(where, filter="data")


def content(directory: Path) -> dict[str, bytes]:
    """The bytes of all files, without the number that libotf2 draws for each archive."""
    found = {}
    for path in directory.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.name == "traces.otf2":
                head, _, tail = data.rpartition(LAST_PROPERTY)
                data = head + tail.partition(b"\0")[0]
            found[str(path.relative_to(directory))] = data
    return found


def both(arm: ArmRoot, place: Path, *words: str) -> Done:
    """Runs a command on x86-64 and on aarch64, both in the directory data of place. The output and all files are equal.
    data keeps its earlier files."""
    data, kept = place / "data", place / "kept"
    data.rename(kept)
    shutil.copytree(kept, data)
    here = call([*command(words[0]), *words[1:]], data, check=False)
    data.rename(place / "here")
    shutil.copytree(kept, data)
    there = arm.run(data, *words, check=False)
    assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr)
    assert here.returncode == 0, str(here)
    assert content(data) == content(place / "here")
    shutil.rmtree(place / "here")
    shutil.rmtree(data)
    kept.rename(data)
    return here


# ---- the way of a user ----


CALLS = Counter({"open": 4, "write": 65, "close": 4, "puts": 1, "put": 4, "work": 3, "main": 1})
"""The calls of contained.c, in all its threads and its child."""


@pytest.fixture(scope="module")
def program(arm: ArmRoot, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """contained.c, compiled by vtrace-cc and gcc on aarch64."""
    place = tmp_path_factory.mktemp("contained")
    assert arm.run(place, "uname", "-m").stdout == "aarch64\n"
    arm.run(place, *"vtrace-cc -vt:cc gcc -vt:seq -pthread".split(), PROGRAMS / "contained.c", "-o", "contained")
    return place / "contained"


def test_run(arm: ArmRoot, program: Path, tmp_path: Path) -> None:
    """vtrace run, and the vtunify that it starts at the end."""
    done = arm.run(tmp_path, "vtrace", "run", "--io", program, check=False)
    assert (done.returncode, done.stdout) == (7, "works\n"), str(done)
    assert "vtrace: all events recorded" in done.stderr
    trace = check(tmp_path / "contained.trace")
    calls = trace.calls()
    assert {name: calls[name] for name in CALLS} == CALLS
    assert "contained.uctl" not in names(tmp_path)


@pytest.mark.full
def test_mpi(arm: ArmRoot, tmp_path: Path) -> None:
    """gcc for arm64 builds the shim in minutes. vtunify-mpi on two ranks writes the archive that vtunify writes."""
    place = tmp_path / "data"
    place.mkdir()
    words = ("vtrace-cc", "-vt:cc", "mpicc.mpich", "-O1", PROGRAMS / "nodes.c", "-o", "nodes")
    arm.run(place, *words, timeout=1200)
    arm.run(place, "vtrace", "run", "mpiexec.mpich", "-n", "2", "./nodes", "10", env={"VT_UNIFY": "no"})
    shutil.copytree(place, tmp_path / "alone")
    arm.run(place, "mpiexec.mpich", "-n", "2", "vtunify-mpi", "nodes")
    call([*command("vtunify"), "nodes"], tmp_path / "alone")
    assert content(place) == content(tmp_path / "alone")
    trace = check(place / "nodes.trace")
    assert trace.kinds()["MpiSend"] == trace.kinds()["MpiRecv"] == 20
    assert trace.calls()["MPI_Allreduce"] == 20


# ---- the same as on x86-64 ----


def test_unify_files_of_aarch64(arm: ArmRoot, program: Path, tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    assert arm.run(place, "vtrace", "run", "--io", "--no-unify", program, check=False).returncode == 7
    assert {path.suffix for path in place.glob("contained.*")} == {".uctl", ".z"}
    both(arm, tmp_path, "vtunify", "contained")


def test_unify_files_of_x86_64(arm: ArmRoot, tmp_path: Path) -> None:
    unpack(f"local-{records.FORMAT_VERSION}-user", tmp_path / "data")
    both(arm, tmp_path, "vtunify", "user")


def test_dump_every_kind(arm: ArmRoot, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    write_run(tmp_path / "data")
    assert '"kind": "RMA_PUT"' in both(arm, tmp_path, "vtrace", "dump", "a", "--json").stdout


def full(*words: str) -> object:
    return pytest.param(words, marks=pytest.mark.full)


@pytest.mark.parametrize(
    "words",
    [
        ("diagnose", "--json"), ("cut", "--to", "50%", "-o", "cut"),
        full("summary", "--json"), full("export", "--to", "perfetto", "-o", "export.pftrace"),
        full("info", "--all"), full("profile", "--by", "callpath", "--csv"), full("timers", "--all"),
        full("report", "-o", "report.html"), full("export", "--to", "csv", "-o", "export.csv"),
        full("export", "--to", "chrome", "-o", "export.json"), full("view", "--text"), full("score", "--json"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "archive", ["heat2d", *(pytest.param(name, marks=pytest.mark.full) for name in ("io", "omp", "sampling"))]
)
def test_read(arm: ArmRoot, tmp_path: Path, archive: str, words: tuple[str, ...]) -> None:
    unpack(f"scorep-{archive}", tmp_path / "data")
    (anchor,) = (tmp_path / "data").rglob("traces.otf2")
    name = str(anchor.parent.relative_to(tmp_path / "data"))
    both(arm, tmp_path, "vtrace", words[0], name, *words[1:])


ABI = ("otf2_abi", "kernel")
LOOPS = """columns kernel_damage kernel_decode kernel_operations kernel_teams kernel_times local mpi_waits program
    questions readback replay replay_cases sidecar""".split()


@pytest.mark.full
@pytest.mark.parametrize("tests", [ABI, LOOPS])
def test_unit_tests(arm: ArmRoot, tmp_path: Path, tests: tuple[str, ...]) -> None:
    """The unit tests of the compiled readers and of their structures, in Python for arm64."""
    files = [f"tests/unit/test_{name}.py" for name in tests]
    # Pytest's own assertions would take most of the time, since qemu runs their compilation, too.
    words = ["python3", "-m", "pytest", "-q", "--assert=plain", "-p", "no:cacheprovider"]
    words.append(f"--basetemp={tmp_path}/inside")
    done = arm.run(ROOT, *words, *files, env={"PYTHONDONTWRITEBYTECODE": "1"}, timeout=900)
    assert " passed" in done.stdout.splitlines()[-1]
    assert "failed" not in done.stdout.splitlines()[-1]
