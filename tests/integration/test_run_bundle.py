# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run --bundle: programs recorded in the roots of other Debian releases, without vtrace and Python."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.debian_roots import DebianRoot
from support.build.run import names, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import BIN, Done, call, need

CALLS = Counter({"open": 4, "write": 65, "close": 4, "puts": 1})
"""The calls of contained.c, in all its threads and its child."""
ROUNDS = 10


@pytest.fixture(scope="module")
def program(build: Builder) -> Path:
    return build("contained.c", flags=("-O1", "-pthread"), plain=True)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that records I/O, moved into a directory with blanks in its name."""
    place = tmp_path_factory.mktemp("bundle")
    done = vtrace(place, "run", "--bundle", "made", "--io", "-o", "results/box")
    assert (done.stdout, done.stderr) == ("", "vtrace: next, where the program runs: made/vtrace-run PROGRAM\n")
    assert names(place) == {"made"}
    moved = place / "has two blanks"
    (place / "made").rename(moved)
    return moved


def traced(place: Path) -> Trace:
    unify(place, "results/box")
    return check(place / "results" / "box.trace")


def judge(done: Done, place: Path) -> None:
    """Checks output and exit code of contained.c, and all of its recorded calls."""
    assert (done.returncode, done.stdout) == (7, "works\n"), str(done)
    assert done.stderr.count("\n") == done.stderr.count("vtrace: rank 0 of 1 wrote ") == 1, str(done)
    trace = traced(place)
    assert trace.calls() == CALLS
    lives = trace.entered()
    assert (lives["pthread_create"], lives["pthread_join"], lives["fork"], lives["waitpid"]) == (3, 3, 1, 1)
    assert 5 in [trace.calls(location)["write"] for location in trace.locations]  # the child's


def test_here(bundle: Path, program: Path, tmp_path: Path) -> None:
    judge(call([bundle / "vtrace-run", program], tmp_path, check=False), tmp_path)


def copies(place: Path, *paths: Path) -> None:
    for path in paths:
        (shutil.copytree if path.is_dir() else shutil.copy)(path, place / path.name)


def test_another_release(bundle: Path, program: Path, tmp_path: Path) -> None:
    root = DebianRoot("trixie")
    assert root.run(tmp_path, "sh", "-c", "command -v python3 vtrace", check=False).stdout == ""
    copies(tmp_path, bundle, program)
    judge(root.run(tmp_path, f"{bundle.name}/vtrace-run", "./contained", check=False), tmp_path)


def test_bytes_before_the_loader(bundle: Path, program: Path, tmp_path: Path) -> None:
    """The linker of trixie puts a checksum before the path of the loader, whose last bytes may be printable."""
    content, path = program.read_bytes(), b"/lib64/ld-linux"
    assert content.count(path) == 1
    before, _, behind = content.partition(path)
    changed = tmp_path / "contained"
    changed.write_bytes(before[:-3] + b"a/!" + path + behind)
    changed.chmod(0o755)
    judge(call([bundle / "vtrace-run", changed], tmp_path, check=False), tmp_path)


def test_without_zstd(bundle: Path, program: Path, tmp_path: Path) -> None:
    """Where the system has no libzstd, the runtime takes the bundle's: its blocks are compressed."""
    root = DebianRoot("trixie")
    copies(tmp_path, bundle, program)
    hidden = f"mount --bind /dev/null /usr/lib/{os.uname().machine}-linux-gnu/libzstd.so.1"
    script = f"{hidden} && exec '{bundle.name}/vtrace-run' ./contained"
    judge(root.run(tmp_path, "sh", "-c", script, check=False), tmp_path)


TOOLS = ("dirname", "readlink", "head", "tail", "tr", "od", "wc")
"""The commands that the script needs."""


