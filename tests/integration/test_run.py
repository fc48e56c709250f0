# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run on MPI programs built without vtrace, before and after the launcher."""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import names, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import Done, call, command, need

SOURCE = "mpi_messages.c"
PYTHON = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
assert comm.size == 2
for i in range(5):
    comm.Barrier()
if comm.rank == 0:
    comm.Send(b"x" * 100, dest=1, tag=7)
else:
    comm.Recv(bytearray(100), source=0, tag=7)
if comm.rank == 0:
    print("done")
"""


def started(mpi: Mpi, *words: str | Path, ranks: int = 3, options: tuple[str, ...] = ()) -> dict[str, list[str | Path]]:
    """The commands for the two ways to record a program in a job."""
    run = [*command("vtrace"), "run", *options]
    launch = [*mpi.launch, "-n", str(ranks)]
    return {"before": [*run, *launch, *words], "behind": [*launch, *run, *words]}


POLLS = {"MPI_Iprobe", "MPI_Improbe", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Waitsome"}


def mpi_events(trace: Trace) -> dict[int, Counter[tuple[str, str]]]:
    """By rank: the calls of MPI functions, and the attributes of messages and collectives except request ids.

    The number of polling calls depends on time and counts as one.
    """
    found: dict[int, Counter[tuple[str, str]]] = {rank: Counter() for rank in trace.locations}
    for event in trace.events:
        if event.kind.startswith("Mpi") and event.kind != "MpiRequestTest":
            about = [value for key, value in sorted(event.attrs.items()) if key != "request_id"]
            found[event.location][event.kind, str(about)] += 1
        elif event.kind == "Enter" and trace.region_of(event).paradigm == "MPI":
            name = trace.region_of(event).name
            found[event.location][event.kind, name] += (
                name not in POLLS or (event.kind, name) not in found[event.location]
            )
    return found


@pytest.fixture(scope="module")
def linked(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Counter[tuple[str, str]]]:
    """The MPI events of the same program, compiled with vtrace-cc."""
    return mpi_events(mpi.record(mpi.build(SOURCE), tmp_path_factory.mktemp("linked"), ranks=3))


@pytest.mark.parametrize("way", ["before", "behind"])
def test_as_if_linked(mpi: Mpi, linked: dict[int, Counter[tuple[str, str]]], tmp_path: Path, way: str) -> None:
    """Each rank has the calls of the linked program. The processes of the launcher leave no files."""
    program = mpi.build(SOURCE, plain=True)
    plain = call([*mpi.launch, "-n", "3", program], tmp_path, mpi.env)
    done = call(started(mpi, program)[way], tmp_path, mpi.env)
    assert (done.stdout, done.stderr.count("vtrace:")) == (plain.stdout, 1), str(done)
    assert {name.partition(".")[0] for name in names(tmp_path)} == {"mpi_messages"}
    unify(tmp_path, "mpi_messages")
    assert mpi_events(check(tmp_path / "mpi_messages.trace")) == linked
    assert linked[0]["Enter", "MPI_Init"] == 1


@pytest.mark.parametrize("way", ["before", "behind"])
def test_of_a_program_that_is_linked_with_a_shim(
    mpi: Mpi, linked: dict[int, Counter[tuple[str, str]]], tmp_path: Path, way: str
) -> None:
    done = call(started(mpi, mpi.build(SOURCE), options=("-v",))[way], tmp_path, mpi.env)
    assert "libvtrace-mpi.so" not in done.stderr
    unify(tmp_path, "mpi_messages")
    assert mpi_events(check(tmp_path / "mpi_messages.trace")) == linked


@pytest.mark.parametrize(
    ("name", "binding"),
    [
        ("mpich", "MPIF"), ("openmpi", "F08"),
        *(pytest.param(*pair, marks=pytest.mark.full) for pair in (
            ("mpich", "F90"), ("mpich", "F08"), ("openmpi", "MPIF"), ("openmpi", "F90"),
        )),
    ],
)  # fmt: skip
def test_fortran(build: Builder, tmp_path: Path, name: str, binding: str) -> None:
    """Each call is recorded once, with a preloaded and with a linked shim."""
    mpi = mpis.find(name, build)
    compiler = need(f"mpifort.{name}")
    flags = ["-O1", "-fallow-argument-mismatch", f"-D{binding}"]
    found = {}
    for way in ("plain", "linked"):
        place = tmp_path / way
        place.mkdir()
        program = build("mpi_fortran.F90", compiler=compiler, flags=flags, plain=way == "plain")
        call(started(mpi, program)["before"], place, mpi.env)
        unify(place, "mpi_fortran")
        found[way] = mpi_events(check(place / "mpi_fortran.trace"))
    assert found["plain"] == found["linked"]
    assert found["plain"][0]["Enter", "MPI_Init"] == 1


@pytest.mark.parametrize("name", ["mpich-wheel", "openmpi"])
@pytest.mark.parametrize(("way", "module"), [("before", False), ("behind", True)])
def test_mpi4py(build: Builder, tmp_path: Path, name: str, way: str, module: bool) -> None:
    """vtrace run finds the MPI that mpi4py selects, and uses the name of the script as prefix."""
    mpi = mpis.find(name, build)
    env = {**mpi.env, **({"MPI4PY_MPIABI": "openmpi", "MPI4PY_LIBMPI": "libmpi.so.40"} if mpi.is_open else {})}
    (tmp_path / "solve.py").write_text(PYTHON)
    words = [sys.executable, *(["-m", "mpi4py"] if module else []), "solve.py"]
    done = call(started(mpi, *words, ranks=2)[way], tmp_path, env)
    assert done.stdout == "done\n"
    unify(tmp_path, "solve")
    trace = check(tmp_path / "solve.trace")
    assert [trace.calls(rank)["MPI_Barrier"] for rank in trace.locations] == [5, 5]
    sent = [e.attrs["msg_length"] for e in trace.events if e.kind == "MpiSend" and e.attrs["msg_tag"] == 7]
    assert sent == [100]


def test_python_on_one_timeline(build: Builder, tmp_path: Path) -> None:
    """Functions, MPI, I/O and memory: each MPI call is nested in the Python function that makes it."""
    mpi = mpis.find("mpich-wheel", build)
    (tmp_path / "solve.py").write_text(
        "from mpi4py import MPI\ndef step(i):\n    MPI.COMM_WORLD.Barrier()\n"
        "for i in range(7):\n    step(i)\nopen(f'out{MPI.COMM_WORLD.rank}', 'w').write('x' * 1000)\n"
    )
    words = started(mpi, sys.executable, "solve.py", ranks=2, options=("--python", "--io", "--memory"))["before"]
    call(words, tmp_path, {"VT_MAX_FLUSHES": "0"})
    unify(tmp_path, "solve")
    trace = check(tmp_path / "solve.trace")
    inside: Counter[str] = Counter()
    open_regions: dict[int, list[str]] = {location: [] for location in trace.locations}
    for event in trace.events:
        if event.kind == "Enter":
            stack, name = open_regions[event.location], trace.region_of(event).name
            if name == "MPI_Barrier":
                inside[stack[-1].rpartition(".")[2]] += 1
            stack.append(name)
        elif event.kind == "Leave":
            open_regions[event.location].pop()
    assert inside == {"step": 14}
    written = [e.attrs["bytes_result"] for e in trace.events if e.kind == "IoOperationComplete"]
    assert written.count(1000) == 2
    assert sum(trace.calls(location)["malloc"] for location in trace.locations) > 1000


def test_several_programs(build: Builder, tmp_path: Path) -> None:
    """Two programs in one job get one prefix and one archive; the options of each program stay in place."""
    mpi = mpis.find("mpich-wheel", build)
    plain = [build(SOURCE, compiler=str(mpi.mpicc), plain=True, output=name) for name in ("ocean", "atmos")]
    words = [*mpi.launch, "-n", "1", plain[0], ":", "-n", "2", "-env", "A", "b", plain[1]]
    done = call([*command("vtrace"), "run", *words], tmp_path)
    assert "next: vtunify ocean" in done.stderr
    assert {name.partition(".")[0] for name in names(tmp_path)} == {"ocean"}
    unify(tmp_path, "ocean")
    trace = check(tmp_path / "ocean.trace")
    assert [trace.calls(rank)["MPI_Init"] for rank in trace.locations] == [1, 1, 1]


def test_a_script_before_the_program(mpi: Mpi, tmp_path: Path) -> None:
    """A script that binds ranks to cores: the shell is not an MPI program, but the program in its arguments is."""
    script = tmp_path / "bind.sh"
    script.write_text('#!/bin/sh\nexec "$@"\n')
    script.chmod(0o755)
    program = mpi.build(SOURCE, plain=True)
    call(started(mpi, "./bind.sh", program, options=("-o", "bound"))["before"], tmp_path, mpi.env)
    unify(tmp_path, "bound")
    trace = check(tmp_path / "bound.trace")
    assert [trace.calls(rank)["MPI_Init"] for rank in trace.locations] == [1, 1, 1]


def test_prefix_commands(build: Builder, tmp_path: Path) -> None:
    """timeout and env are not recorded; the program that they start is."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build(SOURCE, plain=True)
    words = [*mpi.launch, "-n", "3", "timeout", "-k", "5", "60", "env", "A=b", program]
    call([*command("vtrace"), "run", "--io", *words], tmp_path)
    unify(tmp_path, "mpi_messages")
    trace = check(tmp_path / "mpi_messages.trace")
    assert len({location.group for location in trace.locations.values()}) == 3


