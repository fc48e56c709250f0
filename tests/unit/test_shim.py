# SPDX-License-Identifier: BSD-3-Clause
"""Search for MPI installations, and the cache of shims."""

from __future__ import annotations

import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.build import mpis
from support.build.builder import Builder
from vtrace.commands.shim import command
from vtrace.errors import VtraceError
from vtrace.wrappers.mpi_shim import installation as finder
from vtrace.wrappers.mpi_shim import shim
from vtrace.wrappers.mpi_shim.installation import Mpi, find_mpi


def found(mpi: mpis.Mpi) -> Mpi:
    answer = find_mpi(str(mpi.mpicc))
    assert answer is not None
    return answer


@pytest.fixture
def mpi(mpi: mpis.Mpi) -> Mpi:
    """Each MPI installation."""
    return found(mpi)


@pytest.fixture
def wheel(build: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mpi:
    """The MPICH wheel, which the tests always install."""
    for name, value in mpis.quick_mpicc(tmp_path).items():
        monkeypatch.setenv(name, value)
    return found(mpis.find("mpich-wheel", build))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VT_SHIM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def script(path: Path, text: str) -> str:
    """Writes a fake mpicc."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def library(path: Path, *functions: str) -> None:
    """A shared library with these functions and a header that declares them."""
    path.mkdir()
    declared = "".join(f"int {name}(int *argc, char ***argv);\n" for name in functions)
    (path / "mpi.h").write_text(f'#define MPICH_VERSION "9.8.7"\n{declared}')
    code = "".join(f"int {name}(int *c, char ***v) {{ return c == 0 && v == 0; }}\n" for name in functions)
    words = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path / "libmpi.so")]
    subprocess.run(words, input=code, text=True, check=True)


@mpis.EACH
def test_what_is_found(mpi: Mpi) -> None:
    assert mpi.library.is_absolute()
    assert mpi.header.name == "mpi.h"
    assert mpi.header.is_file()
    assert mpi.label.split()[-1][0].isdigit()
    assert any(flag.startswith("-I") for flag in mpi.include_flags)
    assert any(flag.startswith("-l") for flag in mpi.link_flags)
    assert find_mpi(mpi.mpicc) == mpi


def test_beside_python_when_not_in_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(finder.shutil, "which", lambda name: None if name == "mpicc" else name)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert find_mpi() is None
    library(tmp_path / "lib", "MPI_Init", "PMPI_Init")
    script(tmp_path / "mpicc", f"echo cc -I{tmp_path}/lib -L {tmp_path}/lib -lmpi")
    found = find_mpi()
    assert found is not None
    assert (found.label, found.library) == ("MPICH 9.8.7", (tmp_path / "lib" / "libmpi.so").resolve())


def test_a_linker_script_names_the_library(tmp_path: Path) -> None:
    library(tmp_path / "lib", "MPI_Init", "PMPI_Init")
    (tmp_path / "lib" / "libmpi.so").rename(tmp_path / "lib" / "libmpi.so.7")
    (tmp_path / "lib" / "libmpi.so").write_text("/* GNU ld script */ INPUT(libmpi.so.7)")
    found = find_mpi(script(tmp_path / "mpicc", f"echo cc -I{tmp_path}/lib -L{tmp_path}/lib -lmpi"))
    assert found is not None
    assert found.library.name == "libmpi.so.7"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("exit 1", "prints no compiler command"),
        ("echo no-such-compiler -I/x -lmpi", "not found"),
        ("echo cc -I/nowhere -lmpi", "cannot preprocess mpi.h"),
        ("echo cc -I@/lib -L@/lib -lother", "no shared MPI library in"),
        ("echo cc -I@/lib -L@/lib -lmpi", "no profiling interface"),
    ],
)
def test_an_mpi_that_cannot_be_used(tmp_path: Path, answer: str, message: str) -> None:
    library(tmp_path / "lib", "MPI_Init")
    with pytest.raises(VtraceError, match=message) as error:
        find_mpi(script(tmp_path / "mpicc", answer.replace("@", str(tmp_path))))
    assert "\n" not in str(error.value)
    assert error.value.hint


@pytest.mark.parametrize("damage", ["empty", "head", "half", "headers", "numbers"])
def test_a_damaged_library(tmp_path: Path, damage: str) -> None:
    """A file whose table of strings cannot be found is no MPI library."""
    library(tmp_path / "lib", "MPI_Init", "PMPI_Init")
    path = tmp_path / "lib" / "libmpi.so"
    data = path.read_bytes()
    (sections,) = struct.unpack_from("<Q", data, 40)
    damaged = {
        "empty": b"", "head": data[:50], "half": data[: len(data) // 2], "headers": data[: sections + 100],
        "numbers": data[:40] + b"\xff" * 24 + data[64:],
    }  # fmt: skip
    path.write_bytes(damaged[damage])
    with pytest.raises(VtraceError, match="no shared MPI library in"):
        find_mpi(script(tmp_path / "mpicc", f"echo cc -I{tmp_path}/lib -L{tmp_path}/lib -lmpi"))


def test_an_mpi_in_a_path_with_blanks(tmp_path: Path) -> None:
    """MPICH's mpicc no longer finds its own mpi.h there."""
    place = tmp_path / "with blanks"
    place.mkdir()
    (place / "mpi.h").touch()
    mpicc = script(place / "mpicc", f"echo cc -I{place} -L{place} -lmpi")
    with pytest.raises(VtraceError, match="with blanks/mpicc: an mpicc does not quote the blanks of its path"):
        find_mpi(mpicc)


def test_no_such_mpicc() -> None:
    with pytest.raises(VtraceError, match="no-such-mpicc: no such MPI compiler"):
        find_mpi("no-such-mpicc")


def test_key_changes_with_library_and_header(tmp_path: Path) -> None:
    library(tmp_path / "lib", "MPI_Init", "PMPI_Init")
    mpicc = script(tmp_path / "mpicc", f"echo cc -I{tmp_path}/lib -L{tmp_path}/lib -lmpi")
    header = tmp_path / "lib" / "mpi.h"
    keys = []
    for change in ("", "int MPI_More(void);\n", "#define MPI_MORE 1\n"):
        header.write_text(header.read_text() + change)
        found = find_mpi(mpicc)
        assert found is not None
        keys.append(found.key)
    (tmp_path / "lib" / "libmpi.so").touch()
    found = find_mpi(mpicc)
    assert found is not None
    assert len({*keys, found.key}) == 4


def test_built_once_even_by_many(wheel: Mpi, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds = []
    real = shim.write_source
    monkeypatch.setattr(shim, "write_source", lambda *args: builds.append(args) or real(*args))
    with ThreadPoolExecutor(4) as pool:
        archives = list(pool.map(shim.shim_archive, [wheel] * 4))
    assert len(builds) == 1
    assert set(archives) == {cache / f"mpi-{wheel.key}" / "libvtrace-mpi.a"}
    listed = subprocess.run(["ar", "t", str(archives[0])], capture_output=True, text=True, check=True).stdout
    assert listed.split() == ["shim.o"]
    assert not list(cache.glob("building-*"))
    (found,) = shim.list_shims()
    assert (found.label, found.library) == (wheel.label, str(wheel.library))
    assert found.functions > 300
    assert shim.clean_shims(Path("/another/libmpi.so")) == []
    assert shim.clean_shims() == [found]
    assert shim.list_shims() == []


def test_a_shim_that_does_not_compile(cache: Path, tmp_path: Path) -> None:
    library(tmp_path / "lib", "MPI_Init", "PMPI_Init")
    broken = find_mpi(script(tmp_path / "mpicc", f"echo cc -I{tmp_path}/lib -L{tmp_path}/lib -lmpi"))
    assert broken is not None
    with pytest.raises(VtraceError, match=r"cannot build the MPI shim for MPICH 9.8.7 with cc: .*error") as error:
        shim.shim_archive(broken)
    assert "\n" not in str(error.value)
    assert not list(cache.glob("mpi-*"))


def test_a_cache_that_cannot_be_written(wheel: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("VT_SHIM_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(VtraceError, match="cannot change the cache of MPI shims") as error:
        shim.shim_archive(wheel)
    assert "VT_SHIM_CACHE" in str(error.value)


def test_place_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VT_SHIM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/cache")
    assert shim.cache_dir() == Path("/some/cache/vtrace")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert shim.cache_dir() == Path.home() / ".cache" / "vtrace"


def test_commands(wheel: Mpi, cache: Path) -> None:
    run = CliRunner()
    built = run.invoke(command, ["build", "--mpicc", wheel.mpicc])
    assert built.exit_code == 0
    assert Path(built.stdout.strip()).exists()
    shown = run.invoke(command, ["list"])
    assert shown.output.startswith(f"{wheel.label}\t")
    assert run.invoke(command, ["clean", "--mpicc", wheel.mpicc]).output.startswith("removed ")
    assert run.invoke(command, ["list"]).output == ""
    assert isinstance(run.invoke(command, ["build", "--mpicc", "no-such-mpicc"]).exception, VtraceError)