def test_bare_root(program: Path, tmp_path: Path) -> None:
    """A root without /proc, /dev, HOME, and other commands: the local files have the program's name."""
    root = DebianRoot("trixie")
    vtrace(tmp_path, "run", "--bundle", "made", "--io")
    copies(tmp_path, program)
    (tmp_path / "tools").mkdir()
    for name in TOOLS:
        (tmp_path / "tools" / name).symlink_to(f"/bin/{name}")
    bare = "umount /proc && mount -t tmpfs tmp /dev && PATH=tools && exec made/vtrace-run ./contained"
    done = root.run(tmp_path, "/bin/sh", "-c", bare, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (7, "works\n", 1), str(done)
    unify(tmp_path, "contained")
    assert check(tmp_path / "contained.trace").calls() == CALLS
    (tmp_path / "tools" / "od").unlink()
    done = root.run(tmp_path, "/bin/sh", "-c", bare, check=False)
    warning = "./contained is not recorded: vtrace-run needs the command od, which is not in PATH"
    assert (done.returncode, done.stderr) == (7, f"vtrace: warning: {warning}\n")


def test_moved_interpreter(bundle: Path, program: Path, tmp_path: Path) -> None:
    """patchelf, as package managers use it, moves the loader's path to the end of a program."""
    copies(tmp_path, program)
    loader = call([need("patchelf"), "--print-interpreter", program], tmp_path).stdout.strip()
    call(["patchelf", "--set-interpreter", f"/{'./' * 100}{loader}", program.name], tmp_path)
    judge(call([bundle / "vtrace-run", "./contained"], tmp_path, check=False), tmp_path)


def test_copied_in_part(bundle: Path, program: Path, tmp_path: Path) -> None:
    """Where libraries are missing or cut the program runs untraced; where the script is cut, it does not run."""
    for name, size in (("libvtrace.so.1", 100_000), ("libvtrace-io.so", None)):
        part = tmp_path / name
        shutil.copytree(bundle, part)
        (part / "lib" / name).unlink() if size is None else os.truncate(part / "lib" / name, size)
        done = call([part / "vtrace-run", program], tmp_path, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (7, "works\n", 1), str(done)
        assert f" is not recorded: the bundle has no lib/{name}, or a part of it only; copy the bundle" in done.stderr
    whole = (bundle / "vtrace-run").stat().st_size
    for size in (200, whole // 2, whole - 4):
        os.truncate(part / "vtrace-run", size)
        done = call([part / "vtrace-run", program], tmp_path, check=False)
        assert (done.returncode, done.stdout) == (2, ""), str(done)
        shutil.copy(bundle / "vtrace-run", part)


@pytest.mark.full
def test_older_glibc(bundle: Path, tmp_path: Path) -> None:
    """The libraries of this machine may need a newer glibc than the release has. A line says so; the program runs."""
    root = DebianRoot("bullseye")
    copies(tmp_path, bundle)
    done = root.run(tmp_path, f"{bundle.name}/vtrace-run", "cat", "/etc/debian_version", check=False)
    assert (done.returncode, done.stdout[:3]) == (0, "11."), str(done)
    if "GLIBC_" in done.stderr:
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("vtrace: warning: cat is not recorded: ")
    else:
        assert traced(tmp_path).calls()["read"] == 1


def test_mpi(build: Builder, tmp_path: Path) -> None:
    """The libraries of the MPICH wheel are copied into the root. Their paths differ from those outside."""
    root, mpi = DebianRoot("trixie"), mpis.find("mpich-wheel", build)
    if not (BIN.parent / "lib" / "libmpi.so.12").exists():
        pytest.skip("no wheel of MPICH beside this Python")
    program = mpi.build("nodes.c", plain=True)
    vtrace(tmp_path, "run", "--bundle", "made", program)
    assert "libvtrace-mpi.so" in names(tmp_path / "made" / "lib")
    for name in ("bin", "lib"):
        (tmp_path / name).mkdir()
    copies(tmp_path / "bin", BIN / "mpiexec.hydra", BIN / "hydra_pmi_proxy")
    copies(tmp_path / "lib", BIN.parent / "lib" / "libmpi.so.12", BIN.parent / "lib" / "mpich")
    copies(tmp_path, program)
    words = ["bin/mpiexec.hydra", "-n", "2", "made/vtrace-run", "./nodes", str(ROUNDS)]
    done = root.run(tmp_path, *words, env={"LD_LIBRARY_PATH": "/mnt/lib", "VT_FILE_PREFIX": "results/box"}, check=False)
    assert (done.returncode, done.stderr.count("vtrace:")) == (0, 1), str(done)
    trace = traced(tmp_path)
    once = ("MPI_Init", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Barrier", "MPI_Finalize")
    assert trace.calls() == Counter(dict.fromkeys(once, 2) | {"MPI_Sendrecv": 2 * ROUNDS, "MPI_Allreduce": 2 * ROUNDS})
    assert trace.kinds()["MpiSend"] == trace.kinds()["MpiRecv"] == 2 * ROUNDS
    # Without its library in the root the shim is left out, and the program runs.
    done = root.run(tmp_path, "made/vtrace-run", "cat", "/dev/null", check=False)
    assert done.returncode == 0, str(done)
    assert "vtrace: warning: MPI calls of cat are not recorded: libmpi.so.12: cannot open shared" in done.stderr


def test_another_mpi(build: Builder, tmp_path: Path) -> None:
    """A bundle for Open MPI leaves its shim out of a program of MPICH, also where both libraries are found."""
    mpi, other = mpis.find("mpich-wheel", build), mpis.find("openmpi", build)
    vtrace(tmp_path, "run", "--bundle", "made", "--mpicc", other.mpicc)
    done = call([*mpi.launch, "-n", "2", "made/vtrace-run", mpi.build("nodes.c", plain=True), str(ROUNDS)], tmp_path)
    assert done.stdout == f"sum {ROUNDS}\n"
    assert done.stderr.count("vtrace:") == 1, str(done)
    assert "nodes are not recorded: two MPIs would be loaded, " in done.stderr
    assert names(tmp_path) == {"made"}


def test_functions(build: Builder, tmp_path: Path) -> None:
    """A program of vtrace-cc finds the libraries that it is linked with in the bundle. The output of nm names the
    functions of an executable whose path is another one outside."""
    root, program = DebianRoot("trixie"), build("forks.c")
    vtrace(tmp_path, "run", "--bundle", "made", "-o", "results/box", program)
    copies(tmp_path, program)
    (tmp_path / "forks.nm").write_text(call([need("nm"), "--demangle", "--line-numbers", "forks"], tmp_path).stdout)
    done = root.run(tmp_path, "made/vtrace-run", "./forks", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), str(done)
    unify(tmp_path, "results/box", env={"VT_GNU_NMFILE": "forks.nm"})
    assert check(tmp_path / "results" / "box.trace").calls() == Counter({"main": 1, "child": 1, "work": 20})


def test_settings_and_preload(build: Builder, program: Path, tmp_path: Path) -> None:
    """Settings of the options are in the script; the user's own libraries come after vtrace's."""
    vtrace(tmp_path, "run", "--bundle", "made", "--memory", "--no-io", "--max-size", "4M", program)
    theirs = build("exact_lib.c", flags=("-shared", "-fPIC"), output="libtheirs.so", plain=True)
    env = {"LD_PRELOAD": f"{theirs} libm.so.6", "VT_MAX_SIZE": "1G"}
    said = call(
        [tmp_path / "made" / "vtrace-run", "sh", "-c", "echo $LD_PRELOAD $VT_MAX_SIZE $VT_IOTRACE"], tmp_path, env
    )
    lib = tmp_path / "made" / "lib"
    ours = f"{lib}/libvtrace.so.1:{lib}/libvtrace-mem.so"
    assert said.stdout == f"{ours}:{theirs}:libm.so.6 4M no\n"


@pytest.mark.parametrize(("flags", "reason"), [((), "linked with musl"), (("-static",), "statically linked")])
def test_musl(bundle: Path, tmp_path: Path, flags: tuple[str, ...], reason: str) -> None:
    (tmp_path / "p.c").write_text('#include <stdio.h>\nint main(void) { puts("works"); return 7; }\n')
    call([need("musl-gcc"), *flags, "p.c", "-o", "p"], tmp_path)
    for words in (["./p"], ["p"]):
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = call([bundle / "vtrace-run", *words], tmp_path, env, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (7, "works\n", 1), str(done)
        assert done.stderr.startswith(f"vtrace: warning: {words[0]} is not recorded: {reason}")


def test_words(bundle: Path, tmp_path: Path) -> None:
    """Scripts, programs with the name of a shell's own command, missing programs; the script is called by a link."""
    (tmp_path / "link").symlink_to(bundle / "vtrace-run")
    (tmp_path / "script").write_text("#!/usr/bin/env sh\necho works; exit 3\n")
    (tmp_path / "script").chmod(0o755)
    cases = {"./script": ([], 3, "works\n"), "echo": (["a  b", ""], 0, "a  b \n"), "./no": ([], 127, "")}
    for name, (args, code, said) in cases.items():
        done = call([tmp_path / "link", name, *args], tmp_path, check=False)
        assert (done.returncode, done.stdout) == (code, said), str(done)
        results = tmp_path / "results"
        assert results.exists() == (name != "./no"), str(done)
        shutil.rmtree(results, ignore_errors=True)
    done = call([bundle / "vtrace-run"], tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_what_is_no_bundle_stays(tmp_path: Path, program: Path) -> None:
    """A bundle is replaced; other directories, files and links stay."""
    vtrace(tmp_path, "run", "--bundle", "made")
    vtrace(tmp_path, "run", "--bundle", "made", "--io")
    assert "libvtrace-io.so" in names(tmp_path / "made" / "lib")
    (tmp_path / "link").symlink_to("made")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("mine")
    shutil.copytree(tmp_path / "made", tmp_path / "more")
    (tmp_path / "more" / "mine").touch()
    for name in ("link", "empty", "file", "more"):
        done = vtrace(tmp_path, "run", "--bundle", name, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"vtrace: error: {name} exists and is not a bundle (choose another directory)\n"
    done = vtrace(tmp_path, "run", "--bundle", "file/made", check=False)
    assert done.stderr.startswith("vtrace: error: cannot write the bundle file/made: file is not a directory (")
    assert names(tmp_path) == {"made", "link", "empty", "file", "more"}
    assert (tmp_path / "file").read_text() == "mine"


def test_full_disk(tmp_path: Path) -> None:
    """The line names the file that cannot be written. An older bundle stays."""
    script = "mount -t tmpfs -o size=2200k tmp . && cd $PWD && vtrace run --bundle made && cp made/vtrace-run old"
    fill = "head -c 1M /dev/zero >fill; ! vtrace run --bundle made --io && cmp made/vtrace-run old && ls -A"
    words = [need("unshare"), "--mount", "sh", "-c", f'PATH="{BIN}:$PATH"; {script} && {fill}']
    done = call(words, tmp_path)
    assert done.stdout.split() == ["fill", "made", "old"]
    line = done.stderr.splitlines()[-1]
    assert f"cannot write the bundle made: {tmp_path}/.made." in line
    assert line.endswith(": No space left on device (choose another directory)")


@pytest.mark.parametrize(
    ("words", "text"),
    [((), "no program (vtrace-run PROGRAM [ARGUMENTS])"), (("--io", "./x"), "--io: vtrace-run takes no options (give")],
)
def test_mistakes_inside(bundle: Path, tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    done = call([bundle / "vtrace-run", *words], tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert text in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--view",), 2, "--bundle starts no program, so --view has no effect"),
        (("--unify",), 2, "--bundle starts no program, so --unify has no effect"),
        (("--python",), 2, "a bundle has no Python"),
        (("-o", "results/"), 2, "-o results/ is a directory"),
        (("./no",), 127, "./no: no such program"),
        (("--max-size", "x"), 2, "--max-size x is not a size"),
    ],
)
def test_refused(tmp_path: Path, words: tuple[str, ...], code: int, text: str) -> None:
    done = vtrace(tmp_path, "run", "--bundle", "made", *words, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), str(done)
    assert done.stderr.startswith("vtrace: error: ")
    assert text in done.stderr
    assert names(tmp_path) == set()