def test_unify(mpi: Mpi, linked: dict[int, Counter[tuple[str, str]]], tmp_path: Path) -> None:
    """One command from the program to the archive: standard output has only the output of the program."""
    program = mpi.build(SOURCE, plain=True)
    plain = call([*mpi.launch, "-n", "3", program], tmp_path, mpi.env)
    words = started(mpi, program, options=("--unify", "-o", "results/run1"))["before"]
    done = call(words, tmp_path, mpi.env)
    assert done.stdout == plain.stdout
    assert done.stderr.splitlines()[-1].startswith("vtrace: next: vtrace diagnose results/run1 ")
    assert names(tmp_path / "results") == {"run1.trace"}
    assert mpi_events(check(tmp_path / "results" / "run1.trace")) == linked
    assert call(words, tmp_path, mpi.env).stdout == plain.stdout
    assert names(tmp_path / "results") == {"run1.trace", "run1~.trace"}
    assert call([*words[:2], "--force", *words[2:]], tmp_path, mpi.env).stdout == plain.stdout


def test_unify_behind_the_launcher(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build(SOURCE, plain=True)
    done = call(started(mpi, program, options=("--unify",))["behind"], tmp_path)
    assert done.stderr.count("nothing is unified: put vtrace run before the launcher") == 1, str(done)
    assert done.stderr.splitlines()[-1].endswith("; next: vtunify mpi_messages")
    assert not (tmp_path / "mpi_messages.trace").exists()


def test_ranks_at_once_build_one_shim(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build(SOURCE, plain=True)
    env = {"VT_SHIM_CACHE": str(tmp_path / "cache"), "VT_VERBOSE": "1", **mpis.quick_mpicc(tmp_path)}
    done = call(started(mpi, program, ranks=6)["behind"], tmp_path, env, check=False)
    assert done.stderr.count("rank 0 of 6 wrote") == 1, str(done)
    assert done.stderr.count("building the MPI shim") == 1, str(done)
    shims = [name for name in names(tmp_path / "cache") if name.startswith("mpi-")]
    assert len(shims) == 1
    assert not [name for name in names(tmp_path / "cache") if name.startswith("building")]
    unify(tmp_path, "mpi_messages")
    trace = check(tmp_path / "mpi_messages.trace", complete=False)
    assert [trace.calls(rank)["MPI_Init"] for rank in trace.locations] == [1] * 6


def test_verbose(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build(SOURCE, plain=True)
    words = started(mpi, program, options=("-v", "--io"))["before"]
    lines = call(words, tmp_path, {"VT_MAX_FLUSHES": "0"}).stderr.splitlines()
    assert any(line.startswith("vtrace: MPI: /") and line.endswith("(library of the program)") for line in lines)
    assert "vtrace: VT_IOTRACE=yes" in lines
    assert "vtrace: VT_MAX_FLUSHES=0 (environment)" in lines
    (start,) = [line for line in lines if line.startswith("vtrace: starts ")]
    assert shlex.split(start)[2 : 2 + len(mpi.launch)] == list(mpi.launch)
    assert str(program) == shlex.split(start)[-1]


def _wrong(tmp_path: Path, *words: str | Path) -> Done:
    return vtrace(tmp_path, "run", *words, check=False)


def test_another_mpi_is_refused(build: Builder, tmp_path: Path) -> None:
    """--mpicc names another MPI than that of the program: one line refuses, since handles would have other types."""
    program = mpis.find("mpich-wheel", build).build(SOURCE, plain=True)
    done = _wrong(tmp_path, "--mpicc", need("mpicc.openmpi"), program)
    assert done.returncode == 2
    assert "but the program uses" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_program_that_only_the_launcher_finds(build: Builder, tmp_path: Path) -> None:
    """Only the launcher knows the directory of the program: the launcher runs unchanged, and one line explains."""
    mpi = mpis.find("mpich-wheel", build)
    done = vtrace(tmp_path, "run", *mpi.launch, "-n", "1", "-wdir", str(tmp_path / "elsewhere"), "./p", check=False)
    assert done.returncode not in (0, 1)
    assert done.stderr.count("vtrace: ") == 1
    assert "put vtrace run before the program" in done.stderr


def test_a_file_of_programs(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    done = _wrong(tmp_path, *mpi.launch, "-configfile", "f")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "put vtrace run before each program in the file" in done.stderr


def test_a_script_that_starts_a_job(mpi: Mpi, tmp_path: Path) -> None:
    """A script starts mpiexec: the shell and the ranks are recorded, the launcher is not, and a line recommends vtrace
    run before mpiexec."""
    program = mpi.build(SOURCE, plain=True)
    (tmp_path / "job.sh").write_text(f"{shlex.join([*mpi.launch, '-n', '3', str(program)])}\nexit 3\n")
    words = [*command("vtrace"), "run", "--io", "-o", "out/job", need("bash"), "job.sh"]
    done = call(words, tmp_path, mpi.env, check=False)
    assert done.returncode == 3
    assert "the script starts mpiexec: put vtrace run before mpiexec there" in done.stderr
    ran: Counter[str] = Counter()
    for path in sorted((tmp_path / "out").glob("job.*.def.z")):
        if path.name.count(".") == 3:
            said = vtrace(tmp_path, "dump", path).stdout
            ran.update(Path(value).name for value in re.findall(r"key=executable value=(\S+)", said))
    assert ran == {"bash": ran["bash"], "mpi_messages": 3}


@pytest.mark.parametrize("name", ["mpich-wheel", "openmpi"])
@pytest.mark.parametrize("way", ["before", "behind"])
def test_spawned_programs(build: Builder, tmp_path: Path, name: str, way: str) -> None:
    """Processes started by MPI_Comm_spawn get the shim, too."""
    mpi = mpis.find(name, build)
    program = mpi.build("mpi_spawn.c", plain=True)
    call(started(mpi, program, ranks=2)[way], tmp_path, mpi.env)
    unify(tmp_path, "mpi_spawn")
    trace = check(tmp_path / "mpi_spawn.trace")
    assert [trace.calls(location)["MPI_Init"] for location in trace.locations] == [1] * 5
